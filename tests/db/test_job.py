import time
from typing import Any

import psycopg
import pytest

from rag_pg import InvalidInput
from rag_pg.db import Database
from rag_pg.models import Job

Connection = psycopg.Connection[Any]


@pytest.fixture(autouse=True)
def queue(database: Database, connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")


def put(database: Database, *uris: str) -> None:
    database.put_documents("c", [{"uri": uri, "content": f"text of {uri}"} for uri in uris])


def take(database: Database, limit: int = 1, seconds: float = 60) -> list[Job]:
    return database.take_jobs(limit=limit, lease_seconds=seconds, collections=None, worker="w")


def states(connection: Connection) -> list[str]:
    return [s for (s,) in connection.execute("SELECT state FROM rag.list_jobs()").fetchall()]


def test_two_takers_never_share_a_job(dsn: str, database: Database) -> None:
    put(database, *"abcdef")
    with psycopg.connect(dsn) as one, psycopg.connect(dsn) as two:
        first = one.execute("SELECT job_id FROM rag.take_jobs(4)").fetchall()
        second = two.execute("SELECT job_id FROM rag.take_jobs(4)").fetchall()
    assert (len(first), len(second)) == (4, 2)
    assert not set(first) & set(second)


def test_an_expired_lease_is_taken_again_and_the_late_store_refused(
    database: Database, connection: Connection
) -> None:
    put(database, "a")
    (late,) = take(database, seconds=1)
    assert take(database) == []
    time.sleep(1.1)
    (job,) = take(database)
    assert (job.job_id, job.attempts) == (late.job_id, 2)
    assert job.lease != late.lease
    assert not database.extend_job(late, 60)
    with pytest.raises(psycopg.Error) as caught:
        connection.execute("SELECT rag.store_chunks(%s, %s, 1, '[]')", [late.job_id, late.lease])
    assert caught.value.sqlstate == "RG005"


def test_a_heartbeat_keeps_the_lease(database: Database) -> None:
    put(database, "a")
    (job,) = take(database, seconds=2)
    assert database.extend_job(job, 60)
    time.sleep(2.1)
    assert take(database) == []


def test_failures_back_off_keep_their_history_and_end_dead(
    database: Database, connection: Connection
) -> None:
    put(database, "a")
    for attempt in range(1, 6):
        (job,) = take(database)
        assert job.attempts == attempt
        state = database.fail_job(job, f"broken {attempt}")
        assert state == ("waiting" if attempt < 5 else "dead")
        assert take(database) == []
        connection.execute("UPDATE rag.jobs SET run_at = now() WHERE state = 'waiting'")
    assert connection.execute("SELECT jsonb_array_length(errors) FROM rag.jobs").fetchone() == (5,)
    document = database.get_document("c", "a")
    assert document is not None
    assert (document.state, document.error) == ("failed", "broken 5")


def test_the_back_off_doubles_with_jitter(database: Database, connection: Connection) -> None:
    put(database, "a")
    for expected in (2, 4, 8, 16):
        (job,) = take(database)
        database.fail_job(job, "x")
        (wait,) = connection.execute(
            "SELECT extract(epoch FROM run_at - clock_timestamp())::float FROM rag.jobs"
        ).fetchone() or (0,)
        assert expected * 0.45 <= wait <= expected
        connection.execute("UPDATE rag.jobs SET run_at = now()")


def test_a_rate_limit_costs_no_attempt_and_waits_as_told(
    database: Database, connection: Connection
) -> None:
    put(database, "a")
    for _ in range(8):
        (job,) = take(database)
        assert database.fail_job(job, "429", retry_in=30, count_attempt=False) == "waiting"
        connection.execute("UPDATE rag.jobs SET run_at = now()")
    (job,) = take(database)
    assert job.attempts == 1


def test_a_permanent_failure_is_dead_at_once_and_retried_by_filter(
    database: Database, connection: Connection
) -> None:
    put(database, "a", "b")
    for job, error in zip(take(database, 2), ("bad input", "other"), strict=True):
        assert database.fail_job(job, error, permanent=True) == "dead"
    assert database.retry_jobs("c", "bad%") == 1
    assert states(connection) == ["dead", "waiting"]
    assert database.retry_jobs(None, None) == 1
    assert [job.attempts for job in take(database, 2)] == [1, 1]


def test_a_job_lost_as_often_as_its_attempts_is_dead(
    database: Database, connection: Connection
) -> None:
    put(database, "a")
    for _ in range(5):
        assert len(take(database, seconds=0.01)) == 1
        time.sleep(0.02)
    assert take(database) == []
    (state, error) = connection.execute(
        "SELECT state, last_error FROM rag.list_jobs()"
    ).fetchone() or ("", "")
    assert state == "dead"
    assert "lease expired" in error


def test_a_document_has_one_waiting_job_however_often_it_changes(
    database: Database, connection: Connection
) -> None:
    for i in range(5):
        database.put_documents("c", [{"uri": "a", "content": f"text {i}"}])
    assert states(connection) == ["waiting"]
    (job,) = take(database)
    database.put_documents("c", [{"uri": "a", "content": "while running"}])
    assert sorted(states(connection)) == ["running", "waiting"]
    assert database.fail_job(job, "x") == "superseded"
    assert states(connection) == ["waiting"]


def test_a_new_text_replaces_a_dead_job(database: Database, connection: Connection) -> None:
    put(database, "a")
    database.fail_job(take(database)[0], "x", permanent=True)
    database.put_documents("c", [{"uri": "a", "content": "mended"}])
    assert states(connection) == ["waiting"]


def test_only_the_named_collections_are_worked(database: Database, connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('other', 'none', 3)")
    put(database, "a")
    database.put_documents("other", [{"uri": "b", "content": "x"}])
    taken = database.take_jobs(limit=9, lease_seconds=60, collections=["other"], worker="w")
    assert [job.collection_name for job in taken] == ["other"]


@pytest.mark.parametrize(("limit", "seconds"), [(0, 60), (1001, 60), (1, 0), (1, -5)])
def test_bad_arguments_are_refused(database: Database, limit: int, seconds: float) -> None:
    with pytest.raises(InvalidInput, match="out of range"):
        take(database, limit, seconds)


def test_a_put_wakes_a_listener(dsn: str, database: Database) -> None:
    with database.listen() as listener:
        put(database, "a")
        assert [n.channel for n in listener.notifies(timeout=5, stop_after=1)] == ["rag_jobs"]


def test_statistics_count_states_and_lag(database: Database, connection: Connection) -> None:
    put(database, "a", "b", "c")
    first, second = take(database, 2)
    database.fail_job(first, "x", permanent=True)
    connection.execute(
        "UPDATE rag.jobs SET run_at = now() - interval '9 s' WHERE job_id = %s", [second.job_id]
    )
    (counts,) = database.job_stats("c")
    assert (counts.waiting, counts.running, counts.dead) == (1, 1, 1)
    assert 9 <= counts.lag < 12
