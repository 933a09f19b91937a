"""What do 200 clients meet whose requests come when they come, not when the last one is answered?

    python bench/open_load.py [--seconds 600] [--clients 200] [--shares 0.5 0.8] [--closed 30]

A primary and its standby (embedded servers of their own), PgBouncer in transaction mode before each
of them, clients of both hosts, a worker in a process of its own with its upkeep. The documents are
the sections of this project's pages, their vectors those of a model that only counts words: what is
measured is the database and the client, not a model. Of the requests 80 % are hybrid searches, 15 %
put a document and 5 % are answered without a language model.

First one client alone, then a closed loop of 16 tells what the machine sustains. Then, for each
share of that, requests arrive at random (Poisson, from a seed); a request's time counts from its
arrival, also while its client is busy with an earlier one. A quarter into it the worker is killed,
at the half the primary's pooler, at three quarters the standby; each is started again. A read or
put that fails as the database is away is done once more; what then fails is an error. "calm" is of
searches that came before a fault or 15 seconds after it. At the end every document that was
acknowledged has to be there, once, and searchable.
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
from lib import data
from lib.clock import percentile
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from rich.console import Console
from rich.table import Table

from rag_pg import DatabaseUnavailable, Rag
from rag_pg.db.embedded import EmbeddedServer
from rag_pg.db.replica import AWAY, BEHIND
from rag_pg.testing import open_client, server_folder

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))
from pooler import configured, is_up, program  # noqa: E402
from standby import copy_of, new_primary  # noqa: E402

KINDS = {"search": 0.80, "put": 0.15, "ask": 0.05}
SERVERS = 8  # connections of each pooler to its server
CLIENTS_OF_A_RAG = 10
TIMES = ("search p50", "search p95", "search p99", "calm p95", "put p95", "ask p95", "longest")
AT_ONCE = 16  # of the closed loop
BEFORE, AFTER = 2.0, 15.0  # seconds around a fault
PATIENCE = 120.0  # seconds for what is left when no more requests arrive


class Process:
    """A program that is killed and started again."""

    def __init__(self, *command: str) -> None:
        self._command = command
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(self._command)

    def restart(self) -> None:
        self.kill()
        self.start()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


class Figures:
    """What the requests of a phase met. Threads share it."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = {kind: [] for kind in KINDS}
        self.searches: list[tuple[float, float]] = []  # when each came, how long it took
        self.faults: list[float] = []
        self.errors: Counter[str] = Counter()
        self.retried = 0
        self.notes: Counter[str] = Counter()
        self.written: set[str] = set()
        self.served: Counter[int] = Counter()
        self.arrived: Counter[int] = Counter()
        self._lock = threading.Lock()

    def add(self, client: int, kind: str, seconds: float, error: str | None, retried: bool) -> None:
        with self._lock:
            self.retried += retried
            if error is not None:
                self.errors[error] += 1
                return
            self.seconds[kind].append(seconds)
            if kind == "search":
                self.searches.append((time.monotonic() - seconds, seconds))
            self.served[client] += 1

    @property
    def calm(self) -> list[float]:
        """The times of searches that came before a fault or a while after it."""
        return [
            seconds
            for came, seconds in self.searches
            if not any(fault - BEFORE <= came <= fault + AFTER for fault in self.faults)
        ]

    @property
    def done(self) -> int:
        return sum(map(len, self.seconds.values()))


class Clients:
    """Requests of many clients, a few of which share a connection pool, as in one process."""

    def __init__(self, dsn: str, count: int, texts: list[str]) -> None:
        self._rags = [open_client(dsn) for _ in range(-(-count // CLIENTS_OF_A_RAG))]
        self._texts = texts
        self._number = 0
        self._lock = threading.Lock()

    def __enter__(self) -> Clients:
        for rag in self._rags:
            rag.open()
            rag.database.grow_pool(CLIENTS_OF_A_RAG)
        self._collections = [rag.get_collection("pages") for rag in self._rags]
        return self

    def __exit__(self, *_: object) -> None:
        for rag in self._rags:
            rag.close()

    def request(self, client: int, dice: random.Random, figures: Figures, came: float) -> None:
        """One request of a client, which came at that moment; a second try where the database is
        away."""
        (kind,) = dice.choices([*KINDS], [*KINDS.values()])
        collection = self._collections[client // CLIENTS_OF_A_RAG]
        words = dice.choice(self._texts).split()
        start = dice.randrange(max(1, len(words) - 6))
        question = " ".join(re.findall(r"\w+", " ".join(words[start : start + 6]))) or "search"
        with self._lock:
            self._number += 1
            uri = f"put/{self._number}"
        document = {"uri": uri, "content": f"{question}, number {uri.replace('/', 'x')}"}

        def search() -> None:
            figures.notes.update(collection.search(question).notes)

        def put() -> None:
            collection.add(document, wait=False)
            figures.written.add(uri)

        def ask() -> None:
            figures.notes.update(collection.ask(question, llm="extractive").notes)

        action: Callable[[], None] = {"search": search, "put": put, "ask": ask}[kind]
        error, retried = None, False
        try:
            try:
                action()
            except DatabaseUnavailable:
                retried = True
                action()
        except Exception as exc:
            error = f"{kind}: {type(exc).__name__}: {exc!s:.120}"
        figures.add(client, kind, time.monotonic() - came, error, retried)


def closed(clients: Clients, at_once: int, seconds: float) -> Figures:
    """Clients who ask again as soon as they are answered."""
    figures = Figures()
    ends_at = time.monotonic() + seconds

    def run(number: int) -> None:
        dice = random.Random(number)
        while (now := time.monotonic()) < ends_at:
            figures.arrived[number] += 1
            clients.request(number, dice, figures, now)

    in_threads(run, at_once)
    return figures


def opened(clients: Clients, count: int, rate: float, seconds: float, figures: Figures) -> None:
    """Clients whose requests arrive at a rate, of all together."""
    begins_at = time.monotonic() + 1

    def run(number: int) -> None:
        dice = random.Random(1000 + number)
        arrives = begins_at
        while (arrives := arrives + dice.expovariate(rate / count)) < begins_at + seconds:
            figures.arrived[number] += 1
            if time.monotonic() > begins_at + seconds + PATIENCE:
                continue  # nobody waits any more: it is not served
            time.sleep(max(0.0, arrives - time.monotonic()))
            clients.request(number, dice, figures, arrives)

    in_threads(run, count)


def in_threads(run: Callable[[int], None], count: int) -> None:
    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@contextmanager
def faults(
    seconds: float, figures: Figures, worker: Process, pooler: Process, standby: Path
) -> Iterator[None]:
    """Kill the worker, the primary's pooler and the standby, one after the other."""
    over = threading.Event()

    def run() -> None:
        server = EmbeddedServer(standby)
        steps = (worker.restart, pooler.restart, lambda: server.stop(immediate=True))
        for step in steps:
            if over.wait(seconds / 4):
                return
            figures.faults.append(time.monotonic())
            step()
        over.wait(min(5.0, seconds / 20))
        server.start()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def busy() -> tuple[int, int]:
    """The machine's ticks so far: busy, all."""
    ticks = [int(x) for x in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


def check(primary: str, written: set[str]) -> tuple[int, int]:
    """Wait until the worker has done all; return how many acknowledged documents are not there or
    not searchable, and how many are there more than once."""
    with open_client(primary) as rag, psycopg.connect(primary, autocommit=True) as connection:
        ends_at = time.monotonic() + PATIENCE
        while rag.jobs.list("pages") and time.monotonic() < ends_at:
            time.sleep(0.2)
        found = connection.execute(
            """SELECT d.uri, count(c.chunk_id), count(e.chunk_id)
               FROM rag.documents AS d LEFT JOIN rag.chunks AS c USING (document_id)
               LEFT JOIN rag.embeddings AS e USING (chunk_id)
               WHERE starts_with(d.uri, 'put/') GROUP BY d.document_id, d.uri"""
        ).fetchall()
    there = Counter(uri for uri, chunks, vectors in found if chunks == vectors == 1)
    twice = sum(1 for _, chunks, _ in found if chunks > 1) + len(found) - len({f[0] for f in found})
    return len(written - there.keys()), twice


def texts() -> list[str]:
    """The sections of this project's pages."""
    pages = sorted(ROOT.glob("docs/**/*.md"))
    parts = (part for page in pages for part in re.split(r"\n(?=## )", page.read_text("utf-8")))
    return [part for part in parts if len(part) > 200]


def both(*dsns: str) -> str:
    """The connection string of several servers on the same port."""
    return make_conninfo(dsns[0], host=",".join(str(conninfo_to_dict(d)["host"]) for d in dsns))


def line(name: str, figures: Figures, seconds: float, before: tuple[int, int]) -> dict[str, Any]:
    after = busy()
    shares = [figures.served[n] / count for n, count in figures.arrived.items()]
    return {
        "phase": name,
        "per second": figures.done / seconds,
        **{
            f"{kind} p{round(100 * share)}": 1e3 * percentile(times, share) if times else None
            for kind, times in figures.seconds.items()
            for share in ((0.5, 0.95, 0.99) if kind == "search" else (0.95,))
        },
        "calm p95": 1e3 * percentile(figures.calm, 0.95) if figures.calm else None,
        "longest": 1e3 * max((t for times in figures.seconds.values() for t in times), default=0),
        "retried": figures.retried,
        "errors": dict(figures.errors),
        "least served": min(shares, default=0.0),
        "notes": {text: figures.notes[text] for text in (AWAY, BEHIND)},
        "cpu": (after[0] - before[0]) / max(1, after[1] - before[1]),
        "load": os.getloadavg()[0],
    }


def shown(lines: list[dict[str, Any]]) -> Table:
    table = Table("phase", "req/s", *TIMES, "retried", "errors", "lost", "twice", "least served",
                  "CPU", "load")  # fmt: skip
    for found in lines:
        times = [found[name] for name in TIMES]
        table.add_row(
            found["phase"],
            f"{found['per second']:.1f}",
            *("" if one is None else f"{one:,.0f}" for one in times),
            str(found["retried"]),
            str(sum(found["errors"].values())),
            str(found.get("lost", "")),
            str(found.get("twice", "")),
            f"{found['least served']:.0%}",
            f"{found['cpu']:.0%}",
            f"{found['load']:.1f}",
        )
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600, help="of each open load")
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--shares", type=float, nargs="+", default=[0.5, 0.8])
    parser.add_argument("--closed", type=float, default=30, help="seconds of the closed loops")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        with open_client(arguments.worker) as rag:
            rag.worker().run()
        return
    if program() is None:
        sys.exit("skipped: PgBouncer is not here: apt-get install pgbouncer")
    with server_folder() as folder, ExitStack() as stack:
        primary = new_primary(folder)
        with psycopg.connect(primary, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM RESET ALL")  # what tests want of it
            connection.execute("SELECT pg_reload_conf()")
        sections = texts()
        with open_client(primary) as rag:
            fill(rag, sections)
        standby = stack.enter_context(copy_of(primary, folder))
        poolers, pooled = [], []
        for dsn, waits in ((primary, 120), (standby, 2)):
            place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rag-pgb-")))
            command, through = configured(
                dsn, place, servers=SERVERS, clients=2 * arguments.clients + 50, seconds=waits
            )
            poolers.append(Process(*command))
            stack.callback(poolers[-1].kill)
            pooled.append(through)
            while not is_up(through):
                time.sleep(0.1)
        worker = Process(sys.executable, __file__, "--worker", primary)
        stack.callback(worker.kill)
        logging.getLogger("psycopg.pool").setLevel(logging.CRITICAL)  # faults are on purpose
        lines = []
        with Clients(both(*pooled), arguments.clients, sections) as clients:
            closed(clients, AT_ONCE, 5)  # what is opened once is open then
            check(primary, set())
            for name, at_once in (("one client alone", 1), (f"closed loop of {AT_ONCE}", AT_ONCE)):
                before = busy()
                figures = closed(clients, at_once, arguments.closed)
                lines.append(line(name, figures, arguments.closed, before))
            sustained = lines[-1]["per second"]
            for share in arguments.shares:
                before, rate = busy(), share * sustained
                figures = Figures()
                with faults(arguments.seconds, figures, worker, poolers[0], folder / "data"):
                    opened(clients, arguments.clients, rate, arguments.seconds, figures)
                name = f"{arguments.clients} clients, {share:.0%}: {rate:.1f}/s"
                lines.append(line(name, figures, arguments.seconds, before))
                lost, twice = check(primary, figures.written)
                lines[-1] |= {"lost": lost, "twice": twice}
    console = Console(width=170)
    console.print(shown(lines))
    for found in lines:
        for told in ("errors", "notes"):
            for text, count in sorted(found[told].items()):
                if count:
                    console.print(f"{found['phase']}, {told}: {count} × {text}", highlight=False)
    for name in ("search p95", "calm p95"):
        beside = lines[2][name] / lines[0]["search p95"]
        console.print(f"{name} at {arguments.shares[0]:.0%} beside one client: {beside:.2f} ×")
    data.keep("open_load", lines)


def fill(rag: Rag, sections: list[str]) -> None:
    pages = rag.collection("pages", model="fake:64")
    pages.add(*({"uri": f"page/{n}", "content": text} for n, text in enumerate(sections)))


if __name__ == "__main__":
    main()
