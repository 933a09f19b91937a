"""Statements about earlier versions of documents, logged answers, and erasure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from rag_pg.db.connection import Statements


class History(Statements):
    """What was: texts, answers; and what must be no more."""

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
