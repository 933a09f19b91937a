"""Statements about live queries: sampled, replayed, and what searches find of the nearest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rag_pg.db.connection import Statements
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
        return self.value(
            bool,
            "log_query",
            collection=collection,
            query=query,
            embedding=embedding,
            limit=limit,
            filter=filter,
            options=options,
            expected_space=expected_space,
            sampled=True,
            seconds=seconds,
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
        return self.rows(
            ReplayedQuery,
            "replay_queries",
            collection=collection,
            options=options,
            candidate=candidate,
            k=k,
            sample=sample,
            query_ids=query_ids,
            embeddings=embeddings,
        )

    def measure_recall(
        self, collection: str, *, sample: int, k: int, target: float | None, seconds: float
    ) -> RecallMeasure:
        ((number,),) = self.tuples(
            ("measure_id",),
            "measure_recall",
            collection=collection,
            sample=sample,
            k=k,
            target=target,
            seconds=seconds,
        )
        (measure,) = [m for m in self.list_recall(collection, 100) if m.measure_id == number]
        return measure

    def list_recall(self, collection: str | None, limit: int) -> list[RecallMeasure]:
        return self.rows(RecallMeasure, "list_recall", collection=collection, limit=limit)
