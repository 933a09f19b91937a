"""The text of an answer, made fit to show: what a whole answer and a stream of it share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from rag_pg.answer.attribution.judge import Grounded, Judge
from rag_pg.answer.edit import EditedText, without_support
from rag_pg.answer.foreign import without_foreign
from rag_pg.answer.question import Unsupported
from rag_pg.answer.reading.addresses import NOTHING, Known
from rag_pg.answer.reading.markers import without_false_markers
from rag_pg.answer.reading.statements import read_statements

_ROUNDS = 4  # what is taken out may leave another one


@dataclass(frozen=True, kw_only=True, slots=True)
class Fit:
    """A text that is fit to show: `edited.text`. grounded: its statements; wrong: the positions of
    those that are unsupported; alone: by the position of a statement that is supported, the numbers
    of what it cites and does not support it."""

    edited: EditedText
    grounded: Sequence[Grounded]
    wrong: Collection[int]
    alone: Mapping[int, Sequence[int]]

    @property
    def claims(self) -> list[int]:
        """The positions of the statements that say something of the documents."""
        return [position for position, one in enumerate(self.grounded) if one.is_claim]


def clean_text(
    text: str, numbers: Collection[int], known: Known = NOTHING, told: Counter[str] | None = None
) -> str:
    """Return what a model wrote without what nobody may be shown, whatever its statements say.

    Whatever is taken out of a model's text for everybody (markers that are none, foreign images and
    links) is taken out here, and nowhere else: the answer is cleaned by it as a whole, and a stream
    by it again for each longer beginning that ends before a statement which is still being written.
    So it is a function of the text alone, and of a beginning it keeps what it keeps of the whole.

    Args:
        numbers: of the sources that the text may cite. known: what the sources say, whose links
            stay. told: counts what was taken out, by its kind.
    """
    shown, taken = text, Counter[str]()
    for _ in range(_ROUNDS):
        before = shown
        shown = without_false_markers(shown, numbers, known, taken)
        shown, removed = without_foreign(shown, known)
        taken += removed
        if shown == before:
            break
    if told is not None:
        told.update(taken)
    return shown.strip() if shown != text else text


def removal_note(told: Counter[str]) -> str:
    """Return the note on what was taken out of a text, "" for nothing."""
    counted = [f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in told.items() if count]
    if not counted:
        return ""
    return f"taken out of the answer, as no source has it: {', '.join(counted)}"


def ground_text(text: str, judge: Judge, *, is_written: bool = True) -> list[Grounded]:
    """Return the statements of a text that was cleaned, each with what its sources say of it.

    is_written: False leaves out the last one, of which only the beginning is there."""
    statements = read_statements(text)
    return [judge.ground(statement) for statement in statements[: None if is_written else -1]]


def fit_text(
    text: str,
    grounded: Sequence[Grounded],
    unsupported: Unsupported,
    overruled: Mapping[int, bool] | None = None,
) -> Fit:
    """Return a text that was cleaned with its statements treated as the caller wants.

    Args:
        overruled: by the position of a statement, whether another found it supported.
    """
    told = overruled or {}
    wrong = {
        position
        for position, one in enumerate(grounded)
        if one.is_claim and not told.get(position, one.is_supported is not False)
    }
    alone = {
        position: numbers
        for position, one in enumerate(grounded)
        if position not in wrong
        and True in one.supports.values()
        and (numbers := [n for n, verdict in one.supports.items() if verdict is False])
    }
    statements = [one.statement for one in grounded]
    gone = {*wrong, *_lead_ins(grounded, wrong)} if unsupported == "drop" else wrong
    edited = without_support(text, statements, gone, unsupported, alone)
    return Fit(edited=edited, grounded=grounded, wrong=wrong, alone=alone)


def _lead_ins(grounded: Sequence[Grounded], wrong: Collection[int]) -> set[int]:
    """Return the positions of what leads in to lists of which nothing is left."""
    found: set[int] = set()
    for position, one in enumerate(grounded):
        if one.is_claim or not one.statement.leads_in:
            continue
        stop = position + 1
        while stop < len(grounded) and grounded[stop].statement.is_item:
            stop += 1
        if stop > position + 1 and all(n in wrong for n in range(position + 1, stop)):
            found.add(position)
    return found
