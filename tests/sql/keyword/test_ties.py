"""Equal scores are ordered by chunk id, wherever the chunks are in the index;
and lexemes said very often."""

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from keyword_sizes import keyword_sizes

Connection = psycopg.Connection[Any]


@pytest.fixture(scope="module")
def small_blocks(new_database: Any, template: str) -> Iterator[Connection]:
    """Blocks of 400 slots, so that hundreds of chunks are fresh, open,
    sealed in part and in full blocks."""
    dsn = new_database(template)
    with (
        keyword_sizes(dsn, block=400, seal=250, merge=10_000, frequent=40),
        psycopg.connect(dsn, autocommit=True) as opened,
    ):
        yield opened


def put(connection: Connection, name: str, uri: str, texts: list[str]) -> None:
    chunks = [{"content": text, "metadata": {"half": i % 2}} for i, text in enumerate(texts)]
    connection.execute("SELECT rag.put_chunks(%s, %s, %s)", [name, uri, json.dumps(chunks)])


def differences(connection: Connection, name: str, query: str) -> list[object]:
    (key,) = connection.execute(
        "SELECT collection_id FROM rag.collections WHERE name = %s", [name]
    ).fetchone() or (None,)
    differ: list[object] = []
    for half in (None, 1):
        truth = connection.execute(
            """SELECT s.chunk_id, s.score
               FROM rag._score_chunks(rag._prepare_keyword(%(key)s, %(query)s), ARRAY(
                   SELECT c.chunk_id FROM rag.chunks AS c WHERE c.collection_id = %(key)s
                   AND (%(half)s::integer IS NULL OR (c.metadata ->> 'half')::integer = %(half)s)))
                       AS s
               ORDER BY s.score DESC, s.chunk_id""",
            {"key": key, "query": query, "half": half},
        ).fetchall()
        for limit in (5, 37):
            found = connection.execute(
                "SELECT chunk_id, score FROM rag.search_keyword(%s, %s, %s, %s)",
                [name, query, limit, json.dumps({} if half is None else {"half": half})],
            ).fetchall()
            if found != truth[:limit]:
                differ.append((query, half, limit, truth[:limit][:3], found[:3]))
    return differ


@pytest.mark.parametrize("filler", [1, 4])
@pytest.mark.few(1)
def test_ties_are_by_chunk_id_from_fresh_to_sealed(small_blocks: Connection, filler: int) -> None:
    name = f"c{filler}"
    key = small_blocks.execute(
        "SELECT rag.create_collection(%s, 'none', 2, 'cosine', 'simple')", [name]
    ).fetchone()
    assert key is not None
    texts = [
        ("alpha " if i % 17 == 0 else "beta ") + ("gamma " if i % 3 else "") + "filler " * filler
        for i in range(130)
    ]
    stages = set()
    for part in range(5):
        put(small_blocks, name, str(part), texts)
        if part in (0, 4):
            for query in ("alpha", "beta", "alpha gamma"):
                assert differences(small_blocks, name, query) == []
        if part < 4:  # the last ones stay fresh
            small_blocks.execute("SELECT rag._merge_keyword(%s)", key)
            for query in ("alpha", "beta", "alpha gamma", "filler"):
                assert differences(small_blocks, name, query) == []
            stages |= set(
                small_blocks.execute(
                    "SELECT segment >= 400, sealed FROM rag.keyword_segments WHERE collection_id"
                    " = %s",
                    key,
                ).fetchall()
            )
    assert len(stages) == 3  # a block that is full, and one that grows, open and sealed


def test_hybrid_ties_are_by_chunk_id(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 2)")
    chunks = [{"content": f"alpha n{i}", "embedding": [1, 0]} for i in range(300)]
    connection.execute("SELECT rag.put_chunks('c', 'd', %s)", [json.dumps(chunks)])
    connection.execute("SELECT rag._merge_keyword(collection_id) FROM rag.collections")
    first = connection.execute("SELECT chunk_id FROM rag.chunks ORDER BY 1 LIMIT 10").fetchall()
    for fusion in ("auto", "weighted", "rrf"):
        for boosts in ("[]", '[{"filter": {}, "multiply": 1.5}]'):
            found = connection.execute(
                "SELECT chunk_id FROM rag.search('c', 'alpha', '[1, 0]', fusion => %s, boosts"
                " => %s)",
                [fusion, boosts],
            ).fetchall()
            assert found == first


def test_a_lexeme_counts_up_to_255_times_in_every_stage(small_blocks: Connection) -> None:
    """A tsvector keeps up to 256 positions of an identifier (its own and the parser's together)."""
    key = small_blocks.execute(
        "SELECT rag.create_collection('often', 'none', 2, 'cosine', 'simple')"
    ).fetchone()
    texts = [
        "x1.2 " * 300 if i % 10 == 0 else "once x1.2 and more" if i % 10 == 1 else f"filler{i} text"
        for i in range(300)
    ]
    most = "SELECT max(cardinality(u.positions)) FROM rag.chunks, unnest(lexemes) AS u"
    for part in range(3):
        put(small_blocks, "often", str(part), texts)
        assert small_blocks.execute(most).fetchone() == (256,)
        for query in ("x1.2", "x1.2 once", " ".join(["x1.2", *(f"filler{i}" for i in range(40))])):
            assert differences(small_blocks, "often", query) == []
        if part < 2:
            small_blocks.execute("SELECT rag._merge_keyword(%s)", key)
    assert small_blocks.execute("SELECT rag._posting(5, 10, 256)").fetchone() == (
        5 << 32 | 10 << 8 | 255,
    )
    assert small_blocks.execute(
        "SELECT DISTINCT tf FROM rag._explain_keyword('often', 'x1.2', 1)"
    ).fetchone() == (255,)
