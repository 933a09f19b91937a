"""Entries in the database: looked up, kept, and their uses counted."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict, Unpack

from rag_pg.cache.questions import ask_the_same
from rag_pg.cache.settings import ALL, OFF, Cache, Kind
from rag_pg.cache.uses import UseCounter
from rag_pg.db import Database
from rag_pg.errors import InvalidInput, RagError
from rag_pg.types import Vectors

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class CacheRead:
    """Values by the keys that were asked for, None where there is none; refusal: why this role can
    be given nothing."""

    refusal: str | None
    version: int | None
    collection_key: int | None
    cached_values: Sequence[bytes | None] | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Lookup:
    """What was found under keys. values: None where there is nothing. version: of what is computed
    instead, None where it cannot be kept. refusal: why this role has no cache, "" where it has."""

    values: Sequence[bytes | None]
    version: int | None = None
    collection_key: int = 0
    refusal: str = ""


class EntryDetails(TypedDict, total=False):
    """What is kept beside a value. saved_tokens, saved_cost: of a model, each time it is given
    again. scope: all that an answer depends on beside its question. age: seconds since what a
    completion was made of was read: an erasure since then forbids it."""

    collection: str | None
    saved_tokens: int
    saved_cost: float
    question: str | None
    scope: bytes | None
    embedding: Vectors | None
    age: float


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries that one client reads and writes. Threads may share it.

    A cache that cannot be read or written never fails what it is asked for: then it is computed.

    Args:
        settings: what is kept; what is not is neither read nor written.
    """

    database: Callable[[], Database]
    settings: Cache
    uses: UseCounter

    def wanted(self, cache: bool | Cache | None) -> Entries:
        """Return the entries as a call wants them: True keeps all kinds, False none, None those of
        the client's settings. Raises: InvalidInput."""
        if cache is None or cache is self.settings:
            return self
        if isinstance(cache, Cache):
            return replace(self, settings=cache)
        if not isinstance(cache, bool):
            raise InvalidInput(f"cache is {cache!r:.100}; use True, False, or a Cache")
        kept = ALL if cache else OFF
        settings = replace(
            self.settings,
            embeddings=kept.embeddings,
            completions=kept.completions,
            searches=kept.searches,
            answers=kept.answers,
        )
        return replace(self, settings=settings)

    def look(self, kind: Kind, keys: Sequence[bytes], collection: str | None = None) -> Lookup:
        """Return what is kept under keys, of the collection as it is now."""
        try:
            read = self.database().only(
                CacheRead, "_read_cache", kind=kind, keys=keys, collection=collection
            )
        except RagError as exc:
            log.info("the cache was not read: %s", exc)
            return Lookup(values=[None] * len(keys))
        if read.refusal is not None:
            return Lookup(values=[None] * len(keys), refusal=read.refusal)
        return Lookup(
            values=read.cached_values or (),
            version=read.version,
            collection_key=read.collection_key or 0,
        )

    def similar(
        self, collection: str, scope: bytes, question: str, vector: Vectors
    ) -> bytes | None:
        """Return the key of the answer to a question that asks for the same, and whose vector is
        as near as the settings ask; None where there is none.

        Args:
            scope: what stands for all that an answer depends on beside its question.
        """
        if self.settings.semantic is None:
            return None
        try:
            found = self.database().tuples(
                ("question", "key"), "_read_similar", collection=collection, scope=scope,
                embedding=vector, threshold=self.settings.semantic,
            )  # fmt: skip
        except RagError as exc:
            log.info("similar questions were not read: %s", exc)
            return None
        same = (key for near, key in found if ask_the_same(question, near))
        return next(same, None)

    def keep(
        self,
        kind: Kind,
        entries: Mapping[bytes, bytes],
        version: int | None,
        **details: Unpack[EntryDetails],
    ) -> None:
        """Keep what was computed since a look-up, unless the collection has changed since."""
        if version is None:
            return
        try:
            self.database().call(
                "_write_cache",
                kind=kind,
                keys=list(entries),
                cached_values=entries.values(),
                ttl=self.settings.ttl,
                max_bytes=self.settings.max_bytes,
                version=version,
                **details,
            )
        except RagError as exc:
            log.info("the cache was not written: %s", exc)
