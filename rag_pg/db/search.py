"""The search statement."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from psycopg.rows import dict_row

from rag_pg.db.statements import Statements, columns_of
from rag_pg.types import SHORT, Hit, Passage, SearchCheck, TermMatch, Vectors


class Searches(Statements):
    """Hybrid search."""

    def search(
        self,
        collection: str,
        query: str | None,
        embedding: Vectors | None,
        *,
        expected_space: int | None = None,
        notes: list[str] | None = None,
        **options: Any,
    ) -> list[Hit]:
        """Search in one round trip.

        Args:
            expected_space: the space that `embedding` belongs to. notes: what the search did
                otherwise than it was asked is added. options: the arguments of rag.search, where
                limit, offset and filter are short for theirs; None leaves one to the function.
        Raises: SpaceChanged when another space is active, InvalidQuery.
        """
        given = {name: value for name, value in options.items() if value is not None}
        if "boosts" in given:
            given["boosts"] = list(given["boosts"])
        return self._hits(
            "search",
            {
                **given,
                "collection": collection,
                "query": query,
                "embedding": embedding,
                "expected_space": expected_space,
            },
            notes,
        )

    def _hits(
        self, function: str, values: Mapping[str, object], notes: list[str] | None
    ) -> list[Hit]:
        more = f", pg_catalog.current_setting('{self.schema}.notes', true) AS notes"
        rows = self._call(dict_row, function, values, columns_of(Hit), more)
        told = [row.pop("notes") for row in rows]
        if notes is not None and told and told[0]:
            notes += json.loads(told[0])
        return [Hit(**row) for row in rows]

    def search_variants(
        self,
        collection: str,
        queries: Sequence[str],
        embeddings: Sequence[Vectors] | None,
        *,
        expected_space: int | None = None,
        notes: list[str] | None = None,
        **options: Any,
    ) -> list[Hit]:
        """Search for several wordings of a question in one round trip, as `search` does for one.

        Args:
            embeddings: one for each query; None: keywords alone are searched.
        """
        given = {name: value for name, value in options.items() if value is not None}
        return self._hits(
            "search_variants",
            {
                "collection": collection,
                "query_texts": queries,
                "query_embeddings": embeddings,
                "limit": given.pop("limit", 10),
                "filter": given.pop("filter", {}),
                "options": {SHORT.get(name, name): value for name, value in given.items()},
                "expected_space": expected_space,
            },
            notes,
        )

    def expand(
        self,
        collection: str,
        chunk_ids: Sequence[int],
        *,
        before: int = 0,
        after: int = 0,
        upto: str,
    ) -> list[Passage]:
        """Return the passages around chunks; before, after: chunks of a window beside each."""
        return self.rows(
            Passage,
            "expand",
            collection=collection,
            chunk_ids=chunk_ids,
            before=before,
            after=after,
            upto=upto,
        )

    def why_not(
        self,
        collection: str,
        chunk_id: int,
        query: str | None,
        embedding: Vectors | None,
        **options: Any,
    ) -> list[SearchCheck]:
        given = {name: value for name, value in options.items() if value is not None}
        return self.rows(
            SearchCheck,
            "why_not",
            collection=collection,
            chunk_id=chunk_id,
            query=query,
            embedding=embedding,
            limit=given.pop("limit", 10),
            filter=given.pop("filter", {}),
            options={SHORT.get(name, name): value for name, value in given.items()},
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
        rows = self._select(
            """SELECT {rag}.snippet(%(collection)s, k.chunk_id, %(query)s, %(max_length)s,
                   %(start_mark)s, %(stop_mark)s,
                      %(ellipsis)s)
               FROM pg_catalog.unnest(%(ids)s::bigint[]) WITH ORDINALITY AS k (chunk_id, position)
               ORDER BY k.position""",
            collection=collection,
            query=query,
            ids=list(chunk_ids),
            max_length=max_length,
            start_mark=start_mark,
            stop_mark=stop_mark,
            ellipsis=ellipsis,
        )
        return [snippet for (snippet,) in rows]

    def match_terms(self, collection: str, query: str, texts: Sequence[str]) -> list[TermMatch]:
        """Return the terms of a question, how rare each is, and which of the texts have it."""
        return self.rows(TermMatch, "match_terms", collection=collection, query=query, texts=texts)
