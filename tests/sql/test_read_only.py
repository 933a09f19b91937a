"""On a standby, and in sessions that are read only, what reads works and what writes says so."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg import sql
from sql_calls import CALLS, fill

from rag_pg.db.connection import database_errors
from rag_pg.errors import SQLSTATES, DatabaseUnavailable

# Names that begin so say that they write: what PostgreSQL says of it is clear.
WRITING = {
    "activate", "add", "alter", "answer", "attach", "block", "break", "build", "clear", "create",
    "delete", "detach", "drop", "enrich", "erase", "expose", "extend", "fail", "feedback", "finish",
    "follow", "forget", "grant", "heartbeat", "hide", "index", "keep", "load", "log", "maintain",
    "merge", "note", "put", "queue", "record", "release", "remove", "repair", "retry", "revoke",
    "rollback", "set", "start", "store", "sync", "take", "unindex",
}  # fmt: skip
# These keep what they find, ask a worker, or use tables that a standby has not.
TOLD = {
    "answer_request", "ask", "check_gates", "clear_cache", "embed_query", "evaluate_search",
    "measure_judge", "measure_recall", "measure_spaces", "request_answer", "score_answers",
    "search_text", "take_request",
}  # fmt: skip


def outcomes(connection: psycopg.Connection[Any]) -> dict[str, psycopg.Error | None]:
    """What each public function does in a session that may not write."""
    found: dict[str, psycopg.Error | None] = {}
    for name, (_, call) in CALLS.items():
        _, _, last = call.rpartition("; ")  # what is called behind what it needs
        try:
            connection.execute(last.encode())
            found[name] = None
        except psycopg.Error as exc:
            found[name] = exc
    return found


def check_outcomes(found: dict[str, psycopg.Error | None], place: str) -> None:
    states = {name: None if exc is None else exc.sqlstate for name, exc in found.items()}
    for unlogged in ("cache_stats", "answer_of"):  # which a standby has not
        assert states.pop(unlogged) in (None, "RG007")
    assert set(states.values()) == {None, "25006", "RG011"}
    assert {name for name, state in states.items() if state == "RG011"} == TOLD
    raw = {name for name, state in states.items() if state == "25006"}
    assert {name for name in raw if name.split("_")[0] not in WRITING} == set()
    for name in TOLD:
        exc = found[name]
        assert exc is not None
        assert str(exc.diag.message_primary).startswith(f"rag.{name} ")
        assert place in str(exc.diag.message_primary) and exc.diag.message_hint


@pytest.fixture
def reading(connection: psycopg.Connection[Any]) -> psycopg.Connection[Any]:
    fill(connection)
    connection.execute("SET default_transaction_read_only = on")
    return connection


def test_what_looks_like_a_read_and_writes_says_so(reading: psycopg.Connection[Any]) -> None:
    check_outcomes(outcomes(reading), "this transaction is read only")


def test_in_python_it_is_the_error_of_a_database_that_takes_no_writes(
    reading: psycopg.Connection[Any],
) -> None:
    assert SQLSTATES["RG011"] is DatabaseUnavailable
    told = pytest.raises(DatabaseUnavailable, match="rag.ask leaves .* read only; call it where")
    with told, database_errors():
        reading.execute("CALL rag.ask('docs', 'Which fish?')")


def test_where_writes_are_taken_nothing_is_said(connection: psycopg.Connection[Any]) -> None:
    for setting in ("off", "on"):
        connection.execute(
            sql.SQL("SET default_transaction_read_only = {}").format(sql.SQL(setting))
        )
        call = "BEGIN READ WRITE; SELECT rag._require_writable('it', 'writes'); COMMIT"
        connection.execute(call)
