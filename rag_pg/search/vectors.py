"""The vectors that a search asks by: of its queries in one batch, the recent ones remembered; and
those of recent texts, for what compares the sentences of passages with questions."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from rag_pg.cache import Entries, digest
from rag_pg.protocols import Embedder
from rag_pg.providers import embed_documents, embed_queries, failing_as
from rag_pg.search.rewrite import Variant
from rag_pg.text import estimate_tokens
from rag_pg.types import Vectors

REMEMBERED = 1024
REMEMBERED_TEXTS = 4096  # 6 MB of vectors with 384 dimensions


class QueryVectors:
    """The vectors of queries by one embedder. Several threads may ask at once."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[Variant, Vectors] = {}
        self._lock = threading.Lock()

    def embed(self, variants: Sequence[Variant], entries: Entries | None = None) -> list[Vectors]:
        """Return float32 (dimensions,) for each variant: of its passage, as a document's, or of its
        query. Raises: as the embedder.

        Args:
            entries: where vectors of a provider's model are kept.
        """
        with self._lock:
            known = {v: self._known[v] for v in variants if v in self._known}
        missing = [v for v in dict.fromkeys(variants) if v not in known]
        if missing:
            keeps = entries is not None and entries.settings.embeddings
            if entries is not None and keeps and self._embedder.provider is not None:
                made = self._kept(missing, entries)
            else:
                made = self._embed(missing)
            known |= made
            with self._lock:
                self._known |= made
                while len(self._known) > REMEMBERED:
                    del self._known[next(iter(self._known))]
        return [known[v] for v in variants]

    def _kept(self, variants: Sequence[Variant], entries: Entries) -> dict[Variant, Vectors]:
        """The vectors that the cache has; the others are made and kept."""
        embedder = self._embedder
        keys = {v: _key(embedder, v) for v in variants}
        looked = entries.look("embedding", list(keys.values()))
        found = {
            variant: np.frombuffer(value, dtype=np.float32)
            for variant, value in zip(variants, looked.values, strict=True)
            if value is not None and len(value) == 4 * embedder.dimensions
        }
        missing = [v for v in variants if v not in found]
        made = self._embed(missing) if missing else {}
        entries.uses.add(
            "embedding",
            0,
            hits={keys[v] for v in found},
            misses=len(missing),
            saved_tokens=sum(estimate_tokens([v.passage or v.query for v in found])),
        )
        if made:
            entries.keep(
                "embedding",
                {keys[v]: np.asarray(made[v], dtype=np.float32).tobytes() for v in missing},
                looked.version,
            )
        return found | made

    def _embed(self, variants: Sequence[Variant]) -> dict[Variant, Vectors]:
        queries = [v for v in variants if v.passage is None]
        passages = [v for v in variants if v.passage is not None]
        made: dict[Variant, Vectors] = {}
        if queries:
            with failing_as(self._embedder.name):
                vectors = embed_queries(self._embedder, [v.query for v in queries])
            made |= zip(queries, vectors, strict=True)
        if passages:
            with failing_as(self._embedder.name):
                vectors = embed_documents(self._embedder, [v.passage or "" for v in passages])
            made |= zip(passages, vectors, strict=True)
        return made


class Remembering:
    """An embedder that embeds a text once while it remembers it: questions find the same passages.
    Several threads may ask at once.

    Args:
        queries: the vectors of queries by the same embedder.
    """

    traces_itself = True  # nothing is embedded where all is remembered

    def __init__(self, embedder: Embedder, queries: QueryVectors) -> None:
        self._embedder, self._queries = embedder, queries
        self._known: dict[bytes | None, Vectors] = {}
        self._lock = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)

    def embed_query(self, text: str) -> Vectors:
        return self._queries.embed([Variant(query=text)])[0]

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        keys = [digest(text) for text in texts]  # what is erased leaves no text here
        with self._lock:
            known = {key: self._known[key] for key in keys if key in self._known}
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if new:
            vectors = embed_documents(self._embedder, list(new.values()))
            made = dict(zip(new, vectors, strict=True))
            known |= made
            with self._lock:
                self._known |= made
                while len(self._known) > REMEMBERED_TEXTS:
                    del self._known[next(iter(self._known))]
        return np.array([known[key] for key in keys]).reshape(len(texts), -1)


def _key(embedder: Embedder, variant: Variant) -> bytes:
    as_document = variant.passage is not None
    text = variant.passage if variant.passage is not None else variant.query
    key = digest(embedder.name, embedder.fingerprint, as_document, text)
    assert key is not None  # of texts
    return key
