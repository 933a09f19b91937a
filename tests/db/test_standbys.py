"""A client of several hosts reads on the standby and writes on the primary."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from command_line import run
from fakes import HashEmbedder
from paths import server_folder
from patience import wait_until
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from sql_calls import CALLS, fill
from standby import copy_of, new_primary

from rag_pg import AsyncRag, DatabaseUnavailable, Hits, Rag, Settings
from rag_pg.db import schema
from rag_pg.db.calls import UNLOGGED
from rag_pg.db.connect import connection_options
from rag_pg.db.database import Database
from rag_pg.db.embedded import EmbeddedServer
from rag_pg.db.replica import AWAY, BEHIND

MODEL = "hash:16"
IN_RECOVERY = "SELECT pg_catalog.pg_is_in_recovery()"


def both(primary: str, standby: str) -> str:
    """The connection string of two servers."""
    hosts = ",".join(str(conninfo_to_dict(dsn)["host"]) for dsn in (primary, standby))
    return make_conninfo(primary, host=hosts)


def opened(dsn: str, folder: Path) -> Rag:
    return Rag(
        dsn,
        settings=Settings(home=folder),
        embedders={"hash": lambda name: HashEmbedder(name)},
    )


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[str, str]]:
    """The primary and its standby, with collection c, whose one document is `known`."""
    with server_folder() as folder:
        primary = new_primary(folder)
        with opened(primary, folder) as rag:
            rag.collection("c", model=MODEL).add({"uri": "known", "content": "one whale"})
        with copy_of(primary, folder) as standby:
            yield primary, standby


@contextmanager
def standing_still(standby: str) -> Iterator[psycopg.Connection[Any]]:
    """The standby replays nothing meanwhile."""
    with psycopg.connect(standby, autocommit=True) as connection:
        connection.execute("SELECT pg_wal_replay_pause()")
        paused = "SELECT pg_get_wal_replay_pause_state() = 'paused'"
        wait_until(lambda: connection.execute(paused.encode()).fetchone() == (True,))
        try:
            yield connection
        finally:
            connection.execute("SELECT pg_wal_replay_resume()")


def uris(hits: Hits) -> set[str]:
    return {hit.uri for hit in hits}


@pytest.mark.minutes
def test_what_others_write_is_read_when_the_standby_has_it(
    servers: tuple[str, str], tmp_path: Path
) -> None:
    """A client that has written nothing reads what the standby has; so do `AsyncRag` and the
    command line."""
    primary, standby = servers

    async def found(dsn: str) -> Hits:
        async with AsyncRag(dsn, embedders={"hash": lambda name: HashEmbedder(name)}) as rag:
            collection = await rag.get_collection("c")
            return await collection.search("ferret", vector_weight=0)

    with opened(primary, tmp_path) as writer, opened(both(*servers), tmp_path) as reader:
        with standing_still(standby):
            writer.collection("c").add({"uri": "theirs", "content": "one ferret"})
            assert uris(writer.collection("c").search("ferret")) >= {"theirs"}
            hits = reader.get_collection("c").search("ferret")
            assert "theirs" not in uris(hits)
            assert hits.notes == ()
            assert uris(asyncio.run(found(both(*servers)))) == set()
            assert uris(asyncio.run(found(primary))) == {"theirs"}
            for dsn, lines in ((both(*servers), 0), (primary, 1)):
                told = run(
                    "search", "ferret", "--collection", "c", "--mode", "keyword", "--json",
                    environment={"RAG_PG_DSN": dsn, "HOME": str(tmp_path)}, cwd=tmp_path,
                )  # fmt: skip
                assert (told.returncode, told.stdout.count("theirs") > 0) == (0, lines > 0), told
        wait_until(lambda: "theirs" in uris(reader.get_collection("c").search("ferret")))


def test_a_client_reads_what_it_wrote(servers: tuple[str, str], tmp_path: Path) -> None:
    """On the standby, which is waited for; on the primary, which is told, where it stands still."""
    standby = servers[1]
    with opened(both(*servers), tmp_path) as rag:
        collection = rag.collection("c")
        for number in range(40):
            collection.add({"uri": f"own{number}", "content": f"badger number{number}"})
            assert f"own{number}" in uris(collection.search(f"number{number}")), number
            assert collection.get(f"own{number}") is not None
        with standing_still(standby):
            collection.add({"uri": "late", "content": "one heron"})
            for _ in range(2):
                hits = collection.search("heron")
                assert "late" in uris(hits)
                assert BEHIND in hits.notes
            unwritten = rag.with_settings({"application_name": "it"}).get_collection("c")
            assert BEHIND in unwritten.search("heron").notes  # it is the same client
        wait_until(lambda: BEHIND not in collection.search("heron").notes)
        assert "late" in uris(collection.search("heron"))


def test_what_is_asked_of_the_primary_is_no_older_than_what_the_standby_answers(
    servers: tuple[str, str], tmp_path: Path
) -> None:
    """A look into the cache tells the collection's version; older hits are not kept as of that."""
    primary, standby = servers
    with opened(primary, tmp_path) as writer, opened(both(*servers), tmp_path) as reader:
        reading = reader.get_collection("c")
        with standing_still(standby):
            writer.collection("c").add({"uri": "kept", "content": "one otter"})
            for cached in (False, True):
                hits = reading.search("otter", cache=True)
                assert ("kept" in uris(hits), hits.cached) == (True, cached)
                assert (BEHIND in hits.notes) is not cached


def test_each_function_goes_where_it_can_be_answered(servers: tuple[str, str]) -> None:
    """What reads is answered by a standby as by the primary, but for what has unlogged tables."""
    with psycopg.connect(servers[0], autocommit=True) as connection:
        connection.execute("CREATE DATABASE filled")
    names = [make_conninfo(dsn, dbname="filled") for dsn in servers]
    schema.upgrade(names[0])
    with psycopg.connect(names[0], autocommit=True) as connection:
        fill(connection)
        upto = connection.execute("SELECT pg_current_wal_insert_lsn()").fetchone()
    database = Database(both(*names))
    with psycopg.connect(names[1], autocommit=True) as reader:
        replayed = b"SELECT pg_last_wal_replay_lsn() >= %s"
        wait_until(lambda: reader.execute(replayed, upto).fetchone() == (True,))
        database.open()
        try:
            assert database._select(IN_RECOVERY) == [(True,)]
            assert database._execute(IN_RECOVERY) == [(False,)]
            assert database.on_primary()._select(IN_RECOVERY) == [(False,)]
            limited = database.limited(60)
            assert limited._execute(IN_RECOVERY) == [(True,)]
            refused = set()
            reads = 0
            for name, (_, call) in CALLS.items():
                if name not in database._calls._lines:  # another way to call one
                    continue
                if database._calls._line(name).split(" ")[1] == "v":
                    assert not database._calls.only_reads(name)
                    continue
                reads += 1
                try:
                    reader.execute(call.rpartition("; ")[2].encode())
                except psycopg.Error as exc:
                    if exc.sqlstate in ("25006", "RG011", "RG007", "0A000"):
                        refused.add(name)
            assert reads > 50
            assert refused == {"answer_of", "cache_stats"}
            assert [database._calls.only_reads(name) for name in UNLOGGED] == [False] * 7
        finally:
            database.close()


def test_what_was_dropped_leaves_as_fast_as_the_standby_follows(servers: tuple[str, str]) -> None:
    """One that is far behind would end the searches that it has to wait for."""
    parts = b"SELECT count(*) FROM rag._dropped_parts()"
    step = b"SELECT rag.remove_dropped()"
    planned = b"SELECT count(*) FROM rag.maintenance_steps() AS s WHERE s.step = 'dropped'"
    with psycopg.connect(servers[0], autocommit=True) as primary:
        primary.execute("SELECT rag.create_collection('left', 'none', 3)")
        with standing_still(servers[1]):
            primary.execute("SELECT rag.drop_collection('left')")
            (before,) = primary.execute(parts).fetchone() or (0,)
            assert before > 0
            assert primary.execute(step).fetchone() == (0,)
            assert primary.execute(parts).fetchone() == (before,)
            assert primary.execute(planned).fetchone() == (0,)
            primary.execute("CREATE ROLE unknowing")
            primary.execute("SET ROLE unknowing")  # of standbys
            told = "SELECT max(replay_lsn) FROM pg_stat_replication"
            assert primary.execute(told.encode()).fetchone() == (None,)
            primary.execute("RESET ROLE")
        wait_until(lambda: primary.execute(planned).fetchone() != (0,))
        wait_until(
            lambda: (
                primary.execute(step).fetchone() == (0,)
                and primary.execute(parts).fetchone() == (0,)
            )
        )


def test_a_standby_that_is_away_fails_no_read(servers: tuple[str, str], tmp_path: Path) -> None:
    """It is killed between two reads of a client, whose connections are lost, and comes back."""
    server = EmbeddedServer(Path(str(conninfo_to_dict(servers[1])["host"])))
    with opened(both(*servers), tmp_path) as rag:
        collection = rag.get_collection("c")
        assert AWAY not in collection.search("whale").notes
        server.stop(immediate=True)
        try:
            for _ in range(3):
                hits = collection.search("whale")
                assert ("known" in uris(hits), hits.notes) == (True, (AWAY,))
            assert collection.get("known").uri == "known"
        finally:
            server.start()
    with opened(both(*servers), tmp_path) as rag:
        assert AWAY not in rag.get_collection("c").search("whale").notes


@pytest.mark.parametrize("state", ["40P01", "40001"])
def test_a_read_that_stood_in_the_way_is_done_once_more(dsn: str, state: str) -> None:
    """A function that fails at its first call of a session, as of a standby that had to go on."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            f"""CREATE FUNCTION fails(times integer) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
            DECLARE n bigint := (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'
                                 AND pid = pg_backend_pid());
            BEGIN
                PERFORM pg_advisory_lock(n);
                IF n < times THEN
                    RAISE 'canceling statement due to conflict with recovery'
                        USING ERRCODE = '{state}';
                END IF;
                RETURN n;
            END $$""".encode()
        )
    for times, tried in ((1, True), (2, False)):
        database = Database(dsn, pool_size=1)
        database.open()
        try:
            if tried:
                assert database._select(f"SELECT public.fails({times})") == [(1,)]
            else:
                with pytest.raises(DatabaseUnavailable, match="conflict with recovery"):
                    database._select(f"SELECT public.fails({times})")
                with pytest.raises(DatabaseUnavailable):
                    database._execute("SELECT public.fails(9)")  # what may write is not
                assert database._execute("SELECT public.fails(3)") == [(3,)]
        finally:
            database.close()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("host=a,b dbname=x", ("primary", "prefer-standby")),
        ("postgresql://a:1,b:2/x", ("primary", "prefer-standby")),
        ("hostaddr=10.0.0.1,10.0.0.2", ("primary", "prefer-standby")),
        ("host=a dbname=x", (None, None)),
        ("host=a,b target_session_attrs=any", (None, None)),
        ("no connection string", (None, None)),
    ],
)
def test_which_of_several_hosts_is_meant(given: str, told: tuple[str | None, ...]) -> None:
    found = [connection_options(given, reads=reads) for reads in (False, True)]
    assert tuple(options.get("target_session_attrs") for options in found) == told


@pytest.mark.minutes
def test_a_promotion_loses_nothing(tmp_path: Path) -> None:
    """Two writers, two readers and a worker go on while the primary crashes and its standby takes
    its place: what was acknowledged is there, once, and no read fails."""
    with server_folder() as folder:
        primary = new_primary(folder)
        with opened(primary, folder) as rag:
            rag.collection("c", model=MODEL).add({"uri": "known", "content": "one whale"})
        with copy_of(primary, folder) as standby:
            with psycopg.connect(primary, autocommit=True) as connection:
                connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
                connection.execute("SELECT pg_reload_conf()")
                synchronous = b"SELECT sync_state FROM pg_stat_replication"
                wait_until(lambda: connection.execute(synchronous).fetchall() == [("sync",)])
            drill(both(primary, standby), standby, folder)


def drill(dsn: str, standby: str, folder: Path) -> None:
    written: list[str] = []
    failed: list[BaseException] = []
    refusals: list[str] = []
    read = [0, 0]
    stop = threading.Event()

    def write(number: int) -> None:
        with opened(dsn, folder) as rag:
            collection = rag.get_collection("c")
            while not stop.is_set():
                uri = f"{number}-{len(written)}"
                try:
                    collection.add({"uri": uri, "content": f"badger {uri}"}, wait=False)
                except DatabaseUnavailable as exc:  # and is put again, under another uri
                    refusals.append(str(exc))
                else:
                    written.append(uri)

    def search(number: int) -> None:
        with opened(dsn, folder) as rag:
            collection = rag.get_collection("c")
            while not stop.is_set():
                assert "known" in uris(collection.search("whale", limit=50))
                read[number] += 1

    def guarded(work: Any, *arguments: object) -> None:
        try:
            work(*arguments)
        except BaseException as exc:
            failed.append(exc)
            stop.set()

    with opened(dsn, folder) as rag:
        worker = rag.worker(concurrency=1)
        threads = [
            threading.Thread(target=guarded, args=(work, *arguments))
            for work, *arguments in (
                (write, 0), (write, 1), (search, 0), (search, 1), (worker.run,),
            )
        ]  # fmt: skip
        for thread in threads:
            thread.start()
        try:
            wait_until(lambda: failed or (len(written) > 40 and min(read) > 10), "work before")
            EmbeddedServer(folder / "primary").stop(immediate=True)
            with psycopg.connect(standby, autocommit=True) as connection:
                connection.execute("SELECT pg_promote()")
            before, seen = len(written), list(read)
            wait_until(
                lambda: (
                    failed
                    or (
                        len(written) > before + 40
                        and all(a > b + 10 for a, b in zip(read, seen, strict=True))
                    )
                ),
                "work after",
            )
        finally:
            stop.set()
            worker.stop.set()
            for thread in threads:
                thread.join()
        assert failed == []
        # A worker whose reply was lost as it took jobs cannot give them back: their leases end.
        with psycopg.connect(standby, autocommit=True) as connection:
            connection.execute(
                "UPDATE rag.jobs SET lease_expires_at = now() WHERE lease IS NOT NULL"
            )
        rag.worker().drain()
        listed = [document.uri for document in rag.get_collection("c").list()]
        assert len(listed) == len(set(listed))
        assert set(written) <= set(listed)
        assert rag.get_collection("c").stats().embedded == rag.get_collection("c").stats().chunks
        assert rag.jobs.list() == []
        assert AWAY in rag.get_collection("c").search("whale").notes
