"""A vector search gives min(limit, visible vectors) rows and finds the nearest,
whatever else the index holds."""

import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import psycopg
import pytest
from pgvector import HalfVector
from pgvector.psycopg import register_vector
from walk import walk_above

from rag_pg.db import Databases, name_of
from rag_pg.db.database import Database

Connection = psycopg.Connection[Any]
DIMENSIONS = 12
NEAR, FAR = np.eye(2, DIMENSIONS)
PER_DOCUMENT = 100


def cloud(rng: np.random.Generator, centre: np.ndarray, count: int) -> np.ndarray:
    points = rng.normal(0, 0.1, (count, DIMENSIONS)) + centre
    return np.asarray(points, np.float16).astype(np.float32)


def add(database: Database, name: str, prefix: str, vectors: np.ndarray) -> None:
    database.load_chunks(
        name,
        (
            {
                "uri": f"{prefix}{i // PER_DOCUMENT}",
                "content": f"{prefix} {i}",
                "embedding": vector,
                "metadata": {"half": i % 2},
            }
            for i, vector in enumerate(vectors)
        ),
        DIMENSIONS,
    )


class Collection:
    """3,000 vectors far from the question; what is near it differs from test to test."""

    name = "c"

    def __init__(self, database: Database) -> None:
        self.database = database
        self.rng = np.random.default_rng(2)

    def visible(self, connection: Connection) -> dict[int, np.ndarray]:
        return dict(
            connection.execute(
                """SELECT e.chunk_id, e.embedding::real[] FROM rag.embeddings AS e
                   JOIN rag.spaces AS s USING (space_id) JOIN rag.collections AS c
                       USING (collection_id)
                   WHERE c.name = %s""",
                [self.name],
            ).fetchall()
        )

    def recall(self, connection: Connection, limit: int, sql: str) -> float:
        """The share of the truly nearest that a search finds;
        it has to give as many rows as there are."""
        there = self.visible(connection)
        ids = np.array(list(there))
        vectors = np.array(list(there.values()))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        common = wanted = 0
        for query in cloud(self.rng, NEAR, 8):
            rows = connection.execute(
                sql.encode(), {"name": self.name, "query": HalfVector(query), "limit": limit}
            ).fetchall()
            distances = [distance for _, distance in rows]
            assert len(rows) == min(limit, len(there))
            assert distances == sorted(distances)
            nearest = ids[np.argsort(-(vectors @ query), kind="stable")[:limit]]
            common += len({i for i, _ in rows} & set(nearest.tolist()))
            wanted += len(nearest)
        return common / wanted


SEARCH_VECTOR = (
    "SELECT chunk_id, vector_distance FROM rag.search_vector(%(name)s, %(query)s, %(limit)s)"
)
SEARCH = """SELECT chunk_id, vector_distance FROM rag.search(
                %(name)s, query_embedding => %(query)s, result_limit => %(limit)s,
                duplicates => true)"""


@pytest.fixture(scope="module")
def filled(new_database: Callable[..., str], template: str) -> Callable[[str], str]:
    """Return the name of a database with the vectors that are far, in an index of a kind."""

    @cache
    def fill(kind: str) -> str:
        database = Database(new_database(template))
        database.open()
        database.create_collection(
            "c", model="none", dimensions=DIMENSIONS, distance="cosine",
            language="simple", chunking={}, index_options={"kind": kind},
        )  # fmt: skip
        add(database, "c", "far", cloud(np.random.default_rng(1), FAR, 3000))
        with psycopg.connect(database.dsn) as connection:
            walk_above(connection)
        database.close()
        return name_of(database.dsn)

    return fill


@pytest.fixture
def kind() -> str:
    return "hnsw"


@pytest.fixture
def database(
    rag_databases: Databases,
    new_database: Callable[..., str],
    filled: Callable[[str], str],
    kind: str,
) -> Iterator[Database]:
    """A database in which nothing dead can be vacuumed away: a transaction is open."""
    opened = Database(new_database(filled(kind)))
    opened.open()
    with psycopg.connect(opened.dsn) as holder:
        holder.execute("SELECT pg_current_xact_id()")
        yield opened
    opened.close()
    rag_databases.drop(opened.dsn)


@pytest.fixture
def collection(database: Database) -> Collection:
    return Collection(database)


@pytest.fixture
def connection(database: Database) -> Iterator[Connection]:
    with psycopg.connect(database.dsn, autocommit=True) as opened:
        register_vector(opened)
        yield opened


def delete(collection: Collection, connection: Connection) -> None:
    add(collection.database, collection.name, "near", cloud(collection.rng, NEAR, 1500))
    for document in range(15):
        connection.execute(
            "SELECT rag.delete_document(%s, %s)", [collection.name, f"near{document}"]
        )


def put(collection: Collection, connection: Connection, uri: str, count: int) -> None:
    chunks = [
        {"content": f"{uri} {i}", "embedding": json.dumps(vector.tolist())}
        for i, vector in enumerate(cloud(collection.rng, NEAR, count))
    ]
    connection.execute(
        "SELECT rag.put_chunks(%s, %s, %s)", [collection.name, uri, json.dumps(chunks)]
    )


def roll_back(collection: Collection, connection: Connection) -> None:
    with connection.transaction(force_rollback=True):
        put(collection, connection, "near", 600)


def edit_one_document(collection: Collection, connection: Connection) -> None:
    for _ in range(4):
        put(collection, connection, "near", 150)


@pytest.mark.parametrize(
    ("kind", "leave_dead"),
    [
        ("hnsw", delete),
        ("hnsw", roll_back),
        ("hnsw", edit_one_document),
        ("binary", delete),
        pytest.param("binary", roll_back, marks=pytest.mark.minutes),
        pytest.param("binary", edit_one_document, marks=pytest.mark.minutes),
    ],
)
@pytest.mark.few(2)
def test_dead_vectors_take_nobodys_place(
    collection: Collection,
    connection: Connection,
    kind: str,
    leave_dead: Callable[[Collection, Connection], None],
) -> None:
    leave_dead(collection, connection)
    least = {"hnsw": 0.9, "binary": 0}[kind]  # twelve bits say nothing: rows are counted
    for limit in (10, 300):
        assert collection.recall(connection, limit, SEARCH_VECTOR) >= least
    assert collection.recall(connection, 10, SEARCH) >= least
    connection.execute(
        "SET work_mem = '64kB'"
    )  # what an iterative scan may use: the walk ends early
    assert collection.recall(connection, 200, SEARCH_VECTOR) >= least
    assert collection.recall(connection, 3500, SEARCH_VECTOR.replace(
        "rag.search_vector(%(name)s, %(query)s, %(limit)s)",
        """rag._rank_vector((SELECT collection_id FROM rag.collections WHERE name = %(name)s),
                           %(query)s, %(limit)s) AS r (chunk_id, vector_distance)""",
    )) == pytest.approx(1, abs=0 if kind == "hnsw" else 1)  # fmt: skip


@pytest.mark.parametrize("kind", ["hnsw", "binary"])
@pytest.mark.few(1)
def test_a_snapshot_finds_what_it_sees_beside_later_vectors(
    collection: Collection, connection: Connection, kind: str
) -> None:
    with psycopg.connect(collection.database.dsn) as old:
        old.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        register_vector(old)
        put(collection, connection, "early", 20)
        assert len(collection.visible(old)) == 3020
        put(collection, connection, "late", 600)
        assert collection.recall(old, 10, SEARCH_VECTOR) >= {"hnsw": 0.9, "binary": 0}[kind]


def test_a_filter_and_dead_vectors_together_cost_no_results(
    collection: Collection, connection: Connection
) -> None:
    delete(collection, connection)
    rows = connection.execute(
        "SELECT metadata ->> 'half' FROM rag.search_vector('c', %s, 50, '{\"half\": 1}',"
        " exact_below => 0)",
        [HalfVector(NEAR.astype(np.float32))],
    ).fetchall()
    assert rows == [("1",)] * 50


def test_a_chunk_whose_neighbours_were_deleted_still_has_others_like_it(
    collection: Collection, connection: Connection
) -> None:
    put(collection, connection, "kept", 1)
    delete(collection, connection)
    found = connection.execute(
        """SELECT count(*) FROM rag.more_like('c', (SELECT c.chunk_id FROM rag.chunks AS c
           JOIN rag.documents AS d USING (collection_id, document_id) WHERE d.uri = 'kept'))"""
    ).fetchone()
    assert found == (10,)


@pytest.mark.parametrize("kind", ["hnsw", "exact"])
def test_vectors_of_length_0_come_last_and_have_no_distance(
    connection: Connection, kind: str
) -> None:
    connection.execute(
        "SELECT rag.put_chunks('c', 'zero', %s)",
        [json.dumps([{"content": f"zero {i}", "embedding": [0] * DIMENSIONS} for i in range(3)])],
    )
    query = HalfVector(FAR.astype(np.float32))
    for limit, zeros in ((10, 0), (3010, 3)):
        rows = connection.execute(
            """SELECT d.uri, r.distance FROM rag.collections AS c,
               LATERAL rag._rank_vector(c.collection_id, %s, %s) WITH ORDINALITY AS r (chunk_id,
                   distance, place)
               JOIN rag.chunks AS k ON k.chunk_id = r.chunk_id JOIN rag.documents AS d
                   USING (document_id)
               ORDER BY r.place""",
            [query, limit],
        ).fetchall()
        assert len(rows) == min(limit, 3003)
        assert [uri for uri, _ in rows].count("zero") == zeros
        assert all(uri == "zero" for uri, _ in rows[len(rows) - zeros :])
    # All distances to a question of length 0 are the same: none.
    # Ties are by chunk id, by index or without.
    nowhere = HalfVector(np.zeros(DIMENSIONS, np.float32))
    hits = connection.execute(
        "SELECT chunk_id, score, vector_distance FROM rag.search_vector('c', %s, 5)", [nowhere]
    ).fetchall()
    first = connection.execute("SELECT chunk_id FROM rag.embeddings ORDER BY 1 LIMIT 5").fetchall()
    assert hits == [(chunk, -2.0, None) for (chunk,) in first]


@pytest.mark.parametrize(
    "search",
    [
        "search_vector('z', '[1, 0]')",
        "more_like('z', %(zero)s)",
        "search('z', 'zero', '[1, 0]')",
        "search('z', 'zero', '[0, 0]')",
        "search('z', 'zero', '[1, 0]', fusion => 'rrf')",
        "search('z', 'zero', '[1, 0]', diversity => 0.5)",
    ],
)
@pytest.mark.few(3)
def test_no_number_of_a_hit_is_nan(connection: Connection, search: str) -> None:
    connection.execute("SELECT rag.create_collection('z', 'none', 2)")
    connection.execute(
        """SELECT rag.put_chunks('z', 'd', '[{"content": "zero", "embedding": [0, 0]},
           {"content": "one zero", "embedding": [1, 0]},
           {"content": "two", "embedding": [0.9, 0.1]}]')"""
    )
    zero = connection.execute("SELECT chunk_id FROM rag.chunks WHERE content = 'zero'").fetchone()
    assert zero is not None
    rows = connection.execute(
        f"SELECT score, vector_distance, to_jsonb(h) FROM rag.{search} AS h".encode(),
        {"zero": zero[0]},
    ).fetchall()
    assert len(rows) >= 2
    assert all(np.isfinite(score) for score, _, _ in rows)
    assert all(distance is None or np.isfinite(distance) for _, distance, _ in rows)
    json.loads(json.dumps([row[2] for row in rows], allow_nan=False))


def test_a_vector_of_length_0_is_like_no_other_when_hits_are_diversified(
    connection: Connection,
) -> None:
    connection.execute("SELECT rag.create_collection('z', 'none', 2)")
    connection.execute(
        """SELECT rag.put_chunks('z', 'd', '[{"content": "a", "embedding": [1, 0]},
           {"content": "b", "embedding": [1, 0.01]}, {"content": "c", "embedding": [0.3, 1]},
           {"content": "d", "embedding": [0, 0]}]')"""
    )
    found = connection.execute(
        "SELECT content FROM rag.search('z', NULL, '[1, 0]', diversity => 0.3)"
    ).fetchall()
    assert found[0] == ("a",)
    assert found.index(("b",)) < found.index(("d",))


@pytest.mark.parametrize("copies", [30, 900])
@pytest.mark.few(1)
def test_equal_distances_are_ordered_by_chunk_id_by_index_too(
    database: Database, connection: Connection, copies: int
) -> None:
    add(database, "c", "same", np.tile(NEAR.astype(np.float32), (copies, 1)))
    rows = connection.execute(
        "SELECT chunk_id FROM rag.search_vector('c', %s, 10)", [HalfVector(NEAR.astype(np.float32))]
    ).fetchall()
    first = connection.execute(
        """SELECT c.chunk_id FROM rag.chunks AS c JOIN rag.documents AS d USING (document_id)
           WHERE d.uri LIKE 'same%' ORDER BY 1 LIMIT 10"""
    ).fetchall()
    assert rows == first
