"""What was: earlier versions of documents and logged answers of a collection; and erasure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from rag_pg.client.opened import OpenCollection
from rag_pg.errors import InvalidInput
from rag_pg.types import (
    DocumentText,
    DocumentVersion,
    Erasure,
    LineChange,
    LoggedAnswer,
    ReplayedCitation,
)


def _id(answer_id: str | UUID) -> UUID:
    try:
        return UUID(str(answer_id))
    except ValueError as exc:
        raise InvalidInput(
            f"{str(answer_id)!r} is no id of an answer; pass Answer.trace_id or"
            " LoggedAnswer.answer_id (rag-pg answers lists them)"
        ) from exc


class History(OpenCollection):
    """The methods of `Collection` for earlier versions, logged answers and erasure."""

    def versions(self, uri: str) -> list[DocumentVersion]:
        """Return the versions of a document that are there, the newest first; earlier ones are kept
        where `alter(keep_versions=…)` says so."""
        return self.rag.database.list_versions(self.name, uri)

    def document_at(self, uri: str, moment: datetime) -> DocumentText | None:
        """Return what a document said at a moment; None where there was none, or it is not kept."""
        return self.rag.database.document_at(self.name, uri, moment)

    def diff_versions(
        self, uri: str, old: int, new: int, *, context_lines: int | None = 3
    ) -> list[LineChange]:
        """Return how two versions of a document differ, line by line.

        Args:
            context_lines: equal lines beside each change; None: all.
        Raises: NotFound (a version that is not kept).
        """
        return self.rag.database.diff_versions(self.name, uri, old, new, context_lines)

    def answers(
        self, since: datetime | None = None, *, only_open: bool = False, limit: int = 100
    ) -> list[LoggedAnswer]:
        """Return logged answers, the latest first; they are kept where `alter(keep_answers=…)` says
        so.

        Args:
            only_open: those that nothing was found for, or that somebody disliked.
            limit: 1 to 1000.
        """
        return self.rag.database.list_answers(self.name, since, only_open=only_open, limit=limit)

    def feedback(
        self, answer_id: str | UUID, rating: int, *, comment: str = "", citation: int | None = None
    ) -> int:
        """Note what somebody says of a logged answer; returns the number of the note.

        Args:
            answer_id: `Answer.trace_id`. rating: 1 (thumb up) or -1 (thumb down).
            citation: the number of one that is meant; None: the whole answer.
        Raises: NotFound (no such answer is logged), InvalidInput.
        """
        return self.rag.database.feedback(_id(answer_id), rating, comment, citation)

    def replay_answer(self, answer_id: str | UUID) -> list[ReplayedCitation]:
        """Return each citation of a logged answer against what its source said then, and says now.

        Raises: NotFound (no such answer is logged), InvalidInput (no id).
        """
        return self.rag.database.replay_answer(_id(answer_id))

    def add_logged_queries(self, set_name: str, since: datetime | None = None) -> int:
        """Put logged questions that found nothing, or whose answers were liked or disliked, into an
        evaluation set. Returns how many."""
        return self.rag.database.add_logged_queries(set_name, self.name, since)

    def erase(self, uri: str | None = None, *, filter: Mapping[str, Any] | None = None) -> Erasure:
        """Remove documents from everything that rag_pg keeps, and return the receipt.

        Args:
            uri: of one document, which may be deleted already. filter: of all whose metadata pass.
        Raises: InvalidInput (neither or both). It takes the owner of the schema. What the text was
            read from is not touched; rows stay on disk until VACUUM, and in backups.
        """
        return self.rag.database.erase(self.name, uri, filter)
