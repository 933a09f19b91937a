"""The cache: entries by keys, and what they have saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rag_pg.db.connection import Statements
from rag_pg.types import Vectors


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

    def clear_cache(self, collection: str | None = None) -> int:
        """Empty the cache of a collection, None: all of it; return how many entries there were."""
        return self.optional(int, "clear_cache", collection=collection) or 0
