"""What a question becomes: its wordings, a filter, boosts, and the account of what was done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rag_pg.errors import InvalidInput
from rag_pg.types import Message, Step, Usage


@dataclass(frozen=True, kw_only=True, slots=True)
class Variant:
    """One wording to search for. query: what keywords are searched by, and the vector too unless
    there is a `passage`: a text like those that are sought, embedded as a document is. vector: that
    the caller has already; query may be "" then: keywords are not searched by."""

    query: str
    passage: str | None = None
    vector: tuple[float, ...] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Rewritten:
    """A question after its rewrites.

    question: what is to be answered; it stands alone. variants: what is searched for, 1 to 16, the
    question first. filter: to be combined with the caller's; {} is none. boosts: as
    `Collection.search` takes them. filter_words: words of the question that the filter was read
    from, in lower case; the passages need not have them.
    notes: for people: what was found in the question, and what could not be done. steps: kind
    rewrite, one for each that did something. usage: of all calls of the model.
    """

    question: str
    variants: Sequence[Variant]
    filter: Mapping[str, Any] = field(default_factory=dict)
    boosts: Sequence[Mapping[str, Any]] = ()
    filter_words: frozenset[str] = frozenset()
    notes: Sequence[str] = ()
    steps: Sequence[Step] = ()
    usage: Usage = field(default_factory=Usage)

    def about(self, query: str) -> Rewritten:
        """Return what to search for where a part of the question is asked: the filter and the
        boosts are the same."""
        return Rewritten(
            question=query,
            variants=(Variant(query=query),),
            filter=self.filter,
            boosts=self.boosts,
        )


def read_history(
    history: Sequence[Message | Mapping[str, Any]], question: str = ""
) -> tuple[Message, ...]:
    """Return the turns of user and assistant, in order, without the question itself at the end.

    Args:
        history: each turn as a Message, or a mapping with role and content; other roles are left
            out.
    Raises: InvalidInput naming the turn at fault.
    """
    if isinstance(history, str) or not isinstance(history, Sequence):
        raise InvalidInput(
            f"history is a list of turns, not {history!r:.100}; "
            'write it like [{"role": "user", "content": "…"}]'
        )
    turns = [_turn(number, turn) for number, turn in enumerate(history, 1)]
    kept = [turn for turn in turns if turn.role in ("user", "assistant") and turn.content.strip()]
    if kept and kept[-1].role == "user" and kept[-1].content.strip() == question.strip():
        kept.pop()
    return tuple(kept)


def _turn(number: int, turn: Message | Mapping[str, Any]) -> Message:
    if isinstance(turn, Message):
        return turn
    if isinstance(turn, Mapping):
        role, content = turn.get("role"), turn.get("content")
        if role in ("user", "assistant", "system", "tool") and isinstance(content, str):
            return Message(role=role, content=content)
    raise InvalidInput(
        f"turn {number} of the history is {turn!r:.100}; "
        "it needs role (user or assistant) and content"
    )
