"""LangChain on rag_pg: a vector store, and a retriever for collections however they were filled.

A Document of the store is a document of rag_pg with one chunk; its id is the uri. Install it with
`pip install "rag-pg[langchain]"`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rag_pg import frameworks
from rag_pg.client import Collection, Rag
from rag_pg.errors import InvalidInput
from rag_pg.extras import extra

with extra("langchain", "rag_pg.langchain needs", InvalidInput):
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import VectorStore
    from pydantic import ConfigDict, Field


class RagPgVectorStore(VectorStore):  # type: ignore[misc]
    """A collection whose documents are LangChain's. Searches are hybrid, unless by a vector alone.

    Args:
        rag: an open client; None: that of RAG_PG_DSN.
        embedding: None: the model of the collection, by default rag_pg's own.
        options: of the collection, see `Rag.collection`.
    A filter is one of rag_pg's (docs/guides/filters.md), $between included. Further arguments of a
    search are those of `Collection.search`; one that there is none of is an InvalidInput.
    """

    def __init__(
        self,
        rag: Rag | None = None,
        collection_name: str = "langchain",
        embedding: Embeddings | None = None,
        **options: Any,
    ) -> None:
        rag = rag or frameworks.environment_client()
        if embedding is not None:
            options["embedder"] = frameworks.ForeignEmbedder(embedding, options.pop("model", None))
        self._embedding = embedding
        self.collection: Collection = rag.collection(collection_name, **options)

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None = None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **options: Any,
    ) -> RagPgVectorStore:
        """Make a store, whose options are those of the class, and add texts."""
        store = cls(embedding=embedding, **options)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    @property
    def embeddings(self) -> Embeddings | None:
        return self._embedding

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: Sequence[Mapping[str, Any] | None] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        batch_size: int | None = None,
        **options: Any,
    ) -> list[str]:
        """Put texts and return their ids; one that is there is replaced, and of equal ids the last
        one counts. batch_size: of LangChain's `index`; all are put at once. options: of
        `Collection.add_chunks`."""
        texts = frameworks.listed(texts, "texts")
        keys = [key or str(uuid.uuid4()) for key in frameworks.listed(ids or [None] * len(texts))]
        metadatas = metadatas or [{}] * len(texts)
        if not len(keys) == len(texts) == len(metadatas):
            counts = f"{len(texts)} texts, {len(keys)} ids and {len(metadatas)} metadatas"
            raise InvalidInput(f"{counts} came; give one of each for every text")
        given = zip(keys, texts, metadatas, strict=True)
        rows = [{"uri": key, "content": text, "metadata": meta} for key, text, meta in given]
        frameworks.put(self.collection, rows, embed=self._embedding is not None, **options)
        return keys

    def delete(self, ids: list[str] | None = None, **_: Any) -> bool:
        """Delete documents by id; None: all of them."""
        self.collection.delete(*frameworks.listed(ids or ()), everything=ids is None)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        return [_document(one) for one in self.collection.get_many(ids)]

    def _find(self, k: int, *, filter: Any = None, **options: Any) -> list[tuple[Document, float]]:
        options.setdefault("duplicates", True)  # a store leaves no equal texts out
        hits = self.collection.search(limit=k, filter=frameworks.without_between(filter), **options)
        return [(_document(hit), hit.score) for hit in hits]

    def similarity_search_with_score(
        self, query: str, k: int = 4, **options: Any
    ) -> list[tuple[Document, float]]:
        """Documents and their scores, -1 to 1, larger is better."""
        return self._find(k, query=query, **options)

    def similarity_search(self, query: str, k: int = 4, **options: Any) -> list[Document]:
        return [found for found, _ in self._find(k, query=query, **options)]

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, **options: Any
    ) -> list[Document]:
        return [found for found, _ in self._find(k, embedding=embedding, **options)]

    def max_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **options: Any
    ) -> list[Document]:
        options |= {"diversity": 1 - lambda_mult, "candidate_limit": max(fetch_k, k)}
        return self.similarity_search(query, k, **options)

    def max_marginal_relevance_search_by_vector(
        self, embedding: Any, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **other: Any
    ) -> list[Document]:
        other |= {"diversity": 1 - lambda_mult, "candidate_limit": max(fetch_k, k)}
        return self.similarity_search_by_vector(embedding, k, **other)

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda score: min(1.0, max(0.0, score))


def _document(found: frameworks.Found) -> Document:
    text = frameworks.text_of(found)
    return Document(id=found.uri, page_content=text, metadata=dict(found.metadata))


class RagPgRetriever(BaseRetriever):  # type: ignore[misc]
    """Passages of a collection, however it was filled: a Document is a chunk, its id the chunk's;
    its metadata have what a citation needs (`hit_metadata`).

    options: of `Collection.search`, e.g. {"rerank": "…", "filter": {…}}.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)
    collection: Any
    k: int = 10
    options: dict[str, Any] = Field(default_factory=dict)

    def _get_relevant_documents(
        self, query: str, *, run_manager: Any, k: int | None = None, **options: Any
    ) -> list[Document]:
        limit = self.k if k is None else k
        hits = self.collection.search(query, limit=limit, **{**self.options, **options})
        found = frameworks.passages(hits)
        return [Document(id=key, page_content=text, metadata=meta) for key, text, meta, _ in found]
