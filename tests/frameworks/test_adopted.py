"""Tables of the frameworks' own Postgres stores, adopted row by row, are read by our stores."""

from __future__ import annotations

from typing import Any

import psycopg
from langchain_core.embeddings import DeterministicFakeEmbedding
from llama_index.core.vector_stores.types import VectorStoreQuery
from paths import RECORDINGS

from rag_pg import Rag
from rag_pg.haystack import RagPgDocumentStore, RagPgEmbeddingRetriever
from rag_pg.langchain import RagPgVectorStore as LangChainStore
from rag_pg.llama_index import RagPgVectorStore as LlamaIndexStore

Rows = dict[str, tuple[str, list[float]]]


def adopted(
    rag: Rag, connection: psycopg.Connection[Any], recording: str, table: str, columns: str
) -> Rows:
    """The rows of a table that has become collection c: texts and vectors by id."""
    connection.execute((RECORDINGS / f"{recording}.sql").read_text(encoding="utf-8"))
    layout = recording
    report = rag.adopt(table, "c", layout=layout, model="theirs", uri_key="$id", sample=0)
    rows = connection.execute(f"SELECT {columns}, embedding::real[] FROM {table}")
    found = {str(key): (text, vector) for key, text, vector in rows if text and vector}
    assert report.documents == report.chunks and found
    return found


def test_a_table_of_langchain(rag: Rag, connection: psycopg.Connection[Any]) -> None:
    rows = adopted(rag, connection, "langchain", '"Hand Book"', "langchain_id, content")
    store = LangChainStore(rag, "c", DeterministicFakeEmbedding(size=8), model="theirs")
    assert {one.id: one.page_content for one in store.get_by_ids([*rows])} == {
        key: text for key, (text, _) in rows.items()
    }
    for key, (text, vector) in rows.items():
        [found] = store.similarity_search_by_vector(vector, k=1)
        assert (found.id, found.page_content) == (key, text) and found.metadata["source"]
    assert store.delete([next(iter(rows))]) and store.collection.count() == len(rows) - 1


def test_a_table_of_llama_index(rag: Rag, connection: psycopg.Connection[Any]) -> None:
    rows = adopted(rag, connection, "llamaindex", "data_handbook", "node_id, text")
    store = LlamaIndexStore("c", rag=rag, dimensions=8, model="theirs")
    for key, (text, vector) in rows.items():
        result = store.query(VectorStoreQuery(query_embedding=vector))
        assert result.ids == [key] and result.nodes and result.nodes[0].get_content() == text
    reference = store.get_nodes([key])[0].metadata["ref_doc_id"]
    store.delete(reference)
    assert 0 < store.client.count() < len(rows)


def test_a_table_of_haystack(rag: Rag, connection: psycopg.Connection[Any]) -> None:
    rows = adopted(rag, connection, "haystack", "haystack_documents", "id, content")
    store = RagPgDocumentStore("c", dimensions=8, model="theirs", rag=rag)
    by_vector = RagPgEmbeddingRetriever(store, top_k=1)
    for key, (text, vector) in rows.items():
        [found] = by_vector.run(query_embedding=vector)["documents"]
        assert (found.id, found.content) == (key, text)
    assert {one.id for one in store.filter_documents() if one.embedding} == {*rows}
