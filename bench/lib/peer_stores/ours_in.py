"""rag_pg by its adapters, in the peers' environment: what an application of LangChain, LlamaIndex
or Haystack gets that takes rag_pg's store instead of its framework's own. Hybrid, all defaults.

The text is what the frameworks' own stores are given: the title stands in it.
"""

from __future__ import annotations

from typing import Any

from lib.peer_stores import DIMENSIONS, Documents, Search, Vectors, full_text

from rag_pg import Rag

PACKAGES = ("rag-pg",)


class Store:
    """What the three share: an open client, and the questions' vectors by text."""

    def __init__(self, dsn: str, tuned: bool) -> None:
        self.rag = Rag(dsn)
        self.rag.upgrade()
        self.rag.open()
        self.vectors: dict[str, list[float]] = {}

    def run(self, find: Any) -> Search:
        def run(text: str, vector: list[float]) -> list[str]:
            self.vectors[text] = vector
            return [str(key) for key in find(text, vector)]

        return run


class LangChain(Store):
    def fill(self, documents: Documents, vectors: Vectors) -> None:
        from langchain_core.embeddings import Embeddings

        from rag_pg.langchain import RagPgVectorStore

        ready = self.vectors
        ready |= {full_text(d): vectors[key] for key, d in documents.items()}

        class Ready(Embeddings):  # type: ignore[misc]
            def embed_query(self, text: str) -> list[float]:
                return ready.get(text) or [1.0] * DIMENSIONS  # which tells the dimensions

            def embed_documents(self, texts: list[str]) -> list[list[float]]:
                return [ready[text] for text in texts]

        self.store = RagPgVectorStore(self.rag, "docs", Ready())
        self.store.add_texts([full_text(d) for d in documents.values()], ids=[*documents])
        ready.clear()

    def searches(self, limit: int) -> dict[str, Search]:
        def find(text: str, vector: list[float]) -> list[str]:
            return [found.id for found in self.store.similarity_search(text, k=limit)]

        return {"auto (default)": self.run(find)}


class LlamaIndex(Store):
    def fill(self, documents: Documents, vectors: Vectors) -> None:
        from llama_index.core.schema import TextNode

        from rag_pg.llama_index import RagPgVectorStore

        self.store = RagPgVectorStore("docs", rag=self.rag, dimensions=DIMENSIONS)
        self.store.add(
            [
                TextNode(id_=key, text=full_text(document), embedding=vectors[key])
                for key, document in documents.items()
            ]
        )

    def searches(self, limit: int) -> dict[str, Search]:
        from llama_index.core import VectorStoreIndex
        from llama_index.core.embeddings import BaseEmbedding

        ready = self.vectors

        class Ready(BaseEmbedding):  # type: ignore[misc]
            def _get_text_embedding(self, text: str) -> list[float]:
                return ready[text]

            def _get_query_embedding(self, query: str) -> list[float]:
                return ready[query]

            async def _aget_query_embedding(self, query: str) -> list[float]:
                return ready[query]

        index = VectorStoreIndex.from_vector_store(self.store, embed_model=Ready())
        hybrid = index.as_retriever(vector_store_query_mode="hybrid", similarity_top_k=limit)

        def find(text: str, vector: list[float]) -> list[str]:
            return [hit.node.node_id for hit in hybrid.retrieve(text)]

        return {"auto (default)": self.run(find)}


class Haystack(Store):
    def fill(self, documents: Documents, vectors: Vectors) -> None:
        from haystack import Document

        from rag_pg.haystack import RagPgDocumentStore

        self.store = RagPgDocumentStore("docs", dimensions=DIMENSIONS, rag=self.rag)
        self.store.write_documents(
            [
                Document(id=key, content=full_text(document), embedding=vectors[key])
                for key, document in documents.items()
            ]
        )

    def searches(self, limit: int) -> dict[str, Search]:
        from rag_pg.haystack import RagPgHybridRetriever

        hybrid = RagPgHybridRetriever(document_store=self.store, top_k=limit)

        def find(text: str, vector: list[float]) -> list[str]:
            found = hybrid.run(query=text, query_embedding=vector)
            return [one.id for one in found["documents"]]

        return {"auto (default)": self.run(find)}
