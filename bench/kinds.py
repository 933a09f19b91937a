"""What does each kind of vector index cost? Recall, size, build time and latency of hnsw,
binary and exact.

    python bench/kinds.py [--size 40000] [--queries 100]

Vectors as in bench/filtered.py: the ready ones of arxiv-100k, synthesised beyond 40,000. The index
is built over vectors that are there (bulk mode). recall@10 is against numpy; CPU is the backend's.
Leaves its database (bench_kinds) in place.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import psycopg
from filtered import vectors
from lib import data
from lib.clock import Timer, percentile
from pgvector import HalfVector
from pgvector.psycopg import register_vector
from psycopg.types.json import Jsonb
from rich.console import Console
from rich.table import Table

from rag_pg import Settings
from rag_pg.db import schema
from rag_pg.db.embedded import EmbeddedServer

KINDS = {
    "exact": {"kind": "exact"},
    "hnsw": {"kind": "hnsw"},
    "hnsw, m 32": {"kind": "hnsw", "m": 32, "ef_construction": 128},
    "binary": {"kind": "binary"},
}


def build(connection: psycopg.Connection[Any], number: int, found: np.ndarray) -> dict[str, float]:
    """Fill space `number` and build its index; return seconds and bytes."""
    connection.execute(f"DROP INDEX IF EXISTS rag.embeddings_{number}_hnsw")
    with connection.cursor().copy(
        "COPY rag.embeddings (space_id, chunk_id, embedding) FROM STDIN WITH (FORMAT BINARY)"
    ) as copy:
        copy.set_types(["int4", "int8", "halfvec"])
        for i, vector in enumerate(found):
            copy.write_row((number, i, HalfVector(vector)))
    connection.execute(
        "INSERT INTO rag.keyword_totals VALUES (%s, %s, 0, 0) ON CONFLICT DO NOTHING",
        [number, len(found)],
    )
    connection.execute("SET maintenance_work_mem = '2GB'")
    began = time.perf_counter()
    connection.execute("SELECT rag.build_vector_index(%s)", [f"kind-{number}"])
    seconds = time.perf_counter() - began
    connection.execute(f"VACUUM ANALYZE rag.embeddings_{number}")
    (size,) = connection.execute(
        "SELECT coalesce(pg_relation_size(to_regclass(%s)), 0)", [f"rag.embeddings_{number}_hnsw"]
    ).fetchone() or (0,)
    return {"seconds": seconds, "megabytes": size / 1e6}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=40000)
    parser.add_argument("--queries", type=int, default=100)
    arguments = parser.parse_args()
    found, asked = vectors(arguments.size)
    asked = asked[: arguments.queries]
    near = found.astype(np.float32) @ asked.astype(np.float32).T
    tenth = np.sort(near, axis=0)[-10]
    server = EmbeddedServer(Settings.from_environment().home / "postgres").start()
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute("DROP DATABASE IF EXISTS bench_kinds")
        admin.execute("CREATE DATABASE bench_kinds")
    dsn = psycopg.conninfo.make_conninfo(server, dbname="bench_kinds")
    schema.upgrade(dsn)
    rows = []
    for number, (name, options) in enumerate(KINDS.items(), 1):
        with psycopg.connect(dsn, autocommit=True) as connection:
            register_vector(connection)
            connection.execute(
                "SELECT rag.create_collection(%s, 'none', %s, index_options => %s)",
                [f"kind-{number}", found.shape[1], Jsonb(options)],
            )
            row: dict[str, Any] = {"kind": name, **build(connection, number, found)}
        with psycopg.connect(dsn, autocommit=True, prepare_threshold=None) as connection:
            register_vector(connection)
            recall, cpu = [], []
            for i, query in enumerate(asked):
                with Timer(connection) as timer:
                    ids = connection.execute(
                        "SELECT chunk_id FROM rag._rank_vector(%s, %s, 10)",
                        [number, HalfVector(query)],
                    ).fetchall()
                recall.append(sum(near[j, i] >= tenth[i] - 1e-3 for (j,) in ids) / 10)
                cpu.append(timer.cpu)
        row |= {"recall": float(np.mean(recall))}
        row |= {"cpu_p50": percentile(cpu[10:], 0.5), "cpu_p95": percentile(cpu[10:], 0.95)}
        rows.append(row)
    table = Table("kind", "build s", "index MB", "recall@10", "cpu p50 ms", "cpu p95 ms")
    for row in rows:
        table.add_row(
            row["kind"],
            f"{row['seconds']:.1f}",
            f"{row['megabytes']:.0f}",
            f"{row['recall']:.3f}",
            f"{row['cpu_p50']:.1f}",
            f"{row['cpu_p95']:.1f}",
        )
    Console().print(table)
    data.keep("kinds", rows)


if __name__ == "__main__":
    main()
