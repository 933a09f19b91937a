"""Answers with sources: by a language model, or of the documents' own sentences (extractive)."""

from __future__ import annotations

from collections.abc import Sequence

from rag_pg.answer.citations import (
    _UNFINISHED,
    _read_citations,
    _strip_marker,
)
from rag_pg.answer.extractive import NOT_FOUND, answer_extractive
from rag_pg.answer.prompt import BUDGET_TOKENS, CountTokens, Prompt, build_prompt
from rag_pg.errors import AnswerBlocked, ProviderError
from rag_pg.protocols import LLM
from rag_pg.text import estimate_tokens
from rag_pg.types import Answer, Hit, Message, Usage

__all__ = ["Prompt", "answer_extractive", "answer_with_llm", "build_prompt"]

MAX_TOKENS = 1024
CUT = " […]"  # ends the text of an answer that max_tokens cut short


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
    got = llm.complete(
        [
            Message(role="system", content=prompt.system),
            Message(role="user", content=prompt.text),
        ],
        max_tokens=max_tokens,
    )
    if got.finish == "blocked":
        reason = f" ({got.reason})" if got.reason else ""
        raise AnswerBlocked(f"{llm.name} stopped its answer{reason}; rephrase the question")
    if got.finish == "length" and not got.text.strip():
        raise ProviderError(
            f"{llm.name} used up max_tokens ({max_tokens}) before it wrote a word; raise max_tokens"
        )
    text, found = _strip_marker(got.text.strip())
    was_cut = got.finish == "length"
    if was_cut and text:
        text = _UNFINISHED.sub("", text) + CUT
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
