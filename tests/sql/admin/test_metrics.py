"""rag.metrics: figures of the installation for monitoring."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
from tenancy import canary, collection, make_tenants, tenants_of

Connection = psycopg.Connection[Any]


def told(connection: Connection, name: str) -> dict[tuple[str, ...], float]:
    """The values of a metric, by those of its labels."""
    rows = connection.execute("SELECT labels, value FROM rag.metrics() WHERE name = %s", [name])
    return {tuple(labels[key] for key in sorted(labels)): value for labels, value in rows}


def test_jobs_are_counted_by_state_and_their_age_is_told(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    for number in range(5):
        connection.execute("SELECT rag.put_document('c', %s, 'text')", [str(number)])
    connection.execute(
        """UPDATE rag.jobs SET state = 'dead' WHERE job_id = (SELECT min(job_id) FROM rag.jobs);
           SELECT rag.take_jobs();
           UPDATE rag.jobs SET run_at = CURRENT_TIMESTAMP + interval '1 hour'
           WHERE job_id = (SELECT max(job_id) FROM rag.jobs);
           UPDATE rag.jobs SET run_at = CURRENT_TIMESTAMP - interval '1 hour'
           WHERE state = 'waiting' AND lease IS NULL AND run_at < clock_timestamp()"""
    )
    wanted = {("c", "waiting"): 2, ("c", "delayed"): 1, ("c", "running"): 1, ("c", "dead"): 1}
    assert told(connection, "rag_pg_jobs") == wanted
    assert 3600 <= told(connection, "rag_pg_queue_age_seconds")[("c",)] < 36000


def test_chunks_are_counted_before_and_after_they_are_merged(connection: Connection) -> None:
    connection.execute(
        """SELECT rag.create_collection('c', 'none', 3);
           SELECT * FROM rag.put_chunks('c', 'a', '[{"content": "one", "embedding": [1, 0, 0]},
               {"content": "two", "embedding": [0, 1, 0]}]')"""
    )
    assert told(connection, "rag_pg_chunks") == {("c",): 2}
    connection.execute("SELECT rag._merge_keyword(1)")
    assert told(connection, "rag_pg_chunks") == {("c",): 2}
    assert told(connection, "rag_pg_bytes")["c", "chunks"] > 0


def test_every_metric_is_described_once(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    rows = connection.execute(
        """SELECT name, count(DISTINCT (kind, help)), bool_and(help ~ '\\.$'),
               count(*) - count(DISTINCT labels), string_agg(DISTINCT kind, '')
           FROM rag.metrics() GROUP BY name"""
    ).fetchall()
    assert len(rows) >= 10
    for name, descriptions, is_sentence, twice, kind in rows:
        assert (descriptions, is_sentence, twice) == (1, True, 0), name
        assert (kind == "counter") == name.endswith("_total")


def test_maintenance_tells_when_it_was_done(connection: Connection) -> None:
    assert told(connection, "rag_pg_maintenance_timestamp_seconds") == {}
    connection.execute("CALL rag.maintain()")
    steps = told(connection, "rag_pg_maintenance_timestamp_seconds")
    assert {("leftovers",), ("cache",), ("spaces",)} <= steps.keys()
    ((now,),) = connection.execute("SELECT extract(epoch FROM clock_timestamp())").fetchall()
    assert all(0 <= float(now) - value < 3600 for value in steps.values())
    connection.execute("SELECT rag.note_maintenance('keywords', 1, 'why')")
    assert told(connection, "rag_pg_maintenance_failures") == {(): 1}


def test_what_models_cost_is_that_of_today(connection: Connection) -> None:
    connection.execute(
        """SELECT rag.create_collection('c', 'none', 3);
           SELECT rag.record_usage('c', 'single', '[{"kind": "answer", "model": "m", "calls": 2,
               "prompt_tokens": 30, "answer_tokens": 5, "cost": 0.5, "failures": 1}]');
           UPDATE rag.usage SET day = day - 1;
           SELECT rag.record_usage('c', 'single', '[{"kind": "answer", "model": "m", "calls": 3,
               "prompt_tokens": 40, "answer_tokens": 6, "cost": 0.25}]')"""
    )
    assert told(connection, "rag_pg_model_calls_total") == {("answer", "m"): 3}
    assert told(connection, "rag_pg_cost_dollars_total") == {("answer", "m"): 0.25}
    assert told(connection, "rag_pg_input_tokens_total") == {("answer", "m"): 40}
    assert told(connection, "rag_pg_model_failures_total") == {("answer", "m"): 0}


def test_names_of_models_without_end_stay_few_labels(connection: Connection) -> None:
    connection.execute(
        """SELECT rag.create_collection('c', 'none', 3);
           SELECT rag.record_usage('c', 's', (SELECT jsonb_agg(jsonb_build_object('kind', 'answer',
               'model', 'm' || n, 'calls', 1)) FROM generate_series(1, 90) AS n))"""
    )
    calls = told(connection, "rag_pg_model_calls_total")
    assert len(calls) == 51 and sum(calls.values()) == 90
    assert calls["(others)", "(others)"] == 40


def test_no_tenant_becomes_a_label(new_database: Callable[..., str], template: str) -> None:
    def make(connection: Connection) -> None:
        connection.execute("SELECT rag.create_collection('own', 'none', 3)")
        make_tenants(connection, ["m1", "m2"])

    with (
        tenants_of(new_database(template), ["m1", "m2"], make) as dsn,
        psycopg.connect(dsn, autocommit=True) as connection,
    ):
        text = str(connection.execute("SELECT * FROM rag.metrics()").fetchall())
        assert "rag_pg_jobs" in text and "own" in text
        for tenant in ("m1", "m2"):
            assert collection(tenant) not in text and canary(tenant) not in text
        waiting = told(connection, "rag_pg_jobs")
        assert waiting["(others)", "waiting"] == 2 and waiting["own", "waiting"] == 0


def test_collections_without_end_are_told_together(connection: Connection) -> None:
    connection.execute(
        """INSERT INTO rag.collections
               (name, language, chunking, k1, b, lexer_version, index_format)
           SELECT 'c' || n, 'english', '{}', 1.2, 0.75, 1, 1 FROM generate_series(1, 250) AS n"""
    )
    ages = told(connection, "rag_pg_queue_age_seconds")
    assert len(ages) == 201 and {("c1",), ("c200",), ("(others)",)} <= ages.keys()
