"""A million chunks with words and vectors: what does the hybrid cost beside its legs,
and a filter beside none?

    make bench-million        or: python bench/million.py [--size 1000000] [--queries 60]

Chunks: as bench/keyword_search.py synthesises them from arxiv-100k under RAG_PG_EVAL_DATA. Vectors:
the set's ready MiniLM vectors; beyond those two of them mixed, with noise. A chunk's words and its
vector are of different texts, so the legs agree less than in real corpora. Queries: the set's own,
with their vectors. Times are the backend's CPU (see clock.py). recall@10 is against exact search by
the same function. Leaves its database (bench_million_N) in place, and takes it where it is there.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import psycopg
from filtered import vectors
from lib import data
from lib.clock import Timer, percentile
from lib.corpus import abstracts, fill
from pgvector import HalfVector
from pgvector.psycopg import register_vector
from psycopg.types.json import Jsonb
from rich.console import Console
from rich.table import Table

from rag_pg import Settings
from rag_pg.db import schema
from rag_pg.db.embedded import EmbeddedServer

Connection = psycopg.Connection[Any]
SHARES = {"none": {}, "1/10": {"p10": 3}, "1/100": {"p100": 3}, "1/1000": {"p1000": 3}}


def build(connection: Connection, size: int) -> dict[str, float]:
    """Fill collection `bench`; return the seconds that each part took."""
    seconds = {}
    connection.execute("SET maintenance_work_mem = '3GB'")
    found, _ = vectors(size)
    with Timer(connection) as timer:
        fill(connection, abstracts(), size, found.shape[1])
        connection.execute("SELECT rag.drop_vector_index('bench')")
        connection.execute(
            """INSERT INTO rag.documents (collection_id, document_id, uri, title, content,
               media_type, metadata, content_hash)
               SELECT 1, c.document_id, c.chunk_id::text, '', '', 'text/plain', '{}', ''
               FROM rag.chunks AS c"""
        )
    seconds["chunks"] = timer.wall / 1e3
    with Timer(connection) as timer:
        connection.execute(
            "SELECT rag._index_chunks(1, (SELECT array_agg(c.chunk_id) FROM rag.chunks AS c))"
        )
    seconds["keyword index"] = timer.wall / 1e3
    with Timer(connection) as timer, connection.cursor().copy(
        "COPY rag.embeddings (space_id, chunk_id, embedding) FROM STDIN WITH (FORMAT BINARY)"
    ) as copy:  # fmt: skip
        copy.set_types(["int4", "int8", "halfvec"])
        for i, vector in enumerate(found):
            copy.write_row((1, i, HalfVector(vector)))
    seconds["vectors"] = timer.wall / 1e3
    with Timer(connection) as timer:
        connection.execute("SELECT rag.build_vector_index('bench')")
    seconds["HNSW index"] = timer.wall / 1e3
    connection.execute("VACUUM ANALYZE")
    return seconds


def queries(count: int) -> list[tuple[str, HalfVector]]:
    """Texts and vectors of the set's own queries."""
    ready = np.load(data.folder("arxiv-100k") / "minilm.npz")
    lines = data.lines(data.folder("arxiv-100k") / "queries.jsonl")
    texts = {line["_id"]: line["text"] for line in lines}
    pairs = zip(ready["query_ids"], ready["queries"], strict=True)
    return [(texts[str(i)], HalfVector(vector)) for i, vector in pairs][:count]


def timed(
    connection: Connection, statement: str, rows: list[dict[str, Any]]
) -> tuple[dict[str, float], list[list[int]]]:
    cpu, wall, found = [], [], []
    for row in rows[:5]:
        connection.execute(statement, row).fetchall()
    for row in rows:
        with Timer(connection) as timer:
            ids = connection.execute(statement, row).fetchall()
        found.append([i for (i,) in ids])
        cpu.append(timer.cpu)
        wall.append(timer.wall)
    values = {
        f"{n}_p{p}": percentile(v, p / 100)
        for n, v in (("cpu", cpu), ("wall", wall))
        for p in (50, 95)
    }
    return values, found


def measure(connection: Connection, asked: list[tuple[str, HalfVector]]) -> list[dict[str, Any]]:
    results = []
    for share, condition in SHARES.items():
        rows = [{"t": text, "v": vector, "f": Jsonb(condition)} for text, vector in asked]
        exact = [
            [
                i
                for (i,) in connection.execute(
                    "SELECT chunk_id FROM rag.search_vector('bench', %(v)s, 10, %(f)s, exact_below"
                    " => 10000000)",
                    row,
                )
            ]
            for row in rows[: 20 if share in ("none", "1/10") else None]
        ]
        searches = {
            "vector": "SELECT chunk_id FROM rag.search_vector('bench', %(v)s, 10, %(f)s)",
            "keyword": "SELECT chunk_id FROM rag.search_keyword('bench', %(t)s, 10, %(f)s)",
            "vector, 40": "SELECT chunk_id FROM rag.search_vector('bench', %(v)s, 40, %(f)s)",
            "keyword, 40": "SELECT chunk_id FROM rag.search_keyword('bench', %(t)s, 40, %(f)s)",
            "hybrid (rrf)": (
                "SELECT chunk_id FROM rag.search('bench', %(t)s, %(v)s, 10, %(f)s, fusion => 'rrf')"
            ),
            "hybrid (auto)": "SELECT chunk_id FROM rag.search('bench', %(t)s, %(v)s, 10, %(f)s)",
        }
        for name, statement in searches.items():
            values, found = timed(connection, statement, rows)
            recall = [
                len(set(a) & set(b)) / max(1, len(a)) for a, b in zip(exact, found, strict=False)
            ]
            results.append(
                {
                    "filter": share,
                    "search": name,
                    "recall": float(np.mean(recall)) if name == "vector" else None,
                    **values,
                }
            )
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=60)
    parser.add_argument("--dsn", help="a server of yours (default: the embedded one)")
    arguments = parser.parse_args()
    server = arguments.dsn or EmbeddedServer(Settings.from_environment().home / "postgres").start()
    name = f"bench_million_{arguments.size}"
    with psycopg.connect(server, autocommit=True) as admin:
        exists = admin.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone()
        if not exists:
            admin.execute(f"CREATE DATABASE {name}")
    dsn = psycopg.conninfo.make_conninfo(server, dbname=name)
    schema.upgrade(dsn)
    if not exists:
        with psycopg.connect(dsn, autocommit=True, prepare_threshold=None) as connection:
            register_vector(connection)
            print(build(connection, arguments.size), flush=True)
    with psycopg.connect(dsn, autocommit=True, prepare_threshold=None) as connection:
        register_vector(connection)
        rows = measure(connection, queries(arguments.queries))
    table = Table("filter", "search", "recall@10", "cpu p50", "p95", "wall p50", "p95")
    for row in rows:
        recall = "" if row["recall"] is None else f"{row['recall']:.3f}"
        table.add_row(
            row["filter"],
            row["search"],
            recall,
            *(f"{row[k]:.1f}" for k in ("cpu_p50", "cpu_p95", "wall_p50", "wall_p95")),
        )
    Console(width=120).print(table)
    data.keep("million", rows)


if __name__ == "__main__":
    main()
