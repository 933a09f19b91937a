"""Budgets: what all workers together may ask of a provider."""

import threading
from typing import Any

import psycopg
import pytest

from rag_pg.db.database import Database

Connection = psycopg.Connection[Any]


def value(connection: Connection, statement: str, *arguments: object) -> Any:
    row = connection.execute(statement.encode(), arguments).fetchone()
    return row[0] if row else None


def budget(connection: Connection) -> dict[str, Any]:
    with connection.cursor(row_factory=psycopg.rows.dict_row) as cursor:
        (row,) = cursor.execute("SELECT * FROM rag.list_budgets()").fetchall()
        return row


def end_the_minute(connection: Connection) -> None:
    connection.execute("UPDATE rag.budgets SET window_started_at = now() - interval '1 minute'")


def test_a_provider_without_a_budget_is_free(database: Database, connection: Connection) -> None:
    assert database.take_budget("gemini", 1, 10**9) == 0
    assert value(connection, "SELECT count(*) FROM rag.budgets") == 0


def test_requests_of_a_minute_are_counted(database: Database, connection: Connection) -> None:
    connection.execute("SELECT rag.set_budget('gemini', requests_per_minute => 3)")
    assert [database.take_budget("gemini", 1, 5) for _ in range(3)] == [0, 0, 0]
    assert 0 < database.take_budget("gemini", 1, 5) <= 60
    assert budget(connection)["window_requests"] == 3
    assert "this minute" in budget(connection)["reason"]
    end_the_minute(connection)
    assert database.take_budget("gemini", 1, 5) == 0
    assert budget(connection)["window_requests"] == 1


def test_tokens_of_a_minute_are_counted_and_a_larger_call_passes_alone(
    database: Database, connection: Connection
) -> None:
    connection.execute("SELECT rag.set_budget('gemini', tokens_per_minute => 100)")
    assert database.take_budget("gemini", 1, 60) == 0
    assert database.take_budget("gemini", 1, 60) > 0
    assert database.take_budget("gemini", 1, 40) == 0
    end_the_minute(connection)
    assert database.take_budget("gemini", 1, 1000) == 0
    assert database.take_budget("gemini", 1, 1) > 0


def test_a_spend_cap_lasts_for_its_day(database: Database, connection: Connection) -> None:
    connection.execute("SELECT rag.set_budget('gemini', spend_cap => 0.5, token_price => 2)")
    assert database.take_budget("gemini", 1, 300_000) == 0
    assert 0 < database.take_budget("gemini", 1, 1) <= 86400
    assert (
        "spend cap of gemini is reached: 0.6000 of 0.5 units (day)" in budget(connection)["reason"]
    )
    connection.execute("UPDATE rag.budgets SET spent_since = now() - interval '1 day'")
    assert database.take_budget("gemini", 1, 1) == 0


def test_a_total_spend_cap_lasts_until_it_is_raised(
    database: Database, connection: Connection
) -> None:
    connection.execute("SELECT rag.set_budget('gemini', spend_cap => 1, spend_period => 'total')")
    assert database.take_budget("gemini", 1, 2_000_000) == 0
    connection.execute("UPDATE rag.budgets SET spent_since = now() - interval '9 days'")
    assert database.take_budget("gemini", 1, 1) == float("inf")
    connection.execute("SELECT rag.set_budget('gemini', spend_cap => 3, spend_period => 'total')")
    assert database.take_budget("gemini", 1, 1) == 0
    connection.execute(
        "SELECT rag.set_budget('gemini', spend_cap => 1, spend_period => 'total', reset_spent =>"
        " true)"
    )
    assert database.take_budget("gemini", 1, 1) == 0


def test_a_block_holds_for_everybody_and_the_longest_counts(
    database: Database, connection: Connection
) -> None:
    database.block_provider("gemini", 3000, "429: slow down")
    database.block_provider("gemini", 5, "429")
    assert 2000 < database.take_budget("gemini", 1, 1) <= 3000
    assert database.take_budget("openai", 1, 1) == 0
    connection.execute("UPDATE rag.budgets SET blocked_until = now()")
    assert database.take_budget("gemini", 1, 1) == 0


def test_concurrent_takers_never_pass_the_limit(database: Database, connection: Connection) -> None:
    connection.execute("SELECT rag.set_budget('gemini', requests_per_minute => 20)")
    passed: list[float] = []

    def take() -> None:
        passed.extend(database.take_budget("gemini", 1, 1) for _ in range(10))

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    windows = 1 + (budget(connection)["window_requests"] < 20)  # a slow run may see two minutes
    assert 20 <= passed.count(0) <= 20 * windows


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("rag.set_budget('a b')", "provider 'a b'"),
        ("rag.set_budget('gemini:x', 1)", "provider 'gemini:x'"),
        ("rag.set_budget('gemini', 0)", "requests_per_minute is 0"),
        ("rag.set_budget('gemini', spend_cap => -1)", "spend_cap is -1"),
        ("rag.set_budget('gemini', token_price => NULL)", "token_price is 0"),
        ("rag.set_budget('gemini', spend_period => 'week')", "spend_period 'week'"),
        ("rag.block_provider('gemini', -1)", "seconds -1"),
    ],
)
def test_bad_budgets_are_refused(connection: Connection, call: str, words: str) -> None:
    with pytest.raises(psycopg.Error, match=words) as caught:
        value(connection, f"SELECT {call}")
    assert caught.value.sqlstate == "RG001"
    assert caught.value.diag.message_hint


def test_jobs_of_a_held_back_collection_stay_and_say_why(
    database: Database, connection: Connection
) -> None:
    connection.execute("SELECT rag.create_collection('paid', 'gemini:m', 3)")
    connection.execute("SELECT rag.create_collection('free', 'none', 3)")
    for name in ("paid", "free"):
        database.put_documents(name, [{"uri": "a", "content": "text"}])
    connection.execute("SELECT rag.set_budget('gemini', spend_cap => 1)")
    assert database.take_budget("gemini", 1, 1_000_000) == 0

    (job,) = database.take_jobs(limit=9, lease_seconds=60, collections=None, worker="w")
    assert job.collection_name == "free"
    paid = {c.collection_name: c for c in database.job_stats()}["paid"]
    assert paid.reason is not None and "spend cap" in paid.reason
    (waiting,) = database.list_jobs("paid", None, 9)
    assert "spend cap" in database.explain_job(waiting["job_id"])["reason"]

    connection.execute("SELECT rag.set_budget('gemini')")
    (job,) = database.take_jobs(limit=9, lease_seconds=60, collections=None, worker="w")
    assert job.collection_name == "paid"
    assert job.attempts == 1


def test_a_second_space_that_is_held_back_does_not_hold_up_the_first(
    database: Database, connection: Connection
) -> None:
    connection.execute("SELECT rag.create_collection('docs', 'none', 3)")
    database.call(
        "put_chunks",
        collection="docs",
        uri="ready",
        chunks=[{"content": "text", "embedding": [0, 0, 1]}],
        title="",
        metadata={},
    )
    connection.execute("SELECT rag.create_space('docs', 'gemini:m', 3)")
    connection.execute("SELECT rag.block_provider('gemini', 60, 'slow down')")
    database.queue_backlog(None)
    database.put_documents("docs", [{"uri": "new", "content": "text"}])

    (job,) = database.take_jobs(limit=9, lease_seconds=60, collections=None, worker="w")
    assert job.kind == "ingest"
    (stats,) = database.job_stats()
    assert (stats.waiting, stats.running) == (1, 1)
    assert "slow down" in str(stats.reason)
    connection.execute("UPDATE rag.budgets SET blocked_until = NULL")
    (job,) = database.take_jobs(limit=9, lease_seconds=60, collections=None, worker="w")
    assert job.kind == "embed"
