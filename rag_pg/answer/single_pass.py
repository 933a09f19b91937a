"""Answers with sources: by a language model, or of the documents' own sentences (extractive)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rag_pg.answer.extractive import NOT_FOUND, answer_extractive
from rag_pg.answer.prompt import BUDGET_TOKENS, MARKER, CountTokens, Prompt, build_prompt
from rag_pg.providers.gemini.llm import CUT
from rag_pg.text.tokens import estimate_tokens
from rag_pg.types import LLM, Answer, Hit, Usage

__all__ = ["Prompt", "answer_extractive", "answer_with_llm", "build_prompt"]

MAX_TOKENS = 1024

_MARKER = re.compile(rf"[*_`\"'\[(]*{MARKER.replace('_', r'[_ ]')}[*_`\"'\])]*[:.,–—-]*\s*")
_CODE = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]*`)", re.DOTALL)
_NUMBERS = r"\d{1,6}(?:\s*[-–]\s*\d{1,6})?"
_CITATION = re.compile(
    rf"([ \t]*)[\[［【](?:\^|sources?:?\s+)?({_NUMBERS}(?:\s*[,;，、；&]\s*{_NUMBERS})*)[\]］】]",
    re.IGNORECASE,
)
_UNFINISHED = re.compile(r"\s*[\[［【][\d\s,;-]*$")  # a citation that max_tokens cut


def answer_with_llm(
    question: str,
    hits: Sequence[Hit],
    llm: LLM,
    *,
    budget_tokens: int = BUDGET_TOKENS,
    count_tokens: CountTokens = estimate_tokens,
    max_tokens: int = MAX_TOKENS,
) -> Answer:
    """Return the model's answer to `question` from `hits`, with the sources it cites.

    Citations in the text are [n], or [n, m]; the numbers are those of `Answer.citations`. A number
    without a source is taken out of the text and noted. Without hits the model is not asked.

    Args:
        budget_tokens, count_tokens: see build_prompt.
        max_tokens: of the answer.
    Raises: ProviderError and its kinds, ModelUnavailable, InvalidInput (budget_tokens).
    """
    prompt = build_prompt(question, hits, budget_tokens=budget_tokens, count_tokens=count_tokens)
    if not prompt.sources:
        return Answer(text=NOT_FOUND, found=False, citations=(), model=llm.name, usage=Usage())
    got = llm.generate(prompt.text, system=prompt.system, max_tokens=max_tokens)
    text, found = _strip_marker(got.text.strip())
    was_cut = text.endswith(CUT.strip())
    if was_cut:
        text = _UNFINISHED.sub("", text.removesuffix(CUT.strip()).rstrip()) + CUT
    text, cited, dropped = _read_citations(text, len(prompt.sources))
    notes = [f"dropped citation [{number}]: there is no such source" for number in dropped]
    if was_cut:
        notes.append(f"the answer was cut at max_tokens ({max_tokens})")
    if found and not cited:
        notes.append("the answer cites no source")
    return Answer(
        text=text or NOT_FOUND,
        found=found,
        citations=[source for source in prompt.sources if source.number in cited],
        model=llm.name,
        usage=got.usage,
        notes=notes,
    )


def _strip_marker(text: str) -> tuple[str, bool]:
    """Return the text without the marker, and whether it answers: has not begun with the marker."""
    rest = _MARKER.sub("", text).strip()
    return rest, bool(rest) and _MARKER.match(text) is None


def _read_citations(text: str, sources: int) -> tuple[str, set[int], list[int]]:
    """Return the text with [n] for 1 <= n <= sources only, the numbers cited, those taken out.

    Reads [1], [1, 3], [2][5], [1-3], full-width brackets and digits; leaves code alone.
    """
    cited: set[int] = set()
    dropped: list[int] = []

    def rewrite(match: re.Match[str]) -> str:
        good, bad = _numbers(match[2], sources)
        cited.update(good)
        dropped.extend(number for number in bad if number not in dropped)
        return f"{match[1]}[{', '.join(map(str, good))}]" if good else ""

    parts = _CODE.split(text)
    parts[::2] = [_CITATION.sub(rewrite, part) for part in parts[::2]]
    return "".join(parts).strip(), cited, dropped


def _numbers(listed: str, sources: int) -> tuple[list[int], list[int]]:
    """Return the numbers of a citation such as "1, 3-5" that are sources, and those that are not."""
    good: list[int] = []
    bad: list[int] = []
    for item in re.findall(_NUMBERS, listed):
        ends = [int(number) for number in re.findall(r"\d+", item)]
        good += [n for n in range(max(ends[0], 1), min(ends[-1], sources) + 1) if n not in good]
        bad += [n for n in ends if not 1 <= n <= sources and n not in bad]
    return good, bad
