"""An answer's text -> its statements, the sources that each cites, and the text without some."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from rag_pg.errors import InvalidInput
from rag_pg.text import split_sentences

Unsupported = Literal["drop", "mark", "keep"]
MARK = " [unsupported]"

_MARKERS = re.compile(r"\[\d{1,6}(?:, \d{1,6})*\]")
_ALONE = re.compile(r"\W*(?:\[[\d, ]+\]\W*)+")
_BEHIND = re.compile(r"(?:\s*\[\d{1,6}(?:, \d{1,6})*\])+[\s.。!?]*\Z")


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """A sentence of an answer with the citations behind it: text == answer[start:stop].

    numbers: of the sources that it cites. claim_stop: where it stops without the citations at its
    end. claim: its words without any citation.
    """

    start: int
    stop: int
    claim_stop: int
    text: str
    claim: str
    numbers: Sequence[int]


def read_statements(text: str) -> list[Statement]:
    """Return the statements of an answer in order; code is none."""
    spans: list[tuple[int, int]] = []
    for sentence in split_sentences(text):
        if spans and _ALONE.fullmatch(sentence.text):
            spans[-1] = (spans[-1][0], sentence.stop)
        elif sentence.kind != "code" and any(c.isalnum() for c in sentence.text):
            spans.append((sentence.start, sentence.stop))
    return [_statement(text, start, stop) for start, stop in spans]


def _statement(text: str, start: int, stop: int) -> Statement:
    whole = text[start:stop]
    behind = _BEHIND.search(whole)
    numbers = [int(n) for marker in _MARKERS.findall(whole) for n in re.findall(r"\d+", marker)]
    return Statement(
        start=start,
        stop=stop,
        claim_stop=start + (behind.start() if behind else len(whole.rstrip())),
        text=whole,
        claim=" ".join(_MARKERS.sub(" ", whole).split()),
        numbers=sorted(set(numbers)),
    )


def cited_numbers(text: str) -> set[int]:
    """Return the numbers of the sources that a text cites."""
    return {int(n) for marker in _MARKERS.findall(text) for n in re.findall(r"\d+", marker)}


def check_unsupported(unsupported: str | None) -> Unsupported | None:
    """Return what to do with statements without support. Raises: InvalidInput."""
    if unsupported in (None, "drop", "mark", "keep"):
        return unsupported  # type: ignore[return-value]
    raise InvalidInput(f"unsupported is {unsupported!r:.100}; use drop, mark or keep")


def without_support(
    text: str, statements: Sequence[Statement], wrong: Collection[int], action: Unsupported
) -> str:
    """Return the text with the statements at the positions `wrong` taken out, or marked.

    action: keep leaves it as it is.
    """
    if action == "keep" or not wrong:
        return text
    shown, end = "", 0
    for position, statement in enumerate(statements):
        kept = text[statement.start : statement.stop]
        if position in wrong:
            kept = kept + MARK if action == "mark" else ""
        shown += text[end : statement.start] + kept
        end = statement.stop
    shown += text[end:]
    if action == "mark":
        return shown
    shown = re.sub(r"(?m)^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]*(?:\n|\Z)", "", shown)  # an empty item
    shown = re.sub(r"[ \t]+(?=\n)", "", shown)
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"(?<=\S) {2,}", " ", shown)).strip()
