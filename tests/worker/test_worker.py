"""Workers as processes: killed, stopped, and with a database that goes away."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fakes import HashEmbedder
from paths import SUPPORT
from patience import BOUND, wait_until

from rag_pg import (
    InvalidInput,
    ProviderAuth,
    ProviderError,
    ProviderUnavailable,
    Rag,
    RateLimited,
    SchemaMismatch,
    UnusableReply,
)
from rag_pg.db.database import Database
from rag_pg.errors import DatabaseUnavailable
from rag_pg.protocols import Embedder
from rag_pg.types import Job, Vectors
from rag_pg.worker.health import serve_health
from rag_pg.worker.worker import Worker

Connection = psycopg.Connection[Any]

# A worker process whose embedder needs no model and takes its time.
PROGRAM = """
import sys, signal, logging
sys.path.insert(0, {support!r})
from pathlib import Path
from fakes import HashEmbedder
from patience import wait_until
from rag_pg import Rag, Settings
from rag_pg.worker import worker as module

module.POLL_SECONDS = {poll}
logging.basicConfig(level=logging.INFO, stream=sys.stderr)
embedder = HashEmbedder("hash:32")
go = Path({home!r}, "go")
embedder.fail = lambda texts: any({held!r} in text for text in texts) and wait_until(go.exists)
settings = Settings(home=Path({home!r}))
with Rag({dsn!r}, settings=settings, embedders={{"hash": lambda name: embedder}}) as rag:
    worker = rag.worker(lease_seconds=2)
    signal.signal(signal.SIGTERM, lambda *_: worker.stop.set())
    print("ready", flush=True)
    worker.run()
    print("ended", flush=True)
"""

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(dsn: str, tmp_path: Path) -> Iterator[Start]:
    processes = []

    def run(held: str = "no text", poll: float = 5) -> "subprocess.Popen[str]":
        """Its model hangs at a text with these words, until there is a file `go`."""
        program = PROGRAM.format(
            support=str(SUPPORT), dsn=dsn, home=str(tmp_path), held=held, poll=poll
        )
        process = subprocess.Popen(
            [sys.executable, "-c", program],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={k: v for k, v in os.environ.items() if not k.startswith("RAG_PG_")},
        )
        processes.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    yield run
    for process in processes:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def put(rag: Rag, count: int, text: str = "text of {} in the first version. ") -> list[str]:
    docs = rag.collection("docs", model="hash:32", chunking={"max_tokens": 32})
    uris = [f"d{i:03}" for i in range(count)]
    docs.add(*({"uri": u, "content": text.format(u) * 10} for u in uris), wait=False)
    return uris


def idle(connection: Connection) -> bool:
    return connection.execute("SELECT count(*) FROM rag.jobs").fetchone() == (0,)


def others(connection: Connection, function: str) -> None:
    """Apply pg_terminate_backend or pg_cancel_backend to every other session of the database."""
    connection.execute(
        f"""SELECT {function}(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()"""
    )


def stored(connection: Connection) -> int:
    row = connection.execute("SELECT count(DISTINCT document_id) FROM rag.chunks").fetchone()
    return int(row[0]) if row else 0


def has_stored(connection: Connection, count: int) -> bool:
    return stored(connection) >= count


def assert_each_document_is_there_once(connection: Connection, uris: list[str]) -> None:
    rows = connection.execute(
        """SELECT d.uri, array_agg(c.ordinal ORDER BY c.ordinal), count(e.chunk_id)
           FROM rag.documents AS d
           JOIN rag.chunks AS c USING (collection_id, document_id)
           LEFT JOIN rag.embeddings AS e ON e.chunk_id = c.chunk_id
           GROUP BY d.uri ORDER BY d.uri"""
    ).fetchall()
    assert [uri for uri, _, _ in rows] == uris
    for uri, ordinals, embedded in rows:
        assert ordinals == list(range(len(ordinals))), uri
        assert embedded == len(ordinals), uri
    assert connection.execute("SELECT count(*) FROM rag.jobs").fetchone() == (0,)
    assert connection.execute(
        "SELECT count(*) FROM rag.embeddings WHERE chunk_id NOT IN (SELECT chunk_id FROM"
        " rag.chunks)"
    ).fetchone() == (0,)


def test_a_killed_worker_loses_and_doubles_nothing(
    rag: Rag, start: Start, connection: Connection
) -> None:
    uris = put(rag, 120)
    # Only the first is held: the leases of one that was killed may leave the next little but d119.
    for kill_at, held in ((20, {"held": "d119"}), (60, {})):
        worker = start(**held)
        wait_until(partial(has_stored, connection, kill_at))
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        assert not held or stored(connection) < 120
    start()
    wait_until(lambda: idle(connection))
    assert_each_document_is_there_once(connection, uris)


def test_sigterm_hands_back_what_is_held(
    rag: Rag, start: Start, connection: Connection, tmp_path: Path
) -> None:
    uris = put(rag, 200)
    worker = start(held="d119")
    wait_until(lambda: stored(connection) >= 10)
    worker.send_signal(signal.SIGTERM)
    (tmp_path / "go").touch()
    assert worker.wait(timeout=BOUND) == 0
    assert worker.stdout is not None and worker.stdout.read() == "ended\n"
    row = connection.execute("SELECT count(*) FROM rag.jobs WHERE lease IS NOT NULL").fetchone()
    assert row == (0,)
    assert stored(connection) < 200
    rag.worker().drain()
    assert_each_document_is_there_once(connection, uris)


def test_a_waiting_worker_is_woken_by_a_put(rag: Rag, start: Start, connection: Connection) -> None:
    start(poll=3600)  # what no NOTIFY tells is found within the hour
    for count in (1, 2, 3):
        put(rag, count)
        wait_until(lambda: stored(connection) == count)  # noqa: B023
    assert stored(connection) == 3


def test_a_worker_waits_for_a_database_that_drops_its_connections(
    rag: Rag, start: Start, connection: Connection
) -> None:
    uris = put(rag, 80)
    worker = start()
    for at in (10, 40):
        wait_until(partial(has_stored, connection, at))
        others(connection, "pg_terminate_backend")
    wait_until(lambda: idle(connection))
    assert worker.poll() is None
    assert_each_document_is_there_once(connection, uris)


def cancel_waiting(connection: Connection) -> bool:
    """Cancel the statements of others that wait for a lock; whether there were any."""
    return (
        connection.execute(
            """SELECT pg_cancel_backend(pid) FROM pg_stat_activity
               WHERE datname = current_database() AND pg_blocking_pids(pid) <> '{}'"""
        ).rowcount
        > 0
    )


def test_statements_that_are_canceled_are_done_again(
    rag: Rag, start: Start, connection: Connection, dsn: str
) -> None:
    uris = put(rag, 80)
    with psycopg.connect(dsn) as holder:
        holder.execute("LOCK TABLE rag.chunks IN EXCLUSIVE MODE")
        worker = start()
        for _ in range(3):
            wait_until(lambda: cancel_waiting(connection))
    wait_until(lambda: idle(connection))
    assert worker.poll() is None
    assert_each_document_is_there_once(connection, uris)


def test_a_worker_waits_for_a_database_that_takes_no_writes(
    rag: Rag, start: Start, connection: Connection, tmp_path: Path
) -> None:
    """As after a failover, while the address still leads to the server that was the primary."""
    uris = put(rag, 80)
    worker = start(held="d079")
    wait_until(lambda: stored(connection) >= 10)
    only_read = f'ALTER DATABASE "{connection.info.dbname}" SET default_transaction_read_only = '
    connection.execute(only_read + "on")
    (since,) = connection.execute("SELECT clock_timestamp()").fetchone() or (None,)
    others(connection, "pg_terminate_backend")
    (tmp_path / "go").touch()
    asked_again = """SELECT FROM pg_stat_activity WHERE datname = current_database()
                     AND backend_start > %s AND query_start > backend_start"""
    wait_until(lambda: connection.execute(asked_again, [since]).rowcount > 0)
    before = stored(connection)
    assert worker.poll() is None
    connection.execute(only_read + "off")
    assert stored(connection) == before < 80
    others(connection, "pg_terminate_backend")
    wait_until(lambda: idle(connection))
    assert worker.poll() is None
    assert_each_document_is_there_once(connection, uris)


@pytest.mark.minutes
def test_several_workers_share_the_work(rag: Rag, start: Start, connection: Connection) -> None:
    uris = put(rag, 90)
    for _ in range(3):
        start()
    wait_until(lambda: idle(connection))
    assert_each_document_is_there_once(connection, uris)


def test_a_slow_embedding_keeps_its_lease_by_heartbeat(
    rag: Rag, database: Database, embedder: HashEmbedder, connection: Connection
) -> None:
    put(rag, 2)
    embedding, enough = threading.Event(), threading.Event()

    def slow(texts: Any) -> None:
        embedding.set()
        enough.wait(BOUND)

    embedder.fail = slow
    worker = Worker(database, rag.embedder_of, lease_seconds=9)  # a beat every 3 seconds
    thief = Worker(database, rag.embedder_of)
    runner = threading.Thread(target=worker.drain)
    runner.start()
    assert embedding.wait(BOUND)
    held = "SELECT min(lease_expires_at) FROM rag.jobs WHERE lease IS NOT NULL"
    (first_end,) = connection.execute(held).fetchone() or (None,)
    extended = held.replace("min(lease_expires_at)", "min(lease_expires_at) > %s")
    try:
        wait_until(lambda: connection.execute(extended, [first_end]).fetchone() == (True,))
        assert thief.drain() == 0
    finally:
        enough.set()
        runner.join()
    assert database.collection_stats("docs")[0].embedded > 0
    assert database.job_stats()[0].waiting == 0


def test_a_lease_that_may_have_run_out_is_neither_worked_nor_extended(
    rag: Rag, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    uris = put(rag, 3)
    worker = rag.worker()
    with monkeypatch.context() as patch:
        patch.setattr(worker._heartbeat, "is_leased", lambda job: False)
        assert worker.drain() == 3
    assert worker.health()["leased_jobs"] == 0
    assert stored(connection) == 0
    connection.execute("UPDATE rag.jobs SET lease_expires_at = CURRENT_TIMESTAMP")
    assert worker.drain() == 3
    assert_each_document_is_there_once(connection, uris)


def test_the_end_of_a_lease_leaves_a_later_lease_of_the_same_job(
    rag: Rag, connection: Connection
) -> None:
    put(rag, 1)
    heartbeat = rag.worker(lease_seconds=9999)._heartbeat

    def take(since: float) -> Job:
        connection.execute("UPDATE rag.jobs SET lease_expires_at = now()")
        (job,) = rag.database.take_jobs(limit=1, lease_seconds=99, collections=None, worker="w")
        heartbeat.add([job], since)
        return job

    now = heartbeat._beat_at
    first = take(now)
    assert heartbeat.is_leased(first)
    heartbeat.add([first], now - 10_000)  # its time is over
    assert not heartbeat.is_leased(first)
    second = take(now)
    assert second.job_id == first.job_id
    assert heartbeat.is_leased(second)
    assert not heartbeat.is_leased(first)
    heartbeat.release(first)
    assert heartbeat.is_leased(second)
    heartbeat.release(second)
    assert heartbeat.leased == 0


def test_a_database_that_is_gone_ends_the_round_at_once(rag: Rag, database: Database) -> None:
    put(rag, 8)
    asked = []

    def embedder_of(collection: str, space_id: int | None) -> Embedder:
        asked.append(collection)
        if len(asked) > 1:  # the first is the splitter's
            raise DatabaseUnavailable("gone")
        return rag.embedder_of(collection, space_id)

    with pytest.raises(DatabaseUnavailable):
        Worker(database, embedder_of).drain()
    assert len(asked) == 2  # the batch is not halved over it


def test_a_document_put_again_while_it_is_worked_ends_in_its_last_version(
    rag: Rag, start: Start, connection: Connection
) -> None:
    uris = put(rag, 40)
    start()
    wait_until(lambda: stored(connection) >= 5)
    for version in range(5):
        put(rag, 40, "text of {} in version " + str(version) + " of it. ")
    wait_until(lambda: idle(connection))
    assert_each_document_is_there_once(connection, uris)
    old = connection.execute(
        "SELECT count(*) FROM rag.chunks WHERE content NOT LIKE '%version 4%'"
    ).fetchone()
    assert old == (0,)


def test_a_deleted_document_is_not_embedded(rag: Rag, embedder: HashEmbedder) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add({"uri": "kept", "content": "kept text"}, wait=False)
    docs.add({"uri": "gone", "content": "gone text"}, wait=False)
    docs.delete("gone")
    rag.worker().drain()
    assert embedder.seen == ["kept text"]


def test_several_pipelines_embed_at_once_and_no_transaction_is_open_meanwhile(
    rag: Rag, embedder: HashEmbedder, connection: Connection
) -> None:
    uris = put(rag, 100)
    together = threading.Barrier(3, timeout=BOUND)
    met, calls = threading.Event(), list[int]()

    def idle() -> set[tuple[int, object]]:
        return set(
            connection.execute(
                """SELECT pid, xact_start FROM pg_stat_activity WHERE datname = current_database()
                   AND pid <> pg_backend_pid() AND state LIKE 'idle in transaction%'"""
            ).fetchall()
        )

    def slow(texts: Any) -> None:
        if not met.is_set():  # passes only when three calls are under way at once
            with contextlib.suppress(threading.BrokenBarrierError):
                together.wait()
            met.set()
        before = idle()
        wait_until(lambda: not before & idle(), "the end of the transactions of before")
        calls.append(1)

    embedder.fail = slow
    rag.worker(concurrency=3).drain()
    assert not together.broken
    assert calls
    assert_each_document_is_there_once(connection, uris)


def test_a_poison_document_dies_alone_and_nothing_is_embedded_twice(
    rag: Rag, embedder: HashEmbedder, connection: Connection
) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add(
        *({"uri": f"{i:02}", "content": f"{'poison ' * (i == 17)}text {i}"} for i in range(30)),
        wait=False,
    )

    def refuse(texts: Any) -> None:
        if any("poison" in text for text in texts):
            raise InvalidInput("a text is poison")

    embedder.fail = refuse
    rag.worker().drain()
    assert [job["uri"] for job in rag.database.list_jobs(None, "dead", 99)] == ["17"]
    assert stored(connection) == 29
    assert len(embedder.seen) == len(set(embedder.seen)) == 29


def test_a_refusal_blocks_the_provider_and_costs_neither_attempt_nor_vector(
    rag: Rag, embedder: HashEmbedder, connection: Connection
) -> None:
    uris = put(rag, 20)
    calls = iter(range(99))

    def refuse(texts: Any) -> None:
        if next(calls) < 2:
            raise RateLimited("slow down", 0.3)

    embedder.fail = refuse
    rag.worker().drain()
    assert_each_document_is_there_once(connection, uris)
    assert len(embedder.seen) == len(set(embedder.seen))
    blocked = connection.execute("SELECT provider, blocked_reason FROM rag.budgets").fetchall()
    assert blocked == [("hash", "slow down")]


def test_a_long_refusal_leaves_the_jobs_in_the_queue(
    rag: Rag, embedder: HashEmbedder, connection: Connection
) -> None:
    uris = put(rag, 80)

    def refuse(texts: Any) -> None:
        raise RateLimited("slow down", 1e20)

    embedder.fail = refuse
    rag.worker().drain()
    rag.worker().drain()
    assert connection.execute(
        "SELECT count(*), max(attempts), count(*) FILTER (WHERE errors <> '[]') < 80 FROM rag.jobs"
    ).fetchone() == (80, 0, True)  # most were never taken
    assert "slow down" in str(rag.database.job_stats("docs")[0].reason)
    embedder.fail = lambda texts: None
    connection.execute("UPDATE rag.budgets SET blocked_until = NULL")
    connection.execute("SELECT rag.retry_jobs(include_waiting => true)")
    rag.worker().drain()
    assert_each_document_is_there_once(connection, uris)


def test_a_spend_cap_stops_every_worker_until_it_is_raised(
    rag: Rag, embedder: HashEmbedder, connection: Connection
) -> None:
    uris = put(rag, 100)
    connection.execute("SELECT rag.set_budget('hash', spend_cap => 0.001)")  # 1000 tokens
    rag.worker().drain()
    assert 0 < len(embedder.seen) < 500
    held = len(embedder.seen)
    rag.worker().drain()
    assert len(embedder.seen) == held
    connection.execute("SELECT rag.set_budget('hash', spend_cap => 10)")
    connection.execute("SELECT rag.retry_jobs(include_waiting => true)")
    rag.worker().drain()
    assert_each_document_is_there_once(connection, uris)


@pytest.mark.parametrize(
    "outage, said",
    [
        (ProviderUnavailable("503, come back later"), "503, come back later"),
        (UnusableReply("<html>"), "<html>"),
        (RuntimeError("of a program that is not ours"), "RuntimeError: of a program"),
    ],
)
def test_a_provider_that_is_down_costs_no_attempt(
    rag: Rag, embedder: HashEmbedder, connection: Connection, outage: Exception, said: str
) -> None:
    uris = put(rag, 80)

    def down(texts: Any) -> None:
        raise outage

    embedder.fail = down
    rag.worker().drain()
    rag.worker().drain()
    assert connection.execute(
        "SELECT count(*), max(attempts) FROM rag.jobs WHERE state = 'waiting' AND lease IS NULL"
    ).fetchone() == (80, 0)
    assert f"it is down: {said}" in str(rag.database.job_stats("docs")[0].reason)
    embedder.fail = lambda texts: None
    connection.execute("UPDATE rag.budgets SET blocked_until = NULL")
    rag.worker().drain()
    assert_each_document_is_there_once(connection, uris)


@pytest.mark.parametrize(
    "failure", [ProviderUnavailable("500"), UnusableReply("500"), RuntimeError("500")]
)
def test_a_document_that_breaks_its_provider_fails_alone(
    rag: Rag, embedder: HashEmbedder, connection: Connection, failure: Exception
) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add(
        *({"uri": f"{i:02}", "content": f"{'poison ' * (i == 17)}text {i}"} for i in range(30)),
        wait=False,
    )

    def fail(texts: Any) -> None:
        if any("poison" in text for text in texts):
            raise failure

    embedder.fail = fail
    rag.worker().drain()
    assert stored(connection) == 29
    ((attempts, error),) = connection.execute(
        "SELECT attempts, errors -> 0 ->> 'error' FROM rag.jobs"
    ).fetchall()
    assert attempts == 1
    assert error.removeprefix("RuntimeError: ") == "500"
    assert connection.execute("SELECT count(*) FROM rag.budgets").fetchone() == (0,)
    assert len(embedder.seen) == len(set(embedder.seen)) + embedder.seen.count("word") - 1


def test_a_worker_without_a_key_leaves_the_jobs_to_others(
    rag: Rag, embedder: HashEmbedder, connection: Connection
) -> None:
    uris = put(rag, 40)

    def refuse(texts: Any) -> None:
        raise ProviderAuth("no key for hash: set HASH_API_KEY")

    embedder.fail = refuse
    with pytest.raises(ProviderAuth, match="HASH_API_KEY"):
        rag.worker().drain()
    assert connection.execute("SELECT count(*), max(attempts) FROM rag.jobs").fetchone() == (40, 0)
    job = rag.database.list_jobs("docs", None, 1)[0]["job_id"]
    assert "HASH_API_KEY" in rag.database.explain_job(job)["reason"]
    with pytest.raises(ProviderAuth):  # at once, and the document stays queued
        rag.collection("docs").add({"uri": "more", "content": "more"})
    embedder.fail = lambda texts: None
    connection.execute("SELECT rag.retry_jobs(include_waiting => true)")
    rag.worker().drain()
    assert_each_document_is_there_once(connection, [*uris, "more"])


@pytest.mark.parametrize("fault", ["dimensions", "count", "nan"])
def test_what_a_model_gives_in_a_bad_moment_is_not_stored(
    rag: Rag, embedder: HashEmbedder, connection: Connection, fault: str
) -> None:
    uris = put(rag, 20)
    whole = embedder.embed_documents
    calls = iter(range(99))

    def embed(texts: Sequence[str]) -> Vectors:
        vectors = whole(texts)
        if next(calls) > 0:
            return vectors
        if fault == "nan":
            vectors[-1, 0] = float("nan")
        return {"dimensions": vectors[:, :-1], "count": vectors[:-1], "nan": vectors}[fault]

    embedder.embed_documents = embed  # type: ignore[method-assign]
    rag.worker().drain()
    assert_each_document_is_there_once(connection, uris)
    assert connection.execute(
        "SELECT count(*) FROM rag.embeddings WHERE l2_norm(embedding) NOT BETWEEN 0.99 AND 1.01"
    ).fetchone() == (0,)


def test_what_was_embedded_is_not_embedded_again_when_the_rest_failed(
    rag: Rag, embedder: HashEmbedder, connection: Connection
) -> None:
    docs = rag.collection("docs", model="hash:32", chunking={"max_tokens": 32})
    words = " ".join(f"word{i}" for i in range(4000))  # more texts than one call takes
    docs.add({"uri": "long", "content": words}, wait=False)
    calls = iter(range(99))

    def fail(texts: Any) -> None:
        if next(calls) == 1:
            raise ProviderError("not that one")

    embedder.fail = fail
    worker = rag.worker()
    worker.drain()
    assert stored(connection) == 0
    connection.execute("SELECT rag.retry_jobs(include_waiting => true)")
    worker.drain()
    assert_each_document_is_there_once(connection, ["long"])
    assert len(embedder.seen) == len(set(embedder.seen)) > 128


def test_a_running_worker_refuses_a_newer_schema(rag: Rag, connection: Connection) -> None:
    worker = rag.worker(lease_seconds=3)
    ended = []

    def run() -> None:
        try:
            worker.run()
        except SchemaMismatch as exc:
            ended.append(str(exc))

    runner = threading.Thread(target=run)
    runner.start()
    wait_until(lambda: bool(rag.database.dicts("list_workers")))
    connection.execute(
        "CREATE OR REPLACE FUNCTION rag.min_api_version() RETURNS int LANGUAGE sql RETURN 99"
    )
    runner.join(BOUND)
    assert not runner.is_alive()
    assert "upgrade rag-pg" in ended[0]
    assert rag.database.dicts("list_workers") == []


def test_health_tells_life_from_death(
    rag: Rag, dsn: str, embedder: HashEmbedder, tmp_path: Path
) -> None:
    def ask(address: tuple[str, int]) -> tuple[int, dict[str, Any]]:
        try:
            with urllib.request.urlopen(f"http://{address[0]}:{address[1]}/health") as reply:
                return reply.status, json.load(reply)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    put(rag, 4)
    release = threading.Event()
    embedder.fail = lambda texts: release.wait(BOUND)
    worker = rag.worker()
    runner = threading.Thread(target=worker.run)
    runner.start()
    with serve_health(worker.health, "127.0.0.1", 0) as address:
        wait_until(lambda: worker.health()["leased_jobs"] == 4)
        code, state = ask(address)
        assert (code, state["ok"], state["leased_jobs"], state["worker"]) == (
            200,
            True,
            4,
            worker.name,
        )
        release.set()
        wait_until(lambda: worker.health()["leased_jobs"] == 0)
        worker.stop.set()
        runner.join()
        with pytest.raises(InvalidInput, match="another --health port"), serve_health(
            worker.health, *address
        ):  # fmt: skip
            pass
    gone = Worker(Database("host=127.0.0.1 port=1 user=x dbname=x"), rag.embedder_of)
    with serve_health(gone.health, "127.0.0.1", 0) as address:
        code, state = ask(address)
        assert (code, state["ok"], state["database"]) == (503, False, False)
    silent = rag.worker(lease_seconds=0.01)
    silent._heartbeat._beat_at -= 3600
    with serve_health(silent.health, "127.0.0.1", 0) as address:
        code, state = ask(address)
        assert (code, state["ok"], state["database"]) == (503, False, True)


def test_jobs_that_wait_for_a_provider_are_handed_back_by_a_stopping_worker(
    rag: Rag, embedder: HashEmbedder, connection: Connection
) -> None:
    put(rag, 8)
    waiting = threading.Event()

    def refuse(texts: Any) -> None:
        waiting.set()
        raise RateLimited("slow down", 50)

    embedder.fail = refuse
    worker = rag.worker()
    runner = threading.Thread(target=worker.run)
    runner.start()
    assert waiting.wait(BOUND)
    worker.stop.set()
    runner.join(45)  # it would wait 50 seconds
    assert not runner.is_alive()
    assert connection.execute(
        "SELECT count(*), max(attempts) FROM rag.jobs WHERE lease IS NULL"
    ).fetchone() == (8, 0)


@pytest.mark.one_database
@pytest.mark.parametrize("options", [{"concurrency": 0}, {"lease_seconds": 0}])
def test_bad_options_are_refused(rag: Rag, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="out of range"):
        rag.worker(**options)
