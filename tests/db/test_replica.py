"""A read replica answers searches: they write nothing and need no temporary table."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from paths import server_folder

from rag_pg.db import schema
from rag_pg.db.database import Database
from rag_pg.db.embedded import EmbeddedServer

SEARCHES = (
    "SELECT uri, score FROM rag.search('r', 'red fish', '[1, 0, 0]')",
    "SELECT uri, score FROM rag.search_keyword('r', 'red fish', 10, '{\"even\": true}')",
    "SELECT uri, score FROM rag.search_keyword('r', '\"red fish\" -seven', match => 'web')",
    "SELECT uri, score FROM rag.search_vector('r', '[0, 1, 0]', 5, '{\"even\": false}')",
    "SELECT term, contribution FROM rag.explain_keyword('r', 'red fish') ORDER BY 1, 2",
    "SELECT documents, chunks, embedded FROM rag.collection_stats('r')",
)


@pytest.fixture
def folder() -> Iterator[Path]:
    made = server_folder()
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
def primary_dsn(folder: Path) -> Iterator[str]:
    """A server of its own: the copy of one that other tests use would hold all their databases."""
    version = int(os.environ.get("RAG_PG_TEST_POSTGRES", "18"))
    server = EmbeddedServer(folder / "primary", postgres_version=version)
    dsn = server.start()
    schema.upgrade(dsn)
    yield dsn
    server.stop(immediate=True)


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
    database.put_chunks("r", "fresh", [{"content": "one red fish"}], title="", metadata={})
    database.close()

    with psycopg.connect(primary_dsn) as connection:
        (number,) = connection.execute("SHOW server_version_num").fetchone() or ("",)
    standby = EmbeddedServer(folder / "data", postgres_version=int(number) // 10000)
    try:
        subprocess.run(
            [standby.program("pg_basebackup"), "-R", "-X", "stream", "-c", "fast",
             "-D", folder / "data", "-d", primary_dsn],
            check=True,
        )  # fmt: skip
        for left in (folder / "data").glob(
            ".s.PGSQL.*"
        ):  # the primary's socket lay in its data folder
            left.unlink()
        if os.geteuid() == 0:  # under root the server runs as another user
            for path in (folder / "data", *(folder / "data").rglob("*")):
                shutil.chown(path, "pgserver", "pgserver")
        replica = standby.start()
        with psycopg.connect(primary_dsn) as primary, psycopg.connect(replica) as reader:
            assert reader.execute("SELECT pg_is_in_recovery()").fetchone() == (True,)
            for search in SEARCHES:
                expected = primary.execute(search.encode()).fetchall()
                assert len(expected) > 0, search
                assert reader.execute(search.encode()).fetchall() == expected, search
            primary.execute("SELECT rag.delete_document('r', 'fresh')")
            primary.commit()
            reader.rollback()
            deadline = time.monotonic() + 20
            while time.monotonic() < deadline:
                found = reader.execute(
                    "SELECT uri FROM rag.search_keyword('r', 'one', 5)"
                ).fetchall()
                reader.rollback()
                if not found:
                    break
                time.sleep(0.05)
            assert found == []
    finally:
        standby.stop(immediate=True)
