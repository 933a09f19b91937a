"""A question becomes hits: embed it, search, put what was found into a better order."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from typing import Literal, Unpack

from rag_pg.db import Database, plain_arguments
from rag_pg.errors import InvalidQuery, ModelUnavailable, ProviderError, SpaceChanged
from rag_pg.protocols import Embedder, Reranker
from rag_pg.search.options import SearchOptions, StatementOptions, check_names
from rag_pg.search.rerank import SECONDS, rerank_hits, reranked_limit
from rag_pg.text import clean_text, estimate_tokens
from rag_pg.types import CollectionInfo, Hit, Hits, Leg, Vectors

QUERIES_CACHED = 1024
LONGEST_QUERY = 100_000  # characters to embed; the database refuses as many bytes


class Searcher:
    """The searches of one collection. Remembers its settings,
    its embedder and the vectors of recent queries.

    Args:
        read: the collection's settings as they are now. embedder, reranker: open one, the first by
            the collection's name.
    """

    def __init__(
        self,
        database: Database,
        info: CollectionInfo,
        *,
        read: Callable[[str], CollectionInfo],
        embedder: Callable[[str], Embedder],
        reranker: Callable[[str], Reranker],
    ) -> None:
        self.database = database
        self.info = info
        self._read = read
        self._open_embedder = embedder
        self._open_reranker = reranker
        self._embedder: Embedder | None = None
        self._embed_query = lru_cache(QUERIES_CACHED)(self._embed_uncached)
        self._status: str | None = None
        self._status_at = float("-inf")

    @property
    def embedder(self) -> Embedder:
        """The active space's. Raises CollectionMismatch, ModelUnavailable."""
        if self._embedder is None:
            self._embedder = self._open_embedder(self.info.name)
        return self._embedder

    def refresh(self) -> None:
        """Read the settings again, after another embedding space was activated."""
        self.info = self._read(self.info.name)
        self._embedder = None
        self._embed_query.cache_clear()

    def search(self, query: str, **options: Unpack[SearchOptions]) -> Hits:
        """See `Collection.search`."""
        started = time.perf_counter()
        check_names(options)
        rerank = options.pop("rerank", None)
        rerank_timeout = options.pop("rerank_timeout", SECONDS)
        if not isinstance(query, str):
            raise InvalidQuery(f"the query is a text, not {query!r:.100}")
        plain_arguments(options)
        query, _ = clean_text(query)
        if not query.strip():
            raise InvalidQuery("the query is empty; ask for something")
        limit = options.setdefault("limit", 10)
        page = slice(limit)
        if rerank is not None:
            offset = options.pop("offset", 0)
            page = slice(offset, offset + limit)
            count = reranked_limit(limit, options.get("candidate_limit"), rerank_timeout)
            if not 0 <= offset < count:
                raise InvalidQuery(
                    f"offset {offset} is out of range: {count} candidates are reranked; "
                    "raise candidate_limit"
                )
            options["limit"] = options["candidate_limit"] = count
        notes: list[str] = []
        skipped: set[Leg] = set()
        hits = self._ask_database(query, options, notes, skipped)
        if rerank is not None:
            try:
                reranker = self._open_reranker(rerank) if isinstance(rerank, str) else rerank
                hits = rerank_hits(reranker, query, hits, timeout=rerank_timeout)
            except (ProviderError, ModelUnavailable) as exc:
                skipped.add("rerank")
                notes.append(f"reranking was skipped: {exc}")
        if note := self._waiting(len(hits) < options["limit"]):
            notes.append(note)
        return Hits(
            hits[page],
            notes,
            skipped,
            method=_method(query, options, skipped),
            count_tokens=estimate_tokens,
            seconds=time.perf_counter() - started,
        )

    def _ask_database(
        self, query: str, options: StatementOptions, notes: list[str], skipped: set[Leg]
    ) -> list[Hit]:
        """Search with the query's vector; anew by another model
        when another space was activated meanwhile."""
        for attempt in range(3):
            embedding, failure = self._query_vector(query, options)
            try:
                hits = self.database.search(
                    self.info.name,
                    query,
                    embedding,
                    expected_space=None if embedding is None else self.info.space_id,
                    **(options if embedding is not None else {**options, "vector_weight": 0.0}),
                )
            except SpaceChanged:
                if attempt == 2:
                    raise
                self.refresh()
                continue
            if failure is not None:
                skipped.add("vector")
                notes.append(f"vector search was skipped: {failure}")
            return hits
        raise AssertionError("the last attempt returns or raises")

    def _query_vector(
        self, query: str, options: StatementOptions
    ) -> tuple[Vectors | None, Exception | None]:
        """Embed a query: float32 (dimensions,). None where that is not wanted or not possible,
        and then why."""
        if options.get("vector_weight") == 0 or len(query) > LONGEST_QUERY:
            return None, None
        try:
            return self._embed_query(query), None
        except (ProviderError, ModelUnavailable) as exc:
            if options.get("keyword_weight") == 0:
                raise
            return None, exc

    def _embed_uncached(self, query: str) -> Vectors:
        return self.embedder.embed_query(query)

    def _waiting(self, short: bool) -> str | None:
        """That documents wait and no worker lives; asked for at most once a second, or, when a
        search found all that it wanted, once in ten."""
        now = time.monotonic()
        if now - self._status_at > (1 if short else 10):
            self._status, self._status_at = self.database.search_note(self.info.name), now
        return self._status


def _method(
    query: str, options: StatementOptions, skipped: set[Leg]
) -> Literal["hybrid", "vector", "keyword"]:
    """Return which legs searched."""
    if "vector" in skipped or options.get("vector_weight") == 0 or len(query) > LONGEST_QUERY:
        return "keyword"
    return "vector" if options.get("keyword_weight") == 0 else "hybrid"
