"""The search statement."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, LiteralString

from pgvector.psycopg.halfvec import HalfVector
from psycopg import sql
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from rag_pg.db.connection import Statements
from rag_pg.db.filters import plain_filter
from rag_pg.errors import DatabaseUnavailable
from rag_pg.types import Hit, Passage, TermMatch, Vectors

SHORT = {"limit": "result_limit", "offset": "result_offset", "filter": "metadata_filter"}


@lru_cache
def _statement(*options: str) -> sql.Composed:
    """The call of rag.search with these options as named arguments."""
    named = [
        sql.SQL(", {} => {}").format(sql.Identifier(SHORT.get(name, name)), sql.Placeholder(name))
        for name in options
    ]
    return sql.SQL(
        """SELECT h.*, pg_catalog.current_setting('rag.notes', true) AS notes
           FROM rag.search(%(collection)s, %(query)s, %(embedding)s,
               expected_space => %(expected_space)s{}) AS h"""
    ).format(sql.Composed(named))


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
        """Search in one round trip; asked again once when pooled connections turn out to be dead.

        Args:
            expected_space: the space that `embedding` belongs to. notes: what the search did
                otherwise than it was asked is added. options: the arguments of rag.search, where
                limit, offset and filter are short for theirs; None leaves one to the function.
        Raises: SpaceChanged when another space is active, InvalidQuery.
        """
        given = {name: value for name, value in options.items() if value is not None}
        if "filter" in given:
            given["filter"] = Jsonb(plain_filter(given["filter"]))
        if "boosts" in given:
            given["boosts"] = Jsonb(list(given["boosts"]))
        values = {
            **given,
            "collection": collection,
            "query": query,
            "embedding": None if embedding is None else HalfVector(embedding),
            "expected_space": expected_space,
        }
        return self._hits(_statement(*given), values, notes)

    def _hits(
        self,
        statement: LiteralString | sql.Composed,
        values: Mapping[str, object],
        notes: list[str] | None,
    ) -> list[Hit]:
        try:
            rows = self._fetch(dict_row, statement, values)
        except DatabaseUnavailable:
            self._pool.check()
            rows = self._fetch(dict_row, statement, values)
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
        values = {
            "collection": collection,
            "queries": list(queries),
            "embeddings": None if embeddings is None else list(map(HalfVector, embeddings)),
            "limit": given.pop("limit", 10),
            "filter": Jsonb(plain_filter(given.pop("filter", {}))),
            "options": Jsonb({SHORT.get(name, name): value for name, value in given.items()}),
            "expected_space": expected_space,
        }
        statement: LiteralString = """
            SELECT h.*, pg_catalog.current_setting('rag.notes', true) AS notes
            FROM rag.search_variants(%(collection)s, %(queries)s, %(embeddings)s, %(limit)s,
                %(filter)s, %(options)s, %(expected_space)s) AS h"""
        return self._hits(statement, values, notes)

    def expand(
        self, collection: str, chunk_ids: Sequence[int], *, neighbours: int = 0, upto: str
    ) -> list[Passage]:
        """Return the passages around chunks; neighbours: of a window, before and after each."""
        return self._rows(
            Passage,
            """SELECT * FROM rag.expand(%(collection)s, %(ids)s::bigint[], %(neighbours)s::integer,
                   %(neighbours)s::integer, %(upto)s)""",
            collection=collection,
            ids=list(chunk_ids),
            neighbours=neighbours,
            upto=upto,
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
            """SELECT rag.snippet(%(collection)s, k.chunk_id, %(query)s, %(max_length)s,
                   %(start_mark)s, %(stop_mark)s,
                      %(ellipsis)s) AS snippet
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
        return [row["snippet"] for row in rows]

    def match_terms(self, collection: str, query: str, texts: Sequence[str]) -> list[TermMatch]:
        """Return the terms of a question, how rare each is, and which of the texts have it."""
        return self._rows(
            TermMatch,
            """SELECT * FROM rag.match_terms(
                   %(collection)s, %(query)s, %(texts)s::pg_catalog.text[])""",
            collection=collection,
            query=query,
            texts=list(texts),
        )

    def read_around(self, collection: str, chunk_id: int, *, before: int, after: int) -> str | None:
        """Return a chunk with its neighbours, as in the document; None: it is gone."""
        rows = self._dicts(
            """SELECT e.content FROM rag.expand(
                   %(collection)s, ARRAY[%(chunk_id)s::bigint], %(before)s, %(after)s) AS e""",
            collection=collection,
            chunk_id=chunk_id,
            before=before,
            after=after,
        )
        return rows[0]["content"] if rows else None
