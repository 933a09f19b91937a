"""Bulk loading: many texts are lexed by several processes,
and the vector index is built at the end."""

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


def launched(connection: Connection) -> int:
    """Parallel workers that this database has had."""
    connection.execute("SELECT pg_stat_force_next_flush()")
    row = connection.execute(
        "SELECT parallel_workers_launched FROM pg_stat_database WHERE datname = current_database()"
    ).fetchone()
    assert row is not None
    return int(row[0])


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


def test_texts_are_lexed_alike_by_one_process_and_by_several(connection: Connection) -> None:
    texts = [None if number % 10 == 3 else text for number, text in enumerate(TEXTS)]
    connection.execute("SET max_parallel_workers_per_gather = 2")
    several = lexed(connection, texts)
    connection.execute("SET max_parallel_workers_per_gather = 0")
    assert several == lexed(connection, texts)
    assert [row[0] is None for row in several] == [text is None for text in texts]
    assert "harbour_16" in str(several[16][0])
    assert connection.execute(
        "SELECT count(*) FROM pg_class WHERE relname LIKE 'lexing%'"
    ).fetchone() == (0,)


@pytest.mark.parametrize("event", ["ddl_command_start", "ddl_command_end", "sql_drop"])
def test_a_large_document_is_stored_where_tables_are_refused(
    connection: Connection, event: str
) -> None:
    connection.execute("SELECT rag.create_collection('refused', 'none', 2)")
    connection.execute(
        """CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS
           'BEGIN RAISE EXCEPTION ''no tables today''; END'"""
    )
    connection.execute(f"CREATE EVENT TRIGGER refuse ON {event} EXECUTE FUNCTION refuse()".encode())
    notices: list[str] = []
    connection.add_notice_handler(lambda n: notices.append(str(n.message_primary)))
    connection.execute(
        """SELECT rag.put_chunks('refused', 'large', (
               SELECT jsonb_agg(jsonb_build_object('content', 'w' || g))
               FROM generate_series(1, 600) AS g))"""
    )
    assert notices == ["texts are lexed by one process: no tables today"]
    found = connection.execute("SELECT count(*) FROM rag.search_keyword('refused', 'w600')")
    assert found.fetchone() == (1,)
    assert connection.execute("SELECT count(*) FROM rag.chunks").fetchone() == (600,)
    connection.execute("DROP EVENT TRIGGER refuse")


@pytest.mark.parametrize("count, parallel", [(499, False), (500, True)])
def test_workers_are_for_many_texts(connection: Connection, count: int, parallel: bool) -> None:
    if connection.info.server_version < 180000:
        pytest.skip("no engine: PostgreSQL counts parallel workers from 18 on")
    connection.execute("SET max_parallel_workers_per_gather = 2")
    before = launched(connection)
    lexed(connection, [*TEXTS[:count], *[None] * 100])
    assert (launched(connection) > before) == parallel


def test_who_may_not_create_a_table_lexes_by_one_process(connection: Connection) -> None:
    connection.execute(
        """DO $$ BEGIN CREATE ROLE lexing_guest; EXCEPTION WHEN duplicate_object THEN END $$;
           GRANT USAGE ON SCHEMA rag TO lexing_guest;
           GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA rag TO lexing_guest;"""
    )
    owners = lexed(connection, list(TEXTS))
    connection.execute("SET ROLE lexing_guest")
    assert lexed(connection, list(TEXTS)) == owners


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
    size = connection.execute("SELECT pg_table_size('rag.embeddings_1')").fetchone()
    assert size is not None
    assert memory() == 2 * size[0] > 2**20
    connection.execute("SET maintenance_work_mem = '400MB'")
    assert memory() == 400 * 2**20  # never less than what is set


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
