"""Does a filter cost recall or time? rag.search_vector beside plain pgvector,
post-filtering and iterative.

    python bench/filtered.py [--sizes 10000 100000] [--queries 50]

Vectors: the ready MiniLM vectors of arxiv-100k under RAG_PG_EVAL_DATA; beyond 40,000 they are
synthesised (two of them mixed, with noise). Filters pass 50, 10, 1, 0.1 and 0.01 %: independent of
the vectors (a random number), and correlated (a slice along a direction in the vector space: most
slices lie far from a query). recall@10 is against numpy over all matches. Plain pgvector: one table
with HNSW and GIN, default settings, the filter in WHERE; "iterative" adds hnsw.iterative_scan =
strict_order. Leaves its databases (bench_filtered_N) in place.
"""

from __future__ import annotations

import argparse
from typing import Any
from uuid import UUID

import numpy as np
import psycopg
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

SLICES = (1, 2, 10, 100, 1000, 10000)
Connection = psycopg.Connection[Any]


def vectors(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return `size` unit vectors and the queries."""
    ready = np.load(data.folder("arxiv-100k") / "minilm.npz")
    real = ready["docs"].astype(np.float32)
    found = real[:size]
    if size > len(real):
        random = np.random.default_rng(7)
        pairs = random.integers(0, len(real), (size - len(real), 2))
        share = random.uniform(0.5, 0.9, (len(pairs), 1)).astype(np.float32)
        mixed = real[pairs[:, 0]] * share + real[pairs[:, 1]] * (1 - share)
        mixed += random.normal(0, 0.02, mixed.shape).astype(np.float32)
        found = np.vstack([real, mixed / np.linalg.norm(mixed, axis=1, keepdims=True)])
    return found.astype(np.float16), ready["queries"].astype(np.float16)


def places(found: np.ndarray) -> dict[str, np.ndarray]:
    """Per kind of filter each vector's place: slice s of n holds the places
    with place * n // size = s."""
    random = np.random.default_rng(3)
    direction = random.normal(size=found.shape[1])
    along = found.astype(np.float32) @ direction
    return {
        "independent": random.permutation(len(found)),
        "correlated": np.argsort(np.argsort(along)),
    }


def metadata(row: dict[str, int], size: int) -> dict[str, int]:
    return {f"{kind[0]}{n}": place * n // size for kind, place in row.items() for n in SLICES[1:]}


def build(connection: Connection, found: np.ndarray, where: dict[str, np.ndarray]) -> None:
    """Fill a collection and a plain pgvector table with the same vectors and metadata."""
    size = len(found)
    connection.execute("SELECT rag.create_collection('bench', 'none', %s)", [found.shape[1]])
    connection.execute("DROP INDEX rag.embeddings_1_hnsw")
    connection.execute(
        "CREATE TABLE items (id bigint PRIMARY KEY, metadata jsonb NOT NULL, embedding halfvec(384)"
        " NOT NULL)"
    )
    with connection.cursor().copy("COPY items FROM STDIN WITH (FORMAT BINARY)") as copy:
        copy.set_types(["int8", "jsonb", "halfvec"])
        for i, vector in enumerate(found):
            row = {kind: int(place[i]) for kind, place in where.items()}
            copy.write_row((i, Jsonb(metadata(row, size)), HalfVector(vector)))
    connection.execute(  # one document of chunks without words
        """INSERT INTO rag.documents (collection_id, document_id, uri, title, content, media_type,
           metadata, content_hash)
           VALUES (1, %s, 'all', '', '', 'text/plain', '{}', '')""",
        [UUID(int=0)],
    )
    connection.execute(
        """INSERT INTO rag.chunks (collection_id, chunk_id, document_id, ordinal, heading, content,
                                   content_hash,
                                   metadata, lexemes, lexeme_count)
           SELECT 1, i.id, %s, i.id, '', 'text', '', i.metadata, '', 0 FROM items AS i""",
        [UUID(int=0)],
    )
    connection.execute("INSERT INTO rag.embeddings SELECT 1, i.id, i.embedding FROM items AS i")
    connection.execute("INSERT INTO rag.keyword_slots SELECT 1, i.id, i.id FROM items AS i")
    connection.execute("INSERT INTO rag.keyword_totals VALUES (1, %s, 0, %s)", [size, size])
    connection.execute("SET maintenance_work_mem = '2GB'")
    connection.execute(
        "CREATE INDEX ON items USING hnsw (embedding halfvec_cosine_ops) WITH (m = 16,"
        " ef_construction = 64)"
    )
    connection.execute("CREATE INDEX ON items USING gin (metadata jsonb_path_ops)")
    connection.execute(
        "DO $$ DECLARE s rag.spaces := rag._active_space(1); BEGIN CALL rag._build_index(s); END $$"
    )
    connection.execute("VACUUM ANALYZE")


METHODS = {
    "rag.search_vector": (
        "",
        "SELECT h.chunk_id FROM rag.search_vector('bench', %(q)s, 10, %(f)s) AS h",
    ),
    "pgvector, post-filter": (
        "SET LOCAL hnsw.iterative_scan = off",
        """SELECT id FROM items WHERE metadata @> %(f)s ORDER BY embedding <=> %(q)s LIMIT 10""",
    ),
    "pgvector, iterative": (
        "SET LOCAL hnsw.iterative_scan = strict_order",
        """SELECT id FROM items WHERE metadata @> %(f)s ORDER BY embedding <=> %(q)s LIMIT 10""",
    ),
}


def measure(
    connection: Connection, found: np.ndarray, asked: np.ndarray, where: dict[str, np.ndarray]
) -> list[dict[str, Any]]:
    random = np.random.default_rng(5)
    exact = found.astype(np.float32)
    size = len(found)
    rows = []
    for kind, place in where.items():
        for n in SLICES if kind == "independent" else SLICES[1:]:
            if size // n < 5:
                continue
            chosen = random.integers(0, n, len(asked))
            best = []
            for query, piece in zip(asked, chosen, strict=True):
                matches = np.flatnonzero(place * n // size == piece)
                near = exact[matches] @ query.astype(np.float32)
                kept = np.argsort(-near, kind="stable")[:10]
                best.append((matches[kept], near[kept]))
            for method, (setting, statement) in METHODS.items():
                recall, cpu, wall, least = [], [], [], 10
                for query, piece, (_, near) in zip(asked, chosen, best, strict=True):
                    condition = Jsonb({} if n == 1 else {f"{kind[0]}{n}": int(piece)})
                    with connection.transaction():
                        connection.execute(setting or "SELECT 1")
                        with Timer(connection) as timer:
                            ids = connection.execute(
                                statement, {"q": HalfVector(query), "f": condition}
                            ).fetchall()
                    got = np.array([exact[i] @ query.astype(np.float32) for (i,) in ids])
                    recall.append(float((got >= near[-1] - 1e-3).sum()) / len(near))
                    cpu.append(timer.cpu)
                    wall.append(timer.wall)
                    least = min(least, len(ids) - len(near) + 10)
                rows.append(
                    {
                        "size": size,
                        "filter": kind if n > 1 else "none",
                        "passes": 1 / n,
                        "method": method,
                        "recall": float(np.mean(recall)),
                        "least": least,
                        **{
                            f"{name}_p{p}": percentile(values, p / 100)
                            for name, values in (("cpu", cpu), ("wall", wall))
                            for p in (50, 95)
                        },
                    }
                )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10000, 100000])
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--dsn", help="a server of yours (default: the embedded one)")
    arguments = parser.parse_args()
    server = arguments.dsn or EmbeddedServer(Settings.from_environment().home / "postgres").start()
    rows = []
    for size in arguments.sizes:
        found, asked = vectors(size)
        where = places(found)
        name = f"bench_filtered_{size}"
        with psycopg.connect(server, autocommit=True) as admin:
            exists = admin.execute(
                "SELECT 1 FROM pg_database WHERE datname = %s", [name]
            ).fetchone()
            if not exists:
                admin.execute(f"CREATE DATABASE {name}")
        dsn = psycopg.conninfo.make_conninfo(server, dbname=name)
        schema.upgrade(dsn)
        with psycopg.connect(dsn, autocommit=True, prepare_threshold=None) as connection:
            register_vector(connection)
            if not exists:
                build(connection, found, where)
        with psycopg.connect(dsn, autocommit=True, prepare_threshold=None) as connection:
            register_vector(connection)
            measure(connection, found, asked[:5], where)  # warm
            rows += measure(connection, found, asked[: arguments.queries], where)
    table = Table(
        "size",
        "filter",
        "passes",
        "method",
        "recall@10",
        "fewest rows",
        "cpu p50",
        "p95",
        "wall p50",
        "p95",
    )
    for row in rows:
        table.add_row(
            f"{row['size']:,}",
            row["filter"],
            f"{row['passes']:.2%}",
            row["method"],
            f"{row['recall']:.3f}",
            str(row["least"]),
            *(f"{row[k]:.1f}" for k in ("cpu_p50", "cpu_p95", "wall_p50", "wall_p95")),
        )
    Console(width=140).print(table)
    data.keep("filtered", rows)


if __name__ == "__main__":
    main()
