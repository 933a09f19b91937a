"""On which pages, slides or sheets a piece of a text stands: what loaders write as headings, as
numbers."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable

_HEADING = re.compile(r"^# (Page|Slide|Sheet) (\d+)(?:: .*)?$", re.MULTILINE)


def pages_of(text: str) -> Callable[[int, int], dict[str, int]]:
    """Return what tells the metadata of text[start:stop]: its first and last page, {"page": 3,
    "last_page": 4}, or slide, or sheet; {} in a text that does not begin with one.

    Pages rise: a line in a page that looks like the heading of another one does not count.
    """
    kind = ""
    starts: list[int] = []
    numbers: list[int] = []
    for match in _HEADING.finditer(text):
        if not starts and match.start() > 0:
            break
        if not starts or (match[1] == kind and int(match[2]) > numbers[-1]):
            kind = match[1]
            starts.append(match.start())
            numbers.append(int(match[2]))

    def within(start: int, stop: int) -> dict[str, int]:
        if not starts:
            return {}
        first, last = (
            bisect_right(starts, start) - 1,
            bisect_right(starts, max(start, stop - 1)) - 1,
        )
        name = kind.lower()
        return {name: numbers[max(0, first)], f"last_{name}": numbers[max(0, last)]}

    return within
