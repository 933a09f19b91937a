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
            "-c statement_timeout=20",
            "SELECT pg_sleep(9)",
            StatementCanceled,
            "canceling statement due to statement timeout",
        ),
        (
            "-c default_transaction_read_only=on",
            "TRUNCATE rag.jobs",
            DatabaseUnavailable,
            (
                "the database takes no writes: cannot execute TRUNCATE TABLE in a read-only"
                " transaction; is it a replica? target_session_attrs=read-write in RAG_PG_DSN finds"
                " the primary"
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
