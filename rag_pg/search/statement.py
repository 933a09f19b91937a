"""A query -> hits, by the one statement that searches."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from rag_pg.cache import Entries
from rag_pg.db import Database
from rag_pg.deadline import half_of_the_time
from rag_pg.errors import ModelUnavailable, ProviderError, RagError, SpaceChanged
from rag_pg.search.active_space import ActiveSpace
from rag_pg.search.query import Found, Query
from rag_pg.types import Hit, Method, Vectors

ATTEMPTS = 3  # where another space is activated meanwhile


def find_by_statement(
    query: Query, database: Database, space: ActiveSpace, entries: Entries | None
) -> Found:
    """Return what rag.search finds for the variants of a query, fused by reciprocal rank where
    there are several; anew by another model when another space was activated meanwhile.

    Without an embedder that answers keywords alone do, which notes and skipped say.
    """
    started = time.perf_counter()
    for attempt in range(1, ATTEMPTS + 1):
        began = time.perf_counter()
        embeddings, failure = _embed(query, database, space, entries)
        embedded = time.perf_counter()
        notes: list[str] = []
        try:
            hits = _search(query, embeddings, database, space, notes)
        except SpaceChanged:
            if attempt == ATTEMPTS:
                raise
            space.refresh()
            continue
        ended = time.perf_counter()
        found = Found(
            hits=hits,
            notes=notes,
            method=_method(query),
            embeddings=embeddings,
            space_id=space.info.space_id,
            seconds=ended - started,
            parts={"embed": embedded - began, "statement": ended - embedded},
            is_short=len(hits) < query.statement["limit"],
        )
        if failure is not None:
            found.method = "keyword"
            found.skipped.add("vector")
            found.notes.append(f"vector search was skipped: {getattr(failure, 'told', failure)}")
        return found
    raise AssertionError("the last attempt returns or raises")


def _embed(
    query: Query, database: Database, space: ActiveSpace, entries: Entries | None
) -> tuple[list[Vectors] | None, Exception | None]:
    """Embed the variants: float32 (dimensions,) each. None where that is not wanted or not
    possible, and then why."""
    if not query.wants_vectors:
        return None, None
    if query.has_vector:
        return [np.array(v.vector, np.float32) for v in query.variants], None
    try:
        with half_of_the_time():
            return space.embed(query.variants, entries), None
    except (ProviderError, ModelUnavailable) as exc:
        if query.statement.get("keyword_weight") == 0:
            _check(query, database, space)
            raise
        return None, exc
    except RagError:
        _check(query, database, space)
        raise


def _check(query: Query, database: Database, space: ActiveSpace) -> None:
    """Raise what is wrong with the arguments, which is told before what is wrong with a model."""
    given: dict[str, Any] = {**query.statement, "vector_weight": 0.0, "keyword_weight": 1.0}
    database.search(space.info.name, query.variants[0].query, None, **given)


def _search(
    query: Query,
    embeddings: list[Vectors] | None,
    database: Database,
    space: ActiveSpace,
    notes: list[str],
) -> list[Hit]:
    given: dict[str, Any] = {**query.statement, "notes": notes}
    if embeddings is None:
        given["vector_weight"] = 0.0
    elif not query.has_vector:  # which is no business of the model that the space has
        given["expected_space"] = space.info.space_id
    name, queries = space.info.name, [variant.query for variant in query.variants]
    if len(queries) == 1:
        embedding = None if embeddings is None else embeddings[0]
        return database.search(name, queries[0] or None, embedding, **given)
    return database.search_variants(name, queries, embeddings, **given)


def _method(query: Query) -> Method:
    """Which legs were asked for."""
    if not query.wants_vectors:
        return "keyword"
    words = query.variants[0].query and query.statement.get("keyword_weight") != 0
    return "hybrid" if words else "vector"
