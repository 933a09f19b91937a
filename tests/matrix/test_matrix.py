"""The life of a collection under every setting, encoding,
locale and way of connecting that a server may have.

Two lives under several settings at once run always; RAG_PG_TEST_MATRIX=1 (make test-matrix) adds
each setting by itself and all else.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fakes import HashEmbedder
from matrix.life import compare, live
from paths import server_folder
from patience import wait_until
from pooler import left_over, transaction_pooler
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from rag_pg.db import schema
from rag_pg.db.connect import connect
from rag_pg.db.embedded import EmbeddedServer

NewDatabase = Callable[..., str]
Settings = dict[str, str]

SINGLE: dict[str, Settings] = {
    "serializable": {"default_transaction_isolation": "serializable"},
    "strings with escapes": {"standard_conforming_strings": "off", "escape_string_warning": "off"},
    "generic plans": {"plan_cache_mode": "force_generic_plan"},
    "odd formats": {
        "datestyle": "SQL, DMY",
        "intervalstyle": "sql_standard",
        "timezone": "Asia/Kathmandu",
        "bytea_output": "escape",
        "extra_float_digits": "0",
        "xmlbinary": "hex",
        "array_nulls": "off",
        "client_encoding": "LATIN1",
        "default_text_search_config": "pg_catalog.german",
        "lc_numeric": "C",
        "search_path": "",
        "row_security": "off",
        "quote_all_identifiers": "on",
        "work_mem": "64kB",
        "transform_null_equals": "on",
        "default_toast_compression": "pglz",
    },
}
FAST = {
    "serializable, strings with escapes": SINGLE["serializable"] | SINGLE["strings with escapes"],
    "generic plans, odd formats": SINGLE["generic plans"] | SINGLE["odd formats"],
}
SLOW: dict[str, Settings] = {
    "parallel": {"debug_parallel_query": "on", "max_parallel_workers_per_gather": "2"},
    "repeatable read": {"default_transaction_isolation": "repeatable read"},
    "custom plans": {"plan_cache_mode": "force_custom_plan"},
    "jit": {"jit": "on", "jit_above_cost": "0", "jit_inline_above_cost": "0"},
    "no sequential scans": {"enable_seqscan": "off"},
    "no index scans": {
        "enable_indexscan": "off",
        "enable_indexonlyscan": "off",
        "enable_bitmapscan": "off",
    },
    "nested loops alone": {"enable_hashjoin": "off", "enable_mergejoin": "off"},
    "no nested loops": {"enable_nestloop": "off", "enable_material": "off"},
    "deferrable": {"default_transaction_deferrable": "on", "synchronous_commit": "off"},
    "Windows client": {"client_encoding": "WIN1252", "bytea_output": "escape"},
    "Japanese client": {"client_encoding": "EUC_JP"},
    "variables first": {"plpgsql.variable_conflict": "use_variable"},
    "columns first": {"plpgsql.variable_conflict": "use_column", "plpgsql.extra_errors": "all"},
    "timeouts": {
        "statement_timeout": "30s",
        "lock_timeout": "20s",
        "idle_in_transaction_session_timeout": "20s",
    },
    "lossy floats": {"extra_float_digits": "3", "geqo_threshold": "2"},
    "join order as written": {"join_collapse_limit": "1", "from_collapse_limit": "1"},
}
WHOLE = bool(os.environ.get("RAG_PG_TEST_MATRIX"))
COMPARED = 1000  # hits of a life that are compared with the oracles, at least
CASES = FAST | SINGLE | SLOW if WHOLE else FAST
slow_half = pytest.mark.minutes


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGCLIENTENCODING", raising=False)


def configure(dsn: str, settings: Settings) -> None:
    name = sql.Identifier(str(conninfo_to_dict(dsn)["dbname"]))
    with connect(dsn, autocommit=True) as db:
        for setting, value in settings.items():
            db.execute(
                sql.SQL("ALTER DATABASE {} SET {} TO {}").format(
                    name, sql.SQL(".").join(map(sql.Identifier, setting.split("."))), value
                )
            )


@pytest.mark.parametrize("case", CASES)
def test_settings(new_database: NewDatabase, tmp_path: Path, case: str) -> None:
    dsn = new_database()
    configure(dsn, CASES[case])
    schema.upgrade(dsn)
    assert live(dsn, tmp_path) > COMPARED


@slow_half  # the odd formats have such an encoding too
@pytest.mark.parametrize("encoding", ["LATIN1", "SJIS"])
def test_the_encoding_of_the_environment(
    dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", encoding)
    assert live(dsn, tmp_path) > COMPARED


@pytest.mark.minutes
def test_behind_a_transaction_pooler(
    new_database: NewDatabase, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    direct = new_database()
    with transaction_pooler(direct) as pooled:
        for _ in range(3):
            schema.upgrade(pooled)
        assert live(pooled, tmp_path) > COMPARED
        assert left_over(pooled) == []
        _work_for_a_while(pooled, tmp_path)
        assert left_over(pooled) == []
        _build_a_large_index(pooled)
        _adopt(direct, pooled, tmp_path)
        assert left_over(pooled) == []
    assert "a pooler stands before the database" in caplog.text


def _work_for_a_while(pooled: str, home: Path) -> None:
    """A worker finds work without hearing of it."""
    import threading

    from rag_pg import Rag
    from rag_pg import Settings as RagSettings

    with Rag(pooled, settings=RagSettings(home=home), embedders={"hash": HashEmbedder}) as rag:
        docs = rag.collection("worked", model="hash:32")
        worker = rag.worker()
        running = threading.Thread(target=worker.run)
        running.start()
        try:
            docs.add({"uri": "a", "content": "red fish"}, wait=False)
            with connect(pooled, autocommit=True) as db:
                db.execute("SELECT rag.put_document('worked', 'b', 'blue bird')")
                wait_until(lambda: docs.stats().embedded >= 2)
                db.execute("CALL rag.search_text('worked', 'bird', 1)")
        finally:
            worker.stop.set()
            running.join()
        assert docs.search("bird")[0].uri == "b"
        rag.drop_collection("worked")


def _build_a_large_index(pooled: str) -> None:
    """One that asks for more maintenance_work_mem than is set."""
    from rag_pg.db.database import Database

    database = Database(pooled)
    database.open()
    try:
        with connect(pooled, autocommit=True) as db:
            db.execute("SELECT rag.create_collection('large', 'none', 3)")
            db.execute(
                """SELECT rag.put_chunks('large', i::text,
                   '[{"content": "x", "embedding": [1, 2, 3]}]')
                   FROM generate_series(1, 5) AS i"""
            )
            row = db.execute("SELECT rag.create_space('large', 'other', 3)").fetchone()
            assert row is not None
            db.execute("DELETE FROM rag.backlogs")
            db.execute(
                """INSERT INTO rag.embeddings SELECT %s, g, ARRAY[random(), random(),
                   1]::real[]::public.halfvec
                   FROM generate_series(1, 3000) AS g""",
                [row[0]],
            )
        assert database.build_indexes(None) == 1
    finally:
        database.close()


def _adopt(direct: str, pooled: str, home: Path) -> None:
    from rag_pg import Rag
    from rag_pg import Settings as RagSettings

    with connect(direct, autocommit=True) as db:
        db.execute(
            """CREATE TABLE lc (langchain_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
                   content text NOT NULL,
                   embedding vector(3) NOT NULL, langchain_metadata json)"""
        )
        db.execute(
            """INSERT INTO lc (content, embedding, langchain_metadata)
               SELECT 'text ' || g, ARRAY[random(), random(), 1]::vector,
                   json_build_object('source', 's' || g % 10)
               FROM generate_series(1, 60) AS g"""
        )
    with Rag(pooled, settings=RagSettings(home=home), embedders={"hash": HashEmbedder}) as rag:
        for i in range(2):
            rag.adopt("lc", f"adopted{i}", layout="langchain", model="old")


@slow_half  # tests/sql/test_publication.py publishes each step in `make test`
def test_a_publication_for_all_tables(dsn: str, tmp_path: Path) -> None:
    with connect(dsn, autocommit=True) as db:
        db.execute("CREATE PUBLICATION everything FOR ALL TABLES")
    assert live(dsn, tmp_path) > COMPARED


@slow_half
def test_beside_a_hundred_collections(dsn: str, tmp_path: Path) -> None:
    with connect(dsn, autocommit=True) as db:
        for i in range(100 if WHOLE else 30):
            db.execute("SELECT rag.create_collection(%s, 'none', 3)", [f"other-{i}"])
    assert live(dsn, tmp_path) > COMPARED


@pytest.fixture(scope="module")
def lived(
    new_database: NewDatabase, template: str, tmp_path_factory: pytest.TempPathFactory
) -> str:
    """A database that holds a collection with a past."""
    dsn = new_database(template)
    assert live(dsn, tmp_path_factory.mktemp("home"), name="old", keep=True) > COMPARED
    return dsn


def program(dsn: str, name: str, *arguments: str | Path) -> None:
    with connect(dsn) as db:
        version = db.info.server_version // 10000
    path = EmbeddedServer(Path(), postgres_version=version).program(name)
    done = subprocess.run([path, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]


@slow_half  # tests/db/test_restore.py tells of each form in `make test`
@pytest.mark.parametrize("form", ["custom", "plain"])
def test_restored(lived: str, new_database: NewDatabase, tmp_path: Path, form: str) -> None:
    dsn = new_database()
    dump = tmp_path / "dump"
    if form == "custom":
        program(lived, "pg_dump", "-Fc", "-f", dump, lived)
        program(lived, "pg_restore", "-d", dsn, dump)
    else:
        program(lived, "pg_dump", "-f", dump, lived)
        program(lived, "psql", "-qX", "-v", "ON_ERROR_STOP=1", "-f", dump, "-d", dsn)
    assert schema.check(dsn) == []
    with connect(dsn, autocommit=True) as db:
        assert compare(db, "old", HashEmbedder("hash:16")) > COMPARED / 3
        db.execute("SELECT rag.drop_collection('old')")
        db.execute("DROP TABLE public.life_pages")
    assert live(dsn, tmp_path) > COMPARED


LOCALES = {
    "C": "LOCALE 'C'",
    "C.UTF-8": "LOCALE 'C.utf8'",
    "ICU root": "LOCALE_PROVIDER icu ICU_LOCALE 'und' LOCALE 'C'",
    "ICU Turkish": "LOCALE_PROVIDER icu ICU_LOCALE 'tr-TR' LOCALE 'C'",
    "ICU, upper case first": "LOCALE_PROVIDER icu ICU_LOCALE 'de-u-kf-upper-kn' LOCALE 'C'",
    "libc Turkish": "LOCALE 'tr_TR.UTF-8'",
    "built in": "LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8' LOCALE 'C'",
    "built in, unicode": "LOCALE_PROVIDER builtin BUILTIN_LOCALE 'PG_UNICODE_FAST' LOCALE 'C'",
}


@slow_half
@pytest.mark.parametrize("locale", LOCALES)
def test_locales(server_dsn: str, tmp_path: Path, locale: str) -> None:
    name = f"rag_locale_{os.getpid()}"
    with connect(server_dsn, autocommit=True) as admin:
        try:
            admin.execute(
                f"""CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0
                    {LOCALES[locale]}""".encode()
            )
        except psycopg.Error as exc:
            pytest.skip(f"no engine: this server has no such locale: {exc.diag.message_primary}")
        try:
            dsn = make_conninfo(server_dsn, dbname=name)
            schema.upgrade(dsn)
            assert live(dsn, tmp_path) > COMPARED
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture
def standby(server_dsn: str, lived: str) -> Iterator[str]:
    """A streaming replica of the server, at the database that has a past."""
    if os.environ.get("RAG_PG_TEST_DSN"):
        pytest.skip("no engine: needs an embedded server of its own, RAG_PG_TEST_DSN names another")
    with connect(server_dsn) as db:
        version = db.info.server_version // 10000
    with server_folder() as folder:
        replica = EmbeddedServer(folder / "data", postgres_version=version)
        program(
            server_dsn,
            "pg_basebackup",
            "-R",
            "-X",
            "stream",
            "-c",
            "fast",
            "-D",
            folder / "data",
            "-d",
            server_dsn,
        )
        for socket in (folder / "data").glob(".s.PGSQL.*"):
            socket.unlink()
        if os.geteuid() == 0:
            for path in (folder / "data", *(folder / "data").rglob("*")):
                shutil.chown(path, "pgserver", "pgserver")
        yield make_conninfo(replica.start(), dbname=conninfo_to_dict(lived)["dbname"])


@slow_half
def test_a_read_only_replica_answers_and_checks(standby: str, lived: str) -> None:
    with connect(standby, autocommit=True) as db:
        assert compare(db, "old", HashEmbedder("hash:16")) > COMPARED / 3
        failed: list[Any] = db.execute(
            "SELECT d.* FROM rag.doctor() AS d WHERE status = 'fail'"
        ).fetchall()
        assert failed == []
    assert schema.check(standby) == schema.check(lived) == []
