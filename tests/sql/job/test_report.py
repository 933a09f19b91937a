"""What the queue says of itself: statistics, explanations, workers."""

from typing import Any

import psycopg
import pytest

from rag_pg import NotFound, SchemaMismatch
from rag_pg.db.database import Database
from rag_pg.types import Job

Connection = psycopg.Connection[Any]


@pytest.fixture(autouse=True)
def queue(database: Database, connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    database.put_documents("c", [{"uri": uri, "content": f"text of {uri}"} for uri in "abc"])


def take(database: Database, limit: int = 1) -> list[Job]:
    return database.take_jobs(limit=limit, lease_seconds=60, collections=None, worker="w")


def beat(database: Database, name: str = "w", **rates: float) -> None:
    database.beat_worker(
        name, version="1", collections=None, concurrency=1, leased_jobs=0, rates=rates
    )


def test_statistics_count_states_and_lag(database: Database, connection: Connection) -> None:
    first, second = take(database, 2)
    database.fail_job(first, "x", permanent=True)
    connection.execute(
        "UPDATE rag.jobs SET run_at = now() - interval '9 s' WHERE job_id = %s", [second.job_id]
    )
    connection.execute("UPDATE rag.jobs SET run_at = now() + interval '1 h' WHERE lease IS NULL")
    (counts,) = database.job_stats("c")
    assert (counts.waiting, counts.running, counts.dead, counts.delayed) == (1, 1, 1, 1)
    assert counts.lag >= 9
    assert (counts.rate, counts.eta, counts.reason) == (0, None, None)


def test_the_end_is_told_by_the_rates_of_the_workers(database: Database) -> None:
    beat(database, "one", c=0.5)
    beat(database, "two", c=1, other=9)
    (counts,) = database.job_stats("c")
    assert (counts.rate, counts.eta) == (1.5, 2)


def test_a_waiting_job_says_what_it_waits_for(database: Database, connection: Connection) -> None:
    *_, last = database.list_jobs("c", "waiting", 9)

    def reason() -> str:
        told = database.explain_job(last["job_id"])
        assert told["state"] == "waiting"
        return str(told["reason"])

    assert "start one: rag-pg worker" in reason()
    beat(database)
    assert "behind 2 other jobs" in reason()
    connection.execute("UPDATE rag.jobs SET run_at = now() + interval '90 s'")
    assert "it is due in" in reason()
    connection.execute("UPDATE rag.jobs SET run_at = now()")


def test_a_failed_job_tells_its_history_and_next_attempt(database: Database) -> None:
    (job,) = take(database)
    told = database.explain_job(job.job_id)
    assert (told["state"], told["worker"]) == ("running", "w")
    assert told["lease_expires_at"] is not None
    database.fail_job(job, "broken once", retry_in=500)
    told = database.explain_job(job.job_id)
    assert told["state"] == "waiting"
    assert "broken once; the next attempt is in" in told["reason"]
    assert [error["error"] for error in told["history"]] == ["broken once"]
    assert told["next_attempt_at"] > told["created_at"]

    (other,) = take(database)
    database.fail_job(other, "broken for good", permanent=True)
    told = database.explain_job(other.job_id)
    assert told["state"] == "dead"
    assert f"ARRAY[{other.job_id}]" in told["reason"]
    assert database.value(int, "retry_jobs", job_ids=[other.job_id]) == 1
    assert database.explain_job(other.job_id)["state"] == "waiting"


def test_a_lost_job_names_its_worker(database: Database, connection: Connection) -> None:
    (job,) = take(database)
    connection.execute("UPDATE rag.jobs SET lease_expires_at = now() WHERE lease IS NOT NULL")
    assert "worker w lost it" in database.explain_job(job.job_id)["reason"]


def test_an_unknown_job_is_named(database: Database) -> None:
    with pytest.raises(NotFound, match="no job 999; a job that is done"):
        database.explain_job(999)


def test_workers_are_listed_while_their_hearts_beat(
    database: Database, connection: Connection
) -> None:
    for name in ("here", "silent", "gone"):
        beat(database, name)
    database.forget_worker("gone")
    connection.execute(
        "UPDATE rag.workers SET seen_at = now() - interval '2 minutes' WHERE worker = 'silent'"
    )
    assert [worker["worker"] for worker in database.dicts("list_workers")] == ["here"]
    connection.execute("UPDATE rag.workers SET seen_at = now() - interval '2 hours'")
    beat(database, "here")
    assert connection.execute("SELECT worker FROM rag.workers").fetchall() == [("here",)]


def test_a_heartbeat_finds_a_newer_schema(database: Database, connection: Connection) -> None:
    connection.execute(
        "CREATE OR REPLACE FUNCTION rag.min_api_version() RETURNS int LANGUAGE sql RETURN 99"
    )
    with pytest.raises(SchemaMismatch, match="99 to .*upgrade rag-pg"):
        beat(database)


def test_a_search_can_ask_whether_documents_wait_for_nobody(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('waiting', 'none', 3)")
    ask = "SELECT * FROM rag._search_status('waiting')"
    assert connection.execute(ask).fetchone() == (0, 0, None)
    connection.execute("SELECT rag.put_document('waiting', 'a', 'Alpha')")
    note = "documents wait to be searchable (jobs: 1) and no worker is alive: run rag-pg worker"
    assert connection.execute(ask).fetchone() == (1, 0, note)
    connection.execute("SELECT rag.heartbeat('other', '1', ARRAY['elsewhere'])")
    assert connection.execute(ask).fetchone() == (1, 0, note)
    connection.execute("SELECT rag.heartbeat('mine', '1', ARRAY['waiting'])")
    assert connection.execute(ask).fetchone() == (1, 1, None)
    connection.execute("SELECT rag.forget_worker('mine')")
    connection.execute("SELECT rag.put_document('waiting', 'b', 'Beta')")
    taken = connection.execute("SELECT count(*) FROM rag.take_jobs(1, 60, ARRAY['waiting'])")
    assert taken.fetchone() == (1,)
    assert connection.execute(ask).fetchone() == (1, 0, None)  # somebody holds the other
    with pytest.raises(psycopg.Error, match="no collection 'gone'"):
        connection.execute("SELECT * FROM rag._search_status('gone')")
