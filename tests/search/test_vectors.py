"""Vectors of recent texts are remembered, so many and no more."""

from collections.abc import Sequence

import numpy as np
import pytest
from fakes import HashEmbedder

from rag_pg.search import vectors
from rag_pg.types import Vectors


class Noting(HashEmbedder):
    def __init__(self) -> None:
        super().__init__("hash:32")
        self.texts: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.texts += texts
        return super().embed_documents(texts)

    def embed_query(self, text: str) -> Vectors:
        self.texts.append(text)
        return super().embed_query(text)


def test_a_text_is_embedded_once_while_it_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "REMEMBERED_TEXTS", 3)
    inner, plain = Noting(), HashEmbedder("hash:32")
    embedder = vectors.Remembering(inner, vectors.QueryVectors(inner))
    for texts in (["a", "b", "a"], ["b", "c", "d", "e"], ["e", "c", "a"], ["a"]):
        expected = plain.embed_documents(texts)
        np.testing.assert_array_equal(embedder.embed_documents(texts), expected)
    assert inner.texts == ["a", "b", "c", "d", "e", "a"]  # a was forgotten
    np.testing.assert_array_equal(embedder.embed_query("q"), plain.embed_query("q"))
    embedder.embed_query("q")
    assert inner.texts[6:] == ["q"]
    assert embedder.fingerprint == inner.fingerprint
