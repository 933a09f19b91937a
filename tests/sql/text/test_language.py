"""Text search configurations that are dropped, renamed, or not in pg_catalog."""

import json
from typing import Any

import psycopg
import pytest
from tenancy import as_role, role

Connection = psycopg.Connection[Any]


@pytest.fixture(autouse=True)
def collection(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 2)")
    connection.execute("CREATE TEXT SEARCH CONFIGURATION public.mine (COPY = pg_catalog.english)")
    put(connection, "plain", "alpha beta")
    put(connection, "theirs", "alpha gamma", "public.mine")


def put(connection: Connection, uri: str, text: str, language: str | None = None) -> None:
    connection.execute(
        "SELECT rag.put_chunks('c', %s, %s, language => %s::regconfig)",
        [uri, json.dumps([{"content": text, "embedding": [1, 0]}]), language],
    )


def drop(connection: Connection) -> None:
    connection.execute("DROP TEXT SEARCH CONFIGURATION public.mine")


def found(connection: Connection, search: str) -> set[str]:
    return {uri for (uri,) in connection.execute(f"SELECT uri FROM rag.{search}".encode())}


def doctor(connection: Connection) -> list[tuple[str, str, str]]:
    return connection.execute(
        """SELECT status, detail, remedy FROM rag.doctor()
           WHERE check_name = 'languages' AND status <> 'ok'"""
    ).fetchall()


def test_every_search_survives_a_dropped_configuration(connection: Connection) -> None:
    drop(connection)
    for match in ("any", "all", "phrase", "web"):
        assert found(connection, f"search_keyword('c', 'alpha', match => '{match}')") == {
            "plain",
            "theirs",
        }
    assert found(connection, "search('c', 'gamma', '[1, 0]')") == {"plain", "theirs"}
    assert connection.execute("SELECT rag.explain_search('c', 'gamma')").fetchone() is not None
    marked = connection.execute(
        "SELECT rag.snippet('c', chunk_id, 'gamma') FROM rag.search('c', 'gamma')"
    ).fetchall()
    assert len(marked) == 1
    connection.execute("CALL rag.maintain()")
    put(connection, "new", "alpha delta")
    assert found(connection, "search_keyword('c', 'delta')") == {"new"}


def test_doctor_names_what_is_missing_and_how_to_make_it_again(connection: Connection) -> None:
    assert doctor(connection) == []
    drop(connection)
    ((status, detail, remedy),) = doctor(connection)
    assert status == "warn"
    assert (
        detail
        == "text search configuration public.mine is gone; 1 documents of collection 'c' use it"
    )
    connection.execute(remedy.encode())
    assert doctor(connection) == []


def test_a_configuration_that_no_document_uses_any_more_does_not_matter(
    connection: Connection,
) -> None:
    connection.execute("SELECT rag.delete_document('c', 'theirs')")
    drop(connection)
    assert doctor(connection) == []
    assert found(connection, "search_keyword('c', 'alpha')") == {"plain"}


def test_a_collection_whose_own_configuration_is_gone_says_so(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('d', 'none', 2, language => 'public.mine')")
    connection.execute(
        "SELECT rag.put_chunks('d', 'a', '[{\"content\": \"alpha\", \"embedding\": [1, 0]}]')"
    )
    drop(connection)
    assert ("fail", "d") in [
        (status, detail.split("'")[1]) for status, detail, _ in doctor(connection)
    ]
    assert found(connection, "search('d', 'alpha', '[1, 0]')") == {"a"}
    assert found(connection, "search_keyword('d', 'alpha')") == set()
    with pytest.raises(psycopg.Error, match="no text search configuration public.mine") as caught:
        connection.execute("SELECT rag.put_chunks('d', 'b', '[{\"content\": \"beta\"}]')")
    assert caught.value.sqlstate == "RG001"
    assert "CREATE TEXT SEARCH CONFIGURATION public.mine" in (caught.value.diag.message_hint or "")


@pytest.mark.parametrize("path", ["public", "pg_catalog, public", "rag, public"])
def test_a_configuration_is_stored_with_its_schema_whatever_the_search_path(
    connection: Connection, path: str
) -> None:
    connection.execute(f"SET search_path = {path}".encode())
    put(connection, "short", "alpha gammas", "mine")
    connection.execute("SELECT rag.create_collection('d', 'none', 2, language => 'mine')")
    connection.execute("SELECT rag.create_collection('d', 'none', 2, language => 'public.mine')")
    stored = connection.execute(
        "SELECT language FROM rag.documents UNION SELECT language FROM rag.collections ORDER BY 1"
    ).fetchall()
    assert stored == [("english",), ("public.mine",), (None,)]
    assert found(connection, "search_keyword('c', 'gamma')") == {"theirs", "short"}


@pytest.mark.parametrize("schema", ["pg_temp", "closed"])
def test_a_configuration_that_others_cannot_reach_is_refused_and_stops_no_reader(
    dsn: str, connection: Connection, schema: str
) -> None:
    connection.execute("CREATE SCHEMA closed")
    reader = role("reader")
    connection.execute(f"CREATE ROLE {reader} LOGIN".encode())
    try:
        connection.execute("SELECT rag.grant_access(%s, 'reader')", [reader])
        connection.execute(
            f"CREATE TEXT SEARCH CONFIGURATION {schema}.one (COPY = pg_catalog.english)".encode()
        )
        if schema == "pg_temp":
            for call in (
                "create_collection('d', 'none', 2, language => 'pg_temp.one')",
                "put_document('c', 'new', 'alpha', language => 'pg_temp.one')",
            ):
                with pytest.raises(psycopg.Error, match="out of reach") as caught:
                    connection.execute(f"SELECT rag.{call}".encode())
                assert caught.value.sqlstate == "RG001"
        connection.execute(
            """UPDATE rag.documents SET language = x.name FROM (
                   SELECT format('%I.one', n.nspname) AS name FROM pg_ts_config AS t
                   JOIN pg_namespace AS n ON n.oid = t.cfgnamespace WHERE t.cfgname = 'one') AS x
               WHERE uri = 'theirs';
               INSERT INTO rag.keyword_languages (collection_id, language)
               SELECT d.collection_id, d.language FROM rag.documents AS d WHERE d.uri = 'theirs'"""
        )
        with as_role(dsn, reader) as session:
            assert found(session, "search_keyword('c', 'alpha')") == {"plain", "theirs"}
            assert found(session, "search('c', 'alpha', '[1, 0]')") == {"plain", "theirs"}
            session.execute("SELECT rag.match_terms('c', 'alpha', '{alpha}')")
            ((status, detail, remedy),) = doctor(session)
        told = "temporary" if schema == "pg_temp" else "out of reach"
        assert status == "warn" and f"one is {told}; 1 documents of collection 'c'" in detail
        assert remedy.startswith("put them again with another language")
    finally:
        connection.execute(f"DROP OWNED BY {reader}; DROP ROLE {reader}".encode())
