"""The vectors that a search asks by: of its queries in one batch, the recent ones remembered."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from rag_pg.protocols import Embedder
from rag_pg.search.rewrite import Variant
from rag_pg.tracing import embeddings_span
from rag_pg.types import Vectors

REMEMBERED = 1024


class QueryVectors:
    """The vectors of queries by one embedder. Several threads may ask at once."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[Variant, Vectors] = {}
        self._lock = threading.Lock()

    def embed(self, variants: Sequence[Variant]) -> list[Vectors]:
        """Return float32 (dimensions,) for each variant: of its passage, as a document's, or of its
        query. Raises: as the embedder."""
        with self._lock:
            known = {v: self._known[v] for v in variants if v in self._known}
        missing = [v for v in dict.fromkeys(variants) if v not in known]
        queries = [v for v in missing if v.passage is None]
        passages = [v for v in missing if v.passage is not None]
        if queries:
            with embeddings_span(self._embedder, len(queries)):
                vectors = embed_queries(self._embedder, [v.query for v in queries])
            known |= zip(queries, vectors, strict=True)
        if passages:
            texts = [v.passage or "" for v in passages]
            with embeddings_span(self._embedder, len(texts)):
                vectors = self._embedder.embed_documents(texts)
            known |= zip(passages, vectors, strict=True)
        with self._lock:
            self._known |= {v: known[v] for v in missing}
            while len(self._known) > REMEMBERED:
                del self._known[next(iter(self._known))]
        return [known[v] for v in variants]


def embed_queries(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Return float32 (len(texts), dimensions). In one batch where the embedder has `embed_queries`,
    which is no part of the protocol; else one after the other."""
    batch = getattr(embedder, "embed_queries", None)
    if batch is not None and len(texts) > 1:
        vectors: Vectors = batch(texts)
        return vectors
    return np.stack([embedder.embed_query(text) for text in texts])
