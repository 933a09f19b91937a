"""Statements about logged answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from rag_pg.db.statements import Statements


class History(Statements):
    """Answers: logged."""

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
