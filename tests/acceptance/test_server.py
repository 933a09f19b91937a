"""The embedded server as a process: it survives its users, and its users survive it."""

import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from fakes import HashEmbedder

from rag_pg import DatabaseUnavailable, Rag, Settings, schema
from rag_pg.server import EmbeddedServer


@pytest.fixture
def home() -> Iterator[Path]:
    """A short path that other users may enter: under root the server runs as another one."""
    folder = Path(tempfile.mkdtemp(prefix="rag-pg-"))
    folder.chmod(0o755)
    yield folder
    EmbeddedServer(folder / "postgres").stop()
    shutil.rmtree(folder, ignore_errors=True)


def test_without_a_dsn_a_server_is_started_and_the_schema_installed(home: Path) -> None:
    settings = Settings(home=home)
    with Rag(settings=settings, embedders={"hash": HashEmbedder}) as rag:
        rag.collection("docs", model="hash:32").add({"uri": "a", "content": "red fish"})
        dsn = rag.dsn
    assert dsn is not None
    with psycopg.connect(dsn) as other:  # it goes on running for other programs
        assert other.execute("SELECT uri FROM rag.search('docs', 'fish')").fetchall() == [("a",)]
    assert schema.check(dsn) == []
    server = EmbeddedServer(home / "postgres")
    assert server.start() == dsn
    assert server.stop()
    assert not server.stop()
    with Rag(settings=settings, embedders={"hash": HashEmbedder}) as rag:
        assert rag.collection("docs").search("fish")[0].uri == "a"


def test_a_server_that_dies_in_the_middle_of_an_ingest_loses_nothing(home: Path) -> None:
    embedder = HashEmbedder("hash:32")
    embedder.fail = lambda texts: time.sleep(0.05)
    settings = Settings(home=home)
    documents = [{"uri": f"d{i:03}", "content": f"red fish number {i}"} for i in range(300)]
    errors: list[BaseException] = []
    with Rag(settings=settings, embedders={"hash": lambda name: embedder}) as rag:
        docs = rag.collection("docs", model="hash:32")

        def add() -> None:
            try:
                docs.add(*documents)
            except BaseException as exc:
                errors.append(exc)

        adding = threading.Thread(target=add)
        adding.start()
        while docs.stats().embedded < 60:
            time.sleep(0.02)
        postmaster = int((home / "postgres" / "postmaster.pid").read_text().splitlines()[0])
        os.kill(postmaster, signal.SIGQUIT)  # an immediate shutdown: no checkpoint, as a crash
        adding.join(timeout=60)
        assert not adding.is_alive()
    (error,) = errors
    assert isinstance(error, DatabaseUnavailable)
    assert "\n" not in str(error)

    with Rag(settings=settings, embedders={"hash": lambda name: embedder}) as rag:
        docs = rag.collection("docs")
        half = docs.stats()
        assert 60 <= half.embedded < 300
        assert half.embedded == half.chunks
        with rag.database.connection() as connection:  # leases of the dead run out at once
            connection.execute(
                "UPDATE rag.jobs SET lease_expires_at = now() WHERE lease IS NOT NULL"
            )
        report = docs.add(*documents)
        assert report.failures == ()
        stats = docs.stats()
        assert (stats.documents, stats.chunks, stats.embedded) == (300, 300, 300)
        assert (stats.pending, stats.failed) == (0, 0)


def test_a_folder_that_cannot_hold_data_is_named(home: Path) -> None:
    (home / "file").write_text("not a folder")
    with pytest.raises(DatabaseUnavailable, match="RAG_PG_HOME"):
        EmbeddedServer(home / "file" / "postgres").start()
