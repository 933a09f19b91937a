"""An answer's text -> its statements, and the sources that each cites."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rag_pg.answer.markers import Marker, find_markers
from rag_pg.errors import InvalidInput
from rag_pg.text import Sentence, split_sentences

Unsupported = Literal["drop", "mark", "keep"]

_MARKERS = r"(?:\s*\[\d{1,6}(?:, \d{1,6})*\])+"
_LEADING = re.compile(rf"\W*{_MARKERS}[*_\"'”’»)]*\s*(?=\S|\Z)")
_BEHIND = re.compile(rf"{_MARKERS}[*_\s.。!?]*\Z")
_STOPPED = re.compile(rf"[.!?…。！？][\"'”’»)*_]*{_MARKERS}\s+(?=[^\s\[])")  # It is so.[1] That
_STOP = re.compile(r"[.!?…。！？][\"'”’»)\]*_`]*\Z")


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """A sentence of an answer with the citations behind it: text == answer[start:stop].

    numbers: of the sources that it cites. claim_stop: where it stops without the citations at its
    end. claim: its words without any citation. clauses: its parts, each with the numbers that stand
    behind it; one, where it cites at one place alone.
    """

    start: int
    stop: int
    claim_stop: int
    text: str
    claim: str
    numbers: Sequence[int]
    clauses: Sequence[tuple[str, Sequence[int]]]


def read_statements(text: str) -> list[Statement]:
    """Return the statements of an answer in order; code is none.

    A citation behind a full stop is of the sentence before it.
    """
    spans: list[tuple[int, int]] = []
    for sentence in split_sentences(text):
        if sentence.kind == "code":
            continue
        for start, stop in _parts(sentence):
            begin = start
            if spans and _takes_markers(text[slice(*spans[-1])], text[spans[-1][1] : start]):
                leading = _LEADING.match(text, start, stop)
                begin = leading.end() if leading else start
            if begin > start:
                spans[-1] = (spans[-1][0], start + len(text[start:begin].rstrip()))
            if any(c.isalnum() for c in text[begin:stop]):
                spans.append((begin, stop))
    return [_statement(text, start, stop) for start, stop in spans]


def _parts(sentence: Sentence) -> Iterator[tuple[int, int]]:
    """Yield the spans of a sentence that is several: It is so.[1] That too.[2]"""
    start = sentence.start
    for match in _STOPPED.finditer(sentence.text):
        if not sentence.text[match.end()].islower() and "```" not in sentence.text[: match.end()]:
            yield start, sentence.start + len(sentence.text[: match.end()].rstrip())
            start = sentence.start + match.end()
    yield start, sentence.stop


def _takes_markers(before: str, gap: str) -> bool:
    """Whether citations at the beginning of a sentence are of the one before it."""
    return "\n" not in gap and bool(_STOP.search(before)) and not any(find_markers(before))


def _statement(text: str, start: int, stop: int) -> Statement:
    whole = text[start:stop]
    markers = [*find_markers(whole)]
    behind = _BEHIND.search(whole) if markers else None
    return Statement(
        start=start,
        stop=stop,
        claim_stop=start + (behind.start() if behind else len(whole.rstrip())),
        text=whole,
        claim=_without(whole, 0, len(whole), markers),
        numbers=sorted({number for marker in markers for number in marker.numbers}),
        clauses=_clauses(whole, markers),
    )


def _clauses(whole: str, markers: Sequence[Marker]) -> list[tuple[str, list[int]]]:
    found: list[tuple[int, int, set[int]]] = []
    at = 0
    for marker in markers:
        words = whole[at : marker.start]
        if found and not any(c.isalnum() for c in words):  # [1][2], or [1], [2]
            found[-1] = (found[-1][0], marker.stop, found[-1][2] | {*marker.numbers})
        else:
            found.append((at, marker.stop, {*marker.numbers}))
        at = marker.stop
    if found:  # what follows the last marker is of its clause
        found[-1] = (found[-1][0], len(whole), found[-1][2])
    return [
        (_without(whole, start, stop, markers), sorted(numbers)) for start, stop, numbers in found
    ]


def _without(whole: str, start: int, stop: int, markers: Sequence[Marker]) -> str:
    """Return a part of a text in one line, without its citations."""
    words = ""
    for marker in markers:
        if start <= marker.start < stop:
            words += whole[start : marker.start] + " "
            start = marker.stop
    return " ".join((words + whole[start:stop]).split())


def check_unsupported(unsupported: str | None) -> Unsupported | None:
    """Return what to do with statements without support. Raises: InvalidInput."""
    if unsupported in (None, "drop", "mark", "keep"):
        return unsupported  # type: ignore[return-value]
    raise InvalidInput(f"unsupported is {unsupported!r:.100}; use drop, mark or keep")
