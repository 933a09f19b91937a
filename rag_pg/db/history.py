"""Statements about earlier versions of documents, logged answers, and erasure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from rag_pg.db.connection import Statements
from rag_pg.types import (
    DocumentText,
    DocumentVersion,
    Erasure,
    ReplayedCitation,
)


class History(Statements):
    """What was: texts, answers; and what must be no more."""

    def list_versions(self, collection: str, uri: str) -> list[DocumentVersion]:
        return self.rows(DocumentVersion, "list_versions", collection=collection, uri=uri)

    def document_at(self, collection: str, uri: str, moment: datetime) -> DocumentText | None:
        return self.row(DocumentText, "document_at", collection=collection, uri=uri, moment=moment)

    def log_answer(
        self, collection: str, answer_id: UUID, question: str, answer: Mapping[str, Any]
    ) -> bool:
        return self.value(
            bool,
            "log_answer",
            collection=collection,
            answer_id=answer_id,
            question=question,
            answer=answer,
        )

    def feedback(self, answer_id: UUID, rating: int, comment: str, citation: int | None) -> int:
        return self.value(
            int, "feedback", answer_id=answer_id, rating=rating, comment=comment, citation=citation
        )

    def replay_answer(self, answer_id: UUID) -> list[ReplayedCitation]:
        return self.rows(ReplayedCitation, "replay_answer", answer_id=answer_id)

    def add_logged_queries(self, set_name: str, collection: str, since: datetime | None) -> int:
        return self.value(
            int, "add_logged_queries", set_name=set_name, collection=collection, since=since
        )

    def erase(
        self, collection: str, uri: str | None, metadata_filter: Mapping[str, Any] | None
    ) -> Erasure:
        return self.only(Erasure, "erase", collection=collection, uri=uri, filter=metadata_filter)
