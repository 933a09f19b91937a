"""Two connections that write the same documents, stepping in order:
nothing is lost, nobody deadlocks."""

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from patience import wait_until, waits

Connection = psycopg.Connection[Any]
PUT = "SELECT rag.put_document('c', 'u', %s)"
PUT_CHUNKS = "SELECT rag.put_chunks('c', 'u', %s)"
DELETE = "SELECT rag.delete_document('c', 'u')"


@pytest.fixture(autouse=True)
def collection(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 2)")


@pytest.fixture
def first(dsn: str) -> Iterator[Connection]:
    with psycopg.connect(dsn) as opened:
        yield opened


@pytest.fixture
def second(dsn: str) -> Iterator[Connection]:
    with psycopg.connect(dsn, autocommit=True) as opened:
        yield opened


def beside(
    connection: Connection,
    first: Connection,
    second: Connection,
    act: Callable[[], Any],
    then: Callable[[], Any] = lambda: None,
) -> Any:
    """Do `act`, which uses `second`, until it waits for `first`;
    then do `then` and commit `first`."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append(act())
        except Exception as exc:
            outcome.append(exc)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        wait_until(lambda: outcome or waits(connection, second))
        assert not outcome, f"it did not wait: {outcome}"
        then()
        first.commit()
    finally:
        first.rollback()
        thread.join()
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    return outcome[0]


def chunks(*texts: str) -> str:
    return json.dumps([{"content": text, "embedding": [1, len(text)]} for text in texts])


def contents(connection: Connection) -> list[str]:
    return [c for (c,) in connection.execute("SELECT content FROM rag.documents ORDER BY uri")]


def jobs(connection: Connection) -> list[str]:
    return [s for (s,) in connection.execute("SELECT state FROM rag.list_jobs('c')")]


@pytest.mark.parametrize(
    ("statement", "value"), [(PUT, "the second text"), (PUT_CHUNKS, chunks("the second text"))]
)
def test_a_put_beside_a_delete_is_not_lost(
    connection: Connection, first: Connection, second: Connection, statement: str, value: str
) -> None:
    connection.execute(PUT, ["the first text"])
    # The row is only locked when the put finds it, and deleted when the put goes on.
    first.execute("SELECT FROM rag.documents WHERE uri = 'u' FOR UPDATE")
    beside(
        connection,
        first,
        second,
        lambda: second.execute(statement.encode(), [value]),
        lambda: first.execute(DELETE),
    )
    assert contents(connection) == ["the second text"]
    found = connection.execute("SELECT state FROM rag.get_document('c', 'u')").fetchone()
    assert found == ("pending" if statement == PUT else "ready",)


def test_a_put_beside_a_put_is_the_next_version(
    connection: Connection, first: Connection, second: Connection
) -> None:
    first.execute(PUT, ["one"])
    beside(connection, first, second, lambda: second.execute(PUT, ["two"]))
    assert contents(connection) == ["two"]
    assert jobs(connection) == ["waiting"]
    assert connection.execute("SELECT version FROM rag.documents").fetchone() == (2,)


def test_a_delete_beside_a_put_deletes_what_was_put(
    connection: Connection, first: Connection, second: Connection
) -> None:
    connection.execute(PUT_CHUNKS, [chunks("one")])
    first.execute(PUT_CHUNKS, [chunks("two", "three")])
    beside(connection, first, second, lambda: second.execute(DELETE))
    for table in ("documents", "chunks", "embeddings", "jobs"):
        assert connection.execute(f"SELECT count(*) FROM rag.{table}".encode()).fetchone() == (0,)


def take(connection: Connection) -> list[Any]:
    row = connection.execute("SELECT job_id, lease FROM rag.take_jobs()").fetchone()
    assert row is not None
    return list(row)


STORE = "SELECT rag.store_chunks(%s, %s, 1, %s)"


def test_a_store_beside_a_put_is_superseded(
    connection: Connection, first: Connection, second: Connection
) -> None:
    connection.execute(PUT, ["one"])
    held = take(connection)
    first.execute(PUT, ["two"])
    stored = beside(
        connection, first, second, lambda: second.execute(STORE, [*held, chunks("one")]).fetchone()
    )
    assert stored == ("superseded",)
    assert jobs(connection) == ["waiting"]


def test_a_put_beside_a_store_queues_the_new_text(
    connection: Connection, first: Connection, second: Connection
) -> None:
    connection.execute(PUT, ["one"])
    held = take(connection)
    first.execute(STORE, [*held, chunks("one")])
    beside(connection, first, second, lambda: second.execute(PUT, ["two"]))
    assert jobs(connection) == ["waiting"]
    assert connection.execute("SELECT version, indexed_version FROM rag.documents").fetchone() == (
        2,
        1,
    )


def test_a_store_beside_a_delete_finds_its_lease_gone(
    connection: Connection, first: Connection, second: Connection
) -> None:
    connection.execute(PUT, ["one"])
    held = take(connection)
    first.execute(DELETE)
    with pytest.raises(psycopg.Error) as caught:
        beside(connection, first, second, lambda: second.execute(STORE, [*held, chunks("one")]))
    assert caught.value.sqlstate == "RG005"
    assert connection.execute("SELECT count(*) FROM rag.chunks").fetchone() == (0,)


def test_a_delete_beside_a_store_leaves_nothing(
    connection: Connection, first: Connection, second: Connection
) -> None:
    connection.execute(PUT, ["one"])
    held = take(connection)
    first.execute(STORE, [*held, chunks("one")])
    beside(connection, first, second, lambda: second.execute(DELETE))
    for table in ("documents", "chunks", "embeddings", "jobs"):
        assert connection.execute(f"SELECT count(*) FROM rag.{table}".encode()).fetchone() == (0,)


def test_a_replacement_beside_a_merge_keeps_the_keywords_exact(
    connection: Connection, first: Connection, second: Connection
) -> None:
    connection.execute(PUT_CHUNKS, [chunks("apple", "pear")])
    first.execute("SELECT rag._merge_keyword((SELECT collection_id FROM rag.collections))")
    second.execute(PUT_CHUNKS, [chunks("apple", "plum")])  # waits for no merge
    first.commit()
    connection.execute("SELECT rag._merge_keyword((SELECT collection_id FROM rag.collections))")
    for word, found in (("apple", 1), ("pear", 0), ("plum", 1)):
        rows = connection.execute("SELECT FROM rag.search_keyword('c', %s)", [word]).fetchall()
        assert len(rows) == found, word


def test_the_same_documents_in_other_orders_do_not_deadlock(
    connection: Connection, first: Connection, second: Connection
) -> None:
    def put(uris: str, text: str) -> str:
        return json.dumps([{"uri": uri, "content": f"{text} {uri}"} for uri in uris])

    statement = "SELECT id::text FROM rag.put_documents('c', %s) AS p (id)"
    # The first goes on after the second has begun: it would want what the second has locked.
    first.execute(statement, [put("a", "x")])
    ids = beside(
        connection, first, second, lambda: second.execute(statement, [put("cba", "y")]).fetchall()
    )
    assert contents(connection) == ["y a", "y b", "y c"]
    uris = {str(i): u for i, u in connection.execute("SELECT document_id, uri FROM rag.documents")}
    assert [uris[i] for (i,) in ids] == list("cba")  # as given
    # With "a" locked by another, none of the others is locked yet.
    first.execute("SELECT FROM rag.documents WHERE uri = 'a' FOR UPDATE")
    beside(
        connection,
        first,
        second,
        lambda: second.execute(statement, [put("cba", "z")]),
        lambda: connection.execute(
            "SELECT FROM rag.documents WHERE uri IN ('b', 'c') FOR UPDATE NOWAIT"
        ),
    )


def test_the_last_of_two_documents_with_one_uri_counts(connection: Connection) -> None:
    items = [
        {"uri": "u", "content": "one"},
        {"uri": "t", "content": "x"},
        {"uri": "u", "content": "two"},
    ]
    ids = connection.execute("SELECT rag.put_documents('c', %s)", [json.dumps(items)]).fetchall()
    assert contents(connection) == ["x", "two"]
    assert ids[0] == ids[2] != ids[1]


def test_a_table_that_two_attach_at_once_is_one_source(
    connection: Connection, first: Connection, second: Connection
) -> None:
    connection.execute("CREATE TABLE articles (id bigint PRIMARY KEY, body text)")
    attach = "SELECT rag.attach_source('articles', 'c', '{body}')"
    made = first.execute(attach).fetchone()
    found = beside(connection, first, second, lambda: second.execute(attach).fetchone())
    assert found == made
    assert connection.execute("SELECT count(*) FROM rag.sources").fetchone() == (1,)


def test_a_drop_waits_for_no_search_and_no_writer(first: Connection, second: Connection) -> None:
    row = first.execute("SELECT collection_id FROM rag.collections").fetchone()
    assert row is not None
    first.execute("SELECT * FROM rag.search('c', 'one')")
    first.execute("SELECT rag.put_document('c', 'beside', 'text')")
    second.execute("BEGIN; SET LOCAL lock_timeout = '10s'; SELECT rag.drop_collection('c')")
    second.execute("COMMIT")
    first.execute(f"SELECT FROM rag.chunks_{row[0]}".encode())
    first.commit()
    while second.execute("SELECT rag.remove_dropped()").fetchone() == (1,):
        pass
    for table in ("collections", "spaces", "jobs", "keyword_totals"):
        found = second.execute(f"SELECT count(*) FROM rag.{table}".encode()).fetchone()
        assert found == (0,), table
