"""Maintenance: no step, no collection and no source holds up another, and each failure is told."""

import threading
from typing import Any

import psycopg
import pytest
from patience import wait_until

from rag_pg.db.database import Database
from rag_pg.worker.worker import Worker

Connection = psycopg.Connection[Any]
RUN = {"steps": "CALL rag.maintain()", "block": "BEGIN; CALL rag.maintain(); COMMIT"}


def failures(connection: Connection) -> list[str]:
    rows = connection.execute("SELECT * FROM rag.doctor()").fetchall()
    return [detail for name, status, detail, _ in rows if name == "maintenance" and status != "ok"]


def fill(connection: Connection, collection: str, count: int = 70) -> None:
    connection.execute("SELECT rag.create_collection(%s, 'none', 2)", [collection])
    connection.execute(
        """SELECT rag.put_chunks(%s, 'u' || g, jsonb_build_array(jsonb_build_object(
               'content', 'word ' || g, 'embedding', '[1,2]'::jsonb)))
               FROM generate_series(1, %s) AS g""",
        [collection, count],
    )


def fresh(connection: Connection) -> dict[str, int]:
    rows = connection.execute(
        """SELECT c.name, count(k.chunk_id) FROM rag.collections AS c
           LEFT JOIN rag.keyword_changes AS k USING (collection_id)
           WHERE c.dropped_at IS NULL GROUP BY c.name"""
    ).fetchall()
    return dict(rows)


def break_merges(connection: Connection, collection: str) -> None:
    (number,) = connection.execute(
        "SELECT collection_id FROM rag.collections WHERE name = %s", [collection]
    ).fetchone() or (0,)
    connection.execute(
        f"""CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE 'the block is broken'; END $$;
            CREATE TRIGGER refuse BEFORE INSERT ON rag.keyword_slots_{number}
            FOR EACH ROW EXECUTE FUNCTION public.refuse()""".encode()
    )


@pytest.mark.parametrize("run", [*RUN, "worker"])
@pytest.mark.few(1)
def test_a_collection_that_cannot_be_merged_is_told_and_the_others_are(
    connection: Connection, database: Database, run: str
) -> None:
    fill(connection, "a")
    fill(connection, "b")
    break_merges(connection, "a")
    connection.execute("SELECT rag.create_collection('gone', 'none', 2)")
    connection.execute("SELECT rag.drop_collection('gone')")

    def maintain() -> None:
        if run == "worker":
            database.maintain()
        else:
            connection.execute(RUN[run].encode())

    maintain()
    assert fresh(connection) == {"a": 70, "b": 0}
    (told,) = failures(connection)
    assert "step keywords of 'a' failed" in told and "the block is broken" in told
    connection.execute("DROP FUNCTION public.refuse() CASCADE")
    maintain()
    assert fresh(connection) == {"a": 0, "b": 0}
    assert failures(connection) == []


@pytest.mark.parametrize("run", RUN)
def test_a_slow_source_holds_no_lock_that_searches_wait_for(
    connection: Connection, dsn: str, run: str
) -> None:
    fill(connection, "a", 3)
    connection.execute("SELECT rag.create_collection('gone', 'none', 2)")
    connection.execute("SELECT rag.drop_collection('gone')")
    connection.execute(
        """CREATE FUNCTION public.slow() RETURNS boolean LANGUAGE plpgsql AS
           $$ BEGIN PERFORM pg_advisory_xact_lock(42); RETURN true; END $$;
           CREATE TABLE public.t (id integer PRIMARY KEY, body text);
           INSERT INTO t VALUES (1, 'text')"""
    )
    connection.execute("SELECT rag.attach_source('t', 'a', '{body}', condition => 'public.slow()')")
    with psycopg.connect(dsn, autocommit=True) as maintaining:
        connection.execute("SELECT pg_advisory_lock(42)")
        thread = threading.Thread(target=maintaining.execute, args=(RUN[run].encode(),))
        thread.start()
        waiting = "SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        wait_until(lambda: connection.execute(waiting.encode()).fetchone() == (True,))
        strong = connection.execute(
            """SELECT l.relation::regclass::text FROM pg_locks AS l
               WHERE l.pid = %s AND l.mode IN ('AccessExclusiveLock', 'ExclusiveLock', 'ShareLock')
                   AND l.locktype = 'relation'""",
            [maintaining.info.backend_pid],
        ).fetchall()
        connection.execute("SELECT pg_advisory_unlock(42)")
        thread.join()
    assert strong == []
    assert connection.execute("SELECT to_regclass('rag.chunks_2') IS NULL").fetchone() == (True,)
    found = connection.execute("SELECT count(*) FROM rag.get_document('a', 'public.t/1')")
    assert found.fetchone() == (1,)


def test_a_dropped_collection_that_is_read_waits_and_the_rest_is_done(
    connection: Connection, dsn: str
) -> None:
    def there() -> bool:
        row = connection.execute("SELECT to_regclass('rag.chunks_2') IS NOT NULL").fetchone()
        return row == (True,)

    fill(connection, "a")
    connection.execute("SELECT rag.create_collection('gone', 'none', 2)")
    connection.execute("SELECT rag.drop_collection('gone')")
    with psycopg.connect(dsn) as reader:
        reader.execute("SELECT count(*) FROM rag.chunks")  # a report of all collections
        connection.execute("CALL rag.maintain()")
        assert fresh(connection)["a"] == 0
        assert there()
    connection.execute("CALL rag.maintain()")
    assert not there()


def test_a_long_snapshot_stops_no_step(connection: Connection, dsn: str) -> None:
    fill(connection, "a")
    with psycopg.connect(dsn) as reader:
        reader.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        reader.execute("SELECT 1")
        connection.execute("CALL rag.maintain()")
    assert fresh(connection)["a"] == 0
    assert failures(connection) == []


def test_a_cancelled_source_is_told_and_the_others_are_followed(
    connection: Connection, dsn: str
) -> None:
    fill(connection, "a")
    connection.execute(
        """CREATE TABLE public.slow (id integer PRIMARY KEY, body text);
           CREATE TABLE public.swift (id integer PRIMARY KEY, body text);
           SELECT rag.attach_source('slow', 'a', '{body}',
                                    condition => 'pg_sleep(600) IS NOT NULL');
           SELECT rag.attach_source('swift', 'a', '{body}')"""
    )
    connection.execute("CALL rag.sync_source('slow')")
    connection.execute("CALL rag.sync_source('swift')")
    connection.execute("INSERT INTO swift VALUES (1, 'text')")
    connection.execute("INSERT INTO slow VALUES (1, 'text')")
    database = Database(psycopg.conninfo.make_conninfo(dsn, options="-c statement_timeout=6s"))
    database.open()
    try:
        worker = Worker(database, lambda name, space: pytest.fail("nothing is to be embedded"))
        worker.sources.act()
        found = connection.execute("SELECT count(*) FROM rag.get_document('a', 'public.swift/1')")
        assert found.fetchone() == (1,)
        database.maintain()
    finally:
        database.close()
    assert fresh(connection)["a"] == 0
    states = connection.execute(
        "SELECT source_table, state, last_error FROM rag.list_sources() ORDER BY 1"
    ).fetchall()
    assert [row[:2] for row in states] == [("public.slow", "broken"), ("public.swift", "following")]
    assert "canceling statement due to statement timeout" in states[0][2]
    assert states[1][2] is None


def test_an_unknown_step_is_refused(connection: Connection) -> None:
    with pytest.raises(psycopg.Error, match="unknown step 'x'") as caught:
        connection.execute("SELECT rag.maintain_step('x')")
    assert caught.value.sqlstate == "RG001"
