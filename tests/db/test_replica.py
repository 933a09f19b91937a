"""A read replica answers searches: they write nothing and need no temporary table."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from paths import server_folder
from patience import wait_until
from psycopg.conninfo import make_conninfo
from sql.test_read_only import outcomes, unclear
from sql_calls import fill
from standby import copy_of, new_primary

from rag_pg.db import schema
from rag_pg.db.database import Database

Connection = psycopg.Connection[Any]

SEARCHES = (
    "SELECT uri, score FROM rag.search('r', 'red fish', '[1, 0, 0]')",
    "SELECT uri, score FROM rag.search_keyword('r', 'red fish', 10, '{\"even\": true}')",
    "SELECT uri, score FROM rag.search_keyword('r', '\"red fish\" -seven', match => 'web')",
    "SELECT uri, score FROM rag.search_vector('r', '[0, 1, 0]', 5, '{\"even\": false}')",
    "SELECT term, contribution FROM rag._explain_keyword('r', 'red fish') ORDER BY 1, 2",
    "SELECT documents, chunks, embedded FROM rag.collection_stats('r')",
)


@pytest.fixture
def folder() -> Iterator[Path]:
    with server_folder() as made:
        yield made


@pytest.fixture
def primary_dsn(folder: Path) -> str:
    """A server of its own: the copy of one that other tests use would hold all their databases."""
    return new_primary(folder)


def test_a_standby_answers_every_search_as_its_primary_does(folder: Path, primary_dsn: str) -> None:
    database = Database(primary_dsn)
    database.open()
    database.create_collection(
        "r", model="none", dimensions=3, distance="cosine", language="english",
        chunking={}, index_options={},
    )  # fmt: skip
    records = [
        {
            "uri": f"d{i}",
            "content": f"a red fish and {'seven' if i % 7 == 0 else 'other'} birds",
            "embedding": [1, i % 5, 1],
            "metadata": {"even": i % 2 == 0},
        }
        for i in range(400)
    ]
    database.load_chunks("r", records, 3)
    database.call(
        "put_chunks",
        collection="r",
        uri="fresh",
        chunks=[{"content": "one red fish"}],
        title="",
        metadata={},
    )
    database.close()

    with (
        copy_of(primary_dsn, folder) as replica,
        psycopg.connect(primary_dsn) as primary,
        psycopg.connect(replica) as reader,
    ):
        assert reader.execute("SELECT pg_is_in_recovery()").fetchone() == (True,)
        for search in SEARCHES:
            expected = primary.execute(search.encode()).fetchall()
            assert len(expected) > 0, search
            assert reader.execute(search.encode()).fetchall() == expected, search
        metrics = "SELECT name, value FROM rag.metrics() WHERE name ~ 'replication|standby'"
        assert {"rag_pg_standby": 0.0}.items() <= dict(primary.execute(metrics).fetchall()).items()
        assert {name for name, _ in primary.execute(metrics)} == {
            "rag_pg_standby", "rag_pg_replication_lag_bytes",
        }  # fmt: skip
        assert dict(reader.execute(metrics).fetchall()).keys() == {
            "rag_pg_standby", "rag_pg_replication_lag_seconds",
        }  # fmt: skip
        primary.execute("SELECT rag.delete_document('r', 'fresh')")
        primary.commit()
        reader.rollback()
        reader.autocommit = True
        found = "SELECT uri FROM rag.search_keyword('r', 'one', 5)"
        wait_until(lambda: reader.execute(found).rowcount == 0, "the deletion on the replica")
        primary.autocommit = True
        primary.execute("CREATE DATABASE filled")
        filled = make_conninfo(primary_dsn, dbname="filled")
        schema.upgrade(filled)
        with psycopg.connect(filled, autocommit=True) as filling:
            fill(filling)
            row = filling.execute("SELECT pg_current_wal_flush_lsn()").fetchone()
            assert row is not None
        replayed = "SELECT pg_last_wal_replay_lsn() >= %s"
        wait_until(lambda: reader.execute(replayed, row).fetchone() == (True,))
        copy = make_conninfo(replica, dbname="filled")
        with psycopg.connect(copy, autocommit=True) as limited:
            assert unclear(outcomes(limited), "this server is a standby") == set()


# What takes strong locks: each statement in a transaction of its own, the last ones of the list
# until nothing is left to do. `it` is the collection that is changed, r one that nobody changes.
CHANGES = {
    "drop_collection": ["SELECT rag.drop_collection('it')"],
    "drop_space": ["SELECT rag.drop_space(max(space_id)) FROM rag.list_spaces('it')"],
    "unindex_field": ["SELECT rag.unindex_field('it', 'even')"],
    "activate_space": [
        "UPDATE pg_index SET indisvalid = false WHERE indexrelid::regclass::text = (SELECT"
        " 'rag.' || rag._index_name(max(space_id)) FROM rag.list_spaces('it'))",
        "SELECT rag.activate_space(max(space_id), force => true) FROM rag.list_spaces('it')",
    ],
    "index": ["SELECT rag.drop_vector_index('it')", "SELECT rag.build_vector_index('it')"],
    "create": ["SELECT rag.create_collection('newest', 'none', 3)"],
    "maintain": ["SELECT rag.drop_collection('it')", "CALL rag.maintain()"],
}
MAKE = """
    SELECT rag.create_collection('it', 'none', 3);
    SELECT rag.put_chunks('it', 'd' || g, '[{"content": "a red fish", "embedding": [1, 0, 0]}]',
        metadata => '{"even": true}') FROM generate_series(1, 3) AS g;
    SELECT rag.index_field('it', 'even', 'boolean');
    SELECT rag.create_space('it', 'second', 3)
"""


def replayed(primary: Connection, reader: Connection) -> bool:
    """Wait until the standby has replayed all, or waits for a lock: whether it has."""
    upto = primary.execute("SELECT pg_current_wal_insert_lsn()").fetchone()
    assert upto is not None
    done = "SELECT pg_last_wal_replay_lsn() >= %s"
    waits = "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)"
    outcome: list[bool] = []

    def settled() -> bool:
        for state, values in ((done, upto), (waits, ())):
            if reader.execute(state.encode(), values).fetchone() == (True,):
                outcome.append(state is done)
                return True
        return False

    wait_until(settled, "what the primary wrote on the standby")
    return outcome[0]


@pytest.mark.minutes
def test_no_search_of_a_standby_ends_for_what_its_primary_drops(
    folder: Path, primary_dsn: str
) -> None:
    """A search has locked one table, and comes to the others when the standby has replayed what it
    could: whichever table that is, and whatever was changed."""
    held = 0
    with psycopg.connect(primary_dsn, autocommit=True) as primary:
        primary.execute("SELECT rag.create_collection('r', 'none', 3)")
        primary.execute(
            """SELECT rag.put_chunks('r', 'd' || g, '[{"content": "a red fish, number seven",
                   "embedding": [1, 0, 0]}]', metadata => jsonb_build_object('even', g % 2 = 0))
               FROM generate_series(1, 9) AS g"""
        )
        with (
            copy_of(primary_dsn, folder) as replica,
            psycopg.connect(replica) as reader,
            psycopg.connect(replica, autocommit=True) as observer,
        ):
            for change, statements in CHANGES.items():
                for table in ("documents", "chunks", "embeddings", "keyword_slots"):
                    for own in (False, True):
                        held += not beside(
                            primary, reader, observer, statements, table, own, change
                        )
    assert held > 10  # the standby did wait for a reader at many of these points


def beside(
    primary: Connection,
    reader: Connection,
    observer: Connection,
    statements: list[str],
    table: str,
    own: bool,
    change: str,
) -> bool:
    """Change collection `it` beside a reader who has locked a table, and who then goes on to search
    in that and the other collection; whether the standby could replay all beside it."""
    primary.execute(MAKE.encode())
    (number,) = primary.execute(
        "SELECT max(space_id) FROM rag.list_spaces('it')"
        if table == "embeddings"
        else "SELECT collection_id FROM rag.list_collections() WHERE name = 'it'"
    ).fetchone() or (0,)
    (index,) = primary.execute(
        "SELECT rag._index_statement(s) FROM rag.spaces AS s ORDER BY s.space_id DESC LIMIT 1"
    ).fetchone() or ("",)
    primary.execute(index.encode())
    assert replayed(primary, observer)
    name = f"ONLY rag.{table}" + (f", rag.{table}_{number}" if own else "")
    reader.execute(f"LOCK TABLE {name} IN ACCESS SHARE MODE".encode())
    for statement in statements:
        primary.execute(statement.encode())
    while primary.execute("SELECT rag.remove_dropped()").fetchone() == (1,):
        pass
    done = replayed(primary, observer)
    for collection in ("r", "it"):
        for search in SEARCHES:
            try:
                with reader.transaction():
                    reader.execute(search.replace("'r'", f"'{collection}'").encode()).fetchall()
            except psycopg.Error as exc:
                assert (collection, exc.sqlstate) == ("it", "RG002"), (change, name, search)
    reader.rollback()
    for collection in primary.execute("SELECT name FROM rag.list_collections()").fetchall():
        if collection != ("r",):
            primary.execute("SELECT rag.drop_collection(%s)", collection)
    while primary.execute("SELECT rag.remove_dropped()").fetchone() != (0,):
        pass
    return done
