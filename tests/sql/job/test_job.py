import threading
from collections import Counter
from typing import Any

import psycopg
import pytest
from patience import BOUND

from rag_pg import InvalidInput, LeaseLost, Rag
from rag_pg.db.database import Database
from rag_pg.types import Job

Connection = psycopg.Connection[Any]


def begin(rag: Rag) -> None:
    with psycopg.connect(str(rag.dsn), autocommit=True) as connection:
        connection.execute("SELECT rag.create_collection('c', 'none', 3)")


def put(database: Database, *uris: str) -> None:
    database.put_documents("c", [{"uri": uri, "content": f"text of {uri}"} for uri in uris])


def take(database: Database, limit: int = 1, seconds: float = 60) -> list[Job]:
    return database.take_jobs(limit=limit, lease_seconds=seconds, collections=None, worker="w")


def expire_leases(connection: Connection) -> None:
    connection.execute("UPDATE rag.jobs SET lease_expires_at = CURRENT_TIMESTAMP - interval '1 ms'")


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
    (late,) = take(database)
    assert take(database) == []
    expire_leases(connection)
    (job,) = take(database)
    assert (job.job_id, job.attempts) == (late.job_id, 2)
    assert job.lease != late.lease
    assert database.extend_jobs([late], 60) == [late.job_id]
    with pytest.raises(psycopg.Error) as caught:
        connection.execute("SELECT rag.store_chunks(%s, %s, 1, '[]')", [late.job_id, late.lease])
    assert caught.value.sqlstate == "RG005"


def test_a_heartbeat_keeps_the_lease(database: Database, connection: Connection) -> None:
    put(database, "a")
    (job,) = take(database, seconds=30)
    assert database.extend_jobs([job], 60) == []
    left = "SELECT lease_expires_at - clock_timestamp() > '50 s' FROM rag.jobs"
    assert connection.execute(left).fetchone() == (True,)
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
        assert database.release_job(job, 30, "429") == "waiting"
        connection.execute("UPDATE rag.jobs SET run_at = now()")
    (job,) = take(database)
    assert job.attempts == 1


def test_a_permanent_failure_is_dead_at_once_and_retried_by_filter(
    database: Database, connection: Connection
) -> None:
    put(database, "a", "b")
    for job, error in zip(take(database, 2), ("bad input", "other"), strict=True):
        assert database.fail_job(job, error, permanent=True) == "dead"
    assert database.value(int, "retry_jobs", collection="c", error_like="bad%") == 1
    assert states(connection) == ["dead", "waiting"]
    assert database.value(int, "retry_jobs") == 1
    assert [job.attempts for job in take(database, 2)] == [1, 1]


def test_what_kills_its_workers_dies_alone(database: Database, connection: Connection) -> None:
    put(database, *"abcde")
    (killer,) = connection.execute("SELECT min(job_id) FROM rag.jobs").fetchone() or (None,)
    sizes = []
    for _ in range(30):  # a worker after the other
        jobs = take(database, limit=9)
        sizes.append(len(jobs))
        if killer in [job.job_id for job in jobs]:  # is killed by it, and loses what it has
            connection.execute(
                "UPDATE rag.jobs SET lease_expires_at = now() WHERE lease IS NOT NULL"
            )
        else:
            for job in jobs:
                database.finish_job(job)
    assert sizes[:2] == [5, 5]
    assert set(sizes[2:]) <= {0, 1}
    assert connection.execute("SELECT job_id, state, attempts FROM rag.jobs").fetchall() == [
        (killer, "dead", 5)
    ]


def test_a_job_lost_as_often_as_its_attempts_is_dead(
    database: Database, connection: Connection
) -> None:
    put(database, "a")
    for _ in range(5):
        assert len(take(database)) == 1
        expire_leases(connection)
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


@pytest.mark.one_database
@pytest.mark.parametrize(("limit", "seconds"), [(0, 60), (1001, 60), (1, 0), (1, -5)])
def test_bad_arguments_are_refused(database: Database, limit: int, seconds: float) -> None:
    with pytest.raises(InvalidInput, match="out of range"):
        take(database, limit, seconds)


def test_a_put_wakes_a_listener(dsn: str, database: Database) -> None:
    with database.listen("jobs") as listener:
        put(database, "a")
        assert [n.channel for n in listener.notifies(timeout=BOUND, stop_after=1)] == ["rag_jobs"]


# --- priorities and fairness


def queue_up(connection: Connection, collection: str, count: int, priority: int = 0) -> None:
    """Jobs of documents that do not exist: what a job is about does not matter to the queue."""
    connection.execute(
        """SELECT rag._queue_jobs((rag._require_collection(%s)).collection_id,
                                 ARRAY(SELECT gen_random_uuid() FROM generate_series(1, %s)),
                                 'ingest', %s)""",
        [collection, count, priority],
    )


def shares(jobs: list[Job]) -> dict[str, int]:
    return dict(Counter(job.collection_name for job in jobs))


def test_higher_priorities_come_first(database: Database, connection: Connection) -> None:
    for priority in (0, 5, -3):
        queue_up(connection, "c", 2, priority)
    order = [
        connection.execute(
            "SELECT priority FROM rag.jobs WHERE job_id = %s", [take(database)[0].job_id]
        ).fetchone()
        for _ in range(6)
    ]
    assert order == [(5,), (5,), (0,), (0,), (-3,), (-3,)]


def test_a_long_queue_does_not_starve_another_collection(
    database: Database, connection: Connection
) -> None:
    queue_up(connection, "c", 20_000)
    for name, count in (("small", 3), ("medium", 40)):
        connection.execute("SELECT rag.create_collection(%s, 'none', 3)", [name])
        queue_up(connection, name, count)
    first = shares(take(database, 30))
    assert first["small"] == 3
    assert first["medium"] >= 10
    assert sum(first.values()) == 30
    second = shares(take(database, 30))
    assert second["medium"] >= 10
    take(database, 100)
    assert shares(take(database, 30)) == {"c": 30}  # alone, it gets everything


def test_priority_goes_before_fairness(database: Database, connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('urgent', 'none', 3)")
    queue_up(connection, "c", 50)
    queue_up(connection, "urgent", 4, priority=1)
    assert shares(take(database, 10)) == {"urgent": 4, "c": 6}


def test_the_claim_walks_its_index(database: Database, connection: Connection) -> None:
    queue_up(connection, "c", 20_000)  # never analyzed, as a queue that has just filled
    connection.execute("SELECT pg_stat_force_next_flush()")
    connection.execute("SELECT pg_stat_reset()")
    for _ in range(10):
        assert len(take(database, 50)) == 50
    connection.execute("SELECT pg_stat_force_next_flush()")
    scans = connection.execute(
        "SELECT seq_scan FROM pg_stat_user_tables WHERE relid = 'rag.jobs'::regclass"
    ).fetchone()
    assert scans == (0,)


def test_a_job_is_not_taken_before_it_is_due(database: Database, connection: Connection) -> None:
    connection.execute(
        """SELECT rag._queue_jobs((rag._require_collection('c')).collection_id,
                                 ARRAY[gen_random_uuid()], 'ingest',
                                 job_run_at => now() + interval '1 hour')"""
    )
    assert take(database) == []
    connection.execute("UPDATE rag.jobs SET run_at = now()")
    assert len(take(database)) == 1


def test_only_the_wanted_kinds_are_taken(database: Database) -> None:
    put(database, "a")
    claim = {"limit": 9, "lease_seconds": 60.0, "collections": None, "worker": "w"}
    assert database.take_jobs(**claim, kinds=["embed"]) == []  # type: ignore[arg-type]
    assert len(database.take_jobs(**claim, kinds=["embed", "ingest"])) == 1  # type: ignore[arg-type]


# --- many at once


def test_leases_are_extended_in_batches(database: Database, connection: Connection) -> None:
    put(database, *"abc")
    first, second, third = take(database, 3)
    connection.execute(
        "UPDATE rag.jobs SET lease = NULL, lease_expires_at = NULL WHERE job_id = %s",
        [second.job_id],
    )
    assert database.extend_jobs([first, second, third], 600) == [second.job_id]
    far = connection.execute(
        "SELECT count(*) FROM rag.jobs WHERE lease_expires_at > now() + interval '5 minutes'"
    ).fetchone()
    assert far == (2,)


def test_takers_at_once_take_every_job_once(database: Database, connection: Connection) -> None:
    queue_up(connection, "c", 600)
    taken: list[int] = []

    def work() -> None:
        while jobs := take(database, 7):
            taken.extend(job.job_id for job in jobs)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == len(set(taken)) == 600


# --- failures and their repair


def test_a_job_handed_back_has_no_failure_in_its_history(database: Database) -> None:
    put(database, "a")
    assert database.release_job(take(database)[0]) == "waiting"
    (job,) = take(database)
    assert job.attempts == 1
    assert database.explain_job(job.job_id)["history"] == []


def test_the_history_keeps_the_last_twenty(database: Database, connection: Connection) -> None:
    put(database, "a")
    for number in range(25):
        database.release_job(take(database)[0], 0, f"429 no {number}")
    (errors,) = connection.execute("SELECT errors FROM rag.jobs").fetchone() or ([],)
    assert [e["error"] for e in errors] == [f"429 no {number}" for number in range(5, 25)]


def test_dead_jobs_are_retried_by_uri_kind_and_number(
    database: Database, connection: Connection
) -> None:
    put(database, "guide/a", "guide/b", "news/c")
    jobs = take(database, 3)
    for job in jobs:
        database.fail_job(job, "broken", permanent=True)
    assert database.value(int, "retry_jobs", collection="c", job_kind="embed") == 0
    assert database.value(int, "retry_jobs", collection="c", uri_like="guide/%") == 2
    assert database.value(int, "retry_jobs", error_like="brok%", job_ids=[jobs[2].job_id]) == 1
    assert states(connection) == ["waiting"] * 3
    assert len(take(database, 9)) == 3


def test_jobs_that_back_off_can_be_hurried(database: Database) -> None:
    put(database, "a")
    database.fail_job(take(database)[0], "provider down", retry_in=3000)
    assert database.value(int, "retry_jobs", collection="c", error_like="%down") == 0
    assert (
        database.value(int, "retry_jobs", collection="c", error_like="%down", include_waiting=True)
        == 1
    )
    assert len(take(database)) == 1


def test_reading_a_job_locks_nothing(dsn: str, database: Database, connection: Connection) -> None:
    put(database, "a")
    (job,) = take(database)
    with psycopg.connect(dsn) as reader:
        reader.execute("SELECT * FROM rag.job_input(%s, %s)", [job.job_id, job.lease])
        locked = connection.execute("SELECT job_id FROM rag.jobs FOR UPDATE NOWAIT").fetchall()
    assert locked == [(job.job_id,)]


def test_deleting_a_document_cancels_its_jobs(database: Database, connection: Connection) -> None:
    put(database, "running", "dead", "waiting")
    running, dead = take(database, 2)
    work = database.read_job(running)
    assert work is not None
    database.fail_job(dead, "x", permanent=True)
    for uri in ("running", "dead", "waiting"):
        assert database.value(bool, "delete_document", collection="c", uri=uri)
    assert states(connection) == []
    assert database.extend_jobs([running], 60) == [running.job_id]
    with pytest.raises(LeaseLost):
        database.store_chunks(running, work, [], {})
