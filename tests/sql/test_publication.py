"""Logical replication: with a publication of all tables, everything goes on as without."""

import os
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from paths import server_folder
from sql_calls import FOLLOW

from rag_pg.db import schema
from rag_pg.db.embedded import EmbeddedServer

Connection = psycopg.Connection[Any]

WITHOUT_IDENTITY = """
    SELECT c.relname
    FROM pg_class AS c
    WHERE c.relnamespace = 'rag'::regnamespace AND c.relkind = 'r' AND c.relpersistence = 'p'
        AND NOT CASE c.relreplident
            WHEN 'f' THEN true
            WHEN 'd' THEN EXISTS (SELECT FROM pg_index AS i
                                  WHERE i.indrelid = c.oid AND i.indisprimary AND i.indisvalid)
            WHEN 'i' THEN EXISTS (SELECT FROM pg_index AS i
                                  WHERE i.indrelid = c.oid AND i.indisreplident AND i.indisvalid)
            ELSE false END
    ORDER BY 1
"""


def test_every_table_has_a_replica_identity(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    connection.execute("SELECT rag.create_space('c', 'other', 5)")
    assert connection.execute(WITHOUT_IDENTITY).fetchall() == []


@pytest.fixture
def logical_dsn(server_dsn: str) -> Iterator[str]:
    """A server of its own with wal_level = logical."""
    if os.environ.get("RAG_PG_TEST_DSN"):
        pytest.skip("no engine: needs an embedded server of its own, RAG_PG_TEST_DSN names another")
    with psycopg.connect(server_dsn) as connection:
        version = connection.info.server_version // 10000
    with server_folder() as folder:
        server = EmbeddedServer(folder / "data", postgres_version=version)
        dsn = server.start()
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET wal_level = 'logical'")
            connection.execute("ALTER SYSTEM SET fsync = off")
        server.stop()
        yield server.start()


LIFE = (
    "SELECT rag.create_collection('docs', 'none', 3)",
    """SELECT rag.put_chunks('docs', 'a' || g, jsonb_build_array(jsonb_build_object(
           'content', 'alpha text word' || g, 'embedding', jsonb_build_array(1, g, 0))))
       FROM generate_series(1, 300) AS g""",
    "SELECT rag.put_chunks('docs', 'a1', '[{\"content\": \"another\"}]', language => 'german')",
    "SELECT rag.put_document('docs', 'worked', 'a text')",
    """SELECT rag.store_chunks(t.job_id, t.lease, 1,
       '[{"content": "a text", "embedding": [1, 0, 0]}]')
       FROM rag.take_jobs(kinds => '{ingest}') AS t""",
    (
        "SELECT rag.fail_job(t.job_id, t.lease, 'broken', permanent => true) FROM rag.take_jobs(9)"
        " AS t"
    ),
    "SELECT rag.retry_jobs()",
    "SELECT rag.delete_document('docs', 'a' || g) FROM generate_series(2, 120) AS g",
    "SELECT rag._merge_keyword((SELECT collection_id FROM rag.collections WHERE name = 'docs'))",
    "SELECT rag._compact_keyword((SELECT collection_id FROM rag.collections WHERE name = 'docs'))",
    "SELECT rag.set_chunking('docs', '{\"max_tokens\": 64}')",
    "SELECT rag.queue_backlog()",
    "SELECT rag.index_field('docs', 'year', 'numeric')",
    "SELECT rag.create_space('docs', 'second', 4)",
    "SELECT rag.set_budget('p', requests_per_minute => 5)",
    "SELECT rag.take_budget('p', 1, 1)",
    "SELECT rag.heartbeat('w', '1')",
    "SELECT rag.forget_worker('w')",
    "CREATE TABLE public.art (id integer PRIMARY KEY, body text)",
    "SELECT rag.attach_source('public.art', 'docs', '{body}')",
    "INSERT INTO public.art SELECT g, 'row ' || g FROM generate_series(1, 20) AS g",
    "CALL rag.sync_source('public.art')",
    "DELETE FROM public.art WHERE id < 9",
    "UPDATE public.art SET body = 'changed'",
    "CALL rag.maintain()",
    "SELECT rag.detach_source('public.art', delete_documents => true)",
    FOLLOW,
    FOLLOW,
    "SELECT rag.drop_space(space_id) FROM rag.spaces WHERE model = 'second'",
    "SELECT rag.drop_collection('docs')",
    "CALL rag.maintain()",
    "SELECT rag.create_collection('again', 'none', 3)",
)


def test_the_whole_life_of_a_collection_is_published(logical_dsn: str) -> None:
    schema.upgrade(logical_dsn)
    with psycopg.connect(logical_dsn, autocommit=True) as connection:
        connection.execute("CREATE PUBLICATION everything FOR ALL TABLES")
        connection.execute("SELECT pg_create_logical_replication_slot('reader', 'pgoutput')")
        for statement in LIFE:
            connection.execute(statement.encode())
        schema.upgrade(logical_dsn)
        decoded = connection.execute(
            """SELECT count(*) FILTER (WHERE get_byte(data, 0) = ascii('D')),
                      count(*) FILTER (WHERE get_byte(data, 0) = ascii('U'))
               FROM pg_logical_slot_peek_binary_changes('reader', NULL, NULL, 'proto_version', '1',
                                                        'publication_names', 'everything')"""
        ).fetchone()
        assert decoded is not None  # merges come by chance, and with them more of either
        deleted, updated = decoded
        assert deleted > 100 and updated > 0
        connection.execute("SELECT pg_drop_replication_slot('reader')")
