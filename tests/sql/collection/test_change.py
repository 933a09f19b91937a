"""rag.collection_version: another number after every change, and only then."""

import re
import threading
from typing import Any

import psycopg
import pytest

from rag_pg import Rag
from rag_pg.db import schema

Connection = psycopg.Connection[Any]

CHUNKS = '[{"content": "red fish", "embedding": [1, 0, 0]}, {"content": "blue fish"}]'
MOVED = '[{"content": "blue fish"}, {"content": "red fish"}]'
STAGE = """
    CREATE TEMPORARY TABLE staged_chunks (position bigint, uri text, title text, heading text,
        content text, metadata jsonb, embedding {vector}.halfvec);
    INSERT INTO staged_chunks VALUES (1, 'bulk', '', '', 'many fish', '{}', '[0, 1, 0]');
    SELECT rag.load_staged('c');
"""
LEASE = "'00000000-0000-0000-0000-000000000001'"
LEASED = f"UPDATE rag.jobs SET lease = {LEASE}, lease_expires_at = now() + interval '1 hour';"

CHANGES = {
    "put_document": "SELECT rag.put_document('c', 'new', 'text')",
    "put_document again": "SELECT rag.put_document('c', 'put', 'other text')",
    "metadata": "SELECT rag.put_document('c', 'put', 'text', metadata => '{\"a\": 1}')",
    "put_documents": 'SELECT rag.put_documents(\'c\', \'[{"uri": "u", "content": "t"}]\')',
    "put_chunks": "SELECT rag.put_chunks('c', 'new', '[{\"content\": \"text\"}]')",
    "put_chunks in another order": f"SELECT rag.put_chunks('c', 'made', '{MOVED}')",
    "put_chunks with fewer": "SELECT rag.put_chunks('c', 'made', '[{\"content\": \"red fish\"}]')",
    "load_staged": STAGE,
    "delete_document": "SELECT rag.delete_document('c', 'put')",
    "delete_documents": "SELECT rag.delete_documents('c', '{made}')",
    "store_chunks": LEASED
    + f"""SELECT rag.store_chunks(j.job_id, {LEASE}, 1, '[{{"content": "text"}}]')
          FROM rag.jobs AS j WHERE j.kind = 'ingest'""",
    "store_embeddings": LEASED
    + f"""SELECT rag.store_embeddings(j.job_id, {LEASE}, ARRAY[k.chunk_id],
                                      ARRAY['[0, 1, 0]'::{{vector}}.halfvec])
          FROM rag.jobs AS j, rag.chunks AS k
          WHERE j.kind = 'embed' AND k.content = 'blue fish'""",
    "index_field": "SELECT rag.index_field('c', 'year', 'numeric')",
    "set_chunking": "SELECT rag.set_chunking('c', '{\"max_tokens\": 99}')",
    "set_fingerprint": "SELECT rag.set_fingerprint('c', 'abc')",
    "a setting by hand": "UPDATE rag.collections SET b = 0.5 WHERE name = 'c'",
    "a dictionary": """
        ALTER TEXT SEARCH CONFIGURATION english ALTER MAPPING FOR asciiword WITH simple""",
    "another space": """
        SELECT rag.activate_space(rag.create_space('c', 'other', 3), force => true)""",
}
NO_CHANGES = {
    "put_document unchanged": "SELECT rag.put_document('c', 'put', 'text')",
    "put_chunks unchanged": """SELECT rag.put_chunks('c', 'made',
        '[{"content": "red fish"}, {"content": "blue fish"}]')""",
    "delete_document of none": "SELECT rag.delete_document('c', 'nobody')",
    "another collection": "SELECT rag.put_document('other', 'new', 'text')",
    "a rollback": """DO $$ BEGIN
        PERFORM rag.put_document('c', 'new', 'text'); RAISE division_by_zero;
        EXCEPTION WHEN division_by_zero THEN NULL; END $$""",
    "a space that is built": "SELECT rag.create_space('c', 'other', 3)",
    "merging keywords": "SELECT rag._merge_keyword(1)",
    "maintain": "CALL rag.maintain()",
    "folding": "SELECT rag._fold_changes(1)",
    "vacuum": "VACUUM rag.collection_changes",
}


def begin(rag: Rag) -> None:
    with psycopg.connect(str(rag.dsn), autocommit=True) as connection:
        connection.execute("SELECT rag.create_collection('c', 'none', 3)")
        connection.execute("SELECT rag.create_collection('other', 'none', 3, language => 'simple')")
        connection.execute("SELECT rag.put_document('c', 'put', 'text')")
        connection.execute("SELECT rag.put_chunks('c', 'made', %s)", [CHUNKS])


@pytest.fixture
def filled(connection: Connection) -> Connection:
    return connection


def version(connection: Connection, collection: str = "c") -> int:
    row = connection.execute("SELECT rag.collection_version(%s)", [collection]).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.few(9)
def test_every_change_gives_another_version(filled: Connection, change: str) -> None:
    before, other = version(filled), version(filled, "other")
    filled.execute(CHANGES[change].replace("{vector}", "public").encode())
    assert version(filled) != before
    assert version(filled, "other") == other


@pytest.mark.one_database
@pytest.mark.parametrize("action", NO_CHANGES)
def test_nothing_else_does(filled: Connection, action: str) -> None:
    before = version(filled)
    filled.execute(NO_CHANGES[action].encode())
    assert version(filled) == before


def test_a_change_counts_from_the_moment_that_others_see_it(dsn: str, filled: Connection) -> None:
    with psycopg.connect(dsn) as writer:
        before = version(filled)
        writer.execute("SELECT rag.put_document('c', 'new', 'text')")
        inside = version(writer)
        assert inside != before
        assert version(filled) == before
        writer.execute("SAVEPOINT s")
        writer.execute("SELECT rag.put_document('c', 'newer', 'text')")
        assert version(writer) not in (before, inside)
        writer.execute("ROLLBACK TO SAVEPOINT s")
        assert version(writer) == inside
        writer.commit()
        assert version(filled) == inside


def test_an_old_snapshot_keeps_its_version(dsn: str, filled: Connection) -> None:
    with psycopg.connect(dsn) as reader:
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        before = version(reader)
        filled.execute("SELECT rag.put_document('c', 'new', 'text')")
        filled.execute("SELECT rag._fold_changes(1)")
        assert version(reader) == before != version(filled)


def test_writers_do_not_wait_for_each_other(dsn: str, filled: Connection) -> None:
    filled.execute("SET lock_timeout = '60s'")
    with psycopg.connect(dsn) as writer:
        writer.execute("SELECT rag.put_document('c', 'new', 'text')")
        writer.execute("SELECT rag._fold_changes(1)")
        filled.execute("SELECT rag.put_document('c', 'newer', 'text')")
        filled.execute("SELECT rag._fold_changes(1)")
        seen = version(filled)
        writer.rollback()
    assert version(filled) == seen


def test_a_new_collection_of_an_old_name_has_another_version(filled: Connection) -> None:
    empty = version(filled, "other")
    filled.execute("SELECT rag.drop_collection('other')")
    filled.execute("SELECT rag.create_collection('other', 'none', 3, language => 'simple')")
    assert version(filled, "other") != empty


def test_dropped_collections_leave_no_changes(filled: Connection) -> None:
    filled.execute("SELECT rag.drop_collection('c'), rag.drop_collection('other')")
    while filled.execute("SELECT rag.remove_dropped()").fetchone() == (1,):
        pass
    assert filled.execute("SELECT * FROM rag.collection_changes").fetchall() == []


def test_changes_stay_few_while_many_write(dsn: str, filled: Connection) -> None:
    def write(name: str) -> None:
        with psycopg.connect(dsn, autocommit=True) as connection:
            for _ in range(250):
                connection.execute("SELECT rag._note_change(1)")

    threads = [threading.Thread(target=write, args=[str(n)]) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (rows,) = filled.execute("SELECT count(*) FROM rag.collection_changes").fetchone() or (0,)
    assert rows < 1000
    before = version(filled)
    filled.execute("SELECT rag._fold_changes(1)")
    assert filled.execute("SELECT count(*) FROM rag.collection_changes").fetchone() == (1,)
    assert version(filled) == before


@pytest.mark.minutes
def test_an_upgrade_that_changes_functions_gives_another_version(
    dsn: str, filled: Connection
) -> None:
    before = version(filled)
    schema.upgrade(dsn)
    assert version(filled) == before
    filled.execute("UPDATE rag.installed SET digest = '' WHERE name LIKE 'rag.search(%'")
    schema.upgrade(dsn)
    assert version(filled) != before


# Called by functions that note the change themselves.
NOTED_BY_CALLERS = {"_change_document", "_save_document", "_store_vectors"}
# What they write is a part of the version as it is, or gone with its collection.
NOT_NOTED = {
    "store_chunks",  # documents.indexed_version alone; the chunks by _replace_chunks
    "_remove_part",
    "_import_file",  # of a collection that is not whole; _finish_import notes it
    "_note_synced",  # of a document what no search reads
    "keep_original",  # the same
    "repair_collection",  # vectors that no search sees; the chunks by _remove_chunks
}
WRITES = re.compile(
    r"(INSERT INTO|UPDATE|DELETE FROM) rag\.(documents|chunks|embeddings)\b|'TRUNCATE "
)


@pytest.fixture
def bodies(connection: Connection) -> dict[str, str]:
    rows = connection.execute(
        "SELECT proname, prosrc FROM pg_proc WHERE pronamespace = 'rag'::regnamespace"
    ).fetchall()
    return dict(rows)


def test_every_function_that_writes_notes_it(bodies: dict[str, str]) -> None:
    writers = {name for name, body in bodies.items() if WRITES.search(body)}
    silent = {name for name in writers if "rag._note_change(" not in bodies[name]}
    assert silent - NOT_NOTED == NOTED_BY_CALLERS
    for name in NOTED_BY_CALLERS:
        callers = {n for n, body in bodies.items() if f"rag.{name}(" in body}
        assert callers, name
        silent = {c for c in callers if "rag._note_change(" not in bodies[c]}
        assert silent - NOTED_BY_CALLERS == set()
