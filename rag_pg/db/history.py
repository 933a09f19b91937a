"""Statements about earlier versions of documents, logged answers, and erasure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from rag_pg.db.connection import Statements
from rag_pg.db.filters import plain_filter
from rag_pg.types import (
    DocumentText,
    DocumentVersion,
    Erasure,
    LineChange,
    LoggedAnswer,
    ReplayedCitation,
)


class History(Statements):
    """What was: texts, answers; and what must be no more."""

    def list_versions(self, collection: str, uri: str) -> list[DocumentVersion]:
        return self._rows(
            DocumentVersion,
            "SELECT * FROM rag.list_versions(%(collection)s, %(uri)s)",
            collection=collection,
            uri=uri,
        )

    def document_at(self, collection: str, uri: str, moment: datetime) -> DocumentText | None:
        found = self._rows(
            DocumentText,
            "SELECT * FROM rag.document_at(%(collection)s, %(uri)s, %(moment)s)",
            collection=collection,
            uri=uri,
            moment=moment,
        )
        return found[0] if found else None

    def diff_versions(
        self, collection: str, uri: str, old: int, new: int, context_lines: int | None
    ) -> list[LineChange]:
        return self._rows(
            LineChange,
            """SELECT * FROM rag.diff_versions(%(collection)s, %(uri)s, %(old)s, %(new)s,
               %(context_lines)s)""",
            collection=collection,
            uri=uri,
            old=old,
            new=new,
            context_lines=context_lines,
        )

    def log_answer(
        self, collection: str, answer_id: UUID, question: str, answer: Mapping[str, Any]
    ) -> bool:
        return bool(
            self._scalar(
                """SELECT rag.log_answer(%(collection)s, %(answer_id)s, %(question)s,
                   %(answer)s)""",
                collection=collection,
                answer_id=answer_id,
                question=question,
                answer=Jsonb(answer),
            )
        )

    def list_answers(
        self, collection: str, since: datetime | None, *, only_open: bool, limit: int
    ) -> list[LoggedAnswer]:
        return self._rows(
            LoggedAnswer,
            """SELECT * FROM rag.list_answers(%(collection)s, %(since)s, %(only_open)s,
               %(limit)s)""",
            collection=collection,
            since=since,
            only_open=only_open,
            limit=limit,
        )

    def feedback(self, answer_id: UUID, rating: int, comment: str, citation: int | None) -> int:
        return int(
            self._scalar(
                "SELECT rag.feedback(%(answer_id)s, %(rating)s, %(comment)s, %(citation)s)",
                answer_id=answer_id,
                rating=rating,
                comment=comment,
                citation=citation,
            )
        )

    def replay_answer(self, answer_id: UUID) -> list[ReplayedCitation]:
        return self._rows(
            ReplayedCitation,
            "SELECT * FROM rag.replay_answer(%(answer_id)s)",
            answer_id=answer_id,
        )

    def add_logged_queries(self, set_name: str, collection: str, since: datetime | None) -> int:
        return int(
            self._scalar(
                "SELECT rag.add_logged_queries(%(set_name)s, %(collection)s, %(since)s)",
                set_name=set_name,
                collection=collection,
                since=since,
            )
        )

    def erase(
        self, collection: str, uri: str | None, metadata_filter: Mapping[str, Any] | None
    ) -> Erasure:
        (receipt,) = self._rows(
            Erasure,
            """SELECT erasure_id, collection, document_hashes, removed, erased_by, erased_at
               FROM rag.erase(%(collection)s, %(uri)s, %(metadata_filter)s)""",
            collection=collection,
            uri=uri,
            metadata_filter=None
            if metadata_filter is None
            else Jsonb(plain_filter(metadata_filter)),
        )
        return receipt
