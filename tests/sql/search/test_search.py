"""Searches against independent oracles, their limits, and the plans they run by."""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import fusion_oracle
import numpy as np
import psycopg
import pytest
from bm25_oracle import Oracle
from hypothesis import given, settings
from hypothesis import strategies as st
from rota import tries

from rag_pg import InvalidQuery
from rag_pg.db.database import Database

Connection = psycopg.Connection[Any]
WORDS = ["red", "blue", "fish", "bird", "tree"]


@pytest.fixture(scope="module")
def shared(new_database: Any, template: str) -> Any:
    """One connection for all examples of a property; each makes a collection of its own."""
    with psycopg.connect(new_database(template), autocommit=True) as connection:
        yield connection


def fill(
    connection: Connection, texts: list[str], vectors: np.ndarray | None = None, **metadata: Any
) -> tuple[str, dict[str, int]]:
    """Make a collection with a document per text; return its name and uri -> chunk id."""
    (count,) = connection.execute("SELECT count(*) FROM rag.collections").fetchone() or (0,)
    name = f"c{count}"
    dimensions = 3 if vectors is None else vectors.shape[1]
    connection.execute(
        "SELECT rag.create_collection(%s, 'none', %s, language => 'simple')", [name, dimensions]
    )
    for i, text in enumerate(texts):
        chunk: dict[str, Any] = {
            "content": text,
            "metadata": {k: v[i] for k, v in metadata.items()},
        }
        if vectors is not None:
            chunk["embedding"] = vectors[i].tolist()
        connection.execute("SELECT rag.put_chunks(%s, %s, %s)", [name, str(i), json.dumps([chunk])])
    rows = connection.execute(
        """SELECT d.uri, c.chunk_id FROM rag.chunks AS c
           JOIN rag.documents AS d USING (collection_id, document_id)
           JOIN rag.collections AS k USING (collection_id) WHERE k.name = %s""",
        [name],
    ).fetchall()
    return name, dict(rows)


def keyword(
    connection: Connection, name: str, query: str, limit: int = 100
) -> list[tuple[int, float]]:
    return connection.execute(
        "SELECT chunk_id, keyword_score FROM rag.search_keyword(%s, %s, %s)", [name, query, limit]
    ).fetchall()


texts = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join), min_size=1, max_size=8
)
queries = st.lists(st.sampled_from([*WORDS, "absent"]), max_size=5).map(" ".join)


@settings(max_examples=tries(40, 16), deadline=None)
@given(texts=texts, query=queries)
def test_keyword_search_equals_bm25_from_the_paper(
    shared: Connection, texts: list[str], query: str
) -> None:
    name, ids = fill(shared, texts)
    chunks = {ids[str(i)]: text.split() for i, text in enumerate(texts)}
    expected = Oracle.of(chunks).search(Counter(query.split()), 100)
    found = keyword(shared, name, query)
    assert [i for i, _ in found] == [i for i, _ in expected]
    assert [s for _, s in found] == pytest.approx([s for _, s in expected], abs=1e-6)


@settings(max_examples=tries(30, 12), deadline=None)
@given(data=st.data(), texts=texts, query=queries, weight=st.sampled_from([0.1, 0.5, 0.9]))
def test_hybrid_search_equals_rrf_from_the_paper(
    shared: Connection, data: st.DataObject, texts: list[str], query: str, weight: float
) -> None:
    seed = data.draw(st.integers(0, 10**6))
    vectors = np.random.default_rng(seed).integers(-8, 8, (len(texts) + 1, 3)).astype(np.float32)
    vectors[:, 0] = np.abs(vectors[:, 0]) + 1
    name, ids = fill(shared, texts, vectors[:-1])
    chunks = {ids[str(i)]: text.split() for i, text in enumerate(texts)}
    nearest = shared.execute(
        "SELECT chunk_id, vector_rank, vector_distance FROM rag.search_vector(%s,"
        " %s::text::halfvec, 100)",
        [name, str(vectors[-1].tolist())],
    ).fetchall()
    by_vector = [i for i, _, _ in nearest]
    assert sorted(by_vector) == sorted(ids.values())
    assert [d for _, _, d in nearest] == sorted(d for _, _, d in nearest)
    by_keyword = [i for i, _ in Oracle.of(chunks).search(Counter(query.split()), 100)]
    found = shared.execute(
        """SELECT chunk_id, score, vector_rank, keyword_rank
           FROM rag.search(%s, %s, %s::text::halfvec, 100,
           vector_weight => %s, keyword_weight => %s, fusion => 'rrf', duplicates => true)""",
        [name, query, str(vectors[-1].tolist()), weight, 1 - weight],
    ).fetchall()
    expected = fusion_oracle.rrf([(weight, by_vector), (1 - weight, by_keyword)])
    assert [i for i, *_ in found] == [i for i, _ in expected]
    assert [s for _, s, *_ in found] == pytest.approx([s for _, s in expected], abs=1e-9)
    for i, _, vector_rank, keyword_rank in found:
        assert vector_rank == by_vector.index(i) + 1
        assert keyword_rank == (by_keyword.index(i) + 1 if i in by_keyword else None)


def test_a_leg_without_input_is_skipped_and_its_columns_are_null(connection: Connection) -> None:
    name, _ = fill(connection, ["red fish", "blue bird"], np.eye(2, 3, dtype=np.float32))
    row = "SELECT uri, vector_rank, vector_distance, keyword_rank FROM rag.search"
    assert connection.execute(f"{row}(%s, 'red')".encode(), [name]).fetchall() == [
        ("0", None, None, 1)
    ]
    found = connection.execute(
        f"{row}(%s, query_embedding => '[0, 1, 0]')".encode(), [name]
    ).fetchall()
    assert [(r[0], r[1], r[3]) for r in found] == [("1", 1, None), ("0", 2, None)]
    only = connection.execute(f"{row}(%s, 'red', '[0, 1, 0]', vector_weight => 0)".encode(), [name])
    assert only.fetchall() == [("0", None, None, 1)]


def test_an_empty_collection_finds_nothing(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('empty', 'none', 3)")
    assert connection.execute("SELECT * FROM rag.search('empty', 'x', '[1,2,3]')").fetchall() == []


@pytest.mark.one_database
@pytest.mark.parametrize("query", ["the of and", "?!…", "absent", "'", "a & b | !c:*", "\\"])
def test_queries_that_match_nothing_or_look_like_operators_find_nothing(
    connection: Connection, query: str
) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    connection.execute("""SELECT rag.put_chunks('c', 'x', '[{"content": "red fish"}]')""")
    assert keyword(connection, "c", query) == []


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limit": 0}, "limit 0"),
        ({"limit": -1}, "limit -1"),
        ({"limit": 1001}, "limit 1001"),
        ({"query": "x" * 100_001}, "100001 bytes"),
        ({"query": None}, "the query is empty"),
        ({"query": "  "}, "the query is empty"),
        ({"embedding": np.ones(4)}, "4 dimensions, collection 'c' stores 3"),
        ({"filter": [1]}, "JSON array"),
        ({"keyword_weight": -1.0}, "out of range"),
        ({"candidate_limit": 1}, "candidate_limit 1"),
        ({"candidate_limit": 10001}, "candidate_limit"),
    ],
)
def test_bad_queries_get_one_clear_line(
    database: Database, connection: Connection, options: Mapping[str, Any], message: str
) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    arguments: dict[str, Any] = {
        "query": "x",
        "embedding": None,
        "limit": 10,
        "filter": {},
        "vector_weight": 0.5,
        "keyword_weight": 0.5,
        "candidate_limit": None,
    } | dict(options)
    with pytest.raises(InvalidQuery, match=message) as caught:
        database.search("c", **arguments)
    assert "\n" not in str(caught.value)
