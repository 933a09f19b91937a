"""An answer's text -> the text without what has no support, or with marks at it, and where each
statement stands in it then."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from rag_pg.answer.markers import find_markers
from rag_pg.answer.statements import Statement, Unsupported

_MARK = re.compile(r" \[unsupported(?:: \d{1,6}(?:, \d{1,6})*)?\]")
_NUMBER = re.compile(r"\d+")
_BULLET = re.compile(r"[ \t]*(?:>[ \t]*)*(?:(?:[-*+•]|\d{1,3}[.)])[ \t]*)?")

Span = tuple[int, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class EditedText:
    """A text that was made from another by taking out `removed` (start, stop, in order, none
    overlapping) and adding `added` (where, what)."""

    text: str
    removed: Sequence[Span] = ()
    added: Sequence[tuple[int, str]] = ()

    def span(self, start: int, stop: int) -> Span:
        """Return where [start, stop) of the other text stands; what is added at `start` comes
        before it, what is added at `stop` behind it."""
        before = sum(len(text) for at, text in self.added if at <= start)
        inside = sum(len(text) for at, text in self.added if start < at < stop)
        first = self._kept(start) + before
        return first, self._kept(stop) + before + inside

    def _kept(self, offset: int) -> int:
        return offset - sum(min(stop, offset) - start for start, stop in self.removed
                            if start < offset)  # fmt: skip


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
        return _edited(text, (), added)
    if action == "drop":
        whole = [(s.start, s.stop) for position, s in enumerate(statements) if position in wrong]
        single = [
            span
            for position, numbers in found.items()
            if position not in wrong
            for span in _markers(text, statements[position], numbers)
        ]
        return _edited(text, [*_widened(text, whole), *single], ())
    return EditedText(text=text)


def without_marks(text: str) -> str:
    """Return a text with spaces in the place of the marks of what has no support."""
    return _MARK.sub(lambda mark: " " * len(mark[0]), text)


def _mark(numbers: Collection[int]) -> str:
    return f" [unsupported{': ' if numbers else ''}{', '.join(map(str, sorted(numbers)))}]"


def _edited(text: str, removed: Iterable[Span], added: Sequence[tuple[int, str]]) -> EditedText:
    pieces, at = [], 0
    removed = sorted(removed)
    for start, stop, more in sorted(
        [*((start, stop, "") for start, stop in removed), *((at, at, more) for at, more in added)]
    ):
        pieces += [text[at:start], more]
        at = stop
    return EditedText(text="".join([*pieces, text[at:]]), removed=removed, added=added)


def _markers(text: str, statement: Statement, numbers: Collection[int]) -> list[Span]:
    """Return the spans of single numbers in the markers of a statement."""
    spans: list[Span] = []
    for marker in find_markers(statement.text):
        first, end = statement.start + marker.start, statement.start + marker.stop
        if set(marker.numbers) <= set(numbers):
            if text[end : end + 1] != "[":
                first = len(text[:first].rstrip(" \t"))
            spans.append((first, end))
            continue
        items = [(first + m.start(), first + m.end()) for m in _NUMBER.finditer(text[first:end])]
        keeps = [number not in numbers for number in marker.numbers]
        for at, (start, stop) in enumerate(items):
            if not keeps[at]:
                later = items[at + 1][0] if at + 1 < len(items) else stop
                spans.append((items[at - 1][1], stop) if any(keeps[:at]) else (start, later))
    return _joined(spans)


def _joined(spans: Iterable[Span]) -> list[Span]:
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
    return _joined(_widen(text, start, stop) for start, stop in neighbours)


def _widen(text: str, start: int, stop: int) -> Span:
    line = text.rfind("\n", 0, start) + 1
    end = text.find("\n", stop)
    end = len(text) if end < 0 else end
    if text[stop:end].strip():
        if start == line or text[start - 1] in " \t":
            stop += len(text[stop:end]) - len(text[stop:end].lstrip(" \t"))
        return start, stop
    if not _BULLET.fullmatch(text, line, start):
        return len(text[:start].rstrip(" \t")), end if end < len(text) else len(text)
    start, stop = line, min(end + 1, len(text))
    if not text[:start].strip() or text[:start].endswith("\n\n"):
        stop += len(text[stop:]) - len(text[stop:].lstrip("\n"))
    if not text[stop:].strip():  # nothing follows
        start, stop = len(text[:start].rstrip()), len(text)
    return start, stop
