"""Hits that are kept: of a search that depends on nothing but its arguments and the collection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass

from rag_pg.cache import Entries, digest, pack, unpack
from rag_pg.errors import ModelUnavailable
from rag_pg.search.active_space import ActiveSpace
from rag_pg.search.query import Found, Query
from rag_pg.types import Hit, Method


@dataclass(frozen=True, kw_only=True, slots=True)
class _Kept:
    """What is kept of what was found."""

    hits: Sequence[Hit]
    method: Method
    notes: Sequence[str]


class SearchEntry:
    """What the cache has of a search: `found`, None where it has nothing; else it keeps it.

    Hits are given again while the collection and the caller's rights are the same. refusal: why
    nothing is cached, "" where it may be.
    """

    def __init__(self, key: bytes, entries: Entries, collection: str, limit: int) -> None:
        self._key, self._entries, self._collection = key, entries, collection
        self._looked = entries.look("search", [key], collection)
        self.refusal = self._looked.refusal
        self.found: Found | None = None
        kept = unpack(_Kept, self._looked.values[0])
        if kept is not None:
            entries.uses.add("search", self._looked.collection_key, hits={key}, misses=0)
            self.found = Found(
                hits=list(kept.hits),
                method=kept.method,
                notes=list(kept.notes),
                is_short=len(kept.hits) < limit,
                is_cached=True,
            )

    def keep(self, found: Found) -> None:
        """Keep what was found unless a leg was skipped."""
        if self.refusal:
            return
        looked, entries = self._looked, self._entries
        entries.uses.add("search", looked.collection_key, hits=set(), misses=1)
        if not found.skipped:
            kept = _Kept(hits=found.hits, method=found.method, notes=found.notes)
            entries.keep(
                "search", {self._key: pack(kept)}, looked.version, collection=self._collection
            )


def search_entry(query: Query, space: ActiveSpace, entries: Entries | None) -> SearchEntry | None:
    """Return what the cache has of a search; None where hits are not kept, or these depend on more:
    on the time of day, or on a reranker that is no name."""
    if entries is None or not entries.settings.searches:
        return None
    rerank = query.rerank
    named = rerank is None or isinstance(rerank.reranker, str)
    if not named or (rerank is not None and str(rerank.reranker).partition(":")[0] == "llm"):
        return None
    if any("recency" in boost for boost in query.statement.get("boosts") or ()):
        return None
    try:
        fingerprint: object = None
        if query.has_vector:
            fingerprint = space.info.space_id
        elif query.wants_vectors:
            fingerprint = space.embedder.fingerprint
    except ModelUnavailable:  # keywords alone answer
        return None
    limit = query.page.stop - (query.page.start or 0)
    key = digest(
        space.info.name,
        fingerprint,
        None if rerank is None else (query.rewritten.question, astuple(rerank)),
        [asdict(variant) for variant in query.variants],
        {name: value for name, value in query.statement.items() if value is not None},
        [query.page.start or 0, limit],
    )
    return None if key is None else SearchEntry(key, entries, space.info.name, limit)
