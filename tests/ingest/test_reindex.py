"""Another model and another chunking while the application goes on:
it writes, it searches, workers run."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from fakes import HashEmbedder
from patience import take_time, wait_until

from rag_pg import Rag, Settings

Connection = psycopg.Connection[Any]
DOCUMENTS = 60


def document(number: int, version: int) -> dict[str, Any]:
    lines = [f"Paragraph {p} of story {number} in version {version}. " for p in range(5)]
    return {"uri": f"d{number:02}", "content": "".join(lines)}


@pytest.fixture
def rag(dsn: str, tmp_path: Path) -> Iterator[Rag]:
    def open_slow(name: str) -> HashEmbedder:
        embedder = HashEmbedder(name)
        embedder.fail = take_time(0.001)
        return embedder

    with Rag(dsn, settings=Settings(home=tmp_path), embedders={"hash": open_slow}) as opened:
        yield opened


@contextmanager
def running(*loops: Callable[[threading.Event], None]) -> Iterator[None]:
    """Run each of the loops in a thread of its own; what one raises fails the test."""
    ended = threading.Event()
    errors: list[BaseException] = []

    def run(loop: Callable[[threading.Event], None]) -> None:
        try:
            loop(ended)
        except BaseException as exc:
            errors.append(exc)

    threads = [threading.Thread(target=run, args=(loop,)) for loop in loops]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]


@pytest.mark.minutes
def test_a_model_is_changed_and_changed_back_under_load(rag: Rag, connection: Connection) -> None:
    docs = rag.collection("docs", model="hash:32", chunking={"max_tokens": 24, "overlap": 0})
    docs.add(*(document(n, 0) for n in range(DOCUMENTS)))
    versions = dict.fromkeys(range(DOCUMENTS), 0)
    searched: list[str] = []

    def work(ended: threading.Event) -> None:
        worker = rag.worker()

        def stop() -> None:
            ended.wait()
            worker.stop.set()

        threading.Thread(target=stop).start()
        worker.run()

    def write(ended: threading.Event) -> None:
        number = 0
        while not ended.wait(0.02):
            number = (number + 7) % DOCUMENTS
            versions[number] += 1
            docs.add(document(number, versions[number]), wait=False)

    def search(ended: threading.Event) -> None:
        own = rag.collection("docs")  # a client that nobody tells of the change
        while not ended.wait(0.01):
            hits = own.search("story 5", limit=5)
            assert len(hits) == 5 and not hits.notes
            assert any(hit.vector_rank is not None for hit in hits)
            searched.append(own.info.model)

    with running(work, work, write, search):
        space = docs.spaces.create("hash:16", wait=False)

        def activate() -> bool:
            return (
                docs.spaces.list()[1].share > 0.9
                and docs.spaces.activate(space.space_id, force=True) >= 0
            )

        wait_until(activate)
        before = len(searched)
        wait_until(lambda: len(searched) > before + 5)
        docs.spaces.rollback(force=True)
        before = len(searched)
        wait_until(lambda: len(searched) > before + 5)
    rag.worker().drain()
    assert set(searched) == {"hash:32", "hash:16"}
    assert [s.share for s in docs.spaces.list()] == [1, 1]
    texts = dict(connection.execute("SELECT chunk_id, content FROM rag.chunks").fetchall())
    for number, version in versions.items():
        assert any(f"story {number} in version {version}." in text for text in texts.values())
    for space in docs.spaces.list():
        rows = connection.execute(
            "SELECT chunk_id, embedding::text FROM rag.embeddings WHERE space_id = %s",
            [space.space_id],
        ).fetchall()
        assert {chunk_id for chunk_id, _ in rows} == texts.keys()
        model = HashEmbedder(space.model)
        for chunk_id, vector in rows:
            stored = np.array(vector.strip("[]").split(","), np.float32)
            assert stored @ model.embed_query(texts[chunk_id]) > 0.99  # each by its own model
    assert connection.execute("SELECT count(*) FROM rag.jobs").fetchone() == (0,)


@pytest.mark.minutes
def test_documents_stay_searchable_while_they_are_cut_anew(
    rag: Rag, connection: Connection
) -> None:
    docs = rag.collection("docs", model="hash:32", chunking={"max_tokens": 24, "overlap": 0})
    docs.add(*(document(n, 0) for n in range(DOCUMENTS)))
    before = docs.stats().chunks
    found: list[int] = []

    def search(ended: threading.Event) -> None:
        with psycopg.connect(rag.database.dsn, autocommit=True) as reader:
            while not ended.is_set():
                row = reader.execute(
                    "SELECT count(DISTINCT uri) FROM rag.search_keyword('docs', 'story', 1000)"
                ).fetchone()
                found.append(row[0] if row else 0)

    with running(search):
        assert docs.rechunk({"max_tokens": 64, "overlap": 0}) == DOCUMENTS
        wait_until(lambda: len(found) > 5)
    assert set(found) == {DOCUMENTS}
    assert docs.stats().chunks < before
