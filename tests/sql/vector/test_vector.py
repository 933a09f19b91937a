"""How vector searches are run: the plan, the kinds of index, and what a filter costs (nothing)."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import psycopg
import pytest
from pgvector import HalfVector
from pgvector.psycopg import register_vector
from walk import walk_above

from rag_pg.db.database import Database

Connection = psycopg.Connection[Any]
COUNT = 12_000
FEWER = 4_000


def load(database: Database, name: str, vectors: np.ndarray, **options: Any) -> None:
    database.create_collection(
        name, model="none", dimensions=vectors.shape[1], distance="cosine", language="simple",
        chunking={}, index_options=options,
    )  # fmt: skip
    database.load_chunks(
        name,
        (
            {
                "uri": f"{i:05}",
                "content": f"w{i % 97}",
                "embedding": vector,
                "metadata": {"half": i % 2, "few": i % 1000, "near": int(vector[0] > 0.5)},
            }
            for i, vector in enumerate(vectors)
        ),
        vectors.shape[1],
    )


@pytest.fixture(scope="module")
def large(new_database: Any, template: str) -> Iterator[tuple[Connection, np.ndarray]]:
    """12,000 chunks of 16 dimensions (4,000 in the other kinds of index);
    near: those in one direction."""
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(COUNT, 16))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)
    database = Database(new_database(template))
    database.open()
    load(database, "hnsw", vectors.astype(np.float32))
    load(database, "binary", vectors[:FEWER].astype(np.float32), kind="binary")
    load(database, "exact", vectors[:FEWER].astype(np.float32), kind="exact")
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        register_vector(connection)
        walk_above(connection)
        yield connection, vectors.astype(np.float32)
    database.close()


def method(connection: Connection, name: str, condition: str | None, indexed: bool = True) -> str:
    row = connection.execute(
        """SELECT p.method FROM rag.collections AS c,
           LATERAL rag._plan_vector(c.collection_id, rag._active_space(c.collection_id), %s, %s,
               NULL, NULL, 10, 10) AS p
           WHERE c.name = %s""",
        [condition, indexed, name],
    ).fetchone()
    assert row is not None
    return str(row[0])


@pytest.mark.parametrize(
    ("name", "condition", "indexed", "expected"),
    [
        ("hnsw", None, True, "index"),
        ("hnsw", "c.metadata @> '{\"few\": 1}'", True, "matches"),
        ("hnsw", "c.metadata @> '{\"few\": -1}'", True, "matches"),
        ("hnsw", "c.metadata @> '{\"half\": 1}'", True, "iterative"),
        ("hnsw", "(c.metadata ->> 'few')::integer < 2", False, "exact"),
        ("hnsw", "(c.metadata ->> 'few')::integer >= 2", False, "iterative"),
        ("exact", None, True, "exact"),
        ("binary", None, True, "index"),
    ],
)
def test_the_plan_follows_what_passes(
    large: Any, name: str, condition: str | None, indexed: bool, expected: str
) -> None:
    assert method(large[0], name, condition, indexed) == expected


def test_a_small_collection_is_searched_exactly(database: Database, connection: Connection) -> None:
    load(database, "small", np.eye(4, dtype=np.float32))
    assert method(connection, "small", None) == "exact"


def found(connection: Connection, name: str, query: np.ndarray, **options: Any) -> list[int]:
    named = "".join(f", {key} => %({key})s" for key in options)
    return [
        int(uri)
        for (uri,) in connection.execute(
            f"SELECT uri FROM rag.search_vector(%(name)s, %(query)s{named})".encode(),
            {"name": name, "query": HalfVector(query), **options},
        )
    ]


@pytest.mark.parametrize("kind", ["hnsw", "binary", "exact"])
@pytest.mark.parametrize(
    "metadata_filter", [None, '{"half": 1}', '{"few": 7}', '{"near": 1}', '{"near": 0}']
)
def test_each_kind_finds_what_numpy_finds(
    large: Any, kind: str, metadata_filter: str | None
) -> None:
    connection, vectors = large
    vectors = vectors if kind == "hnsw" else vectors[:FEWER]
    places = np.arange(len(vectors))
    allowed = {
        None: places >= 0,
        '{"half": 1}': places % 2 == 1,
        '{"few": 7}': places % 1000 == 7,
        '{"near": 1}': vectors[:, 0] > 0.5,
        '{"near": 0}': vectors[:, 0] <= 0.5,
    }[metadata_filter]
    rng = np.random.default_rng(2)
    common = total = 0
    for query in (vectors[:15] + rng.normal(0, 0.1, (15, 16))).astype(np.float32):
        options = {} if metadata_filter is None else {"metadata_filter": metadata_filter}
        nearness = np.where(allowed, vectors @ query, -np.inf)
        wanted = [int(i) for i in np.argsort(-nearness)[:10] if allowed[i]]
        got = found(connection, kind, query, **options)
        assert len(got) == len(wanted)
        total += len(wanted)
        assert all(allowed[i] for i in got)
        common += len(set(got) & set(wanted))
    # Sixteen bits say little: the ten times as many that are re-scored make up for some of it.
    assert common >= {"hnsw": 0.97, "binary": 0.4, "exact": 0.99}[kind] * total


def test_a_walk_that_is_cut_short_is_followed_by_an_exact_search(large: Any) -> None:
    connection, vectors = large
    far = -np.eye(1, 16, dtype=np.float32)[0]  # the opposite of what passes
    wanted = np.argsort(-np.where(vectors[:, 0] > 0.5, vectors @ far, -np.inf))[:10]
    got = found(
        connection, "hnsw", far, metadata_filter='{"near": 1}', exact_below=1, scan_limit=50
    )
    assert set(got) == set(map(int, wanted))


def test_settings_of_the_session_are_left_as_they_were(large: Any) -> None:
    connection, vectors = large
    names = ["hnsw.ef_search", "hnsw.iterative_scan", "enable_seqscan", "enable_sort"]
    ask = "SELECT current_setting(s) FROM unnest(%s::text[]) AS s"
    before = connection.execute(ask, [names]).fetchall()
    with connection.transaction():
        found(connection, "hnsw", vectors[0])
        found(connection, "hnsw", vectors[0], metadata_filter='{"half": 1}')
        assert connection.execute(ask, [names]).fetchall() == before


@pytest.mark.parametrize("option", [{"ef_search": 0}, {"exact_below": -1}, {"scan_limit": 0}])
def test_bad_limits_are_errors(large: Any, option: dict[str, int]) -> None:
    with pytest.raises(psycopg.Error, match="out of range") as caught:
        found(large[0], "hnsw", large[1][0], **option)
    assert caught.value.sqlstate == "RG004"


@pytest.mark.minutes
def test_an_index_that_was_taken_away_can_be_built_again(
    database: Database, connection: Connection
) -> None:
    rng = np.random.default_rng(1)
    walk_above(connection)
    load(database, "c", rng.normal(size=(3000, 8)).astype(np.float32))
    ask = "SELECT uri FROM rag.search_vector('c', %s, 5, exact_below => 0)"
    register_vector(connection)
    query = HalfVector(rng.normal(size=8).astype(np.float32))
    with_index = connection.execute(ask, [query]).fetchall()
    take, build = "SELECT rag.drop_vector_index('c')", "SELECT rag.build_vector_index('c')"
    assert connection.execute(take).fetchone() == (True,)
    assert connection.execute(take).fetchone() == (False,)
    assert method(connection, "c", None) == "exact"
    assert len(set(connection.execute(ask, [query]).fetchall()) & set(with_index)) >= 4
    assert connection.execute(build).fetchone() == (True,)
    assert connection.execute(build).fetchone() == (False,)
    assert method(connection, "c", None) == "index"
