"""Among thirty collections every search and count reads its own,
and none as a whole by accident."""

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import psycopg
import pytest

from rag_pg.db.database import Database

Connection = psycopg.Connection[Any]
COUNT = 20_000
VECTOR = str(np.eye(1, 16)[0].tolist())

SEARCHES = {
    "vector": f"rag.search_vector('large', '{VECTOR}')",
    "vector, half passes": f"rag.search_vector('large', '{VECTOR}', 10, '{{\"half\": 1}}')",
    "vector, few pass": f"rag.search_vector('large', '{VECTOR}', 10, '{{\"few\": 7}}')",
    "vector, declared range": (
        f"rag.search_vector('large', '{VECTOR}', 10, '{{\"number\": {{\"$gte\": 19900}}}}')"
    ),
    "keyword": "rag.search_keyword('large', 'w7 common')",
    "keyword, all": "rag.search_keyword('large', 'w7 common', match => 'all')",
    "keyword, half passes": "rag.search_keyword('large', 'w7 common', 10, '{\"half\": 1}')",
    "keyword, few pass": "rag.search_keyword('large', 'w7 common', 10, '{\"few\": 7}')",
    "hybrid": f"rag.search('large', 'w7 common', '{VECTOR}')",
    "hybrid, rrf": f"rag.search('large', 'w7 common', '{VECTOR}', fusion => 'rrf')",
    "hybrid, few pass": f"rag.search('large', 'w7 common', '{VECTOR}', 10, '{{\"few\": 7}}')",
    "hybrid, refined": (
        f"""rag.search('large', 'w7 common', '{VECTOR}', diversity => 0.5, per_document => 1,
        boosts => '[{{"filter": {{"half": 1}}, "multiply": 2}}]')"""
    ),
    "variants": (
        f"rag.search_variants('large', '{{w7,common}}', ARRAY['{VECTOR}', NULL]::halfvec[])"
    ),
    "more_like": (
        "rag.more_like('large', (SELECT min(chunk_id) FROM rag.embeddings WHERE space_id = 1))"
    ),
    "count, declared range": "rag.count_documents('large', '{\"number\": {\"$gte\": 19900}}')",
    "facets, declared range": "rag.facets('large', 'few', '{\"number\": {\"$gte\": 19900}}')",
    "select, the latest": "rag.select_documents('large', order_by => 'number', descending => true)",
    "select, the latest of a range": (
        """rag.select_documents('large', '{"number": {"$lt": 300}}', order_by => 'number',
        descending => true)"""
    ),
    "select by uri": "rag.select_documents('large', result_offset => 100)",
    "expand": (
        "rag.expand('large', ARRAY(SELECT chunk_id FROM rag.search_keyword('large', 'w7', 3)))"
    ),
}


@pytest.fixture(scope="module")
def many(new_database: Any, template: str) -> Iterator[Connection]:
    """Collection 1 holds 20,000 chunks; 29 more hold one each."""
    database = Database(new_database(template))
    database.open()
    settings: dict[str, Any] = {
        "model": "none",
        "dimensions": 16,
        "distance": "cosine",
        "language": "simple",
        "chunking": {},
        "index_options": {},
    }
    vectors = np.random.default_rng(1).normal(size=(COUNT, 16)).astype(np.float32)
    database.create_collection("large", **settings)
    database.load_chunks(
        "large",
        (
            {
                "uri": str(i),
                "content": f"w{i % 997} common x{i}",
                "embedding": vectors[i],
                "metadata": {"half": i % 2, "few": i % 1000, "number": i},
            }
            for i in range(COUNT)
        ),
        16,
    )
    for n in range(29):
        database.create_collection(f"small{n}", **settings)
        database.call(
            "put_chunks",
            collection=f"small{n}",
            uri="a",
            chunks=[{"content": "w7 common"}],
            title="",
            metadata={},
        )
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        connection.execute("SELECT rag.index_field('large', 'number', 'numeric')")
        yield connection
    database.close()


def touched(connection: Connection, search: str) -> tuple[set[str], dict[str, int]]:
    """Run a search; return the tables it touched, and how many rows it read by sequential scans."""
    with connection.transaction():
        before = _scans(connection)
        assert connection.execute(f"SELECT * FROM {search} AS s".encode()).fetchall()
        after = _scans(connection)
    changed = {
        t: (after[t][0] - before.get(t, (0, 0))[0], after[t][1] - before.get(t, (0, 0))[1])
        for t in after
    }
    return {t for t, (scans, _) in changed.items() if scans}, {
        t: rows for t, (_, rows) in changed.items() if rows
    }


def _scans(connection: Connection) -> dict[str, tuple[int, int]]:
    return {
        table: (scans, rows)
        for table, scans, rows in connection.execute(
            """SELECT relname, coalesce(seq_scan, 0) + coalesce(idx_scan, 0),
               coalesce(seq_tup_read, 0)
               FROM pg_stat_xact_user_tables WHERE schemaname = 'rag'"""
        )
    }


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("analyzed", [False, True])
def test_a_search_reads_only_its_own_partitions_and_by_index(
    many: Connection, name: str, analyzed: bool
) -> None:
    own = ["chunks_1", "documents_1", "embeddings_1", "keyword_slots_1", "keyword_postings_1"]
    for table in own:
        known = "SELECT reltuples >= 0 FROM pg_class WHERE oid = %s::regclass"
        if analyzed and many.execute(known, [f"rag.{table}"]).fetchone() == (False,):
            many.execute(f"ANALYZE rag.{table}".encode())
        if not analyzed:  # as after a bulk load: the planner knows nothing yet
            forget = "DELETE FROM pg_statistic WHERE starelid = %s::regclass"
            many.execute(forget, [f"rag.{table}"])
            unknown = "UPDATE pg_class SET reltuples = -1, relpages = 0 WHERE oid = %s::regclass"
            many.execute(unknown, [f"rag.{table}"])
    tables, read = touched(many, SEARCHES[name])
    partitions = {t for t in tables if re.search(r"_\d+$", t)}
    assert partitions
    assert {t for t in partitions if not t.endswith("_1")} == set()
    if name in ("vector", "vector, half passes", "hybrid"):
        with many.transaction():
            many.execute(f"SELECT * FROM {SEARCHES[name]} AS s".encode())
            index = "SELECT pg_stat_get_xact_numscans('rag.embeddings_1_hnsw'::regclass)"
            assert many.execute(index).fetchone() != (0,)
    whole = {t: rows for t, rows in read.items() if rows >= COUNT // 2 and t in partitions}
    assert whole == {}, json.dumps(read)
