"""Stores that fsspec reaches, archives and folders: what changed is read, and nothing else."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.implementations.tar import TarFileSystem
from fsspec.spec import AbstractFileSystem

from rag_pg import InvalidInput, LocationUnavailable, Rag
from rag_pg.client import Collection
from rag_pg.ingest import changes

OLD = 1_700_000_000


@pytest.fixture
def docs(rag: Rag) -> Collection:
    return rag.collection("docs", model="hash:32")


@pytest.fixture
def store() -> Iterator[Any]:
    files = fsspec.filesystem("memory")
    files.pipe({"/shop/a.md": b"# A\n\nRed fish.", "/shop/deep/b.txt": b"Blue fish."})
    files.pipe({"/shop/.hidden.md": b"x", "/shop/logo.bin": b"x", "/shop/empty.md": b""})
    files.pipe("/other/a.md", b"Not of the shop.")
    yield files
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of which bytes were read."""
    found: list[str] = []
    read = MemoryFileSystem.cat_file

    def cat_file(self: Any, path: str, **options: Any) -> Any:
        found.append(path)
        return read(self, path, **options)

    monkeypatch.setattr(MemoryFileSystem, "cat_file", cat_file)
    return found


def uris(docs: Collection) -> list[str]:
    return [one.uri for one in docs.list()]


def counts(report: Any) -> tuple[int, int, int, int]:
    return (report.changed, report.unchanged, report.deleted, len(report.failures))


def test_only_what_changed_is_read(docs: Collection, store: Any, reads: list[str]) -> None:
    first = docs.sync("memory://shop")
    assert counts(first) == (2, 0, 0, 0)
    assert dict(first.skipped) == {".bin": 1, "empty": 1}
    assert uris(docs) == ["memory://shop/a.md", "memory://shop/deep/b.txt"]
    reads.clear()
    assert counts(docs.sync("memory://shop/")) == (0, 2, 0, 0)
    assert reads == []
    store.pipe("/shop/a.md", b"# A\n\nGreen fish.")
    store.pipe("/shop/new.md", b"New.")
    store.rm("/shop/deep/b.txt")
    dry = docs.sync("memory://shop", dry_run=True)
    assert counts(dry) == (2, 0, 1, 0)
    reads.clear()
    assert counts(docs.sync("memory://shop")) == (2, 0, 1, 0)
    assert reads == ["/shop/a.md", "/shop/new.md"]
    assert str(docs.get("memory://shop/a.md").content).endswith("Green fish.")
    assert docs.get("memory://shop/a.md").metadata == {}


def test_what_others_wrote_since_is_read_again(
    docs: Collection, store: Any, reads: list[str]
) -> None:
    docs.sync("memory://shop")
    docs.add({"uri": "memory://shop/a.md", "content": "Overwritten."})
    docs.delete("memory://shop/deep/b.txt")
    reads.clear()
    assert counts(docs.sync("memory://shop")) == (2, 0, 0, 0)
    assert reads == ["/shop/a.md", "/shop/deep/b.txt"]
    assert docs.get("memory://shop/a.md").content == "# A\n\nRed fish."


def test_each_document_gets_the_metadata_of_its_location(
    docs: Collection, store: Any, reads: list[str]
) -> None:
    store.pipe("/shop/a.md", b"---\ntrust: high\nauthor: Ann\n---\nRed fish.")
    low = {"metadata": {"trust": "low"}}
    assert counts(docs.sync("memory://shop", options=low)) == (2, 0, 0, 0)
    found = {one.uri: one.metadata for one in docs.list()}
    # a document does not say itself how far it is trusted
    assert found["memory://shop/a.md"] == {"trust": "low", "author": "Ann"}
    assert found["memory://shop/deep/b.txt"] == {"trust": "low"}
    reads.clear()
    assert counts(docs.sync("memory://shop", options=low)) == (0, 2, 0, 0)
    assert reads == []
    assert counts(docs.sync("memory://shop")) == (0, 2, 0, 0)  # their texts are the same
    assert len(reads) == 2
    found = {one.uri: one.metadata for one in docs.list()}
    assert found["memory://shop/a.md"] == {"trust": "high", "author": "Ann"}
    assert found["memory://shop/deep/b.txt"] == {}
    with pytest.raises(InvalidInput, match="option metadata is 'low'; use an object"):
        docs.sync("memory://shop", options={"metadata": "low"})


def test_a_listing_that_fails_deletes_nothing(
    docs: Collection, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs.sync("memory://shop")

    def find(self: Any, path: str, **options: Any) -> Any:
        raise OSError("page 2 was not answered")

    monkeypatch.setattr(MemoryFileSystem, "find", find)
    with pytest.raises(LocationUnavailable, match="memory://shop cannot be listed: page 2"):
        docs.sync("memory://shop")
    monkeypatch.undo()
    store.rm("/shop", recursive=True)
    with pytest.raises(LocationUnavailable, match="there is no such folder"):
        docs.sync("memory://shop")
    assert len(uris(docs)) == 2


def test_an_object_that_fails_stays_and_stops_no_other(
    docs: Collection, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs.sync("memory://shop")
    store.pipe({"/shop/a.md": b"New a.", "/shop/deep/b.txt": b"New b."})
    read = MemoryFileSystem.cat_file

    def cat_file(self: Any, path: str, **options: Any) -> Any:
        if path.endswith("a.md"):
            raise PermissionError("AccessDenied")
        return read(self, path, **options)

    monkeypatch.setattr(MemoryFileSystem, "cat_file", cat_file)
    report = docs.sync("memory://shop")
    assert counts(report) == (1, 0, 0, 1)
    assert "AccessDenied" in report.failures[0].error
    assert str(docs.get("memory://shop/a.md").content).endswith("Red fish.")
    monkeypatch.undo()
    assert counts(docs.sync("memory://shop")) == (1, 1, 0, 0)


def pack(path: Path, files: dict[str, bytes]) -> None:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in files.items():
                archive.writestr(name, data)
        return
    compression = {".gz": "gz", ".tgz": "gz", ".xz": "xz"}.get(path.suffix, "")
    with tarfile.open(path, f"w:{compression}") as tar:  # type: ignore[call-overload]
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(data), len(data) * 7
            tar.addfile(info, io.BytesIO(data))


@pytest.mark.parametrize(
    "name", ["handbook.zip", "handbook.tar", "handbook.tar.gz", "handbook.tgz", "handbook.tar.xz"]
)
def test_an_archive_is_a_folder(
    docs: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {"a.md": b"Red fish.", "deep/b.md": b"Blue.", "../out.md": b"Above."}
    pack(Path(name), files)
    assert counts(docs.sync(name)) == (2, 0, 0, 0)
    assert uris(docs) == [f"{name}/a.md", f"{name}/deep/b.md"]
    pack(Path(name), {"a.md": b"Green fish.", "deep/c.md": b"C."})
    assert counts(docs.sync(name)) == (2, 0, 1, 0)
    assert counts(docs.sync(name)) == (0, 2, 0, 0)
    pack(Path(name), {})
    assert counts(docs.sync(name)) == (0, 0, 0, 0)  # as of an empty folder: nothing is deleted


@pytest.mark.parametrize("blocks", [2, 2.3, 3, 3.1, 4])
def test_an_archive_that_is_not_whole_deletes_nothing(
    docs: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blocks: float
) -> None:
    monkeypatch.chdir(tmp_path)
    pack(Path("cut.tar"), {"a.md": b"Red fish.", "b.md": b"Blue."})
    assert counts(docs.sync("cut.tar")) == (2, 0, 0, 0)
    Path("cut.tar").write_bytes(Path("cut.tar").read_bytes()[: int(512 * blocks)])
    with pytest.raises(LocationUnavailable, match=r"cut\.tar cannot be listed"):
        docs.sync("cut.tar")
    assert len(uris(docs)) == 2


@pytest.mark.parametrize("name", ["handbook.zip", "handbook.tar"])
def test_members_of_an_archive_are_named_from_its_top(
    docs: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    pack(Path(name), {"./a.md": b"A.", "./deep/./b.md": b"B.", "/etc/c.md": b"C.", "d.md": b"D."})
    assert counts(docs.sync(name)) == (4, 0, 0, 0)
    assert uris(docs) == [f"{name}/{path}" for path in ("a.md", "d.md", "deep/b.md", "etc/c.md")]


@pytest.mark.parametrize("name", ["handbook.zip", "handbook.tar.gz"])
def test_a_member_of_the_same_length_and_time_is_read_anew(
    docs: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    pack(Path(name), {"b.md": b"Opens at 9.", "a.md": b"A."})
    assert counts(docs.sync(name)) == (2, 0, 0, 0)
    pack(Path(name), {"b.md": b"Opens at 8.", "a.md": b"A."})
    assert counts(docs.sync(name)) == (1, 1, 0, 0)
    assert docs.get(f"{name}/b.md").content == "Opens at 8."


def test_a_tar_file_is_read_once_from_its_beginning_to_its_end(
    docs: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    read, cat_file = list[str](), TarFileSystem.cat_file

    def seen(self: Any, path: str, **options: Any) -> Any:
        read.append(path)
        return cat_file(self, path, **options)

    monkeypatch.setattr(TarFileSystem, "cat_file", seen)
    names = [f"{n}.md" for n in (3, 1, 4, 2, 5)]
    pack(Path("a.tgz"), {name: name.encode() for name in names})
    assert counts(docs.sync("a.tgz")) == (5, 0, 0, 0) and read == names


def test_what_cannot_be_printed_in_a_name_is_told_by_its_code(docs: Collection, store: Any) -> None:
    store.pipe("/shop/ü\n\x1b.md", b"x")
    failed = docs.sync("memory://shop").failures
    assert [one.uri for one in failed] == ["memory://shop/ü\\n\\x1b.md"]


def test_names_in_a_zip_file_are_read_as_they_were_written(
    docs: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pack(Path("a.zip"), {"xxxxxxx.md": b"A.", "deep\\c.md": b"C."})
    Path("a.zip").write_bytes(Path("a.zip").read_bytes().replace(b"xxxxxxx", "Größe".encode()))
    assert counts(docs.sync("a.zip")) == (2, 0, 0, 0)
    pack(Path("b.zip"), {"yyyyy.md": b"B."})
    Path("b.zip").write_bytes(Path("b.zip").read_bytes().replace(b"yyyyy", "Größe".encode("cp437")))
    assert counts(docs.sync("b.zip")) == (1, 0, 0, 0)
    assert uris(docs) == ["a.zip/Größe.md", "a.zip/deep/c.md", "b.zip/Größe.md"]


def test_a_folder_reads_what_its_files_say_has_changed(
    docs: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("notes/a.md")
    path.parent.mkdir()
    path.write_text("One.")
    os.utime(path, (OLD, OLD))
    docs.sync("notes")
    read: list[str] = []
    monkeypatch.setattr(
        "rag_pg.locations.folder.load_documents",
        lambda path, uri, **options: iter(read.append(uri) or ()),  # type: ignore[func-returns-value]
    )
    assert counts(docs.sync("notes")) == (0, 1, 0, 0)
    assert read == []
    path.write_text("Two.")  # as long, and with the time of the first
    os.utime(path, (OLD, OLD))
    docs.sync("notes", dry_run=True)
    assert read == ["notes/a.md"]


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("location", "options", "message"),
    [
        ("s3://key:PASSWORD@bucket/x", {}, "a user's name or password"),
        ("sftp://user:PASSWORD/x@host/", {}, "a user's name or password"),
        ("sftp://user:#?PASSWORD@host/", {}, "a user's name or password"),
        ("https://ghp_PASSWORD@host/x", {}, "a user's name or password"),
        ("git+https://user:PASSWORD@host/x", {}, "a user's name or password"),
        ("s3://bucket/x?X-Amz-Signature=PASSWORD", {}, "holds X-Amz-Signature, a credential"),
        ("abfs://box/x?sv=1&sig=PASSWORD", {}, "holds sig, a credential"),
        ("memory://shop", {"secret": "PASSWORD"}, "option secret is a credential"),
        ("memory://shop", {"a": {"aws_secret_access_key": "PASSWORD"}}, "is a credential"),
        ("memory://shop", {"endpoint_url": "http://u:PASSWORD@h"}, "name or password"),
        ("simplecache::s3://PASSWORD", {}, "name one store"),
        ("zip://::http://10.0.0.1/PASSWORD.zip", {}, "name one store"),
        ("reference://PASSWORD", {}, "name one store"),
        ("nothing://PASSWORD", {}, "nothing:// is no store"),
    ],
)
def test_what_holds_a_credential_or_hides_another_store_is_refused(
    docs: Collection, location: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message) as caught:
        docs.sync(location, options=options)
    if "credential" in message or "password" in message:
        assert "PASSWORD" not in str(caught.value)


def test_no_secret_of_the_environment_is_told_or_kept(
    docs: Collection, store: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2hunter2")

    def find(self: Any, path: str, **options: Any) -> Any:
        raise OSError("GET https://user:pw1234@h/x?sig=hunter2hunter2 with hunter2hunter2: 403")

    monkeypatch.setattr(MemoryFileSystem, "find", find)
    with pytest.raises(LocationUnavailable) as caught:
        docs.sync("memory://shop")
    assert str(caught.value) == "memory://shop cannot be listed: GET https://…@h/x?… with …: 403"
    assert caught.value.__cause__ is None and caught.value.__suppress_context__
    assert "hunter2" not in caplog.text


def test_a_folder_is_followed_also_where_it_goes_away_for_a_while(tmp_path: Path) -> None:
    folder, away = tmp_path / "shop", tmp_path / "away"
    folder.mkdir()
    file = folder / "a.md"
    file.write_text("one")

    def replace() -> None:
        (tmp_path / "b").write_text("two")
        os.utime(tmp_path / "b", ns=(OLD, file.stat().st_mtime_ns))
        (tmp_path / "b").replace(file)

    steps: list[tuple[str, Callable[[], object]]] = [
        ("nothing", lambda: None),
        ("replaced by one of its time and size", replace),
        ("away", lambda: folder.rename(away)),
        ("back", lambda: away.rename(folder)),
        ("a loop", lambda: (folder / "loop").symlink_to(folder)),
        ("empty", file.unlink),
    ]
    done, told = ["at first"], []

    def sleep(seconds: float) -> None:
        if not steps:
            raise EOFError
        name, act = steps.pop(0)
        act()
        done.append(name)

    with pytest.raises(EOFError):
        for _ in changes(folder, sleep=sleep):
            told.append(done[-1])
    assert told == ["at first", "replaced by one of its time and size", "empty"]


class Shelf(AbstractFileSystem):  # type: ignore[misc]
    """A store that is listed folder by folder, of which one may be locked."""

    protocol = "shelf"
    files: ClassVar = {"top/a.md": b"Red fish.", "top/in/b.md": b"Blue bird."}
    locked: ClassVar[set[str]] = set()
    written: datetime | None = None

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        path = self._strip_protocol(path)
        if path in self.locked:
            raise PermissionError(f"{path} is locked")
        start = f"{path}/" if path else ""
        parts = {name.removeprefix(start).partition("/")[:2] for name in self.files
                 if name.startswith(start)}  # fmt: skip
        return [{"name": start + first, "type": "directory" if more else "file", "size": None,
                 "mtime": self.written} for first, more in sorted(parts)]  # fmt: skip

    def cat_file(self, path: str, start: Any = None, end: Any = None, **_: Any) -> bytes:
        return self.files[path]


def test_nothing_is_deleted_where_a_folder_below_cannot_be_listed(docs: Collection) -> None:
    fsspec.register_implementation("shelf", Shelf, clobber=True)
    assert counts(docs.sync("shelf://top/")) == (2, 0, 0, 0)
    Shelf.locked.add("top/in")
    with pytest.raises(LocationUnavailable, match="top/in is locked"):
        docs.sync("shelf://top/")
    Shelf.locked.clear()
    assert docs.count() == 2 and counts(docs.sync("shelf://top/"))[2] == 0


@pytest.mark.parametrize(
    ("written", "is_read"),
    [
        (datetime(2023, 11, 14, 8, 0, 7, tzinfo=UTC), False),
        (datetime(2023, 11, 14, 8, 0, 7), False),
        (datetime(2999, 11, 14, 8, 0, 7, tzinfo=UTC), True),
        (datetime(2999, 11, 14, 8, 0, 7), True),
        (datetime(2999, 11, 14, 8, 0, 7, 1, tzinfo=UTC), False),
    ],
)
def test_a_file_that_may_be_written_again_within_its_second_is_read_again(
    docs: Collection, monkeypatch: pytest.MonkeyPatch, written: datetime, is_read: bool
) -> None:
    fsspec.register_implementation("shelf", Shelf, clobber=True)
    monkeypatch.setattr(Shelf, "written", written)
    assert counts(docs.sync("shelf://top/")) == (2, 0, 0, 0)
    monkeypatch.setitem(Shelf.files, "top/a.md", b"New fish.")  # as long
    assert counts(docs.sync("shelf://top/")) == (int(is_read), 2 - is_read, 0, 0)


def test_a_name_that_a_store_cannot_read_is_told(
    docs: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ls(self: Any, path: str, **options: Any) -> Any:
        return b"caf\xe9.md".decode()

    fsspec.register_implementation("shelf", Shelf, clobber=True)
    monkeypatch.setattr(Shelf, "ls", ls)
    told = r"cannot be listed: the name caf\\xe9\.md is not valid UTF-8; rename it"
    with pytest.raises(LocationUnavailable, match=told):
        docs.sync("shelf://top/")
