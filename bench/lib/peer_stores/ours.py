"""Titles stay apart, as Collection.add_chunks wants them; they are searched as well."""

from __future__ import annotations

from typing import Any

import numpy as np
from lib.peer_stores import DIMENSIONS, Documents, Search, Vectors

from rag_pg import Rag, Settings
from rag_pg.providers.minilm.embedder import MiniLM

PACKAGES = ("rag-pg",)


class Ready(MiniLM):
    """MiniLM, which made the vectors; those of the questions are ready, by text."""

    name = "ready:minilm"

    def __init__(self) -> None:
        super().__init__(cache_dir=Settings.from_environment().home / "models")
        self.vectors: dict[str, list[float]] = {}

    def embed_query(self, text: str) -> np.ndarray:
        return np.array(self.vectors[text], np.float32)


class Store:
    def __init__(self, dsn: str, tuned: bool) -> None:
        self.ready = Ready()
        self.rag = Rag(dsn, embedders={"ready": lambda name: self.ready})
        self.rag.upgrade()
        self.rag.open()

    def fill(self, documents: Documents, vectors: Vectors) -> None:
        docs = self.rag.collection("docs", model=self.ready.name, dimensions=DIMENSIONS)
        docs.add_chunks(
            {
                "uri": key,
                "title": document.get("title") or "",
                "content": document["text"] or document.get("title") or "-",
                "embedding": np.array(vectors[key], np.float32),
            }
            for key, document in documents.items()
        )
        self.docs = docs

    def searches(self, limit: int) -> dict[str, Search]:
        def search(**options: Any) -> Search:
            def run(text: str, vector: list[float]) -> list[str]:
                self.ready.vectors[text] = vector
                return [hit.uri for hit in self.docs.search(text, limit=limit, **options)]

            return run

        return {
            "auto (default)": search(),
            "weighted": search(fusion="weighted"),
            "rrf": search(fusion="rrf"),
            "keyword alone": search(vector_weight=0),
            "vector alone": search(keyword_weight=0),
        }
