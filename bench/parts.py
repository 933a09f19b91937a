"""What does it cost to deal a corpus over several nodes? The same questions asked of 1, 2 and 3.

    python bench/parts.py [--set scifact] [--queries 300]

nDCG@10 of hybrid searches by the set's own vectors, CPU of all backends for a search, wall time.
Nodes are databases of one embedded server here, so that they share its cores: what a search costs
each node is the CPU by their number. "by the parts' scores" merges what each part found by the
score that it gave it, which is relative to the best of that part alone. Leaves its databases in
place.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Sequence

import psycopg
from lib import data
from lib.clock import percentile, scalar, server_cpu_ms
from psycopg.conninfo import make_conninfo
from rich.console import Console
from rich.table import Table

from rag_pg import Rag, Settings
from rag_pg.client import Collection
from rag_pg.db import schema
from rag_pg.db.embedded import EmbeddedServer
from rag_pg.types import Hit


def ndcg(found: Sequence[str], relevant: dict[str, int]) -> float:
    gains = [relevant.get(uri, 0) / math.log2(rank + 2) for rank, uri in enumerate(found[:10])]
    ideal = sorted(relevant.values(), reverse=True)[:10]
    return sum(gains) / sum(grade / math.log2(rank + 2) for rank, grade in enumerate(ideal))


def ask(docs: Collection, evaluation: data.EvalSet, key: str) -> list[Hit]:
    vector = evaluation.query_vectors[key].astype("float32")
    return docs.search(evaluation.queries[key], embedding=vector)


def measure(
    rag: Rag, evaluation: data.EvalSet, queries: Sequence[str], backend: int
) -> tuple[float, ...]:
    """nDCG@10, that by the parts' scores, CPU of a search, wall time in the middle and at 95 %."""
    docs = rag.collection("docs", model="minilm", dimensions=384)
    docs.add_chunks(data.records(evaluation, ready=True))
    parts = [part.get_collection("docs") for part in rag.parts] or [docs]
    scores, merged, times = [], [], []
    for key in queries:
        hits = [hit for part in parts for hit in ask(part, evaluation, key)]
        hits.sort(key=lambda hit: -hit.score)
        merged.append(ndcg([hit.uri for hit in hits], evaluation.qrels[key]))
    before = server_cpu_ms(backend)
    for key in queries:
        began = time.perf_counter()
        found = ask(docs, evaluation, key)
        times.append(1e3 * (time.perf_counter() - began))
        scores.append(ndcg([hit.uri for hit in found], evaluation.qrels[key]))
    cpu = (server_cpu_ms(backend) - before) / len(queries)
    mean = statistics.mean
    return mean(scores), mean(merged), cpu, percentile(times, 0.5), percentile(times, 0.95)


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--set", default="scifact")
    arguments.add_argument("--queries", type=int, default=300)
    given = arguments.parse_args()
    evaluation = data.read(given.set)
    queries = [*evaluation.queries][: given.queries]
    server = EmbeddedServer(Settings.from_environment().home / "postgres").start()
    table = Table("nodes", "nDCG@10", "by the parts' scores", "CPU ms", "p50 ms", "p95 ms")
    found = []
    with psycopg.connect(server, autocommit=True) as connection:
        for nodes in (1, 2, 3):
            dsns = []
            for number in range(nodes):
                name = f"bench_parts_{nodes}_{number}"
                connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode())
                connection.execute(f"CREATE DATABASE {name}".encode())
                dsns.append(make_conninfo(server, dbname=name))
                schema.upgrade(dsns[-1])
            backend = scalar(connection, "SELECT pg_backend_pid()")
            with Rag(dsns if nodes > 1 else dsns[0], cache=False) as rag:
                row = (nodes, *measure(rag, evaluation, queries, backend))
            found.append(row)
            table.add_row(
                str(nodes), *(f"{x:.4f}" for x in row[1:3]), *(f"{x:.1f}" for x in row[3:])
            )
    Console().print(table)
    data.keep("parts", found)


if __name__ == "__main__":
    main()
