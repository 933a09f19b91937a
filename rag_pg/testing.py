"""Fixtures of pytest for programs that use rag_pg: a PostgreSQL server for the run, a database with
schema rag for each test, and an embedder that needs no model.

    pytest_plugins = ["rag_pg.testing"]  # in conftest.py

PYTEST_DONT_REWRITE: a conftest.py may import it too.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from platformdirs import user_cache_path

from rag_pg.client import Rag
from rag_pg.config import Settings
from rag_pg.db import (
    Databases,
    EmbeddedServer,
    closed_above,
    connect,
    make_fast,
    name_of,
    remove_servers,
    schema,
)
from rag_pg.types import Vectors

MEMORY = Path("/dev/shm")
ENOUGH = 4 * 2**30  # bytes, for the servers of a whole run
MODEL = "fake:64"
# Its input ends when nobody holds the other side any more.
GUARD = """
import sys
from pathlib import Path
sys.stdin.buffer.read()
if (folder := Path(sys.argv[1])).exists():
    from rag_pg.db import remove_servers
    remove_servers(folder)
"""


class FakeEmbedder:
    """An embedder without a model: words counted in hashed places, so that texts with the same
    words are near each other, on any machine and any day.

    Args:
        name: fake:<dimensions>.
    """

    provider: str | None = None
    max_tokens = 256

    def __init__(self, name: str = MODEL) -> None:
        self.name = name
        self.dimensions = int(name.partition(":")[2] or 64)
        self.fingerprint = f"{name}/1"

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        vectors = [self.embed_query(text) for text in texts]
        return np.array(vectors, np.float32).reshape(-1, self.dimensions)

    def embed_query(self, text: str) -> Vectors:
        vector = np.zeros(self.dimensions, np.float32)
        vector[0] = 0.1  # a text without words has a direction too
        for word in re.findall(r"\w+", text.lower()):
            digest = hashlib.blake2b(word.encode(), digest_size=8).digest()
            vector[int.from_bytes(digest[:4], "little") % self.dimensions] += 1
        return vector / np.linalg.norm(vector)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(re.findall(r"\w+|[^\w\s]", text)) + 2 for text in texts]


@contextmanager
def server_folder() -> Iterator[Path]:
    """Give a folder for data of servers, which end with it: when the block is left, or by another
    process when this one is killed.

    It lies in memory where there is enough, for a test's database is a thousand small files on a
    disk. Its path is short, as a socket's has 107 characters; it is open to others, as under root
    the server runs as another user, who may not enter pytest's tmp_path.
    """
    roomy = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ENOUGH
    folders = [MEMORY] if roomy else []
    folders += [Path(tempfile.gettempdir()), Path("/var/tmp"), Path("/tmp")]
    reached = (folder for folder in folders if folder.is_dir() and not closed_above(folder / "x"))
    folder = Path(tempfile.mkdtemp(prefix="rag-pg-", dir=next(reached, None)))
    with subprocess.Popen(
        [sys.executable, "-c", GUARD, folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Control-C and the end of a terminal are not for it
    ):
        try:
            folder.chmod(0o755)
            yield folder
        finally:
            remove_servers(folder)


@contextmanager
def running_server(postgres_version: int = 18) -> Iterator[str]:
    """Give a superuser's connection string to an embedded server of its own, which goes with its
    data."""
    with server_folder() as folder:
        dsn = EmbeddedServer(folder / "data", postgres_version=postgres_version).start()
        make_fast(dsn)
        yield dsn


def open_client(dsn: str) -> Rag:
    """Return a client, to be entered, with models fake:<dimensions> and no settings of the
    environment."""
    home = user_cache_path("rag_pg") / "testing"
    return Rag(dsn, settings=Settings(home=home), embedders={"fake": FakeEmbedder})


@pytest.fixture(scope="session")
def rag_server() -> Iterator[str]:
    """A superuser's connection string: RAG_PG_TEST_DSN, else an embedded server of the run's own,
    of version RAG_PG_TEST_POSTGRES."""
    if given := os.environ.get("RAG_PG_TEST_DSN"):
        yield given
        return
    with running_server(int(os.environ.get("RAG_PG_TEST_POSTGRES", "18"))) as dsn:
        yield dsn


@pytest.fixture(scope="session")
def rag_databases(rag_server: str) -> Iterator[Databases]:
    """What makes and removes databases on that server."""
    databases = Databases(rag_server)
    yield databases
    databases.close()


@pytest.fixture(scope="session")
def rag_template(rag_databases: Databases) -> Iterator[str]:
    """The connection string of a database with schema rag, which each test gets a clone of. Put
    into it what all tests begin with, and close every connection."""
    dsn = rag_databases.create()
    schema.upgrade(dsn)
    with connect(dsn, autocommit=True) as connection:
        connection.execute("VACUUM FULL")  # a clone takes a fifth less
    connect(dsn).close()  # leaves a file of what every connection reads first
    yield dsn
    rag_databases.drop(dsn)


@pytest.fixture
def rag_dsn(rag_databases: Databases, rag_template: str) -> Iterator[str]:
    """A database of the test's own."""
    dsn = rag_databases.create(name_of(rag_template))
    yield dsn
    rag_databases.drop(dsn)


@pytest.fixture
def rag(rag_dsn: str) -> Iterator[Rag]:
    """A client of the test's database, see `open_client`."""
    with open_client(rag_dsn) as opened:
        yield opened
