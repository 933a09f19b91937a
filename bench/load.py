"""How fast are ready vectors loaded? `Collection.add_chunks` beside COPY and CREATE INDEX by hand.

    python bench/load.py [--size 100000] [--per-document 1] [--rounds 1]

Text: the abstracts of arxiv-100k under RAG_PG_EVAL_DATA; vectors: as bench/filtered.py makes them.
By hand: one plain table with a primary key, COPY of id, content, metadata and halfvec(384), then an
HNSW index, and a GIN index on to_tsvector. That answers a hybrid search by ts_rank, so no less
would be comparable; it keeps no documents, no hashes, no index of the metadata and no BM25
statistics. Both go over the same driver in the same binary format, with the same
maintenance_work_mem and parallel workers, into tables that are new, in turns. CPU is that of the
whole server (parallel workers included) and of this process. Functions: where add_chunks spends the
server's time (track_functions).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import psycopg
from filtered import vectors
from lib import data
from lib.clock import server_cpu_ms
from pgvector import HalfVector
from pgvector.psycopg import register_vector
from psycopg.conninfo import make_conninfo
from psycopg.types.json import Jsonb
from rich.console import Console
from rich.table import Table

from rag_pg import Rag, Settings
from rag_pg.db import schema
from rag_pg.db.embedded import EmbeddedServer

DATABASE = "bench_load"
TARGET = 0.8  # of the rate by hand
BY_HAND = {
    "hnsw": (
        "CREATE INDEX ON items USING hnsw (embedding halfvec_cosine_ops) WITH (m = 16,"
        " ef_construction = 64)"
    ),
    "gin": "CREATE INDEX ON items USING gin (to_tsvector('english', content))",
}


def rows(size: int, per_document: int) -> list[dict[str, Any]]:
    """Return chunks as add_chunks takes them."""
    found, _ = vectors(size)
    texts = [
        d["text"] or d["title"] for d in data.read("arxiv-100k", limit=size).documents.values()
    ]
    return [
        {
            "uri": f"document-{number // per_document}",
            "content": texts[number % len(texts)],
            "metadata": {"year": 2000 + number % 25, "part": number % per_document},
            "embedding": found[number].astype(np.float32),
        }
        for number in range(size)
    ]  # fmt: skip


def by_hand(dsn: str, chunks: list[dict[str, Any]]) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the steps, each with its name."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        register_vector(connection)
        connection.execute("DROP TABLE IF EXISTS items")
        connection.execute(
            "CREATE TABLE items (id bigint PRIMARY KEY, content text NOT NULL, metadata jsonb NOT"
            " NULL, embedding halfvec(384) NOT NULL)"
        )

        def copy() -> None:
            with connection.cursor().copy("COPY items FROM STDIN WITH (FORMAT binary)") as stream:
                stream.set_types(["int8", "text", "jsonb", "halfvec"])
                for number, chunk in enumerate(chunks):
                    stream.write_row(
                        (
                            number,
                            chunk["content"],
                            Jsonb(chunk["metadata"]),
                            HalfVector(chunk["embedding"]),
                        )
                    )

        yield "copy", copy
        for name, statement in BY_HAND.items():
            yield name, lambda statement=statement: connection.execute(statement)  # type: ignore[misc]
        connection.execute("DROP TABLE items")


def ours(dsn: str, chunks: list[dict[str, Any]]) -> Iterator[tuple[str, Callable[[], object]]]:
    with Rag(dsn) as rag:
        collection = rag.collection("bench", model="minilm")
        yield "add_chunks", lambda: collection.add_chunks(chunks)
        rag.drop_collection("bench")
        rag.database.remove_dropped()


def measure(
    steps: Iterator[tuple[str, Callable[[], object]]], backend: int
) -> dict[str, dict[str, float]]:
    """Seconds of each step: wall, CPU of the server, CPU of this process."""
    found = {}
    for name, step in steps:
        wall, server, own = time.perf_counter(), server_cpu_ms(backend), time.process_time()
        step()
        found[name] = {
            "wall": time.perf_counter() - wall,
            "server": (server_cpu_ms(backend) - server) / 1e3,
            "client": time.process_time() - own,
        }
    return found


def functions(connection: psycopg.Connection[Any]) -> dict[str, float]:
    """Seconds in each SQL function itself, those with the most first;
    build_index is the HNSW index."""
    found = connection.execute(
        "SELECT funcname, self_time / 1e3 FROM pg_stat_user_functions WHERE self_time > 100 ORDER"
        " BY 2 DESC"
    ).fetchall()
    connection.execute("SELECT pg_stat_reset()")
    return dict(found)


def total(steps: dict[str, dict[str, float]], *kinds: str) -> float:
    return sum(step[kind] for step in steps.values() for kind in kinds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--per-document", type=int, default=1, help="chunks that make a document")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--memory", default="1GB", help="maintenance_work_mem")
    parser.add_argument("--workers", type=int, default=2, help="max_parallel_maintenance_workers")
    arguments = parser.parse_args()
    server = EmbeddedServer(Settings.from_environment().home / "postgres").start()
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
        admin.execute(f"CREATE DATABASE {DATABASE}")
    settings = {"maintenance_work_mem": arguments.memory, "track_functions": "pl",
                "max_parallel_maintenance_workers": arguments.workers}  # fmt: skip
    dsn = make_conninfo(
        server, dbname=DATABASE, options=" ".join(f"-c {k}={v}" for k, v in settings.items())
    )
    schema.upgrade(dsn)
    chunks = rows(arguments.size, arguments.per_document)
    rounds: list[dict[str, Any]] = []
    with psycopg.connect(dsn, autocommit=True) as connection:
        backend = connection.info.backend_pid
        for _ in range(arguments.rounds):
            hand = measure(by_hand(dsn, chunks), backend)
            connection.execute("SELECT pg_stat_reset()")
            load = measure(ours(dsn, chunks), backend)
            rounds.append({"by hand": hand, "rag_pg": load, "functions": functions(connection)})
    table = Table("round", "step", "wall s", "server CPU s", "client CPU s", "chunks/s")
    for number, found in enumerate(rounds, 1):
        for name in ("by hand", "rag_pg"):
            for step, seconds in found[name].items():
                table.add_row(
                    str(number),
                    f"{name}: {step}",
                    *(f"{x:.1f}" for x in seconds.values()),
                    f"{arguments.size / seconds['wall']:,.0f}",
                )
        for function, seconds in list(found["functions"].items())[:12]:
            table.add_row(str(number), f"  of which {function}", f"{seconds:.1f}")
        hand, load = found["by hand"], found["rag_pg"]
        found["rate"] = total(hand, "wall") / total(load, "wall")
        found["cpu rate"] = total(hand, "server", "client") / total(load, "server", "client")
        table.add_row(str(number), f"rate beside by hand (target {TARGET})", f"{found['rate']:.2f}",
                      f"{found['cpu rate']:.2f}")  # fmt: skip
    Console(width=120).print(table)
    data.keep("load", {**vars(arguments), "rounds": rounds})
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"DROP DATABASE {DATABASE} WITH (FORCE)")


if __name__ == "__main__":
    main()
