"""Documentation: both retrievers, joined by DocumentJoiner in mode reciprocal_rank_fusion;
exact vector search.

Called one by one, without a Pipeline, which would cost time of its own.
Tuned: HNSW; its joiner's other mode for two score scales, and vectors weighing 0.7.
"""

from __future__ import annotations

from haystack import Document
from haystack.components.joiners import DocumentJoiner
from haystack.utils import Secret
from haystack_integrations.components.retrievers import pgvector
from haystack_integrations.document_stores.pgvector import PgvectorDocumentStore
from lib.peer_stores import DIMENSIONS, Documents, Search, Vectors, full_text

PACKAGES = ("pgvector-haystack", "haystack-ai")


class Store:
    def __init__(self, dsn: str, tuned: bool) -> None:
        self.tuned = tuned
        self.dsn = dsn
        self.store = self.open(100)

    def open(self, limit: int) -> PgvectorDocumentStore:
        hnsw = {"search_strategy": "hnsw", "hnsw_ef_search": max(limit, 40)} if self.tuned else {}
        return PgvectorDocumentStore(
            connection_string=Secret.from_token(self.dsn), embedding_dimension=DIMENSIONS, **hnsw
        )

    def fill(self, documents: Documents, vectors: Vectors) -> None:
        self.store.write_documents(
            [
                Document(content=full_text(document), embedding=vectors[key], meta={"key": key})
                for key, document in documents.items()
            ]
        )

    def searches(self, limit: int) -> dict[str, Search]:
        store = self.open(limit)
        by_vector = pgvector.PgvectorEmbeddingRetriever(document_store=store, top_k=limit)
        by_keyword = pgvector.PgvectorKeywordRetriever(document_store=store, top_k=limit)

        def joined(mode: str, **options: object) -> Search:
            joiner = DocumentJoiner(join_mode=mode, **options)

            def run(text: str, vector: list[float]) -> list[str]:
                legs = [
                    by_vector.run(query_embedding=vector)["documents"],
                    by_keyword.run(query=text)["documents"],
                ]
                return [hit.meta["key"] for hit in joiner.run(legs)["documents"]]

            return run

        def keyword(text: str, vector: list[float]) -> list[str]:
            return [hit.meta["key"] for hit in by_keyword.run(query=text)["documents"]]

        if self.tuned:
            return {
                "rrf, vectors 0.7": joined("reciprocal_rank_fusion", weights=[0.7, 0.3]),
                "distribution-based": joined("distribution_based_rank_fusion"),
            }
        return {"rrf": joined("reciprocal_rank_fusion"), "keyword alone": keyword}
