"""What the database's refusals become: one line that says what happened and how to mend it."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from patience import BOUND
from psycopg.conninfo import make_conninfo

from rag_pg import DatabaseUnavailable, RagError, StatementCanceled
from rag_pg.db.database import Database
from rag_pg.fault import Fault, fault_of


def failed(dsn: str, options: str, statement: str) -> RagError:
    database = Database(make_conninfo(dsn, options=options))
    database.open()
    try:
        with pytest.raises(RagError) as caught, database.connection() as connection:
            connection.execute(statement.encode())
    finally:
        database.close()
    return caught.value


@pytest.mark.one_database
@pytest.mark.parametrize(
    "options, statement, error, message",
    [
        (
            "-c statement_timeout=250",
            "SELECT pg_sleep(9)",
            StatementCanceled,
            "canceling statement due to statement timeout; statement_timeout of this role or"
            " database is shorter than that takes: raise it by ALTER ROLE, or with"
            " PGOPTIONS='-c statement_timeout=1min'",
        ),
        (
            "-c temp_file_limit=64 -c work_mem=64",
            "SELECT count(*) FROM (SELECT g FROM generate_series(1, 100000) AS g ORDER BY -g)",
            StatementCanceled,
            (
                "temporary file size exceeds temp_file_limit (64kB); temp_file_limit of this role"
                " or database is less than that needs for a while: have a superuser raise it by"
                " ALTER ROLE, or ask for less at once"
            ),
        ),
        (
            "-c default_transaction_read_only=on",
            "TRUNCATE rag.jobs",
            DatabaseUnavailable,
            (
                "the database takes no writes: cannot execute TRUNCATE TABLE in a read-only"
                " transaction; of a replica, target_session_attrs=read-write in RAG_PG_DSN finds"
                " the primary; else default_transaction_read_only is on for this role or database"
            ),
        ),
        (
            "",
            (
                "DO $$ BEGIN RAISE 'no space left' USING ERRCODE = 'disk_full', HINT = 'Check free"
                " disk space.'; END $$"
            ),
            DatabaseUnavailable,
            ("the database cannot do this now: no space left; make room on the disk of the server"),
        ),
        (
            "",
            "SELECT pg_terminate_backend(pg_backend_pid())",
            DatabaseUnavailable,
            (
                "the database cannot be reached: terminating connection due to administrator"
                " command; check RAG_PG_DSN and that the server runs"
            ),
        ),
    ],
)
def test_refusals(
    dsn: str, options: str, statement: str, error: type[RagError], message: str
) -> None:
    found = failed(dsn, options, statement)
    assert type(found) is error
    # PostgreSQL 16 writes names of settings without quotation marks
    assert str(found).replace('"temp_file_limit"', "temp_file_limit") == message


def test_a_lock_that_is_not_had_in_time(dsn: str, connection: psycopg.Connection[Any]) -> None:
    with connection.transaction():
        connection.execute("LOCK TABLE rag.jobs")
        found = failed(dsn, "-c lock_timeout=20", "SELECT rag.list_jobs()")
    assert type(found) is DatabaseUnavailable
    assert str(found) == (
        "the database cannot do this now: canceling statement due to lock timeout; another"
        " transaction holds what this needs for longer than lock_timeout of this role or database"
        " allows: do it again, or raise lock_timeout"
    )


@pytest.fixture
def few(dsn: str, connection: psycopg.Connection[Any]) -> Iterator[str]:
    """A role that may have one connection."""
    connection.execute("DROP ROLE IF EXISTS rag_few")
    connection.execute("CREATE ROLE rag_few LOGIN CONNECTION LIMIT 1")
    connection.execute("SELECT rag.grant_access('rag_few', 'reader')")
    yield make_conninfo(dsn, user="rag_few")
    connection.execute("SELECT rag.revoke_access('rag_few', 'reader')")
    connection.execute("DROP ROLE rag_few")


@pytest.mark.parametrize(
    "size, message",
    [
        (1, "no database connection became free in time: all 1 of this program are in use, or"),
        (2, "the database cannot be reached: .*too many connections for role .*; the server must"),
    ],
)
def test_a_pool_that_gets_no_connection_says_why(
    dsn: str, few: str, monkeypatch: pytest.MonkeyPatch, size: int, message: str
) -> None:
    monkeypatch.setattr("rag_pg.db.connection.PING_SECONDS", BOUND)
    opened = Database(few if size == 2 else dsn, pool_size=size)
    opened.open()
    try:
        with opened.connection(), pytest.raises(DatabaseUnavailable, match=message) as caught:
            # not before there is the first one, which a busy machine may take longer for
            monkeypatch.setattr("rag_pg.db.connection.CONNECT_SECONDS", 0.2)
            opened.list_collections()
    finally:
        opened.close()
    assert "\n" not in str(caught.value)
    assert fault_of(caught.value) is Fault.AWAY


def test_connections_that_the_server_closed_meanwhile_are_opened_anew(
    dsn: str, connection: psycopg.Connection[Any]
) -> None:
    opened = Database(dsn, pool_size=3)
    opened.open()
    try:
        for _ in range(3):
            with opened.connection(), opened.connection(), opened.connection():
                pass
            ended = connection.execute(
                """SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity
                   WHERE datname = current_database() AND pid <> pg_backend_pid()
                       AND backend_type = 'client backend'"""
            ).fetchone()
            assert ended == (3,)
            assert [opened.list_collections() for _ in range(4)] == [[], [], [], []]
    finally:
        opened.close()


def test_one_connection_does_what_is_done_one_after_the_other(database: Database) -> None:
    connected = """SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
        AND backend_type = 'client backend'"""
    with database.connection() as first:
        assert first.execute(connected).fetchone() == (1,)
        with database.connection():  # two are needed
            assert first.execute(connected).fetchone() == (2,)
    for _ in range(3):
        with database.connection() as used_last:
            assert used_last is first


def test_a_pool_that_does_not_open_leaves_no_connection(dsn: str) -> None:
    database = Database(dsn)
    database.open()
    database.close()  # it cannot be opened again
    with pytest.raises(DatabaseUnavailable, match="cannot be reused"):
        database.open()
    assert [one.closed for one in database._connections._pool.ready] == [True]
