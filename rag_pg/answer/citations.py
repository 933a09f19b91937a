"""The citations that an answer's text carries."""

from __future__ import annotations

import re

from rag_pg.answer.prompt import MARKER

_MARKER = re.compile(rf"[*_`\"'\[(]*{MARKER.replace('_', r'[_ ]')}[*_`\"'\])]*[:.,–—-]*\s*")


_CODE = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]*`)", re.DOTALL)


_NUMBERS = r"\d{1,6}(?:\s*[-–]\s*\d{1,6})?"


_CITATION = re.compile(
    rf"([ \t]*)[\[［【](?:\^|sources?:?\s+)?({_NUMBERS}(?:\s*[,;，、；&]\s*{_NUMBERS})*)[\]］】]",
    re.IGNORECASE,
)


_UNFINISHED = re.compile(r"\s*[\[［【][\d\s,;-]*$")  # a citation that max_tokens cut


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
