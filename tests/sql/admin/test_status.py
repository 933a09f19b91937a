"""rag.status: the installation on one screen."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from rag_pg import InvalidInput
from rag_pg.db.database import Database
from rag_pg.version import __version__

Connection = psycopg.Connection[Any]


def lines(connection: Connection, *topics: str) -> list[Any]:
    return connection.execute(
        "SELECT * FROM rag.status(%s)", [list(topics) if topics else None]
    ).fetchall()


def test_an_empty_installation_says_so(connection: Connection) -> None:
    (release, queue, worker, finding) = lines(connection)
    (revision,) = connection.execute("SELECT version_num FROM rag.alembic_version").fetchone() or (
        None,
    )
    assert release[:3] == ("release", __version__, "ok")
    assert release[3].startswith(f"revision {revision}, PostgreSQL ")
    assert queue == ("queue", "jobs", "empty", "0 waiting, 0 running, 0 failed")
    assert worker[:3] == ("worker", None, "none")
    assert finding[:3] == ("finding", None, "ok")


def test_every_topic_tells_what_is_there(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    connection.execute(
        """SELECT rag.put_chunks('c', 'a', '[{"content": "one", "embedding": [1, 0, 0]}]')"""
    )
    assert lines(connection, "collection")[0][1:3] == ("c", "ready")
    connection.execute("SELECT rag.put_document('c', 'b', 'text')")
    ((_, name, state, detail),) = lines(connection, "collection")
    assert (name, state) == ("c", "pending")
    assert detail.startswith("2 documents, 1 chunks, 1 with vectors of none, ")
    assert detail.endswith("; jobs: 1")
    assert lines(connection, "queue")[0][2:] == (
        "pending",
        "1 waiting, 0 running, 0 failed; the oldest is due for 0 s",
    )
    connection.execute("SELECT rag.heartbeat('w1', '9.9', '{c}', 4, 2)")
    ((_, name, state, detail),) = lines(connection, "worker")
    assert (name, state) == ("w1", "running")
    assert detail.startswith("release 9.9, 2 of 4 jobs, for c; seen ")
    connection.execute(
        "SELECT rag.fail_job(job_id, lease, 'no', permanent => true) FROM rag.take_jobs(1)"
    )
    assert lines(connection, "collection")[0][2] == "failed"
    assert lines(connection, "queue")[0][2:] == ("failed", "0 waiting, 0 running, 1 failed")
    ((_, name, state, detail),) = lines(connection, "finding")
    assert (name, state) == ("dead jobs", "fail")
    assert "the last error: no; mend the cause, then SELECT rag.retry_jobs('c')" in detail


def test_its_findings_are_those_of_doctor(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    connection.execute("SELECT rag.put_document('c', 'b', 'text')")
    connection.execute("UPDATE rag.jobs SET run_at = now() - interval '1 hour'")
    connection.execute("INSERT INTO rag.maintenance_failures VALUES ('keywords', 1, 'why')")
    connection.execute("DROP INDEX rag.embeddings_1_hnsw")
    found = {(name, state) for _, name, state, _ in lines(connection, "finding")}
    doctor = connection.execute(
        "SELECT check_name, status FROM rag.doctor() WHERE status <> 'ok'"
    ).fetchall()
    assert found == set(doctor) and len(found) == 3


def test_an_unknown_topic_is_refused_with_those_that_there_are(database: Database) -> None:
    with pytest.raises(InvalidInput, match="'jobs'; topics: release, collection, queue"):
        database.status(["queue", "jobs"])
    assert database.status([]) == []
