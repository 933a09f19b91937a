"""The cache: entries by keys, and what they have saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from rag_pg.db.connection import Statements
from rag_pg.types import CacheStats, Vectors


@dataclass(frozen=True, kw_only=True, slots=True)
class CacheRead:
    """Values by the keys that were asked for, None where there is none; refusal: why this role can
    be given nothing."""

    refusal: str | None
    version: int | None
    collection_key: int | None
    cached_values: Sequence[bytes | None] | None


@dataclass(frozen=True, kw_only=True, slots=True)
class SimilarQuestion:
    """A cached question; similarity: cosine, -1 to 1."""

    question: str
    similarity: float
    key: bytes


class CacheEntries(Statements):
    """Entries of the cache."""

    def read_cache(self, kind: str, keys: Sequence[bytes], collection: str | None) -> CacheRead:
        return self.only(CacheRead, "_read_cache", kind=kind, keys=keys, collection=collection)

    def read_similar(
        self, collection: str, scope: bytes, embedding: Vectors, threshold: float
    ) -> list[SimilarQuestion]:
        """Return cached questions that are at least so similar, nearest first."""
        return self.rows(
            SimilarQuestion,
            "_read_similar",
            collection=collection,
            scope=scope,
            embedding=embedding,
            threshold=threshold,
        )

    def write_cache(
        self,
        kind: str,
        entries: Mapping[bytes, bytes],
        *,
        ttl: timedelta,
        max_bytes: int,
        collection: str | None = None,
        version: int = 0,
        saved_tokens: int = 0,
        saved_cost: float = 0.0,
        question: str | None = None,
        scope: bytes | None = None,
        embedding: Vectors | None = None,
        age: float = 0.0,
    ) -> bool:
        """Keep values by their keys; False where the collection has changed since `version`, or a
        document was erased since what a completion was made of was read, `age` seconds ago."""
        return self.value(
            bool,
            "_write_cache",
            kind=kind,
            keys=list(entries),
            cached_values=entries.values(),
            ttl=ttl,
            max_bytes=max_bytes,
            collection=collection,
            version=version,
            saved_tokens=saved_tokens,
            saved_cost=saved_cost,
            question=question,
            scope=scope,
            embedding=embedding,
            age=age,
        )

    def count_cache_uses(self, uses: Sequence[Mapping[str, Any]], keys: Sequence[bytes]) -> None:
        self.call("_count_cache_uses", uses=list(uses), used_keys=keys)

    def cache_stats(self) -> list[CacheStats]:
        """What the cache holds and has saved, by collection and kind."""
        return self.rows(CacheStats, "cache_stats")

    def clear_cache(self, collection: str | None = None) -> int:
        """Empty the cache of a collection, None: all of it; return how many entries there were."""
        return self.optional(int, "clear_cache", collection=collection) or 0
