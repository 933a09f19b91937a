"""One PostgreSQL server per run, a template database with the schema, a clone of it per test."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import psycopg
import pytest
from fakes import HashEmbedder
from paths import ROOT, server_folder
from psycopg import sql
from psycopg.conninfo import make_conninfo

from rag_pg import Rag, Settings
from rag_pg.db import schema
from rag_pg.db.database import Database
from rag_pg.db.embedded import EmbeddedServer

pytest_plugins = ("accounting", "serverless")  # "fixtures" is a plugin of pytest itself

# Folders and files of tests that wait for processes and workers.
WAITING = {
    "chaos",
    "worker",
    "cli",
    "client",
    "ingest",
    "docs",
    "mcp_server",
    "test_embedded.py",
    "test_replica.py",
}

# The examples are the same on any day; --hypothesis-profile=default seeks new ones.
hypothesis.settings.register_profile("same", derandomize=True, deadline=None, print_blob=True)
hypothesis.settings.load_profile("same")

# A shell lets what it starts in the background ignore SIGINT, and processes inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_numbers = itertools.count()


@pytest.fixture(scope="session")
def server_dsn() -> Iterator[str]:
    """A superuser's connection string: RAG_PG_TEST_DSN, else an embedded server of its own."""
    if given := os.environ.get("RAG_PG_TEST_DSN"):
        yield given
        return
    version = int(os.environ.get("RAG_PG_TEST_POSTGRES", "18"))
    folder = server_folder()
    server = EmbeddedServer(folder / "data", postgres_version=version)
    dsn = server.start()
    with psycopg.connect(dsn, autocommit=True) as connection:
        for setting in ("fsync = off", "full_page_writes = off", "max_connections = 200"):
            connection.execute(f"ALTER SYSTEM SET {setting}")
        connection.execute("SELECT pg_reload_conf()")
    try:
        yield dsn
    finally:
        server.stop(immediate=True)  # what it holds is thrown away
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def new_database(server_dsn: str) -> Iterator[Callable[..., str]]:
    """Make a database (a clone of `template` where given) and return its connection string."""
    made: list[str] = []

    def make(template: str = "template1") -> str:
        name = f"rag_test_{os.getpid()}_{next(_numbers)}"
        with psycopg.connect(server_dsn, autocommit=True) as connection:
            connection.execute(
                sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy").format(
                    sql.Identifier(name), sql.Identifier(template)
                )
            )
        made.append(name)
        return make_conninfo(server_dsn, dbname=name)

    yield make
    if not os.environ.get("RAG_PG_TEST_DSN"):
        return  # they go with the server
    for name in made:
        _drop(server_dsn, name)


def _drop(server_dsn: str, name: str) -> None:
    with psycopg.connect(server_dsn, autocommit=True) as connection:
        connection.execute(
            sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
        )


@pytest.fixture(scope="session")
def template(new_database: Callable[..., str]) -> str:
    """The name of a database with schema rag."""
    dsn = new_database()
    schema.upgrade(dsn)
    return str(psycopg.conninfo.conninfo_to_dict(dsn)["dbname"])


@pytest.fixture(scope="session")
def keyword_dsn(new_database: Callable[..., str], template: str) -> str:
    """A database with collections 1 and 2 (english) and 3 (simple),
    for tests of the keyword index alone.

    Their chunks need nothing but lexemes: the other columns have defaults.
    """
    dsn = new_database(template)
    with psycopg.connect(dsn, autocommit=True) as connection:
        for number, language in ((1, "english"), (2, "english"), (3, "simple")):
            connection.execute(
                "SELECT rag.create_collection(%s, 'none', 3, language => %s::regconfig)",
                [f"collection {number}".replace(" ", "-"), language],
            )
        connection.execute(
            """ALTER TABLE rag.chunks ALTER document_id SET DEFAULT gen_random_uuid(),
               ALTER ordinal SET DEFAULT 0, ALTER heading SET DEFAULT '', ALTER content_hash
               SET DEFAULT '',
               ALTER metadata SET DEFAULT '{}'"""
        )
    return dsn


@pytest.fixture(scope="module")
def databases_of_cases(server_dsn: str) -> Iterator[dict[str, str]]:
    """For each test of a module that is marked one_database the database of its cases."""
    made: dict[str, str] = {}
    yield made
    for dsn in made.values():
        _drop(server_dsn, str(psycopg.conninfo.conninfo_to_dict(dsn)["dbname"]))


@pytest.fixture
def dsn(
    request: pytest.FixtureRequest,
    server_dsn: str,
    new_database: Callable[..., str],
    template: str,
    databases_of_cases: dict[str, str],
) -> Iterator[str]:
    """A database with schema rag, for one test; dropped after it, as hundreds take gigabytes.

    The cases of a test that is marked one_database share one.
    """
    if request.node.get_closest_marker("one_database"):
        name = request.node.originalname
        if name not in databases_of_cases:
            databases_of_cases[name] = new_database(template)
        yield databases_of_cases[name]
        return
    made = new_database(template)
    yield made
    _drop(server_dsn, str(psycopg.conninfo.conninfo_to_dict(made)["dbname"]))


@pytest.fixture
def connection(dsn: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection as any other program has: no rag_pg Python in it."""
    with psycopg.connect(dsn, autocommit=True) as opened:
        yield opened


@pytest.fixture
def database(dsn: str) -> Iterator[Database]:
    opened = Database(dsn)
    opened.open()
    yield opened
    opened.close()


@pytest.fixture
def embedder() -> HashEmbedder:
    return HashEmbedder("hash:32")


@pytest.fixture
def rag(dsn: str, embedder: HashEmbedder, tmp_path: Path) -> Iterator[Rag]:
    """A client whose model hash:32 is `embedder`."""
    settings = Settings(home=tmp_path / "home")
    with Rag(dsn, settings=settings, embedders={"hash": lambda name: embedder}) as opened:
        yield opened


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the processes, which wait most;
    what takes minutes is for make test-quality and test-matrix."""
    items.sort(key=lambda item: WAITING.isdisjoint(item.path.relative_to(ROOT / "tests").parts))
    if os.environ.get("RAG_PG_TEST_SLOW") or os.environ.get("RAG_PG_TEST_MATRIX"):
        return
    long = [item for item in items if item.get_closest_marker("minutes")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]
