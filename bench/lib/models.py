"""Models that know less than MiniLM, to see what a fusion makes of them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from rag_pg.protocols import Embedder
from rag_pg.types import Vectors


class Projection:
    """MiniLM's vectors, projected at random to fewer dimensions: `projection:64`."""

    provider: str | None = None

    def __init__(self, name: str, model: Embedder) -> None:
        self.name = name
        self.dimensions = int(name.partition(":")[2])
        self.fingerprint = f"{name}/1/{model.fingerprint}"
        self.max_tokens = model.max_tokens
        self._model = model
        matrix = np.random.default_rng(1).normal(size=(model.dimensions, self.dimensions))
        self._matrix: Vectors = matrix.astype(np.float32)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return _unit(self._model.embed_documents(texts) @ self._matrix)

    def embed_query(self, text: str) -> Vectors:
        return _unit(self._model.embed_query(text) @ self._matrix)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._model.count_tokens(texts)


class RandomWords:
    """The mean of a random vector for each word, which knows no meaning: `words:128`."""

    provider: str | None = None
    max_tokens = 512

    def __init__(self, name: str) -> None:
        self.name = name
        self.dimensions = int(name.partition(":")[2])
        self.fingerprint = f"{name}/1"

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return _unit(np.array([self._mean(text) for text in texts]))

    def embed_query(self, text: str) -> Vectors:
        return _unit(self._mean(text))

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(_words(text)) for text in texts]

    def _mean(self, text: str) -> Vectors:
        vectors = np.array([self._vector(word) for word in _words(text) or [""]])
        return np.asarray(vectors.mean(axis=0), np.float32)

    def _vector(self, word: str) -> Vectors:
        seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
        drawn = np.random.default_rng(seed).normal(size=self.dimensions)
        return np.asarray(drawn, np.float32)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _unit(vectors: Vectors) -> Vectors:
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(norms, 1e-12), np.float32)
