"""An answer's text -> its statements, and the sources that each cites."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag_pg.answer.reading.markers import Marker, find_markers
from rag_pg.text import Sentence, split_sentences

_MARKERS = r"(?:\s*\[\d{1,6}(?:, \d{1,6})*\])+"
_LEADING = re.compile(rf"\W*{_MARKERS}[*_\"'”’»)]*\s*(?=\S|\Z)")
_BEHIND = re.compile(rf"{_MARKERS}[*_\s.。!?]*\Z")
_STOPPED = re.compile(rf"[.!?…。！？][\"'”’»)*_]*{_MARKERS}\s+(?=[^\s\[])")  # It is so.[1] That
_FENCE = re.compile(r"(?m)^[ \t]*(?:`{3,}[^`\n]*|~{3,}.*)$")
_CODE = re.compile(r"\n[ \t]*(?:`{3,}|~{3,})")
_HEAD = re.compile(r"[ \t]*\n[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\||\n|\Z)")  # the line under it
_BOLD = re.compile(r"(\*\*|__)(?:(?!\1)[^\n])*(?<![.!?。])\1")
_STOP = re.compile(r"[.!?…。！？][\"'”’»)\]*_`]*\Z")


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """A sentence of an answer with the citations behind it: text == answer[start:stop].

    numbers: of the sources that it cites; markers: where in its text. claim_stop: where it stops
    without the citations at its end. claim: its words without any citation, and without the code
    that follows them. clauses: its parts, each with the numbers that stand behind it; one, where it
    cites at one place alone.
    is_item: of a list or a table. is_label: what stands above others: a line in bold, the head of a
    table. leads_in: it ends in a colon, and more follows.
    """

    start: int
    stop: int
    claim_stop: int
    text: str
    claim: str
    numbers: Sequence[int]
    clauses: Sequence[tuple[str, Sequence[int]]]
    markers: Sequence[Marker] = ()
    is_item: bool = False
    is_label: bool = False
    leads_in: bool = False


def read_statements(text: str) -> list[Statement]:
    """Return the statements of an answer in order; code is none, and headings are not.

    A citation behind a full stop is of the sentence before it. The statements of a beginning are
    those of the whole, but for its last one.
    """
    spans: list[tuple[int, int, Sentence]] = []
    is_open = len(_FENCE.findall(text)) % 2  # a fence that nobody closes opens code
    for sentence in split_sentences(f"{text}\n```" if is_open else text):
        if sentence.kind == "code":
            continue
        for start, stop in _parts(sentence):
            begin = start
            if spans and _takes_markers(text[slice(*spans[-1][:2])], text[spans[-1][1] : start]):
                leading = _LEADING.match(text, start, stop)
                begin = leading.end() if leading else start
            if begin > start:
                spans[-1] = (spans[-1][0], start + len(text[start:begin].rstrip()), spans[-1][2])
            if any(c.isalnum() for c in text[begin:stop]):
                spans.append((begin, stop, sentence))
    return [_statement(text, start, stop, sentence) for start, stop, sentence in spans]


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


def _statement(text: str, start: int, stop: int, sentence: Sentence) -> Statement:
    whole = text[start:stop]
    markers = [*find_markers(whole)]
    behind = _BEHIND.search(whole) if markers else None
    code = _CODE.search(whole)
    prose = code.start() if code else len(whole)
    claim = _without(whole, 0, prose, markers)
    return Statement(
        start=start,
        stop=stop,
        claim_stop=start + (behind.start() if behind else len(whole.rstrip())),
        text=whole,
        claim=claim,
        numbers=sorted({number for marker in markers for number in marker.numbers}),
        clauses=_clauses(whole, prose, markers),
        markers=markers,
        is_item=sentence.kind in ("item", "row"),
        is_label=bool(_HEAD.match(text, stop) if whole.startswith("|") else _BOLD.fullmatch(whole)),
        leads_in=claim.rstrip("*_ ").endswith((":", "：")) and bool(code or text[stop:].strip()),
    )


def _clauses(whole: str, prose: int, markers: Sequence[Marker]) -> list[tuple[str, list[int]]]:
    found: list[tuple[int, int, set[int]]] = []
    at = 0
    for marker in markers:
        words = whole[at : marker.start] if at < prose else ""
        if found and not any(c.isalnum() for c in words):  # [1][2], or [1], [2]
            found[-1] = (found[-1][0], marker.stop, found[-1][2] | {*marker.numbers})
        else:
            found.append((at, marker.stop, {*marker.numbers}))
        at = marker.stop
    if found:  # what follows the last marker is of its clause
        found[-1] = (found[-1][0], prose, found[-1][2])
    return [
        (_without(whole, start, min(stop, prose), markers), sorted(numbers))
        for start, stop, numbers in found
    ]


def _without(whole: str, start: int, stop: int, markers: Sequence[Marker]) -> str:
    """Return a part of a text in one line, without its citations."""
    words = ""
    for marker in markers:
        if start <= marker.start < stop:
            words += whole[start : marker.start] + " "
            start = marker.stop
    return " ".join((words + whole[start:stop]).split())
