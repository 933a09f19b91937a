"""On a standby, and in sessions that are read only, what reads works and what writes says so."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from sql_calls import CALLS, fill

from rag_pg.db.errors import database_errors
from rag_pg.errors import SQLSTATES, DatabaseUnavailable

# Names that begin so say that they write: what PostgreSQL says of it is clear.
WRITING = {
    "activate", "add", "alter", "answer", "attach", "block", "break", "build", "clear", "create",
    "delete", "detach", "drop", "enrich", "erase", "expose", "extend", "fail", "feedback", "finish",
    "follow", "forget", "grant", "heartbeat", "hide", "index", "keep", "load", "log", "maintain",
    "make", "merge", "note", "put", "queue", "record", "release", "remove", "repair", "retry",
    "revoke", "rollback", "set", "start", "store", "sync", "take", "unindex",
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


def unclear(found: dict[str, psycopg.Error | None], place: str) -> set[str]:
    """The functions whose error, or whose lack of one, is another than their name lets expect."""
    states = {name: None if exc is None else exc.sqlstate for name, exc in found.items()}
    for unlogged in ("cache_stats", "answer_of"):  # which a standby has not
        assert states.pop(unlogged) in (None, "RG007")
    assert set(states.values()) == {None, "25006", "RG011"}
    raw = {name for name, state in states.items() if state == "25006"}
    named = {name for name, state in states.items() if state == "RG011"}
    messages = {name: exc.diag for name in TOLD if (exc := found[name]) is not None}
    vague = {
        name
        for name, told in messages.items()
        if not (told.message_primary or "").startswith(f"rag.{name} ")
        or place not in (told.message_primary or "")
        or not told.message_hint
    }
    return (
        {name for name in raw if name.lstrip("_").split("_")[0] not in WRITING}
        | (named ^ TOLD)
        | vague
    )


@pytest.fixture
def reading(connection: psycopg.Connection[Any]) -> psycopg.Connection[Any]:
    fill(connection)
    connection.execute("SET default_transaction_read_only = on")
    return connection


def test_what_looks_like_a_read_and_writes_says_so(reading: psycopg.Connection[Any]) -> None:
    assert unclear(outcomes(reading), "this transaction is read only") == set()


def test_in_python_it_is_the_error_of_a_database_that_takes_no_writes(
    reading: psycopg.Connection[Any],
) -> None:
    assert SQLSTATES["RG011"] is DatabaseUnavailable
    told = pytest.raises(DatabaseUnavailable, match="rag.ask leaves .* read only; call it where")
    with told, database_errors():
        reading.execute("CALL rag.ask('docs', 'Which fish?')")


@pytest.mark.parametrize("setting", ["off", "on"])
def test_where_writes_are_taken_nothing_is_said(
    connection: psycopg.Connection[Any], setting: str
) -> None:
    """Whatever a session begins with, the transaction decides."""
    connection.execute(f"SET default_transaction_read_only = {setting}".encode())
    require = "SELECT rag._require_writable('it', 'writes')"
    connection.execute("BEGIN READ WRITE")
    assert connection.execute(require.encode()).rowcount == 1
    connection.execute("COMMIT; BEGIN READ ONLY")
    with pytest.raises(psycopg.Error, match="it writes, and this transaction is read only"):
        connection.execute(require.encode())
