"""Titles stay apart, as Collection.add_chunks wants them; they are searched as well."""

from __future__ import annotations

import numpy as np

from peer_stores import DIMENSIONS, Documents, Search, Vectors
from rag_pg import Rag

PACKAGES = ("rag-pg",)


class Store:
    def __init__(self, dsn: str, tuned: bool) -> None:
        self.question: list[float] = []
        self.rag = Rag(dsn, embedders={"ready": lambda name: self})
        self.rag.upgrade()
        self.rag.open()
        self.name = self.fingerprint = "ready:minilm"
        self.dimensions, self.max_tokens = DIMENSIONS, 256

    def embed_query(self, text: str) -> np.ndarray:
        return np.array(self.question, np.float32)

    def embed_documents(self, texts: list[str]) -> np.ndarray:
        raise NotImplementedError("the vectors are ready")

    def count_tokens(self, texts: list[str]) -> list[int]:
        raise NotImplementedError("the chunks are ready")

    def fill(self, documents: Documents, vectors: Vectors) -> None:
        docs = self.rag.collection("docs", model=self.name, dimensions=DIMENSIONS)
        docs.add_chunks(
            {
                "uri": key,
                "title": document.get("title") or "",
                "content": document["text"] or document.get("title") or "-",
                "embedding": np.array(vectors[key], np.float32),
            }
            for key, document in documents.items()
        )

        def search(**options: object) -> Search:
            def run(text: str, vector: list[float], limit: int) -> list[str]:
                self.question = vector
                return [hit.uri for hit in docs.search(text, limit=limit, **options)]

            return run

        self.searches = {
            "auto (default)": search(),
            "weighted": search(fusion="weighted"),
            "rrf": search(fusion="rrf"),
            "keyword alone": search(vector_weight=0),
            "vector alone": search(keyword_weight=0),
        }
