"""The logged answers of a collection."""

from __future__ import annotations

import builtins
from datetime import datetime
from uuid import UUID

from rag_pg.client.opened import OfCollection
from rag_pg.errors import InvalidInput
from rag_pg.types import LoggedAnswer, ReplayedCitation


class Answers(OfCollection):
    """What was answered; logged where `Collection.alter(keep_answers=…)` says so."""

    def list(
        self, since: datetime | None = None, *, only_open: bool = False, limit: int = 100
    ) -> list[LoggedAnswer]:
        """Return logged answers, the latest first; they are kept where `alter(keep_answers=…)` says
        so.

        Args:
            only_open: those that nothing was found for, or that somebody disliked.
            limit: 1 to 1000.
        """
        return self._database.rows(
            LoggedAnswer,
            "list_answers",
            collection=self._name,
            since=since,
            only_open=only_open,
            limit=limit,
        )

    def feedback(
        self, answer_id: str | UUID, rating: int, *, comment: str = "", citation: int | None = None
    ) -> int:
        """Note what somebody says of a logged answer; returns the number of the note.

        Args:
            answer_id: `Answer.trace_id`. rating: 1 (thumb up) or -1 (thumb down).
            citation: the number of one that is meant; None: the whole answer.
        Raises: NotFound (no such answer is logged), InvalidInput.
        """
        return self._database.value(
            int,
            "feedback",
            answer_id=_id(answer_id),
            rating=rating,
            comment=comment,
            citation=citation,
        )

    def replay(self, answer_id: str | UUID) -> builtins.list[ReplayedCitation]:
        """Return each citation of a logged answer against what its source said then, and says now.

        Raises: NotFound (no such answer is logged), InvalidInput (no id).
        """
        return self._database.rows(ReplayedCitation, "replay_answer", answer_id=_id(answer_id))


def _id(answer_id: str | UUID) -> UUID:
    try:
        return UUID(str(answer_id))
    except ValueError as exc:
        raise InvalidInput(
            f"{str(answer_id)!r} is no id of an answer; pass Answer.trace_id or"
            " LoggedAnswer.answer_id (rag.list_answers lists them)"
        ) from exc
