"""What the door of tenants costs: rag.search by a tenant's role beside the same by the owner.

    python bench/tenants.py [--queries 100] [--rounds 3]

SciFact with its ready MiniLM vectors (RAG_PG_EVAL_DATA) in a tenant's own collection, hybrid and
with a filter. Owner: what rag.search does, called without the door. CPU of the two backends,
interleaved query by query. Leaves its database (bench_tenants) in place.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np
import psycopg
from lib import data
from lib.clock import cpu_ms
from psycopg.conninfo import make_conninfo
from psycopg.types.json import Jsonb

from rag_pg import Settings
from rag_pg.db import schema
from rag_pg.db.embedded import EmbeddedServer

ROLE = "bench_tenant"
OWNER = (
    "SELECT chunk_id FROM rag._search_hits(rag._check_search_arguments("
    "'shelf', %s, %s, 10, %s, '{}'))"
)
DOOR = "SELECT chunk_id FROM rag.search('shelf', %s, %s, 10, %s)"


def fill(dsn: str) -> list[tuple[str, str]]:
    """Install, load and grant; return the queries with their vectors."""
    schema.upgrade(dsn)
    folder = data.folder("scifact")
    ready = np.load(folder / "minilm.npz")
    vectors = dict(zip(ready["doc_ids"], ready["docs"], strict=True))
    queries = dict(zip(ready["query_ids"], ready["queries"], strict=True))
    with psycopg.connect(dsn, autocommit=True) as connection:
        run = connection.execute
        run("SELECT rag.create_collection('shelf', 'none', 384), rag.create_tenant('acme')")
        with (folder / "corpus.jsonl").open(encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        chunks = [
            {
                "uri": row["_id"], "title": row.get("title", ""), "content": row["text"] or "-",
                "embedding": [round(float(x), 5) for x in vectors[row["_id"]]],
                "metadata": {"n": number % 4},
            }
            for number, row in enumerate(rows) if row["_id"] in vectors
        ]  # fmt: skip
        for start in range(0, len(chunks), 500):
            run(
                "SELECT count(*) FROM rag.load_chunks('shelf', %s)",
                [Jsonb(chunks[start : start + 500])],
            )
        run("CALL rag.maintain()")
        run(f"DROP ROLE IF EXISTS {ROLE}".encode())
        run(f"CREATE ROLE {ROLE} LOGIN".encode())
        run("SELECT rag.set_tenant('shelf', 'acme'), rag.grant_tenant(%s, 'acme')", [ROLE])
        with (folder / "queries.jsonl").open(encoding="utf-8") as lines:
            asked = [json.loads(line) for line in lines]
    return [
        (one["text"], str([round(float(x), 5) for x in queries[one["_id"]]]))
        for one in asked
        if one["_id"] in queries
    ]


def measure(dsn: str, queries: list[tuple[str, str]], filter: str) -> tuple[float, float]:
    """Milliseconds of a search by the owner and through the door; the hits are equal."""
    with (
        psycopg.connect(dsn, autocommit=True) as owner,
        psycopg.connect(make_conninfo(dsn, user=ROLE), autocommit=True) as tenant,
    ):
        sides: list[tuple[psycopg.Connection[Any], str]] = [(owner, OWNER), (tenant, DOOR)]

        def search() -> None:
            for text, vector in queries:
                first, second = (
                    side.execute(statement.encode(), [text, vector, filter]).fetchall()
                    for side, statement in sides
                )
                assert first == second, text

        search()
        pids = [side.info.backend_pid for side, _ in sides]
        before = [cpu_ms(pid) for pid in pids]
        search()
        spent = [
            (cpu_ms(pid) - start) / len(queries) for pid, start in zip(pids, before, strict=True)
        ]
    return spent[0], spent[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    server = EmbeddedServer(Settings.from_environment().home / "postgres").start()
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS bench_tenants WITH (FORCE)")
        connection.execute("CREATE DATABASE bench_tenants")
    dsn = make_conninfo(server, dbname="bench_tenants")
    queries = fill(dsn)[: options.queries]
    for name, filter in (("hybrid", "{}"), ("with a filter", '{"n": 1}')):
        for _ in range(options.rounds):
            owner, door = measure(dsn, queries, filter)
            print(f"{name}: owner {owner:.2f} ms, door {door:.2f} ms, {door / owner:.3f} x")


if __name__ == "__main__":
    main()
