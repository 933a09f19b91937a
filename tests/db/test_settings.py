"""Settings that hold for one statement: sent with it, and gone with it."""

import tempfile
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fakes import HashEmbedder
from patience import take_time
from pooler import transaction_pooler
from psycopg.conninfo import make_conninfo

from rag_pg import Rag, Settings
from rag_pg.db import schema
from rag_pg.db.database import Database
from rag_pg.errors import InvalidQuery, RagError

TENANT = "SELECT pg_catalog.current_setting('app.tenant', true)"


@pytest.fixture
def single(dsn: str) -> Iterator[Database]:
    """A database whose statements share one connection."""
    database = Database(dsn, pool_size=1)
    database.open()
    yield database
    database.close()


def tenant(database: Database) -> str | None:
    found: str | None = database._execute(TENANT)[0][0]
    return found or None  # a setting that was local once is empty afterwards


def test_a_setting_holds_for_the_statements_of_its_database_alone(single: Database) -> None:
    red = single.with_settings({"app.tenant": "red"})
    blue = red.with_settings({"app.tenant": "blue", "app.user": "'; DROP SCHEMA rag; --"})
    assert [tenant(d) for d in (single, red, blue, red, single)] == [
        None, "red", "blue", "red", None,
    ]  # fmt: skip
    user = "SELECT pg_catalog.current_setting('app.user', true)"
    assert blue._execute(user)[0][0] == "'; DROP SCHEMA rag; --"
    assert not single._execute(user)[0][0]


def test_a_statement_that_fails_leaves_no_setting_and_raises_its_own_error(
    single: Database, connection: psycopg.Connection[Any]
) -> None:
    red = single.with_settings({"app.tenant": "red"})
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    with pytest.raises(InvalidQuery, match="unknown operator"):
        red.count_documents("c", metadata_filter={"a": {"$regex": 1}})
    assert tenant(single) is None
    assert tenant(red) == "red"
    with pytest.raises(RagError, match="unrecognized configuration parameter"):
        tenant(single.with_settings({"tenant": "red"}))
    assert tenant(single) is None


def test_a_bulk_load_has_the_settings_too(
    single: Database, connection: psycopg.Connection[Any]
) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    connection.execute(
        """CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS
           $$ BEGIN NEW.title := current_setting('app.tenant', true); RETURN NEW; END $$;
           CREATE TRIGGER note BEFORE INSERT ON rag.documents_1
           FOR EACH ROW EXECUTE FUNCTION public.note()"""
    )
    record = {"uri": "a", "content": "text", "title": "t", "metadata": {}}
    single.with_settings({"app.tenant": "red"}).load_chunks("c", [record], 3)
    assert connection.execute("SELECT title FROM rag.documents").fetchall() == [("red",)]
    assert tenant(single) is None


def test_setting_and_statement_are_one_round_trip(single: Database) -> None:
    red = single.with_settings({"app.tenant": "red"})
    sent: dict[str, list[str]] = {}
    for name, database in (("plain", single), ("set", red)):
        with tempfile.TemporaryFile("w+") as trace:
            with single.connection() as connection:
                connection.pgconn.trace(trace.fileno())
            tenant(database)
            with single.connection() as connection:
                connection.pgconn.untrace()
            trace.seek(0)
            sent[name] = [line.split("\t")[3].strip() for line in trace if line.count("\t") >= 3]
    assert sent["plain"].count("ReadyForQuery") == sent["set"].count("ReadyForQuery") == 1
    assert sent["set"].count("Sync") == 1


def test_threads_on_one_connection_see_their_own_setting(single: Database) -> None:
    seen: dict[str, set[str | None]] = {}

    def ask(name: str) -> None:
        database = single.with_settings({"app.tenant": name})
        seen[name] = {tenant(database) for _ in range(50)}

    threads = [threading.Thread(target=ask, args=(name,)) for name in ("a", "b", "c", "d")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {name: {name} for name in ("a", "b", "c", "d")}
    assert tenant(single) is None


def test_behind_a_transaction_pooler_other_clients_see_nothing(dsn: str) -> None:
    with transaction_pooler(dsn) as pooled:
        database = Database(pooled, pool_size=2)
        database.open()
        try:
            red = database.with_settings({"app.tenant": "red"})
            for _ in range(20):
                assert tenant(red) == "red"
                with psycopg.connect(pooled, autocommit=True) as other:
                    assert not (other.execute(TENANT).fetchone() or ("?",))[0]
        finally:
            database.close()


def slowly(chunk: dict[str, Any], seconds: float) -> Iterator[dict[str, Any]]:
    take_time(seconds)([chunk])
    yield chunk


@pytest.fixture
def configured(dsn: str, connection: psycopg.Connection[Any], tmp_path: Path) -> Any:
    """Open a client after a setting of the database, with a model that takes its time."""
    embedder = HashEmbedder("hash:32")

    def configure(setting: str, seconds: float = 0.3) -> Rag:
        embedder.fail = take_time(seconds)
        connection.execute("SELECT rag.create_collection('docs', 'hash:32', 32)")
        name = str(psycopg.conninfo.conninfo_to_dict(dsn)["dbname"])
        for one in setting.split("; "):
            connection.execute(f"ALTER DATABASE {name} SET {one}".encode())
        return Rag(dsn, settings=Settings(home=tmp_path), embedders={"hash": lambda name: embedder})

    return configure


@pytest.mark.parametrize(
    ("setting", "seconds"),
    [
        # of which a busy machine takes much for a statement
        ("idle_in_transaction_session_timeout = '1s'; lock_timeout = '1s'", 1.2),
        pytest.param("idle_session_timeout = '2s'", 2.2, marks=pytest.mark.minutes),
        (
            "default_transaction_isolation = serializable; default_transaction_deferrable = on",
            0.0,
        ),
    ],
)
def test_settings_of_a_role_are_survived(
    dsn: str, configured: Any, setting: str, seconds: float
) -> None:
    """Sessions that the server ended are told in `make test` by tests/db/test_connect.py."""
    with configured(setting, seconds) as rag:
        assert schema.upgrade(dsn) and schema.check(dsn) == []
        docs = rag.collection("docs")
        assert docs.add({"uri": "a", "content": "A red fish swims."}).added == 1
        chunk = {"uri": "b", "content": "A blue bird flies.", "embedding": [0.5] * 32}
        assert docs.add_chunks(slowly(chunk, seconds)) == 1
        docs.add({"uri": "c", "content": "A tree stands."}, wait=False)
        assert rag.worker(["docs"]).drain() == 1
        assert docs.search("fish")[0].uri == "a"
        assert docs.ask("What swims?", llm="extractive").found
        rag.database.maintain()
        assert {finding.status for finding in rag.database.doctor()} == {"ok"}


def test_intervals_are_read_in_any_style(dsn: str, connection: psycopg.Connection[Any]) -> None:
    connection.execute(
        "CREATE TABLE public.rows (n integer); SELECT rag.expose_view('public.rows', 'Rows')"
    )
    for style in ("postgres", "sql_standard"):
        database = Database(make_conninfo(dsn, options=f"-c intervalstyle={style}"))
        database.open()
        try:
            (view,) = database.list_views()
        finally:
            database.close()
        assert (view.timeout, view.columns[0].name) == (timedelta(seconds=5), "n")


@pytest.mark.parametrize(
    ("setting", "calls", "named"),
    [
        ("statement_timeout = '3s'", "add", "statement_timeout"),
        ("default_transaction_read_only = on", "upgrade add", "default_transaction_read_only"),
    ],
)
def test_a_setting_that_stands_in_the_way_is_named(
    dsn: str,
    connection: psycopg.Connection[Any],
    configured: Any,
    setting: str,
    calls: str,
    named: str,
) -> None:
    with configured(setting) as rag, psycopg.connect(dsn) as other:
        if named == "statement_timeout":
            other.execute("SET statement_timeout = 0; LOCK TABLE rag.documents")
        acts: dict[str, Callable[[], object]] = {
            "upgrade": lambda: schema.upgrade(dsn),
            "check": lambda: schema.check(dsn),
            "add": lambda: rag.collection("docs").add({"uri": "a", "content": "x"}),
        }
        for call in calls.split():
            with pytest.raises(RagError, match=f"{named}.* this role or database") as caught:
                acts[call]()
            assert "\n" not in str(caught.value)
