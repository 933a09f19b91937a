"""Stand-ins that are handed over as arguments: an embedder and a reranker that need no model."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rag_pg.types import Scores, Vectors


class HashEmbedder:
    """Hashed bags of words: deterministic, cheap, and similar texts have similar vectors.

    `seen` holds every text that was embedded; `fail` is called with each batch first and may raise.
    """

    max_tokens = 256

    def __init__(self, name: str = "hash:32") -> None:
        self.name = name
        self.dimensions = int(name.partition(":")[2] or 32)
        self.fingerprint = f"{name}/1"
        self.seen: list[str] = []
        self.fail = lambda texts: None
        self._lock = threading.Lock()

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.fail(texts)
        with self._lock:
            self.seen += texts
        return np.array([self._vector(t) for t in texts], np.float32).reshape(-1, self.dimensions)

    def embed_query(self, text: str) -> Vectors:
        self.fail([text])
        return self._vector(text)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(re.findall(r"\w+|[^\w\s]", text)) + 2 for text in texts]

    def _vector(self, text: str) -> Vectors:
        vector = np.zeros(self.dimensions, np.float32)
        vector[0] = 0.1
        for word in re.findall(r"\w+", text.lower()):
            digest = hashlib.blake2b(word.encode(), digest_size=8).digest()
            vector[int.from_bytes(digest[:4], "little") % self.dimensions] += 1
        return vector / np.linalg.norm(vector)


class WordReranker:
    """Scores a text by how many of its words are the query's. `seen` holds every call.

    `act` is called first, with the query and the texts: it may raise, wait, or return other scores.
    """

    name = "words"

    def __init__(self, act: Callable[[str, Sequence[str]], Any] | None = None) -> None:
        self.seen: list[tuple[str, list[str]]] = []
        self._act = act

    def rerank(self, query: str, texts: Sequence[str]) -> Scores:
        self.seen.append((query, list(texts)))
        if self._act and (given := self._act(query, texts)) is not None:
            return given
        asked = set(re.findall(r"\w+", query.lower()))
        found = [re.findall(r"\w+", text.lower()) for text in texts]
        return np.array([sum(word in asked for word in w) / (len(w) or 1) for w in found])
