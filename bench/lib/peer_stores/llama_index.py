"""Documentation: hybrid_search=True and vector_store_query_mode="hybrid";
it appends the keyword hits to the vector hits.

Its keyword leg is an OR of all words, ranked by ts_rank.
Tuned: HNSW, and both legs fused by QueryFusionRetriever, as the same page goes on to advise.
"""

from __future__ import annotations

from lib.peer_stores import DIMENSIONS, Documents, Search, Vectors, full_text
from llama_index.core import VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.bridge.pydantic import Field
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import TextNode
from llama_index.vector_stores.postgres import PGVectorStore

PACKAGES = ("llama-index-vector-stores-postgres", "llama-index-core")


class Ready(BaseEmbedding):  # type: ignore[misc]
    """Vectors that are ready, by text."""

    vectors: dict[str, list[float]] = Field(default_factory=dict)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self.vectors[text]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self.vectors[query]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self.vectors[query]


class Store:
    def __init__(self, dsn: str, tuned: bool) -> None:
        self.tuned = tuned
        self.ready = Ready()
        self.dsn = dsn

    def open(self, limit: int) -> PGVectorStore:
        hnsw = {
            "hnsw_m": 16,
            "hnsw_ef_construction": 64,
            "hnsw_ef_search": max(limit, 40),
            "hnsw_dist_method": "vector_cosine_ops",
        }
        return PGVectorStore.from_params(
            connection_string=self.dsn.replace("postgresql://", "postgresql+psycopg2://"),
            async_connection_string=self.dsn.replace("postgresql://", "postgresql+asyncpg://"),
            table_name="docs",
            embed_dim=DIMENSIONS,
            hybrid_search=True,
            text_search_config="english",
            hnsw_kwargs=hnsw if self.tuned else None,
        )

    def fill(self, documents: Documents, vectors: Vectors) -> None:
        self.open(100).add(
            [
                TextNode(id_=key, text=full_text(document), embedding=vectors[key])
                for key, document in documents.items()
            ]
        )

    def searches(self, limit: int) -> dict[str, Search]:
        index = VectorStoreIndex.from_vector_store(self.open(limit), embed_model=self.ready)
        legs = {
            mode: index.as_retriever(vector_store_query_mode=mode, similarity_top_k=limit)
            for mode in ("default", "sparse", "hybrid")
        }

        def search(retriever: BaseRetriever) -> Search:
            def run(text: str, vector: list[float]) -> list[str]:
                self.ready.vectors[text] = vector
                return [hit.node.node_id for hit in retriever.retrieve(text)]

            return run

        def fused(mode: str) -> Search:
            return search(
                QueryFusionRetriever(
                    [legs["default"], legs["sparse"]],
                    llm=MockLLM(),  # asked for nothing while num_queries is 1
                    mode=mode,
                    similarity_top_k=limit,
                    num_queries=1,
                    use_async=False,
                )
            )

        if self.tuned:
            return {m: fused(m) for m in ("reciprocal_rerank", "relative_score")}
        return {"hybrid": search(legs["hybrid"]), "keyword alone": search(legs["sparse"])}
