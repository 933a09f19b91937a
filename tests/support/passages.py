"""Hits with a given text, and an embedder whose similarities are those of words."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from uuid import UUID

import numpy as np

from rag_pg.errors import RateLimited
from rag_pg.text import words
from rag_pg.types import Hit, Passage, Vectors


def hit(content: str, *, number: int = 1, title: str = "", heading: str = "", uri: str = "") -> Hit:
    return Hit(
        chunk_id=number,
        document_id=UUID(int=number),
        uri=uri or f"doc{number}.md",
        title=title,
        heading=heading,
        content=content,
        metadata={},
        score=1.0 / number,
        vector_rank=number,
        vector_distance=0.1,
        keyword_rank=None,
        keyword_score=None,
    )


def around(
    text: str, *, chunks: Sequence[int] = range(-9, 9), at: int = 1, start: int | None = None
) -> Passage:
    """A passage of some chunks, of which one is asked for."""
    one = hit(text, number=at)
    return Passage(document_id=one.document_id, uri=one.uri, title="", heading="", content=text,
                   start_offset=start, stop_offset=None, chunk_keys=chunks, rank=1)  # fmt: skip


def hits(*contents: str) -> list[Hit]:
    return [hit(content, number=number) for number, content in enumerate(contents, 1)]


class WordEmbedder:
    """Hashed bags of words. `lift` moves every cosine towards 1, as some models' cosines are."""

    name = "words"
    provider: str | None = None
    dimensions = 257
    max_tokens = 512

    def __init__(self, lift: float = 0.0) -> None:
        self.fingerprint = f"words {lift}"
        self._lift = lift

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in enumerate(texts):
            for word in words(text):
                digest = hashlib.blake2b(word.encode(), digest_size=4).digest()
                vectors[row, int.from_bytes(digest, "little") % 256] += 1
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        vectors[:, -1] = self._lift
        vectors[~vectors.any(axis=1), -1] = 1.0
        unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit

    def embed_query(self, text: str) -> Vectors:
        query: Vectors = self.embed_documents([text])[0]
        return query

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]


class Broken(WordEmbedder):
    def embed_query(self, text: str) -> Vectors:
        raise RateLimited("slow down", 3)
