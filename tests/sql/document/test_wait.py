"""Read your writes: waiting until what was put is found."""

import threading
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from fakes import HashEmbedder
from patience import BOUND, wait_until

from rag_pg import InvalidInput, NotReady, Rag
from rag_pg.client.collection import Collection

Connection = psycopg.Connection[Any]
WAIT = "SELECT rag.wait_until_searchable('docs', %s, %s)"


@pytest.fixture
def docs(rag: Rag) -> Collection:
    return rag.collection("docs", model="hash:32")


def put(docs: Collection, uri: str = "a", text: str = "the first text") -> list[UUID]:
    return list(docs.add({"uri": uri, "content": text}, wait=False).document_ids)


def error(connection: Connection, *values: object) -> psycopg.errors.Diagnostic:
    with pytest.raises(psycopg.Error) as caught:
        connection.execute(WAIT, values)
    return caught.value.diag


def until_waited_for(dsn: str) -> None:
    """Return when a session of the database has asked what is not searchable yet."""
    asking = """SELECT FROM pg_stat_activity WHERE datname = current_database()
                AND (query ~ 'wait_until_searchable' AND wait_event = 'PgSleep'
                    OR query ~ 'pending_documents' AND query_start > %s)
                AND pid <> pg_backend_pid()"""
    with psycopg.connect(dsn, autocommit=True) as other:
        began = other.execute("SELECT clock_timestamp()").fetchone()
        wait_until(lambda: other.execute(asking, began).rowcount > 0, "a session that waits")


def work_later(rag: Rag, dsn: str) -> threading.Thread:
    """A worker that begins when the waiting has begun."""

    def run() -> None:
        until_waited_for(dsn)
        rag.worker().drain()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_the_wait_in_sql_sees_what_a_worker_stores_meanwhile(
    rag: Rag, docs: Collection, connection: Connection, dsn: str
) -> None:
    (token,) = put(docs)
    thread = work_later(rag, dsn)
    connection.execute(WAIT, [[token], BOUND])  # one statement, and yet it sees what comes later
    found = connection.execute("SELECT document_id FROM rag.search('docs', 'first')").fetchall()
    thread.join()
    assert found == [(token,)]


def test_a_search_waits_for_the_documents_it_is_given(rag: Rag, docs: Collection, dsn: str) -> None:
    token = put(docs)
    thread = work_later(rag, dsn)
    hits = docs.search("first", wait_for=token, timeout=BOUND)
    thread.join()
    assert [hit.document_id for hit in hits] == token
    assert hits[0].vector_rank == hits[0].keyword_rank == 1
    assert docs.search("first", wait_for=token, timeout=0)[0].uri == "a"


def test_a_time_out_names_what_is_pending(docs: Collection, connection: Connection) -> None:
    tokens = put(docs, "one") + put(docs, "two")
    found = error(connection, tokens, 0.05)
    assert found.sqlstate == "RG007"
    assert found.message_primary == "2 documents are not searchable after 0.05 s: 'one', 'two'"
    assert "is a worker running" in (found.message_hint or "")
    with pytest.raises(
        NotReady, match=r"2 documents are not searchable after 0.05 s: one, two; is a"
    ):
        docs.search("text", wait_for=tokens, timeout=0.05)


def test_a_document_that_failed_ends_the_wait_at_once(
    rag: Rag, docs: Collection, embedder: HashEmbedder, connection: Connection
) -> None:
    def refuse(texts: Any) -> None:
        raise InvalidInput("poison")

    token = put(docs)
    embedder.fail = refuse
    rag.worker().drain()
    found = error(connection, token, 60)
    assert (found.sqlstate, found.message_primary) == (
        "RG007",
        "a document cannot be made searchable: 'a': poison",
    )
    with pytest.raises(NotReady, match="a cannot be made searchable: poison"):
        docs.wait(token, timeout=60)


def test_a_document_without_its_vector_is_waited_for(
    rag: Rag, docs: Collection, connection: Connection
) -> None:
    docs.add_chunks([{"uri": "b", "content": "ready-made"}], wait=False)
    (token,) = connection.execute("SELECT document_id FROM rag.documents").fetchone() or (None,)
    assert error(connection, [token], 0).sqlstate == "RG007"
    rag.worker().drain()
    connection.execute(WAIT, [[token], 0])


def test_a_version_put_later_is_not_waited_for(
    rag: Rag, docs: Collection, embedder: HashEmbedder, connection: Connection
) -> None:
    """Somebody changes the document again and again:
    the wait ends with the version it began with."""
    token = put(docs)
    rag.worker().drain()
    put(docs, text="the second text")
    (pending,) = docs.rag.database.unfinished("docs", token)
    assert (pending.state, pending.wanted_version) == ("pending", 2)
    rag.worker().drain()
    put(docs, text="the third text")
    assert docs.rag.database.unfinished("docs", token, [2]) == []
    assert len(docs.rag.database.unfinished("docs", token)) == 1


def test_waiting_where_it_cannot_succeed_is_refused_at_once(
    docs: Collection, dsn: str, connection: Connection
) -> None:
    with psycopg.connect(dsn) as writer:
        (token,) = writer.execute("SELECT rag.put_document('docs', 'x', 'text')").fetchone() or (0,)
        found = error(writer, [token], 60)
        assert (found.sqlstate, found.message_hint) == ("RG001", "commit, then wait")
    with psycopg.connect(dsn) as reader:
        reader.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        assert error(reader, [uuid4()], 60).sqlstate == "RG001"
    assert error(connection, [uuid4()], 60).sqlstate == "RG002"
    assert error(connection, [], -1).sqlstate == "RG001"
    connection.execute(WAIT, [[], 0])


def test_a_document_deleted_meanwhile_is_not_waited_for(
    docs: Collection, connection: Connection, dsn: str
) -> None:
    token = put(docs)

    def delete() -> None:
        until_waited_for(dsn)
        docs.delete("a")

    thread = threading.Thread(target=delete)
    thread.start()
    connection.execute(WAIT, [token, 60])
    thread.join()
    assert docs.rag.database.get_document("docs", "a") is None


def test_the_lag_is_the_age_of_the_oldest_put_that_is_not_searchable(
    rag: Rag, docs: Collection, embedder: HashEmbedder, connection: Connection
) -> None:
    assert docs.stats().lag == 0
    put(docs, "old")
    connection.execute("UPDATE rag.jobs SET created_at = now() - interval '1 hour'")
    put(docs, "new")
    assert 3600 <= docs.stats().lag < 4000
    connection.execute("UPDATE rag.jobs SET run_at = now() + interval '1 hour'")  # it backs off
    assert 3600 <= docs.stats().lag < 4000
    connection.execute("UPDATE rag.jobs SET run_at = now()")
    rag.worker().drain()
    assert docs.stats().lag == 0


@pytest.mark.parametrize("ending", ["RELEASE here", "SAVEPOINT deeper"])
def test_a_put_under_a_savepoint_is_the_transactions_own(
    docs: Collection, connection: Connection, ending: str
) -> None:
    connection.execute("BEGIN")
    connection.execute("SAVEPOINT here")
    row = connection.execute("SELECT rag.put_document('docs', 'a', 'a text')").fetchone()
    connection.execute(ending.encode())
    assert row is not None
    told = error(connection, [row[0]], 60)
    assert (told.sqlstate, told.message_hint) == ("RG001", "commit, then wait")
