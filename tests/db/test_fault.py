"""Whose fault an error is: real errors of the server, and what they cost a job."""

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from rag_pg import (
    DatabaseUnavailable,
    InvalidInput,
    PermissionDenied,
    Rag,
    RagError,
    StatementCanceled,
)
from rag_pg.db.database import Database
from rag_pg.db.errors import database_errors
from rag_pg.fault import OF_SQLSTATE, Fault, fault_of, fault_of_sqlstate

Connection = psycopg.Connection[Any]

# What a real server raises: SQLSTATE, whose fault, the class that callers meet, and the statements.
REAL = {
    "22003": (Fault.DOCUMENT, InvalidInput, "SELECT 2147483647 + 1"),
    "22P02": (Fault.DOCUMENT, InvalidInput, "SELECT 'x'::integer"),
    "23505": (Fault.DOCUMENT, RagError, "INSERT INTO rag.budgets VALUES ('p'), ('p')"),
    "23514": (
        Fault.DOCUMENT,
        RagError,
        "INSERT INTO rag.budgets (provider, spend_period) VALUES ('p', 'x')",
    ),
    "25006": (Fault.AWAY, DatabaseUnavailable, "BEGIN READ ONLY; DELETE FROM rag.budgets"),
    "25P02": (Fault.PROGRAM, RagError, "BEGIN; SELECT 1/0; SELECT 1"),
    "42501": (Fault.WORKER, PermissionDenied, "SET ROLE pg_monitor; DELETE FROM rag.budgets"),
    "42704": (Fault.DOCUMENT, InvalidInput, "SELECT 'klingon'::regconfig"),
    "42883": (Fault.WORKER, RagError, "SELECT rag.no_such_function()"),
    "42P01": (Fault.WORKER, RagError, "SELECT FROM rag.no_such_table"),
    "53400": (
        Fault.DOCUMENT,
        StatementCanceled,
        """SET temp_file_limit = '64kB'; SET work_mem = '64kB';
        SELECT count(*) FROM (SELECT g FROM generate_series(1, 100000) AS g
            ORDER BY random()) AS s""",
    ),
    "54000": (
        Fault.DOCUMENT,
        InvalidInput,
        (
            "CREATE TEMP TABLE t (x text UNIQUE); INSERT INTO t SELECT string_agg(chr(20000 +"
            " (random() * 9000)::integer), '') FROM generate_series(1, 3000)"
        ),
    ),
    "54001": (
        Fault.DOCUMENT,
        InvalidInput,
        """SET max_stack_depth = '100kB';
        CREATE FUNCTION pg_temp.deep(i integer) RETURNS integer LANGUAGE plpgsql AS
        'BEGIN RETURN pg_temp.deep(i + 1);END'; SELECT pg_temp.deep(1)""",
    ),
    "54011": (Fault.DOCUMENT, InvalidInput, "SELECT " + ", ".join(map(str, range(1700)))),
    "54023": (Fault.DOCUMENT, InvalidInput, f"SELECT concat({', '.join(map(str, range(101)))})"),
    "55000": (Fault.DOCUMENT, RagError, "CREATE SEQUENCE s; SELECT currval('s')"),
    "55006": (
        Fault.BUSY,
        DatabaseUnavailable,
        (
            "BEGIN; CREATE TABLE used (x integer); "
            "DECLARE c CURSOR FOR SELECT FROM used; DROP TABLE used"
        ),
    ),
    "57014": (Fault.CANCELED, StatementCanceled, "SET statement_timeout = 1; SELECT pg_sleep(5)"),
    "57P01": (Fault.AWAY, DatabaseUnavailable, "SELECT pg_terminate_backend(pg_backend_pid())"),
    "P0001": (Fault.DOCUMENT, RagError, "DO 'BEGIN RAISE ''no''; END'"),
    "P0002": (
        Fault.PROGRAM,
        RagError,
        "DO 'DECLARE x integer; BEGIN SELECT 1 INTO STRICT x WHERE false; END'",
    ),
    # These need a broken disk, or no memory: raised by hand.
    **{
        state: (fault, kind, f"DO 'BEGIN RAISE ''broken'' USING ERRCODE = ''{state}''; END'")
        for state, fault, kind in (
            ("53100", Fault.BUSY, DatabaseUnavailable),
            ("53200", Fault.BUSY, DatabaseUnavailable),
            ("58030", Fault.BUSY, DatabaseUnavailable),
            ("XX000", Fault.PROGRAM, RagError),
            ("XX001", Fault.PROGRAM, RagError),
            ("XX002", Fault.PROGRAM, RagError),
            ("F0000", Fault.AWAY, DatabaseUnavailable),
            ("0A000", Fault.PROGRAM, RagError),
        )
    },
}


def met(act: Callable[[], Any]) -> RagError:
    with pytest.raises(RagError) as caught, database_errors():
        act()
    return caught.value


@pytest.mark.one_database
@pytest.mark.parametrize("state", REAL)
def test_the_servers_errors_are_somebodys_fault(state: str, connection: Connection) -> None:
    fault, kind, statements = REAL[state]

    def act() -> None:
        for statement in [statements] if statements.startswith("DO") else statements.split("; "):
            with contextlib.suppress(*[psycopg.errors.DivisionByZero] * (state == "25P02")):
                connection.execute(statement.encode())

    error = met(act)
    assert isinstance(error.__cause__, psycopg.Error)
    assert error.__cause__.sqlstate == state
    assert fault_of(error) is fault
    assert isinstance(error, kind)
    assert (type(error) is RagError) == (kind is RagError) or state in ("42883", "42P01")


OUTSIDE = ("08", "40", "42501", "53", "55006", "55P03", "57", "58", "25006", "25P03", "25P04")


@pytest.mark.one_database
@pytest.mark.parametrize(
    "state",
    sorted(state for state in psycopg.errors._sqlcodes if state.startswith(OUTSIDE)),
)
def test_what_comes_from_outside_has_a_class_and_a_remedy(
    state: str, connection: Connection
) -> None:
    error = met(
        lambda: connection.execute(
            f"DO 'BEGIN RAISE ''x'' USING ERRCODE = ''{state}''; END'".encode()
        )
    )
    assert isinstance(error, DatabaseUnavailable | PermissionDenied | StatementCanceled)
    assert re.search("(^|: )x; [a-z_A-Z]", str(error)), str(error)


@pytest.fixture
def other(dsn: str) -> Iterator[Connection]:
    with psycopg.connect(dsn) as opened:
        yield opened


def test_a_lock_not_had_in_time_is_the_databases_fault(
    connection: Connection, other: Connection
) -> None:
    other.execute("LOCK TABLE rag.budgets")
    connection.execute("SET lock_timeout = '10ms'")
    error = met(lambda: connection.execute("DELETE FROM rag.budgets"))
    assert (fault_of(error), type(error)) == (Fault.BUSY, DatabaseUnavailable)


def test_a_conflict_of_two_snapshots_is_the_databases_fault(
    connection: Connection, other: Connection
) -> None:
    connection.execute("INSERT INTO rag.budgets VALUES ('p')")
    other.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    other.execute("SELECT FROM rag.budgets")
    connection.execute("UPDATE rag.budgets SET spent = 1")
    error = met(lambda: other.execute("UPDATE rag.budgets SET spent = 2"))
    assert isinstance(error.__cause__, psycopg.errors.SerializationFailure)
    assert (fault_of(error), type(error)) == (Fault.BUSY, DatabaseUnavailable)


def test_too_many_connections_are_an_outage(dsn: str, connection: Connection) -> None:
    connection.execute("DROP ROLE IF EXISTS rag_crowd")
    connection.execute("CREATE ROLE rag_crowd LOGIN CONNECTION LIMIT 0")
    try:
        error = met(lambda: psycopg.connect(make_conninfo(dsn, user="rag_crowd")))
    finally:
        connection.execute("DROP ROLE rag_crowd")
    assert re.search("too many connections.*; the server must have a connection free", str(error))
    assert (fault_of(error), type(error)) == (Fault.AWAY, DatabaseUnavailable)


def test_an_answer_too_many_of_a_pooler_is_an_outage() -> None:
    def act() -> None:
        raise psycopg.InternalError("received 2 results from command 'COMMIT'")

    error = met(act)
    assert (fault_of(error), type(error)) == (Fault.AWAY, DatabaseUnavailable)


def test_every_fault_of_the_table_can_be_looked_up() -> None:
    for state, fault in OF_SQLSTATE.items():
        assert fault_of_sqlstate(state.ljust(5, "Z")) is fault
    assert fault_of_sqlstate("") is Fault.PROGRAM
    assert fault_of(ValueError("x")) is Fault.PROGRAM


# --- what it costs a job: state, attempts, what the others do, what the worker ends with

COSTS: dict[str, tuple[str, int, type[RagError] | None]] = {
    "22003": ("waiting", 1, None),
    "23514": ("waiting", 1, None),
    "42501": ("waiting", 0, PermissionDenied),
    "53100": ("waiting", 0, DatabaseUnavailable),
    "53400": ("waiting", 1, None),
    "54000": ("waiting", 1, None),
    "55000": ("waiting", 1, None),
    "55P03": ("waiting", 0, DatabaseUnavailable),
    "40P01": ("waiting", 0, DatabaseUnavailable),
    "57014": ("waiting", 1, None),
    "P0001": ("waiting", 1, None),
    "XX000": ("waiting", 1, None),
    "RG001": ("dead", 1, None),
}


@pytest.mark.parametrize("state", COSTS)
def test_an_error_at_storing_costs_its_job_alone(
    rag: Rag, connection: Connection, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    monkeypatch.setattr("rag_pg.worker.pipeline.RESTART_SECONDS", 0.1)
    expected, attempts, ends_with = COSTS[state]
    docs = rag.collection("docs", model="hash:32")
    docs.add(*({"uri": u, "content": f"the text of {u}"} for u in ("a", "bad", "c")), wait=False)
    connection.execute(
        f"""CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE 'it cannot be stored' USING ERRCODE = '{state}'; END $$;
            CREATE TRIGGER refuse BEFORE INSERT ON rag.chunks_1
            FOR EACH ROW WHEN (NEW.content LIKE '%bad%')
            
            
            
            
            EXECUTE FUNCTION public.refuse()""".encode()
    )
    began = connection.execute("SELECT clock_timestamp()").fetchone()
    met_at_last: RagError | None = None
    try:
        rag.worker().drain()
    except RagError as exc:
        met_at_last = exc
    assert type(met_at_last) is (ends_with or type(None))
    assert {d.uri for d in docs.list() if d.state == "ready"} == {"a", "c"}
    (job,) = rag.database.list_jobs("docs", None, 9)
    assert (job["uri"], job["state"], job["attempts"]) == ("bad", expected, attempts)
    assert "it cannot be stored" in job["last_error"]
    if expected == "waiting":
        due = b"SELECT run_at > %s + interval '0.4 s' FROM rag.jobs"
        assert connection.execute(due, began).fetchone() == (True,)


def test_a_batch_goes_on_without_the_document_that_the_server_refuses(
    rag: Rag, connection: Connection
) -> None:
    docs = rag.collection("docs", model="hash:32")
    connection.execute(
        """CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS
           $$ BEGIN RAISE 'not this one'; END $$;
           CREATE TRIGGER refuse BEFORE INSERT ON rag.documents_1
           FOR EACH ROW WHEN (NEW.uri = 'bad') EXECUTE FUNCTION public.refuse()"""
    )
    report = docs.add(*({"uri": u, "content": f"text {u}"} for u in ("a", "bad", "c")), wait=False)
    assert [(f.uri, f.error) for f in report.failures] == [("bad", "not this one")]
    assert [d.uri for d in docs.list()] == ["a", "c"]


# --- large documents

WIDE = 2048  # as text in JSON, 8,000 vectors are more than the 256 MB of a jsonb array


def held(database: Database, connection: Connection, chunks: int) -> tuple[Any, Any]:
    connection.execute(
        "SELECT rag.create_collection('wide', 'none', %s, index_options => '{\"kind\":"
        ' "exact"}\')',
        [WIDE],
    )
    database.put_documents("wide", [{"uri": "u", "content": "a text"}])
    (job,) = database.take_jobs(limit=1, lease_seconds=600, collections=None, worker="w")
    work = database.read_job(job)
    assert work is not None
    return job, work


def test_a_document_of_8000_chunks_is_stored(database: Database, connection: Connection) -> None:
    job, work = held(database, connection, 8000)
    rows = np.random.default_rng(1).standard_normal((8000, WIDE)).astype(np.float32)
    chunks = [
        {"content": f"chunk {i}", "heading": "", "start": i, "stop": i + 1} for i in range(8000)
    ]
    assert database.store_chunks(job, work, chunks, dict(enumerate(rows))) == "stored"
    assert connection.execute("SELECT count(*) FROM rag.embeddings").fetchone() == (8000,)
    found = connection.execute(
        """SELECT e.embedding::text FROM rag.embeddings AS e JOIN rag.chunks AS c USING (chunk_id)
           WHERE c.ordinal = 4711"""
    ).fetchone()
    assert found is not None
    assert np.allclose(json.loads(found[0]), rows[4711], atol=2e-3)


def test_vectors_are_as_many_as_chunks(database: Database, connection: Connection) -> None:
    job, _ = held(database, connection, 1)
    call = "SELECT rag.store_chunks(%s, %s, 1, '[{\"content\": \"x\"}]', vectors => '{NULL,NULL}')"
    with pytest.raises(psycopg.Error, match="1 chunks and 2 vectors") as caught:
        connection.execute(call, [job.job_id, job.lease])
    assert caught.value.sqlstate == "RG001"


def test_more_than_one_statement_holds_is_told(
    database: Database, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, work = held(database, connection, 1)
    monkeypatch.setattr("rag_pg.db.job.TEXTS_BYTES", 1000)
    with pytest.raises(InvalidInput, match="document 'u' is too large: its 1 chunks have 10"):
        database.store_chunks(job, work, [{"content": "x" * 1000}], {})
    monkeypatch.setattr("rag_pg.db.job.STATEMENT_BYTES", 2000)
    with pytest.raises(InvalidInput, match="divide it"):
        database.store_chunks(job, work, [{"content": "x"}], {0: np.zeros(1000, np.float32)})


def test_an_error_that_repeats_a_long_argument_is_cut(connection: Connection) -> None:
    error = met(lambda: connection.execute(b"DO $$BEGIN RAISE '%', repeat('x', 100000); END$$"))
    assert str(error) == "x" * 1000 + "…"
