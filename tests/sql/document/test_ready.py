"""Channel rag_ready: who listens hears which documents became searchable."""

import json
from typing import Any

import psycopg
import pytest
from fakes import HashEmbedder

from rag_pg import Rag

Connection = psycopg.Connection[Any]


def heard(connection: Connection) -> list[dict[str, Any]]:
    connection.execute("SELECT 1")
    return [json.loads(n.payload) for n in connection.notifies(timeout=0.2)]


@pytest.fixture(autouse=True)
def listening(connection: Connection) -> None:
    connection.execute("LISTEN rag_ready")


def test_a_document_that_becomes_searchable_is_told(rag: Rag, connection: Connection) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add({"uri": "a", "content": "one"}, wait=False)
    assert heard(connection) == []
    rag.worker().drain()
    (told,) = heard(connection)
    (document,) = docs.list()
    assert told == {
        "collection": "docs",
        "uri": "a",
        "version": 1,
        "document_id": str(document.document_id),
    }
    docs.add({"uri": "a", "content": "two"})
    assert [t["version"] for t in heard(connection)] == [2]


def test_ready_made_chunks_are_told_when_they_have_their_vectors(
    rag: Rag, connection: Connection
) -> None:
    docs = rag.collection("docs", model="hash:32")
    chunks = [{"uri": f"u{i % 3}", "content": f"text {i}"} for i in range(9)]
    docs.add_chunks(chunks, wait=False)
    assert heard(connection) == []  # by keyword alone
    rag.worker().drain()
    assert sorted(t["uri"] for t in heard(connection)) == ["u0", "u1", "u2"]


def test_a_bulk_load_with_vectors_tells_nothing(
    rag: Rag, connection: Connection, embedder: HashEmbedder
) -> None:
    docs = rag.collection("docs", model="hash:32")
    vector = embedder.embed_documents(["x"])[0].tolist()
    docs.add_chunks({"uri": f"u{i}", "content": "x", "embedding": vector} for i in range(50))
    assert heard(connection) == []


def test_vectors_of_another_space_are_not_told(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 2)")
    connection.execute(
        """SELECT rag.put_chunks('c', 'a', '[{"content": "x", "embedding": [1, 2]}]')"""
    )
    connection.execute("SELECT rag.create_space('c', 'other', 3)")
    while connection.execute("SELECT rag.queue_backlog()").fetchone() != (0,):
        pass
    job = connection.execute("SELECT job_id, lease FROM rag.take_jobs()").fetchone()
    assert job is not None
    chunk = connection.execute("SELECT chunk_id FROM rag.chunks_to_embed(%s, %s)", job).fetchone()
    assert chunk is not None
    connection.execute(
        "SELECT rag.store_embeddings(%s, %s, ARRAY[%s], '{\"[1,2,3]\"}')", [*job, chunk[0]]
    )
    assert heard(connection) == []


def test_the_longest_uri_is_told(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 2)")
    for uri in ("x" * 2000, "\x01" * 2000):
        connection.execute("SELECT rag.put_document('c', %s, 'text')", [uri])
        job = connection.execute("SELECT job_id, lease FROM rag.take_jobs()").fetchone()
        assert job is not None
        connection.execute(
            'SELECT rag.store_chunks(%s, %s, 1, \'[{"content": "x", "embedding": [1, 2]}]\')', job
        )
        (told,) = heard(connection)
        assert told["uri"] == (uri if uri[0] == "x" else None)
        found = connection.execute(
            "SELECT uri FROM rag.documents WHERE document_id = %s", [told["document_id"]]
        )
        assert found.fetchone() == (uri,)
