"""An answer's text -> the text without what has no support, or with marks at it, and where each
statement stands in it then."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate

from rag_pg.answer.question import Unsupported
from rag_pg.answer.reading.statements import Statement

_MARK = re.compile(r" \[unsupported(?:: \d{1,6}(?:, \d{1,6})*)?\]")
_NUMBER = re.compile(r"\d+")
_BULLET = re.compile(r"[ \t]*(?:>[ \t]*)*(?:(?:[-*+•]|\d{1,3}[.)])[ \t]*)?")

Span = tuple[int, int]


class EditedText:
    """A text that was made from another: `text`."""

    def __init__(
        self, source: str, removed: Iterable[Span] = (), added: Iterable[tuple[int, str]] = ()
    ) -> None:
        """Take out `removed` (start, stop; none overlap) and add `added` (where, what)."""
        self._removed = sorted(removed)
        self._starts = [start for start, _ in self._removed]
        self._gone = [0, *accumulate(stop - start for start, stop in self._removed)]
        added = sorted(added)
        self._offsets = [at for at, _ in added]
        self._more = [0, *accumulate(len(more) for _, more in added)]
        pieces, at = [], 0
        for start, stop, more in sorted(
            [*((start, stop, "") for start, stop in self._removed)]
            + [(at, at, more) for at, more in added]
        ):
            pieces += [source[at:start], more]
            at = stop
        self.text = "".join([*pieces, source[at:]])

    def span(self, start: int, stop: int) -> Span:
        """Return where [start, stop) of the other text stands; what is added at `start` comes
        before it, what is added at `stop` behind it."""
        before = self._more[bisect_right(self._offsets, start)]
        inside = self._more[bisect_left(self._offsets, stop)]
        return self._kept(start) + before, self._kept(stop) + max(before, inside)

    def end(self, stop: int) -> int:
        """Return where what ends at `stop` in the other text ends, with what is added there."""
        return self._kept(stop) + self._more[bisect_right(self._offsets, stop)]

    def _kept(self, offset: int) -> int:
        count = bisect_left(self._starts, offset)  # of the spans that start before it
        if not count:
            return offset
        start, stop = self._removed[count - 1]
        return offset - self._gone[count - 1] - (min(stop, offset) - start)


def without_support(
    text: str,
    statements: Sequence[Statement],
    wrong: Collection[int],
    action: Unsupported,
    markers: Mapping[int, Collection[int]] | None = None,
) -> EditedText:
    """Return the text with the statements at the positions `wrong` taken out, or marked.

    Args:
        action: keep leaves it as it is.
        markers: by the position of a statement, the numbers of sources that do not support it: they
            alone are taken out, or named in its mark.
    """
    found = markers or {}
    if action == "mark":
        added = [
            (statement.stop, _mark(() if position in wrong else found[position]))
            for position, statement in enumerate(statements)
            if position in wrong or found.get(position)
        ]
        return EditedText(text, added=added)
    if action == "drop":
        whole = [(s.start, s.stop) for position, s in enumerate(statements) if position in wrong]
        single = [
            span
            for position, numbers in found.items()
            if position not in wrong
            for span in _markers(text, statements[position], numbers)
        ]
        return EditedText(text, [*_widened(text, whole), *single])
    return EditedText(text)


def without_marks(text: str) -> str:
    """Return a text with spaces in the place of the marks of what has no support."""
    return _MARK.sub(lambda mark: " " * len(mark[0]), text)


def _mark(numbers: Collection[int]) -> str:
    return f" [unsupported{': ' if numbers else ''}{', '.join(map(str, sorted(numbers)))}]"


def _markers(text: str, statement: Statement, numbers: Collection[int]) -> list[Span]:
    """Return the spans of single numbers in the markers of a statement."""
    spans: list[Span] = []
    for marker in statement.markers:
        first, end = statement.start + marker.start, statement.start + marker.stop
        if set(marker.numbers) <= set(numbers):
            if text[end : end + 1] != "[":
                first = _before_blanks(text, first, " \t")
            spans.append((first, end))
            continue
        items = [(first + m.start(), first + m.end()) for m in _NUMBER.finditer(text[first:end])]
        keeps = [number not in numbers for number in marker.numbers]
        for at, (start, stop) in enumerate(items):
            if not keeps[at]:
                later = items[at + 1][0] if at + 1 < len(items) else stop
                spans.append((items[at - 1][1], stop) if any(keeps[:at]) else (start, later))
    return joined(spans)


def joined(spans: Iterable[Span]) -> list[Span]:
    """Return spans in order, those that touch or overlap as one."""
    joined: list[Span] = []
    for start, stop in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(stop, joined[-1][1]))
        else:
            joined.append((start, stop))
    return joined


def _widened(text: str, spans: Sequence[Span]) -> list[Span]:
    """Return the spans with the white space that would stand there twice, and with the whole line,
    its bullet too, where nothing else is on it."""
    neighbours: list[Span] = []
    for start, stop in spans:
        if neighbours and not text[neighbours[-1][1] : start].strip(" \t"):
            start = neighbours.pop()[0]
        neighbours.append((start, stop))
    return joined(_widen(text, start, stop) for start, stop in neighbours)


def _widen(text: str, start: int, stop: int) -> Span:
    line = text.rfind("\n", 0, start) + 1
    end = text.find("\n", stop)
    end = len(text) if end < 0 else end
    if text[stop:end].strip():
        if start == line or text[start - 1] in " \t":
            stop = _behind_blanks(text, stop, " \t")
        return start, stop
    if not _BULLET.fullmatch(text, line, start):
        return _before_blanks(text, start, " \t"), end
    start, stop = line, min(end + 1, len(text))
    if not _before_blanks(text, start) or text.endswith("\n\n", 0, start):
        stop = _behind_blanks(text, stop, "\n")
    if _behind_blanks(text, stop) == len(text):  # nothing follows
        start, stop = _before_blanks(text, start), len(text)
    return start, stop


def _before_blanks(text: str, at: int, blanks: str = "") -> int:
    """Return where the blanks (all white space) before `at` begin."""
    while at > 0 and (text[at - 1] in blanks if blanks else text[at - 1].isspace()):
        at -= 1
    return at


def _behind_blanks(text: str, at: int, blanks: str = "") -> int:
    """Return where the blanks (all white space) from `at` on end."""
    while at < len(text) and (text[at] in blanks if blanks else text[at].isspace()):
        at += 1
    return at
