"""How fast is the queue? Enqueue, claim + finish, and the time from a put to its first hit.

    python bench/jobs.py [DSN]

Without a DSN on a temporary embedded server; a DSN's database gets schema rag.

No-op jobs, beside those of procrastinate (in a virtual environment of its own,
bench/out/procrastinate) on the same server, in turns. The latency is that of one small document on
an idle system: from before `put_document` until a search finds it,
with a worker process whose embedder takes no time.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
from lib.clock import percentile, scalar
from psycopg.conninfo import make_conninfo
from rich.console import Console
from rich.table import Table

from rag_pg import Rag
from rag_pg.db import schema
from rag_pg.db.embedded import EmbeddedServer

OUT = Path(__file__).parent / "out"
ROUNDS = 2
JOBS = 10_000
SINGLE = 500
DOCUMENTS = 100
RIVAL = "procrastinate>=3"


class NoEmbedder:
    """An embedder that takes no time."""

    provider: str | None = None
    name = "instant:8"
    dimensions = 8
    max_tokens = 256
    fingerprint = "instant/8"

    def embed_documents(self, texts: Sequence[str]) -> Any:
        return np.tile(np.array([1, 0, 0, 0, 0, 0, 0, 0], np.float32), (len(texts), 1))

    def embed_query(self, text: str) -> Any:
        return self.embed_documents([text])[0]

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text) // 4 for text in texts]


def opened(dsn: str) -> Rag:
    return Rag(dsn, embedders={"instant": lambda name: NoEmbedder()})


def rate(count: int, action: Callable[[], object]) -> float:
    """Return how many a second."""
    began = time.perf_counter()
    action()
    return count / (time.perf_counter() - began)


def our_rates(dsn: str) -> dict[str, float]:
    """Jobs a second: queued one by one and by the thousand, taken and finished in batches."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        key = scalar(connection, "SELECT rag.create_collection('bench', 'none', 3)")

        def queue(batch: int, times: int) -> None:
            for _ in range(times):
                connection.execute(
                    "SELECT rag._queue_jobs(%s, ARRAY(SELECT gen_random_uuid() FROM"
                    " generate_series(1, %s)), 'ingest')",
                    (key, batch),
                )

        def work(batch: int, jobs: int) -> None:
            while jobs > 0:
                ((ids, leases),) = connection.execute(
                    "SELECT array_agg(job_id), array_agg(lease) FROM rag.take_jobs(%s)",
                    (min(batch, jobs),),
                ).fetchall()
                connection.execute(
                    "SELECT rag.finish_job(u.id, u.lease)"
                    " FROM unnest(%s::bigint[], %s::uuid[]) AS u (id, lease)",
                    (ids, leases),
                )
                jobs -= len(ids)

        found = {
            "enqueue, one by one": rate(SINGLE, lambda: queue(1, SINGLE)),
            "enqueue, 1000 at once": rate(JOBS, lambda: queue(1000, JOBS // 1000)),
        }
        found["claim + finish, 32 at once"] = rate(SINGLE, lambda: work(32, SINGLE))
        found["claim + finish, 1000 at once"] = rate(JOBS, lambda: work(1000, JOBS))
        connection.execute("SELECT rag.drop_collection('bench')")
        return found


def rival_rates(dsn: str) -> dict[str, float]:
    """The same of procrastinate, which claims one job at a time."""
    home = OUT / "procrastinate"
    python = home / "bin" / "python"
    if not python.exists():
        venv.create(home, with_pip=True)
        subprocess.run([python, "-m", "pip", "-q", "install", RIVAL, "psycopg[binary]"], check=True)
    program = Path(__file__).parent / "lib" / "rival_procrastinate.py"
    done = subprocess.run(
        # -P: this folder's keyword.py is not Python's
        [python, "-P", program, dsn, str(SINGLE), str(JOBS)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    rates: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return rates


def latencies(dsn: str) -> list[float]:
    """Milliseconds from a put to its first hit, one small document at a time."""
    with opened(dsn) as rag, worker(dsn), psycopg.connect(dsn, autocommit=True) as connection:
        rag.collection("latency", model="instant:8")
        found = []
        for number in range(DOCUMENTS + 5):
            word = f"word{number}x"
            began = time.perf_counter()
            connection.execute("SELECT rag.put_document('latency', %s, %s)", (word, f"the {word}"))
            while not connection.execute(
                "SELECT FROM rag.search('latency', %s, result_limit => 1)", (word,)
            ).fetchall():
                time.sleep(0.002)
            found.append((time.perf_counter() - began) * 1e3)
            time.sleep(0.05)
        return found[5:]  # the first ones warm caches and connections up


@contextmanager
def worker(dsn: str) -> Iterator[None]:
    process = subprocess.Popen(
        [sys.executable, __file__, "--worker", dsn], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def run_worker(dsn: str) -> None:
    with opened(dsn) as rag:
        runner = rag.worker()
        signal.signal(signal.SIGTERM, lambda *_: runner.stop.set())
        print("ready", flush=True)
        runner.run()


@contextmanager
def server(dsn: str | None) -> Iterator[str]:
    """Yield a given server's DSN, or that of a new one that is removed in the end."""
    if dsn:
        yield dsn
        return
    folder = Path(tempfile.mkdtemp(prefix="rag-pg-"))
    folder.chmod(0o755)  # under root the server runs as another user
    embedded = EmbeddedServer(folder / "data")
    try:
        yield embedded.start()
    finally:
        embedded.stop()
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    if sys.argv[1:2] == ["--worker"]:
        run_worker(sys.argv[2])
        return
    OUT.mkdir(exist_ok=True)
    with server(sys.argv[1] if len(sys.argv) > 1 else None) as dsn:
        schema.upgrade(dsn)
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("DROP DATABASE IF EXISTS bench_procrastinate WITH (FORCE)")
            connection.execute("CREATE DATABASE bench_procrastinate")
        rival = make_conninfo(dsn, dbname="bench_procrastinate")
        rounds = [(our_rates(dsn), rival_rates(rival)) for _ in range(ROUNDS)]
        milliseconds = latencies(dsn)
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("DROP DATABASE bench_procrastinate WITH (FORCE)")
            connection.execute("SELECT rag.drop_collection('latency')")
    ours, theirs = ({k: max(r[i][k] for r in rounds) for k in rounds[0][i]} for i in (0, 1))
    table = Table("jobs a second, best of rounds", "rag_pg", "procrastinate")
    for name in dict.fromkeys([*ours, *theirs]):
        table.add_row(
            name, *(f"{rates[name]:,.0f}" if name in rates else "" for rates in (ours, theirs))
        )
    Console().print(table)
    p50, p95 = percentile(milliseconds, 0.5), percentile(milliseconds, 0.95)
    Console().print(f"put to first hit, beyond embedding: p50 {p50:.0f} ms, p95 {p95:.0f} ms")
    (OUT / "jobs.json").write_text(
        json.dumps({"rounds": rounds, "latency_ms": {"p50": p50, "p95": p95}}, indent=1)
    )


if __name__ == "__main__":
    main()
