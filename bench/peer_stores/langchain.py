"""README and guide: HybridSearchConfig(fusion_function=reciprocal_rank_fusion), a tsvector column with GIN.

Each leg gives 4 hits unless told otherwise. The store keeps the first question as the words of all later ones
(langchain-postgres issues 288 and 337), so the same is measured with a config per question.
Tuned: 100 hits of each leg, HNSW, a config per question. Its plainto_tsquery has no OR.
"""

from __future__ import annotations

from collections.abc import Callable

from langchain_core.embeddings import Embeddings
from langchain_postgres import PGEngine, PGVectorStore
from langchain_postgres.v2 import hybrid_search_config as hybrid
from langchain_postgres.v2.indexes import HNSWIndex, HNSWQueryOptions

from peer_stores import DIMENSIONS, LIMIT, Documents, Search, Vectors, full_text

PACKAGES = ("langchain-postgres", "langchain-core")


class Ready(Embeddings):
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

    def fill(self, documents: Documents, vectors: Vectors) -> None:
        def config(fusion: Callable = hybrid.reciprocal_rank_fusion) -> hybrid.HybridSearchConfig:
            wide = {"primary_top_k": LIMIT, "secondary_top_k": LIMIT} if self.tuned else {}
            return hybrid.HybridSearchConfig(
                tsv_column="content_tsv", fusion_function=fusion, **wide
            )

        shared = config()
        self.engine.init_vectorstore_table("docs", DIMENSIONS, hybrid_search_config=shared)
        store = PGVectorStore.create_sync(
            self.engine,
            self.ready,
            "docs",
            hybrid_search_config=shared,
            index_query_options=HNSWQueryOptions(ef_search=LIMIT) if self.tuned else None,
        )
        store.add_embeddings(
            [full_text(document) for document in documents.values()],
            [vectors[key] for key in documents],
            [{"key": key} for key in documents],
        )
        store.apply_hybrid_search_index()
        if self.tuned:
            store.apply_vector_index(HNSWIndex())

        def search(make: Callable[[], object]) -> Search:
            def run(text: str, vector: list[float], limit: int) -> list[str]:
                self.ready.vectors[text] = vector
                found = store.similarity_search(text, k=limit, hybrid_search_config=make())
                return [document.metadata["key"] for document in found]

            return run

        if self.tuned:
            self.searches = {
                "rrf": search(config),
                "weighted sum": search(lambda: config(hybrid.weighted_sum_ranking)),
            }
        else:
            self.searches = {
                "rrf, the store's config": search(lambda: shared),
                "rrf, a config per question": search(config),
            }
