"""Ctrl-C, and kill -9, while documents are added: what waits is handed back and nothing is lost."""

import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fakes import HashEmbedder
from paths import SUPPORT
from patience import BOUND, wait_until

from rag_pg import Rag
from rag_pg.threads import Threads
from rag_pg.worker import pipeline

Connection = psycopg.Connection[Any]

# The command line with an embedder that needs no model and takes its time.
PROGRAM = """
import sys
sys.path.insert(0, {support!r})
from pathlib import Path
from fakes import HashEmbedder
from patience import take_time
from rag_pg import Rag, Settings
from rag_pg.console import options as command
from rag_pg.cli.app import main

embedder = HashEmbedder("hash:32")
embedder.fail = take_time({pause})
command.make_client = lambda dsn: Rag(
    dsn, settings=Settings(home=Path({home!r})), embedders={{"hash": lambda name: embedder}}
)
sys.argv[1:] = {arguments!r}
main()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "texts"
    folder.mkdir()
    for i in range(40):
        (folder / f"{i}.txt").write_text(f"the text of document {i}")
    return folder


@pytest.fixture
def add(dsn: str, tmp_path: Path, folder: Path) -> Callable[[float], "subprocess.Popen[str]"]:
    def run(pause: float) -> "subprocess.Popen[str]":
        program = PROGRAM.format(
            support=str(SUPPORT),
            home=str(tmp_path),
            pause=pause,
            arguments=["add", str(folder), "--model", "hash:32", "--dsn", dsn],
        )
        return subprocess.Popen(
            [sys.executable, "-c", program],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={k: v for k, v in os.environ.items() if not k.startswith("RAG_PG_")},
        )

    return run


@pytest.fixture
def interruptible() -> Iterator[int]:
    """The main thread, which Ctrl-C interrupts also where whoever runs the tests ignores it."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield threading.get_ident()
    signal.signal(signal.SIGINT, handler)


def wait_until_held(connection: Connection) -> None:
    held = "SELECT count(*) FROM rag.jobs WHERE lease_expires_at > clock_timestamp()"
    wait_until(lambda: connection.execute(held.encode()).fetchone() != (0,), "a lease")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.few(1)
def test_an_interrupted_add_hands_its_jobs_back_and_says_how_to_go_on(
    add: Callable[[float], "subprocess.Popen[str]"],
    connection: Connection,
    rag: Rag,
    number: signal.Signals,
) -> None:
    process = add(1.0)
    wait_until_held(connection)
    process.send_signal(number)
    _, said = process.communicate(timeout=BOUND)
    assert process.returncode == 130
    jobs = connection.execute("SELECT lease, attempts, errors FROM rag.jobs").fetchall()
    assert len(jobs) > 0
    assert set(map(str, jobs)) == {"(None, 0, [])"}
    assert (
        f"interrupted: {len(jobs)} documents in the queue; to go on: rag-pg worker --once -c docs"
        in said
    )
    rag.worker().drain()
    assert {d.state for d in rag.collection("docs").list()} == {"ready"}


@pytest.mark.parametrize("times", [1, 2])
def test_what_is_claimed_while_a_claim_is_asked_for_is_handed_back(
    rag: Rag, connection: Connection, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """An interrupt may come before the caller has what it has asked a thread for."""
    asked = []

    class Interrupted(Threads):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            future = super().submit(fn, *args, **kwargs)
            if getattr(fn, "__name__", "") == "_claim":
                asked.append(future.result())
                if len(asked) == times:
                    raise KeyboardInterrupt
            return future

    docs = rag.collection("docs", model="hash:32")
    docs.add(({"uri": str(n), "content": f"text {n}"} for n in range(40)), wait=False)
    monkeypatch.setattr(pipeline, "Threads", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        rag.worker(concurrency=1).drain()
    assert len(asked[-1]) > 0
    leased = "SELECT count(*) FROM rag.jobs WHERE lease IS NOT NULL OR attempts > 0"
    assert connection.execute(leased.encode()).fetchone() == (0,)


@pytest.mark.minutes
def test_an_add_that_was_killed_twice_is_done_by_the_third(
    add: Callable[[float], "subprocess.Popen[str]"], connection: Connection, rag: Rag
) -> None:
    for _ in range(2):
        process = add(1.0)
        wait_until_held(connection)
        process.kill()
        process.communicate()
        connection.execute("UPDATE rag.jobs SET lease_expires_at = now() WHERE lease IS NOT NULL")
    process = add(0)
    _, said = process.communicate(timeout=BOUND)
    assert process.returncode == 0, said
    assert {d.state for d in rag.collection("docs").list()} == {"ready"}


@pytest.mark.minutes
def test_an_interrupted_round_hands_back_what_it_holds(
    rag: Rag, embedder: HashEmbedder, connection: Connection
) -> None:
    def interrupt(texts: object) -> None:
        raise KeyboardInterrupt

    docs = rag.collection("docs", model="hash:32")
    documents = [{"uri": str(i), "content": f"text {i}"} for i in range(50)]
    for _ in range(7):  # more often than a job has attempts
        embedder.fail = interrupt
        with pytest.raises(KeyboardInterrupt):
            docs.add(*documents)
        rows = connection.execute("SELECT lease, attempts, state FROM rag.jobs").fetchall()
        assert set(rows) == {(None, 0, "waiting")}
    embedder.fail = lambda texts: None
    assert docs.add(*documents).added == 50


def test_workers_side_by_side_are_interrupted_together(
    rag: Rag, embedder: HashEmbedder, connection: Connection, interruptible: int
) -> None:
    worker = rag.worker(concurrency=2)

    def interrupt(texts: Sequence[str]) -> None:
        embedder.fail = lambda texts: wait_until(worker.stop.is_set, "the other to be told")
        signal.pthread_kill(interruptible, signal.SIGINT)
        embedder.fail(texts)

    docs = rag.collection("docs", model="hash:32")
    docs.add(({"uri": str(n), "content": f"text {n}"} for n in range(400)), wait=False)
    embedder.fail = interrupt
    with pytest.raises(KeyboardInterrupt):
        worker.drain()
    rows = connection.execute("SELECT lease, attempts, state FROM rag.jobs").fetchall()
    assert set(rows) == {(None, 0, "waiting")}
    embedder.fail = lambda texts: None
    assert worker.drain() == len(rows)


def test_an_add_says_what_it_waits_for(
    rag: Rag, connection: Connection, logged: Callable[[], list[logging.LogRecord]]
) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add({"uri": "a", "content": "text"}, wait=False)
    connection.execute("SELECT rag.take_jobs(9, 4, worker_name => 'gone:1')")
    assert docs.add({"uri": "a", "content": "text"}).failures == ()
    (said,) = [r.getMessage().rpartition(" in ")[0] for r in logged()]
    assert said == "1 jobs are held by worker gone:1; if it is gone, its lease ends"


def test_every_later_add_names_the_command_for_dead_documents(
    rag: Rag, connection: Connection
) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add({"uri": "a", "content": "text"}, wait=False)
    connection.execute(
        "SELECT rag.fail_job(job_id, lease, 'odd', permanent => true) FROM rag.take_jobs()"
    )
    for _ in range(2):
        (failure,) = docs.add({"uri": "a", "content": "text"}).failures
        assert failure.error == "odd; to try again: rag-pg jobs --retry"
