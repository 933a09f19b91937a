"""Vectors that were paid for and are not stored yet: a job that is taken again finds them here."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping

from rag_pg.protocols import Embedder
from rag_pg.types import Vectors

LIMIT = 2048  # vectors: 25 MB of 3,072 dimensions


class VectorCache:
    """By model and text, shared by the pipelines of one worker.
    The oldest are forgotten beyond LIMIT."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._vectors: dict[tuple[str, str], Vectors] = {}

    def of(self, embedder: Embedder, texts: Iterable[str]) -> dict[str, Vectors]:
        """The vectors that are there, by text."""
        model = embedder.fingerprint
        with self._lock:
            return {t: self._vectors[model, t] for t in texts if (model, t) in self._vectors}

    def keep(self, embedder: Embedder, vectors: Mapping[str, Vectors]) -> None:
        model = embedder.fingerprint
        with self._lock:
            self._vectors |= {(model, text): vector for text, vector in vectors.items()}
            for oldest in list(self._vectors)[: max(0, len(self._vectors) - LIMIT)]:
                del self._vectors[oldest]

    def drop(self, embedder: Embedder, texts: Iterable[str]) -> None:
        """They are stored."""
        model = embedder.fingerprint
        with self._lock:
            for text in texts:
                self._vectors.pop((model, text), None)
