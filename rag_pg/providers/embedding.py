"""Every call of an embedder: traced, and given up when the scope of its work ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rag_pg.deadline import call_within, current_scope
from rag_pg.protocols import Embedder
from rag_pg.providers.checks import check_shape
from rag_pg.tracing import embeddings_span
from rag_pg.types import Vectors


def embed_documents(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Return float32 (len(texts), dimensions). Raises: as the embedder, as `Scope.check`, and
    UnusableReply (it gives something else)."""
    return _embed(embedder, len(texts), lambda: embedder.embed_documents(texts))


def embed_query(embedder: Embedder, text: str) -> Vectors:
    """Return float32 (dimensions,). Raises: as `embed_documents`."""
    query: Vectors = _embed(embedder, 1, lambda: [embedder.embed_query(text)])[0]
    return query


def embed_queries(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Return float32 (len(texts), dimensions). In one batch where the embedder has `embed_queries`,
    which is no part of the protocol; else one after the other. Raises: as `embed_documents`."""
    batch = getattr(embedder, "embed_queries", None)
    if batch is not None and len(texts) > 1:
        return _embed(embedder, len(texts), lambda: batch(texts))
    return np.stack([embed_query(embedder, text) for text in texts])


def _embed(embedder: Embedder, count: int, use: Callable[[], object]) -> Vectors:
    if getattr(embedder, "traces_itself", False):
        return check_shape(embedder, use(), count)
    with embeddings_span(embedder, count):
        return check_shape(embedder, call_within(current_scope(), use, embedder.name), count)
