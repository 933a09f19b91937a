"""The search statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pgvector.psycopg.halfvec import HalfVector
from psycopg.types.json import Jsonb

from rag_pg.db.connection import Connected
from rag_pg.db.filters import plain_filter
from rag_pg.errors import DatabaseUnavailable
from rag_pg.types import Hit, Vectors


class Searches(Connected):
    """Hybrid search."""

    def search(
        self, collection: str, query: str | None, embedding: Vectors | None, **options: Any
    ) -> list[Hit]:
        """Search in one round trip; asked again once when pooled connections turn out to be dead."""
        try:
            return self._search(collection, query, embedding, **options)
        except DatabaseUnavailable:
            self._pool.check()
            return self._search(collection, query, embedding, **options)

    def _search(
        self,
        collection: str,
        query: str | None,
        embedding: Vectors | None,
        *,
        limit: int,
        metadata_filter: Mapping[str, Any],
        vector_weight: float | None = None,
        keyword_weight: float | None = None,
        fusion: str | None = None,
        rrf_k: int | None = None,
        candidate_limit: int | None = None,
        diversity: float | None = None,
        per_document: int | None = None,
        boosts: Sequence[Mapping[str, Any]] | None = None,
        duplicates: bool | None = None,
        offset: int = 0,
        space_id: int | None = None,
    ) -> list[Hit]:
        return self._rows(
            Hit,
            """SELECT * FROM rag.search(
                   CASE WHEN %(space_id)s::integer IS NULL THEN %(collection)s
                        ELSE rag.assert_active_space(%(collection)s, %(space_id)s) END, %(query)s, %(embedding)s, result_limit => %(limit)s,
               metadata_filter => %(filter)s, vector_weight => %(vector_weight)s,
               keyword_weight => %(keyword_weight)s, fusion => %(fusion)s, rrf_k => %(rrf_k)s,
               candidate_limit => %(candidate_limit)s, diversity => %(diversity)s,
               per_document => %(per_document)s, boosts => %(boosts)s, duplicates => %(duplicates)s,
               result_offset => %(offset)s)""",
            collection=collection,
            query=query,
            embedding=None if embedding is None else HalfVector(embedding),
            limit=limit,
            filter=Jsonb(plain_filter(metadata_filter)),
            vector_weight=vector_weight,
            keyword_weight=keyword_weight,
            fusion=fusion,
            rrf_k=rrf_k,
            candidate_limit=candidate_limit,
            diversity=diversity,
            per_document=per_document,
            boosts=None if boosts is None else Jsonb(list(boosts)),
            duplicates=duplicates,
            offset=offset,
            space_id=space_id,
        )

    def snippets(
        self,
        collection: str,
        query: str,
        chunk_ids: Sequence[int],
        *,
        max_length: int,
        start_mark: str,
        stop_mark: str,
        ellipsis: str,
    ) -> list[str | None]:
        rows = self._dicts(
            """SELECT rag.snippet(%(collection)s, k.chunk_id, %(query)s, %(max_length)s, %(start_mark)s, %(stop_mark)s,
                      %(ellipsis)s) AS snippet
               FROM unnest(%(ids)s::bigint[]) WITH ORDINALITY AS k (chunk_id, place) ORDER BY k.place""",
            collection=collection,
            query=query,
            ids=list(chunk_ids),
            max_length=max_length,
            start_mark=start_mark,
            stop_mark=stop_mark,
            ellipsis=ellipsis,
        )
        return [row["snippet"] for row in rows]
