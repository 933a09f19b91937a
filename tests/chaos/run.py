"""The run: writers, workers and a provider at work while all of them are disturbed;
then the verdict."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import psycopg
from chaos.corpus import Book, Version, texts
from chaos.faults import Faults, Workers
from chaos.provider import CLIENT_TIMEOUT, MoodyGemini
from chaos.verdict import violations
from chaos.writers import Writer
from patience import wait_until
from psycopg.types.json import Jsonb
from rich.console import Console
from rich.table import Table

from rag_pg.db import schema
from rag_pg.db.embedded import EmbeddedServer
from rag_pg.providers.gemini.embedder import GeminiEmbedder

WRITERS = 4
WORKERS = 3
LEASE = 8.0  # seconds
DIMENSIONS = 64
CHUNKING = {"max_tokens": 128}
COLLECTION = "storm"


@dataclass(frozen=True, slots=True)
class Report:
    """What was done, and what is wrong after it."""

    documents: int
    seconds: float
    recovery_seconds: float
    writes: Counter[str]
    faults: Counter[str]
    answers: Counter[str]
    poisoned: int
    necessary: int  # texts that were embedded at all
    embedded: int  # vectors that the provider gave
    down: list[float]
    worker_exits: list[int]
    violations: dict[str, list[str]]


def storm(folder: Path, *, documents: int, seconds: float, pause: float, seed: int = 7) -> Report:
    """Disturb `documents` documents for `seconds`, a fault every `pause`; wait until all is quiet;
    judge."""
    chance = random.Random(seed)
    books = [Book(f"d{n:04}", text, chance) for n, text in enumerate(texts(documents))]
    poisoned = {book.uri for book in chance.sample(books, max(6, documents // 200))}
    server = EmbeddedServer(folder / "postgres")
    dsn = server.start()
    schema.upgrade(dsn)
    provider = MoodyGemini(seed)
    with provider:
        embedder = GeminiEmbedder("fake", dimensions=DIMENSIONS, base_url=provider.url)
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute(
                "SELECT rag.create_collection(%s, %s, %s, chunking => %s)",
                [COLLECTION, embedder.name, DIMENSIONS, Jsonb(CHUNKING)],
            )
        numbers = [DIMENSIONS, CLIENT_TIMEOUT, LEASE]
        workers = Workers(
            [dsn, str(folder / "home"), provider.url, provider.key, *map(str, numbers)],
            WORKERS,
            folder / "workers.log",
        )
        faults = Faults(server, dsn, workers, count=WORKERS, lease=LEASE, pause=pause, seed=seed)
        writers = [
            Writer(dsn, COLLECTION, books[n::WRITERS], poisoned, seed + n) for n in range(WRITERS)
        ]
        try:
            stop = threading.Event()
            threads = [threading.Thread(target=w.run, args=(stop, seconds)) for w in writers]
            threads.append(threading.Thread(target=faults.run, args=(stop,)))
            began = time.monotonic()
            for thread in threads:
                thread.start()
            stop.wait(seconds)
            wait_until(lambda: faults.done.total() >= 3 and provider.outcomes["answered"])
            stop.set()
            for thread in threads:
                thread.join()
            ended = time.monotonic()
            provider.calm.set()
            _wait_until_quiet(dsn)
            recovered = time.monotonic()
        finally:
            early = workers.ended()
            exits = early + workers.stop()
        last: dict[str, Version | None] = {}
        for writer in writers:
            last |= writer.last
        with psycopg.connect(dsn, autocommit=True) as connection:
            wrong = violations(connection, COLLECTION, last, CHUNKING, embedder)
        server.stop()
        return Report(
            documents=documents,
            seconds=ended - began,
            recovery_seconds=recovered - ended,
            writes=sum((w.done for w in writers), Counter()),
            faults=faults.done,
            answers=provider.outcomes,
            poisoned=sum(bool(v and v.poison) for v in last.values()),
            necessary=len(provider.given),
            embedded=provider.given.total(),
            down=faults.down,
            worker_exits=exits,
            violations=wrong,
        )


def _wait_until_quiet(dsn: str, seconds: float = 240) -> None:
    """Until no job waits, or the time is over: the verdict then names the stuck ones."""
    deadline = time.monotonic() + seconds
    with psycopg.connect(dsn, autocommit=True) as connection:
        while time.monotonic() < deadline:
            row = connection.execute(
                "SELECT count(*) FROM rag.jobs WHERE state <> 'dead'"
            ).fetchone()
            if row == (0,):
                return
            time.sleep(0.5)


def show(report: Report, console: Console) -> None:
    table = Table("what", "count", title=f"{report.documents:,} documents, {report.seconds:.0f} s")
    for name, counts in (("", report.writes), ("", report.faults), ("provider: ", report.answers)):
        for what, count in counts.most_common():
            table.add_row(name + what, f"{count:,}")
        table.add_section()
    table.add_row("database away, seconds", ", ".join(f"{s:.1f}" for s in report.down))
    table.add_row("until all was quiet, seconds", f"{report.recovery_seconds:.0f}")
    table.add_row("texts embedded", f"{report.necessary:,}")
    table.add_row(
        "vectors given for them",
        f"{report.embedded:,}  ({report.embedded / report.necessary:.3f} x)",
    )
    table.add_row("poison documents at the end", f"{report.poisoned}")
    table.add_section()
    for what, rows in report.violations.items():
        table.add_row(what, f"{len(rows)}  {', '.join(rows[:8])}".rstrip())
    console.print(table)
