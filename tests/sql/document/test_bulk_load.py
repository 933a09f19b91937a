"""Bulk loading: many texts at once, and the vector index is built at the end."""

import json
from typing import Any

import numpy as np
import psycopg
import pytest

from rag_pg.db.database import Database

Connection = psycopg.Connection[Any]
TEXTS = [
    f"Ship {number} carries {'tea ' * (number % 7)}to harbour_{number}" for number in range(700)
]
DIMENSIONS = 512


def lexed(connection: Connection, texts: list[str | None]) -> list[tuple[str | None, int]]:
    languages = ["english" if number % 2 else "simple" for number in range(len(texts))]
    return connection.execute(
        "SELECT lexemes::text, lexeme_count FROM rag._lex_texts(%s, %s)", [languages, texts]
    ).fetchall()


def load(database: Database, texts: list[str]) -> None:
    chance = np.random.default_rng(1)
    database.load_chunks(
        "k",
        [{"uri": f"d{n}", "content": text, "embedding": chance.normal(size=DIMENSIONS)}
         for n, text in enumerate(texts)],
        DIMENSIONS,
    )  # fmt: skip


@pytest.fixture(autouse=True)
def collection(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('k', 'none', %s)", [DIMENSIONS])


def test_texts_are_lexed_in_order_and_none_gives_none(connection: Connection) -> None:
    texts = [None if number % 10 == 3 else text for number, text in enumerate(TEXTS)]
    rows = lexed(connection, texts)
    assert [row[0] is None for row in rows] == [text is None for text in texts]
    assert "harbour_16" in str(rows[16][0])


def test_a_load_is_searchable_and_loading_it_again_changes_nothing(
    connection: Connection, database: Database
) -> None:
    load(database, TEXTS)
    state = """SELECT count(*), min(c.chunk_id), max(c.chunk_id), sum(c.lexeme_count),
                      (SELECT count(*) FROM rag.documents AS d WHERE d.indexed_version = d.version)
               FROM rag.chunks AS c"""
    before = connection.execute(state).fetchone()
    assert before is not None
    assert before[0] == before[4] == len(TEXTS)
    hits = connection.execute("SELECT uri FROM rag.search_keyword('k', 'harbour_123')").fetchall()
    assert hits[0] == ("d123",)
    load(database, TEXTS)
    assert connection.execute(state).fetchone() == before
    load(database, ["Another cargo", *TEXTS[1:]])
    after = connection.execute(state).fetchone()
    assert after is not None
    assert after[2] > before[2]  # one chunk is new
    assert after[4] == len(TEXTS)


def test_metadata_that_all_chunks_share_is_the_documents(
    connection: Connection, database: Database
) -> None:
    rows: list[dict[str, Any]] = [
        {"uri": "two", "content": "a", "metadata": {"year": 1, "part": 1}},
        {"uri": "two", "content": "b", "metadata": {"year": 1, "part": 2}},
        {"uri": "one", "content": "c", "metadata": {"year": 2, "part": 1}},
        {"uri": "none", "content": "d"},
    ]
    database.load_chunks("k", rows, DIMENSIONS)
    found = connection.execute("SELECT uri, metadata FROM rag.documents").fetchall()
    assert dict(found) == {"two": {"year": 1}, "one": {"year": 2, "part": 1}, "none": {}}


@pytest.mark.minutes
def test_an_index_gets_the_memory_it_needs_within_bounds(
    connection: Connection, database: Database
) -> None:
    def memory() -> int:
        row = connection.execute(
            "SELECT pg_size_bytes(rag._index_memory(s)) FROM rag.spaces AS s"
        ).fetchone()
        assert row is not None
        return int(row[0])

    connection.execute("SET maintenance_work_mem = '1MB'")
    assert memory() == 2**20  # nothing to build
    load(database, TEXTS)
    size = connection.execute("SELECT pg_table_size(rag._stored_as('rag.embeddings_1'))").fetchone()
    assert size is not None
    assert memory() == 2 * size[0] > 2**20
    connection.execute("SET maintenance_work_mem = '400MB'")
    assert memory() == 400 * 2**20  # never less than what is set


@pytest.mark.minutes
def test_without_shared_memory_an_index_is_built_by_one_process(
    connection: Connection, database: Database
) -> None:
    load(database, TEXTS)
    connection.execute("DROP INDEX rag.embeddings_1_hnsw")
    connection.execute("ALTER TABLE rag.embeddings_1 SET (parallel_workers = 2)")
    connection.execute("SET maintenance_work_mem = '2000GB'")  # more than any /dev/shm has
    connection.execute("SET max_parallel_maintenance_workers = 2")
    notices: list[str] = []
    connection.add_notice_handler(lambda notice: notices.append(notice.message_primary or ""))
    connection.execute("SELECT rag.build_vector_index('k')")
    assert len(notices) == 1
    assert "one process: could not resize shared memory" in notices[0]
    vector = json.dumps([1.0] * DIMENSIONS)
    hits = connection.execute("SELECT * FROM rag.search_vector('k', %s)", [vector]).fetchall()
    assert len(hits) == 10
    kept = (
        "SELECT current_setting('max_parallel_maintenance_workers'),"
        " current_setting('maintenance_work_mem')"
    )
    assert connection.execute(kept).fetchone() == ("2", "2000GB")


def test_the_spread_of_vectors_that_came_with_their_chunks_is_measured(
    connection: Connection, database: Database
) -> None:
    load(database, TEXTS[:12])
    measured = connection.execute("SELECT similarity_spread, measured_chunks FROM rag.spaces")
    ((spread, chunks),) = measured.fetchall()
    assert 0.03 < spread < 0.06 and chunks == 12


def test_many_texts_are_put_where_no_table_may_be_made(connection: Connection) -> None:
    connection.execute(
        "CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS"
        " $$BEGIN RAISE EXCEPTION '%', tg_tag; END$$"
    )
    connection.execute("CREATE EVENT TRIGGER refuse ON ddl_command_start EXECUTE FUNCTION refuse()")
    chunks = json.dumps([{"content": text} for text in TEXTS])
    connection.execute("SELECT rag.put_chunks('k', 'all', %s)", [chunks])
    (found,) = connection.execute("SELECT count(*) FROM rag.chunks").fetchone() or (0,)
    assert found == len(TEXTS)
