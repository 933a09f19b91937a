"""One PostgreSQL server per run, a template database with the schema, a clone of it per test."""

from __future__ import annotations

import gc
import logging
import os
import re
import signal
from collections.abc import Callable, Generator, Iterator
from contextvars import copy_context
from functools import cache, partial
from pathlib import Path
from typing import Any

import hypothesis
import psycopg
import pytest
import typer.main
from citus import COORDINATOR, CitusDatabases, scaled_out
from fakes import HashEmbedder
from paths import ROOT
from rota import spread, tries

from rag_pg import Rag, Settings
from rag_pg.db import Databases, name_of
from rag_pg.db.database import Database

# "fixtures" is a plugin of pytest itself
pytest_plugins = ("accounting", "serverless", "rag_pg.testing")

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
    "test_standbys.py",
}

# The examples are the same on any day, on a busy machine too; --hypothesis-profile=default seeks
# new ones. They follow the text of a test and the constants of what was imported: large ones may
# come first.
hypothesis.settings.register_profile(
    "same",
    max_examples=tries(100, 35),
    derandomize=True,
    deadline=None,
    print_blob=True,
    suppress_health_check=[
        hypothesis.HealthCheck.too_slow,
        hypothesis.HealthCheck.data_too_large,
    ],
)
hypothesis.settings.load_profile("same")

# A test sees of its shell where programs and folders are, and what is meant for tests: no database,
# key, proxy or locale of the user's, no setting of a library, no width or colour of a terminal.
SEEN = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|TMPDIR|TEMP|TMP|SYSTEMROOT|LD_LIBRARY_PATH|VIRTUAL_ENV"
    r"|PYTHON(PATH|HOME|PYCACHEPREFIX|DONTWRITEBYTECODE)|RAG_PG_(EVAL_DATA|CITUS_DSN)"
    r"|(RAG_PG_TEST|RAG_PG_FUZZ|PYTEST|COV|COVERAGE|DOCKER|TESTCONTAINERS|PLAYWRIGHT)_\w+"
)
for name in [name for name in os.environ if not SEEN.fullmatch(name)]:
    del os.environ[name]
os.environ["LANG"] = "C.UTF-8"

# Each client of a provider reads whom to trust: one authority, as no test leaves the machine.
os.environ["SSL_CERT_FILE"] = str(ROOT / "tests" / "support" / "authority.pem")

# Tests import hundreds of modules; nothing of these is garbage.
gc.disable()

# The tree of commands is the same in each call of a process.
typer.main.get_command = cache(typer.main.get_command)

# A shell lets what it starts in the background ignore SIGINT, and processes inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


if COORDINATOR:  # what tests on a database with schema rag does so on a node of Citus

    @pytest.fixture(scope="session")
    def rag_server() -> str:
        return COORDINATOR

    @pytest.fixture(scope="session")
    def rag_databases() -> Iterator[Databases]:
        databases = CitusDatabases(COORDINATOR)
        yield databases
        databases.close()

    @pytest.fixture(scope="session")
    def rag_template(rag_databases: CitusDatabases) -> Iterator[str]:
        dsn = scaled_out(rag_databases)
        yield dsn
        rag_databases.drop(dsn)


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Callable[[], list[logging.LogRecord]]:
    """What this package has logged. `caplog.records` has what other threads of the process log too:
    a pool of an earlier test that finds its database gone."""
    return lambda: [one for one in caplog.records if one.name.partition(".")[0] == "rag_pg"]


@pytest.fixture(scope="session")
def server_dsn(rag_server: str) -> str:
    """A superuser's connection string."""
    return rag_server


@pytest.fixture(scope="session")
def new_database(rag_databases: Databases) -> Iterator[Callable[..., str]]:
    """Make a database (a clone of `template` where given) and return its connection string."""
    made: list[str] = []

    def make(template: str = "template1") -> str:
        made.append(rag_databases.create(template))
        return made[-1]

    yield make
    if not os.environ.get("RAG_PG_TEST_DSN"):
        return  # they go with the server
    for dsn in made:
        rag_databases.drop(dsn)


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One home for all processes of the run: the default model is converted once."""
    folder = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        folder = folder.parent
    (folder / "home").mkdir(exist_ok=True)
    return folder / "home"


@pytest.fixture(scope="module")
def template(
    request: pytest.FixtureRequest, new_database: Callable[..., str], rag_template: str, home: Path
) -> str:
    """The name of a database with schema rag, and with what the function `begin` of the file, where
    it has one, puts there by a client whose models hash:<dimensions> are HashEmbedder."""
    begin: Callable[[Rag], None] | None = getattr(request.module, "begin", None)
    if begin is None:
        return name_of(rag_template)
    dsn = new_database(name_of(rag_template))
    with Rag(dsn, settings=Settings(home=home), embedders={"hash": HashEmbedder}) as rag:
        begin(rag)
    return name_of(dsn)


@pytest.fixture(scope="session")
def keyword_dsn(new_database: Callable[..., str], rag_template: str) -> str:
    """A database with collections 1 and 2 (english) and 3 (simple),
    for tests of the keyword index alone.

    Their chunks need nothing but lexemes: the other columns have defaults.
    """
    dsn = new_database(name_of(rag_template))
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
def databases_of_cases(rag_databases: Databases) -> Iterator[dict[str, str]]:
    """For each test of a module that is marked one_database the database of its cases."""
    made: dict[str, str] = {}
    yield made
    for dsn in made.values():
        rag_databases.drop(dsn)


@pytest.fixture(scope="module")
def left(rag_databases: Databases, template: str) -> Iterator[list[str]]:
    """The databases of tests that have ended; they go before the template, whose roles they use."""
    made: list[str] = []
    yield made
    for dsn in made:
        rag_databases.drop(dsn)


@pytest.fixture
def dsn(
    request: pytest.FixtureRequest,
    rag_databases: Databases,
    new_database: Callable[..., str],
    template: str,
    databases_of_cases: dict[str, str],
    left: list[str],
) -> Iterator[str]:
    """A database with schema rag, for one test; dropped as the next one begins, since hundreds take
    gigabytes. PostgreSQL sleeps for 0.1 s where a connection to it has not ended quite yet.

    The cases of a test that is marked one_database share one.
    """
    if request.node.get_closest_marker("one_database"):
        name = request.node.originalname
        if name not in databases_of_cases:
            databases_of_cases[name] = new_database(template)
        yield databases_of_cases[name]
        return
    made = new_database(template)
    while left:
        rag_databases.drop(left.pop())
    yield made
    left.append(made)


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


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """What a test sets in context variables, as a command's --json does, ends with it: no test
    depends on those before it."""
    test = pyfuncitem.obj
    pyfuncitem.obj = partial(copy_context().run, test)
    try:
        return (yield)
    finally:
        pyfuncitem.obj = test


def keep_shard(items: list[pytest.Item], number: int, count: int) -> None:
    """Keep every `count`-th of the tests for `make test-long`."""
    long = sorted(
        item.nodeid
        for item in items
        if item.get_closest_marker("minutes") or item.get_closest_marker("longer")
    )
    chosen = {*long[number - 1 :: count]}
    items[:] = [item for item in items if item.nodeid in chosen]


def keep_few(items: list[pytest.Item]) -> None:
    """Of the cases of a test that is marked few leave so many for every change; the others have
    their turn."""
    families: dict[tuple[Path, str, int], list[pytest.Item]] = {}
    for item in items:
        if marker := item.get_closest_marker("few"):
            family = (item.path, getattr(item, "originalname", item.name), int(marker.args[0]))
            families.setdefault(family, []).append(item)
    for (_, _, count), cases in families.items():
        kept = spread(len(cases), count)
        for number, case in enumerate(cases):
            if number not in kept:
                case.add_marker("minutes")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the processes, which wait most; what takes minutes, or lets chance choose, is for
    targets of its own, as are further examples of hypothesis."""
    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker("longer")
    keep_few(items)
    items.sort(key=lambda item: WAITING.isdisjoint(item.path.relative_to(ROOT / "tests").parts))
    if shard := os.environ.get("RAG_PG_TEST_SHARD"):
        keep_shard(items, *map(int, shard.split("/")))
    if os.environ.get("RAG_PG_TEST_SLOW") or os.environ.get("RAG_PG_TEST_MATRIX"):
        return
    long = [item for item in items if item.get_closest_marker("minutes")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]


def pytest_collection_finish() -> None:
    """What was imported and collected stays to the end: the collector of garbage need not go
    through it again and again."""
    gc.freeze()
    gc.enable()
