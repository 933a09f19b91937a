"""A worker syncs collections with the locations that are attached to them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import psycopg
import pytest
from fakes import HashEmbedder
from fsspec.implementations.memory import MemoryFileSystem

from rag_pg import Rag, Settings


@pytest.fixture
def rag(dsn: str, embedder: HashEmbedder, tmp_path: Path) -> Iterator[Rag]:
    """A client whose workers may read stores in memory below shop, and nothing else."""
    settings = Settings(home=tmp_path / "home", locations=("memory://shop/",))
    files = fsspec.filesystem("memory")
    files.pipe({"/shop/a/x.md": b"Red fish.", "/shop/b/y.md": b"Blue fish.", "/out/z.md": b"Out."})
    with Rag(dsn, settings=settings, embedders={"hash": lambda name: embedder}) as opened:
        opened.collection("docs", model="hash:32")
        yield opened
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


def attach(dsn: str, *locations: str) -> None:
    with psycopg.connect(dsn) as connection:
        for location in locations:
            connection.execute("SELECT rag.attach_location('docs', %s)", [location])


def listed(dsn: str) -> dict[str, list[Any]]:
    with psycopg.connect(dsn) as connection:
        rows = connection.execute(
            "SELECT location, state, result -> 'changed', last_error FROM rag.list_locations()"
        ).fetchall()
    return {location: rest for location, *rest in rows}


def test_what_is_due_is_synced_and_a_broken_one_breaks_only_itself(rag: Rag, dsn: str) -> None:
    attach(dsn, "memory://shop/none/", "memory://shop/a/", "memory://out/", "memory://shop/../out/")
    attach(dsn, "memory://shop/b/")
    worker = rag.worker()
    assert worker.locations is not None
    assert worker.locations.act() == 4
    worker.drain()
    found = listed(dsn)
    assert found["memory://shop/a/"] == ["waiting", 1, None]
    assert found["memory://shop/b/"] == ["waiting", 1, None]
    assert found["memory://out/"] == ["due", None, None]  # no worker here may read it
    state, _, error = found["memory://shop/none/"]
    assert (state, "there is no such folder" in str(error)) == ("broken", True)
    state, _, error = found["memory://shop/../out/"]
    assert (state, "name one store" in str(error)) == ("broken", True)
    assert [hit.uri for hit in rag.collection("docs").search("red fish", limit=1)] == [
        "memory://shop/a/x.md"
    ]
    assert worker.locations.act() == 0


def test_what_a_library_raises_is_not_kept(
    rag: Rag, dsn: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def sync(self: object, *arguments: object, **options: object) -> None:
        raise RuntimeError("hunter2")

    monkeypatch.setattr("rag_pg.client.collection.Collection.sync", sync)
    attach(dsn, "memory://shop/a/")
    worker = rag.worker()
    assert worker.locations is not None
    worker.locations.act()
    assert listed(dsn)["memory://shop/a/"] == ["broken", None, "it failed with RuntimeError"]
    assert "hunter2" not in caplog.text
