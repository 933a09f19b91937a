"""What the database's refusals become: one line that says what happened and how to mend it."""

from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from rag_pg import DatabaseUnavailable, RagError, StatementCanceled
from rag_pg.db.database import Database


def failed(dsn: str, options: str, statement: str) -> RagError:
    database = Database(make_conninfo(dsn, options=options))
    database.open()
    try:
        with pytest.raises(RagError) as caught, database.connection() as connection:
            connection.execute(statement.encode())
    finally:
        database.close()
    return caught.value


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
            "the database cannot do this now: no space left; Check free disk space.",
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
    assert str(found) == message


def test_a_lock_that_is_not_had_in_time(dsn: str, connection: psycopg.Connection[Any]) -> None:
    with connection.transaction():
        connection.execute("LOCK TABLE rag.jobs")
        found = failed(dsn, "-c lock_timeout=20", "SELECT rag.list_jobs()")
    assert type(found) is DatabaseUnavailable
    assert str(found) == "the database cannot do this now: canceling statement due to lock timeout"


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
                   WHERE datname = current_database() AND pid <> pg_backend_pid()"""
            ).fetchone()
            assert ended == (3,)
            assert [opened.list_collections() for _ in range(4)] == [[], [], [], []]
    finally:
        opened.close()
