"""Statements about live queries: sampled, replayed, and what searches find of the nearest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pgvector.psycopg.halfvec import HalfVector
from psycopg.types.json import Jsonb

from rag_pg.db.connection import Statements
from rag_pg.db.filters import plain_filter
from rag_pg.types import RecallMeasure, ReplayedQuery, Vectors


class LiveQueries(Statements):
    """The sample of live queries, and what is measured with it."""

    def log_query(
        self,
        collection: str,
        query: str | None,
        embedding: Vectors | None,
        *,
        limit: int,
        filter: Mapping[str, Any],
        options: Mapping[str, Any],
        expected_space: int | None,
        seconds: float,
    ) -> bool:
        """Keep a search that was drawn already; see rag.log_query."""
        return bool(
            self._scalar(
                """SELECT rag.log_query(%(collection)s, %(query)s, %(embedding)s, %(limit)s,
                       %(filter)s, %(options)s, %(expected_space)s, true, %(seconds)s)""",
                collection=collection,
                query=query,
                embedding=None if embedding is None else HalfVector(embedding),
                limit=limit,
                filter=Jsonb(plain_filter(filter)),
                options=Jsonb(options),
                expected_space=expected_space,
                seconds=seconds,
            )
        )

    def replay_queries(
        self,
        collection: str,
        options: Mapping[str, Any],
        candidate: str | None,
        *,
        k: int,
        sample: int,
        query_ids: Sequence[int] | None = None,
        embeddings: Sequence[Vectors] | None = None,
    ) -> list[ReplayedQuery]:
        return self._rows(
            ReplayedQuery,
            """SELECT * FROM rag.replay_queries(%(collection)s, %(options)s, %(candidate)s, %(k)s,
                   %(sample)s, %(query_ids)s::pg_catalog.int8[], %(embeddings)s)""",
            collection=collection,
            options=Jsonb(options),
            candidate=candidate,
            k=k,
            sample=sample,
            query_ids=None if query_ids is None else list(query_ids),
            embeddings=None if embeddings is None else list(map(HalfVector, embeddings)),
        )

    def measure_recall(
        self, collection: str, *, sample: int, k: int, target: float | None, seconds: float
    ) -> RecallMeasure:
        number = self._scalar(
            """SELECT m.measure_id FROM rag.measure_recall(%(collection)s, %(sample)s, %(k)s,
                   %(target)s, %(seconds)s) AS m""",
            collection=collection,
            sample=sample,
            k=k,
            target=target,
            seconds=seconds,
        )
        (measure,) = [m for m in self.list_recall(collection, 100) if m.measure_id == number]
        return measure

    def list_recall(self, collection: str | None, limit: int) -> list[RecallMeasure]:
        return self._rows(
            RecallMeasure,
            "SELECT * FROM rag.list_recall(%(collection)s, %(limit)s)",
            collection=collection,
            limit=limit,
        )
