"""What the cache holds and has saved."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class CacheStats:
    """The entries of one kind and their uses.

    collection: None for what depends on none. kind: embedding, completion, search or answer.
    entries, bytes: of this role; the owner of the tables sees those of all. hits, misses,
    saved_tokens, saved_cost (US dollars): of all roles since the last crash of the server.
    """

    collection: str | None
    kind: str
    entries: int
    bytes: int
    hits: int
    misses: int
    saved_tokens: int
    saved_cost: float
