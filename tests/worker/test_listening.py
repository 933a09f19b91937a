"""A worker hears of jobs, requests and sources at once, by one connection."""

import threading
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from patience import BOUND, wait_until

from rag_pg import Rag
from rag_pg.worker import loops, worker

Connection = psycopg.Connection[Any]


@pytest.fixture
def waiting(rag: Rag, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A worker that looks for nothing by itself within the hour."""
    for module in (worker, loops):
        monkeypatch.setattr(module, "POLL_SECONDS", 3600.0)
    running = rag.worker()
    thread = threading.Thread(target=running.run)
    thread.start()
    yield
    running.stop.set()
    thread.join(BOUND)
    assert not thread.is_alive()


def until(connection: Connection, statement: str) -> None:
    """Ask until it is true; a worker that was not woken never makes it so."""
    wait_until(lambda: connection.execute(statement.encode()).fetchone() == (True,), statement)


LISTENERS = """SELECT count(*) = 1 FROM pg_stat_activity
               WHERE datname = current_database() AND query LIKE 'LISTEN%'"""
AT_WORK = """SELECT count(*) = 0 FROM pg_stat_activity
             WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid()
             AND backend_type = 'client backend'"""


def test_one_connection_hears_of_jobs_requests_and_sources(
    rag: Rag, connection: Connection, waiting: None
) -> None:
    rag.collection("docs", model="hash:32")
    connection.execute("CREATE TABLE public.notes (id integer PRIMARY KEY, body text)")
    connection.execute("SELECT rag.attach_source('public.notes', 'docs', '{body}')")
    until(connection, LISTENERS)
    until(connection, AT_WORK)
    connection.execute("SELECT rag.put_document('docs', 'a', 'red fish')")
    until(connection, "SELECT count(*) = 1 FROM rag.embeddings")
    connection.execute("INSERT INTO public.notes VALUES (1, 'blue bird')")
    until(connection, "SELECT count(*) = 2 FROM rag.embeddings")
    vector = connection.execute(
        "CALL rag.embed_query('docs', 'red fish', timeout => 60)"
    ).fetchone()
    assert vector is not None and vector[0] is not None
    until(connection, LISTENERS)
