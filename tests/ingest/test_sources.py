"""Files of every kind, chunking methods and folders,
through the Python client on a real database."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from fakes import HashEmbedder

from rag_pg import CollectionMismatch, DatabaseUnavailable, InvalidInput, Rag
from rag_pg.chunk.settings import METHODS
from rag_pg.ingest.add import DOCUMENTS_PER_PUT, Stream
from rag_pg.ingest.sync import changes, until_back

CODE = '''class Door:
    """A door."""

    def open(self):
        return "the hinge turns " * 3 and len("the hinge turns" * 4) + 1 + 2 + 3 + 4 + 5 + 6

    def close(self):
        return "the latch falls " * 3 and len("the latch falls" * 4) + 1 + 2 + 3 + 4 + 5 + 6
'''


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.few(3)
def test_every_chunking_method_makes_a_text_searchable(rag: Rag, method: str) -> None:
    docs = rag.collection("docs", model="hash:32", chunking={"method": method})
    page = {
        "uri": "a",
        "content": "# Fish\n\nA red fish swims. It is old.\n\nAnn: why?\n\nBob: so.",
    }
    assert docs.add(page, page | {"uri": "b", "media_type": "text/markdown"}).added == 2
    hits = docs.search("red fish")
    assert "red fish" in hits[0].content
    assert ("parent" in hits[0].metadata) == (method == "small-to-big")


def test_small_chunks_say_where_their_parent_is(rag: Rag) -> None:
    docs = rag.collection(
        "docs",
        model="hash:32",
        chunking={"method": "small-to-big", "max_tokens": 16, "parent_tokens": 60},
    )
    text = " ".join(f"Sentence number{n} is about thing{n}." for n in range(40))
    docs.add({"uri": "a", "content": text, "metadata": {"lang": "en"}})
    (hit,) = docs.search("number17 thing17", limit=1, filter={"lang": "en"})
    start, stop = hit.metadata["parent"]
    assert hit.content in text[start:stop]
    assert len(hit.content) * 2 < stop - start < len(text) / 2


def test_code_has_its_names_as_heading(rag: Rag) -> None:
    docs = rag.collection("code", model="hash:32", chunking={"method": "code", "max_tokens": 64})
    report = docs.add({"uri": "door.py", "content": CODE, "media_type": "text/x-python"})
    assert report.failures == ()
    assert docs.search("latch falls")[0].heading == "Door > close"


def test_other_chunking_than_the_collection_has_is_refused(rag: Rag) -> None:
    rag.collection("docs", model="hash:32", chunking={"method": "fixed"})
    rag.collection("docs", chunking={"method": "fixed"})
    with pytest.raises(CollectionMismatch, match="chunking is .*fixed.*, not .*sentence"):
        rag.collection("docs", chunking={"method": "sentence"})
    with pytest.raises(InvalidInput, match="method is 'magic'; take auto"):
        rag.collection("other", model="hash:32", chunking={"method": "magic"})


def test_a_file_may_hold_several_documents_and_a_stream_one(rag: Rag, tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text(
        '{"uri": "x", "content": "one fish", "year": 2024}\n{broken\n{"uri": "y", "content": "two"}'
    )
    docs = rag.collection("docs", model="hash:32")
    report = docs.add(tmp_path / "d.jsonl", Stream(io.BytesIO(b"# From a pipe"), "notes/pipe.md"))
    assert (report.added, report.uris) == (3, ("x", "y", "notes/pipe.md"))
    assert ["line 2" in failure.error for failure in report.failures] == [True]
    assert docs.get("x").metadata == {"year": 2024}
    assert docs.get("notes/pipe.md").title == "From a pipe"


# --- sync ----------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = Path("notes")
    (folder / "deep").mkdir(parents=True)
    for name in ("a.md", "b.txt", "deep/c.md"):
        (folder / name).write_text(f"The text of {name}.")
    return folder


def uris(docs: object) -> list[str]:
    return sorted(one.uri for one in docs.list())  # type: ignore[attr-defined]


def test_sync_does_what_changed_and_nothing_else(
    rag: Rag, folder: Path, embedder: HashEmbedder
) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add({"uri": "notes.md", "content": "Not of the folder."})
    first = docs.sync(folder)
    assert (first.changed, first.unchanged, first.deleted, first.failures) == (3, 0, 0, ())
    embedder.seen.clear()
    again = docs.sync(folder)
    assert (again.changed, again.unchanged, again.deleted) == (0, 3, 0)
    assert embedder.seen == []

    (folder / "a.md").write_text("Another text.")
    (folder / "b.txt").unlink()
    (folder / "new.md").write_text("A new text.")
    third = docs.sync(folder)
    assert (third.changed, third.unchanged, third.deleted) == (2, 1, 1)
    assert len(embedder.seen) == 2
    assert uris(docs) == ["notes.md", "notes/a.md", "notes/deep/c.md", "notes/new.md"]


def test_sync_keeps_what_cannot_be_read(rag: Rag, folder: Path) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.sync(folder)
    (folder / "a.md").write_bytes(bytes(range(256)) * 20)
    report = docs.sync(folder)
    assert (report.changed, report.deleted, len(report.failures)) == (0, 0, 1)
    for path in ("a.md", "b.txt", "deep/c.md"):
        (folder / path).unlink()
    report = docs.sync(folder)
    assert (report.deleted, len(report.failures)) == (0, 1)
    assert len(uris(docs)) == 3


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("notes/a.md", r"notes/a\.md is not a folder; name the folder"),
        ("gone", "gone is not a folder"),
        (
            ".",
            r"the working folder cannot be told from others by their uris; go to the folder above",
        ),
    ],
)
def test_sync_of_what_is_no_folder_of_its_own_is_refused(
    rag: Rag, folder: Path, path: str, message: str
) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.sync(folder)
    with pytest.raises(InvalidInput, match=message):
        docs.sync(path)
    assert len(uris(docs)) == 3


def test_changes_are_told_once_each(folder: Path) -> None:
    steps: Iterator[Callable[[], object]] = iter(
        [
            lambda: None,
            lambda: (folder / "a.md").write_text("A longer text than before."),
            lambda: None,
            lambda: (folder / "b.txt").unlink(),
            lambda: (folder / "picture.png").write_text("not loaded"),
        ]
    )
    slept = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        step = next(steps, None)
        if step is None:
            raise KeyboardInterrupt
        step()

    seen = 0
    with pytest.raises(KeyboardInterrupt):
        for _ in changes(folder, seconds=7, sleep=sleep):
            seen += 1
    assert seen == 3
    assert slept == [7] * 6


def test_who_follows_a_folder_waits_for_the_database_and_is_told_once() -> None:
    away = [DatabaseUnavailable("gone"), DatabaseUnavailable("still gone")]
    told: list[Exception] = []
    slept: list[float] = []

    def look() -> str:
        if len(slept) < len(away):
            raise away[len(slept)]
        return "back"

    assert until_back(look, told.append, sleep=slept.append) == "back"
    assert told == away[:1] and len(slept) == 2


def test_the_parent_is_in_the_chunks_metadata_not_in_the_documents(rag: Rag, dsn: str) -> None:
    docs = rag.collection("docs", model="hash:32", chunking={"method": "small-to-big"})
    docs.add({"uri": "a", "content": "A red fish.", "metadata": {"lang": "en"}})
    assert docs.get("a").metadata == {"lang": "en"}
    with psycopg.connect(dsn) as connection:
        rows = connection.execute("SELECT metadata FROM rag.chunks").fetchall()
    assert rows == [({"lang": "en", "parent": [0, 11]},)]


def test_what_a_worker_beside_has_done_already_counts_as_added(rag: Rag) -> None:
    docs = rag.collection("beside", model="hash:32")

    def slowly() -> Iterator[dict[str, str]]:
        for number in range(DOCUMENTS_PER_PUT + 1):
            if number == DOCUMENTS_PER_PUT:
                rag.worker(["beside"]).drain()  # the others are put
                assert docs.search("text", limit=1)
            yield {"uri": f"{number}.md", "content": f"A text of {number}."}

    assert docs.add(slowly()).added == DOCUMENTS_PER_PUT + 1
    again = docs.add({"uri": "0.md", "content": "A text of 0."})
    assert (again.added, again.unchanged) == (0, 1)
