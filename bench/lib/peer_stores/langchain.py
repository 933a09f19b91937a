"""README and guide: HybridSearchConfig(fusion_function=reciprocal_rank_fusion),
a tsvector column with GIN.

Each leg gives 4 hits unless told otherwise. The store keeps the first question as the words of all
later ones (langchain-postgres issues 288 and 337),
so the same is measured with a config per question.
Tuned: as many hits of each leg as are asked for, HNSW, a config per question.
Its plainto_tsquery has no OR.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_postgres import PGEngine, PGVectorStore
from langchain_postgres.v2 import hybrid_search_config as hybrid
from langchain_postgres.v2.indexes import HNSWIndex, HNSWQueryOptions
from lib.peer_stores import DIMENSIONS, Documents, Search, Vectors, full_text

PACKAGES = ("langchain-postgres", "langchain-core")


class Ready(Embeddings):  # type: ignore[misc]
    """Vectors that are ready, by text."""

    def __init__(self) -> None:
        self.vectors: dict[str, list[float]] = {}

    def embed_query(self, text: str) -> list[float]:
        return self.vectors[text]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.vectors[text] for text in texts]


class Store:
    def __init__(self, dsn: str, tuned: bool) -> None:
        self.tuned = tuned
        self.ready = Ready()
        self.engine = PGEngine.from_connection_string(
            dsn.replace("postgresql://", "postgresql+psycopg://")
        )

    def config(
        self, limit: int, fusion: Callable[..., Any] = hybrid.reciprocal_rank_fusion
    ) -> hybrid.HybridSearchConfig:
        wide = {"primary_top_k": limit, "secondary_top_k": limit} if self.tuned else {}
        return hybrid.HybridSearchConfig(tsv_column="content_tsv", fusion_function=fusion, **wide)

    def open(self, shared: hybrid.HybridSearchConfig, limit: int) -> PGVectorStore:
        query = HNSWQueryOptions(ef_search=max(limit, 40)) if self.tuned else None
        return PGVectorStore.create_sync(
            self.engine,
            self.ready,
            "docs",
            hybrid_search_config=shared,
            index_query_options=query,
        )

    def fill(self, documents: Documents, vectors: Vectors) -> None:
        shared = self.config(100)
        self.engine.init_vectorstore_table("docs", DIMENSIONS, hybrid_search_config=shared)
        store = self.open(shared, 100)
        store.add_embeddings(
            [full_text(document) for document in documents.values()],
            [vectors[key] for key in documents],
            [{"key": key} for key in documents],
        )
        store.apply_hybrid_search_index()
        if self.tuned:
            store.apply_vector_index(HNSWIndex())

    def searches(self, limit: int) -> dict[str, Search]:
        shared = self.config(limit)
        store = self.open(shared, limit)

        def search(make: Callable[[], object]) -> Search:
            def run(text: str, vector: list[float]) -> list[str]:
                self.ready.vectors[text] = vector
                found = store.similarity_search(text, k=limit, hybrid_search_config=make())
                return [document.metadata["key"] for document in found]

            return run

        if self.tuned:
            return {
                "rrf": search(lambda: self.config(limit)),
                "weighted sum": search(lambda: self.config(limit, hybrid.weighted_sum_ranking)),
            }
        return {
            "rrf, the store's config": search(lambda: shared),
            "rrf, a config per question": search(lambda: self.config(limit)),
        }
