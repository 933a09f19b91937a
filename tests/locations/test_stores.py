"""S3 and SFTP as their own libraries speak them: `make test-stores` runs these where moto, s3fs and
paramiko are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fsspec.config import conf, set_conf_env
from locations.buckets import NEEDS_MOTO, SECRET, bucket
from locations.files_server import serve_files

from rag_pg import LocationUnavailable, Rag
from rag_pg.client import Collection

pytestmark = [
    NEEDS_MOTO,
    pytest.mark.filterwarnings("default"),
]


@pytest.fixture
def docs(rag: Rag) -> Collection:
    return rag.collection("docs", model="hash:32")


def counts(report: Any) -> tuple[int, int, int, int]:
    return (report.changed, report.unchanged, report.deleted, len(report.failures))


def assert_never_told(rag: Rag, text: str) -> None:
    """The secret stands in no table and was not logged."""
    assert SECRET not in text
    with rag.database.connection() as connection:
        tables = connection.execute(
            "SELECT c.oid::regclass::text FROM pg_class AS c"
            " WHERE c.relnamespace = 'rag'::regnamespace AND c.relkind IN ('r', 'p')"
        ).fetchall()
        for (table,) in tables:
            rows = connection.execute(f"SELECT t::text FROM {table} AS t".encode()).fetchall()
            assert not any(SECRET in row for (row,) in rows), table


@pytest.fixture(name="bucket")
def filled_bucket() -> Iterator[Any]:
    with bucket("handbook") as (store, _):
        for name in ("a.md", "sub/b.html", "c.txt"):
            store.pipe_file(f"handbook/docs/{name}", f"<p>The garage opens at {name}.</p>".encode())
        yield store


def test_a_prefix_of_s3(
    docs: Collection, bucket: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = "s3://handbook/docs/"
    assert counts(docs.sync(location)) == (3, 0, 0, 0)
    assert docs.search("garage sub", limit=1)[0].uri.startswith(location)
    bucket.pipe_file("handbook/docs/a.md", b"The garage opens at eight.")
    bucket.rm("handbook/docs/c.txt")
    assert counts(docs.sync(location)) == (1, 1, 1, 0)
    assert counts(docs.sync(location)) == (0, 2, 0, 0)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(LocationUnavailable) as caught:
        docs.sync(location)
    assert docs.count() == 2
    assert_never_told(docs.rag, caplog.text + str(caught.value))  # type: ignore[arg-type]


def test_keys_of_s3_that_differ_by_slashes_are_documents_of_their_own(
    docs: Collection, bucket: Any
) -> None:
    import boto3

    names = ["/a.md", "//a.md", "sub//b.html", "c.txt/"]
    store = boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"])
    for name in names:  # as they stand: fsspec writes some without a slash
        store.put_object(Bucket="handbook", Key=f"docs/{name}", Body=f"At {name}".encode())
    for location in ("s3://handbook/docs/", "s3://handbook"):
        report = docs.sync(location)
        assert (report.changed, report.notes, report.skipped) == (6, (), {"no suffix": 1})
        found = {one.uri: one.content for one in docs.list(content=True)}
        assert all(found[f"s3://handbook/docs/{name}"] == f"At {name}" for name in names[:3])
        docs.clear()


def test_an_archive_in_s3(docs: Collection, bucket: Any, tmp_path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "h.zip", "w") as archive:
        archive.writestr("x/a.md", "Red fish.")
    bucket.put_file(str(tmp_path / "h.zip"), "handbook/h.zip")
    assert counts(docs.sync("s3://handbook/h.zip")) == (1, 0, 0, 0)
    assert [one.uri for one in docs.list()] == ["s3://handbook/h.zip/x/a.md"]
    assert counts(docs.sync("s3://handbook/h.zip")) == (0, 1, 0, 0)


@pytest.fixture
def sftp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], str]]:
    root = tmp_path / "served"
    (root / "docs").mkdir(parents=True)
    (root / "docs" / "a.md").write_text("Red fish.")
    monkeypatch.setenv("HOME", str(tmp_path))
    set_conf_env(conf, {**os.environ, "FSSPEC_SFTP_PASSWORD": SECRET})
    with serve_files(root, SECRET) as port:
        yield lambda: f"sftp://reader@127.0.0.1:{port}/docs"
    conf.pop("sftp", None)


def test_a_folder_of_sftp(
    docs: Collection, sftp: Callable[[], str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    location = sftp()
    assert counts(docs.sync(location)) == (1, 0, 0, 0)
    (tmp_path / "served" / "docs" / "b.md").write_text("Blue fish.")
    assert counts(docs.sync(location)) == (1, 1, 0, 0)
    (tmp_path / "served" / "docs" / "a.md").unlink()
    assert counts(docs.sync(location)) == (0, 1, 1, 0)
    conf["sftp"]["password"] = "wrong"
    with pytest.raises(LocationUnavailable, match="cannot be listed"):
        docs.sync(location)
    assert_never_told(docs.rag, caplog.text)  # type: ignore[arg-type]


def test_a_file_of_sftp_that_is_written_twice_within_a_second(
    docs: Collection, sftp: Callable[[], str], tmp_path: Path
) -> None:
    path = tmp_path / "served" / "docs" / "a.md"
    tomorrow = path.stat().st_mtime + 86_400
    for text in ("Red fish.", "New fish."):
        path.write_text(text)
        os.utime(path, (tomorrow, tomorrow))
        docs.sync(sftp())
        assert docs.get(f"{sftp()}/a.md").content == text


def test_names_of_sftp_that_are_no_utf8_are_told_and_the_others_read(
    docs: Collection, sftp: Callable[[], str], tmp_path: Path
) -> None:
    root = tmp_path / "served" / "docs"
    for name in (b"caf\xe9", b"fine"):
        folder = root / os.fsdecode(name)
        folder.mkdir()
        (folder / "b.md").write_text("Blue fish.")
        (root / os.fsdecode(name + b".md")).write_text("Old fish.")
    report = docs.sync(sftp())
    assert counts(report) == (3, 0, 0, 2)
    assert {one.uri for one in report.failures} == {
        f"{sftp()}/caf\\udce9", f"{sftp()}/caf\\udce9.md"
    }  # fmt: skip
    assert {one.error for one in report.failures} == {"this name cannot be stored; rename it"}


@pytest.mark.parametrize("name", ["a#b", "a?b=c", "a%20b", "a b", "50%", "[z]", "*", "ü;x&y+z"])
def test_folders_and_archives_of_any_name(
    docs: Collection, sftp: Callable[[], str], bucket: Any, tmp_path: Path, name: str
) -> None:
    import zipfile

    root = tmp_path / "served" / "docs"
    (root / name).mkdir()
    (root / name / f"{name}.md").write_text("Red fish.")
    with zipfile.ZipFile(root / f"{name}.zip", "w") as archive:
        archive.writestr(f"{name}.md", "Blue fish.")
    for one in (f"{name}/{name}.md", f"{name}.zip"):
        bucket.put_file(str(root / one), f"handbook/own/{one}")
    for start in (sftp(), "s3://handbook/own"):
        for location in (f"{start}/{name}", f"{start}/{name}.zip"):
            assert counts(docs.sync(location)) == (1, 0, 0, 0)
            assert docs.get(f"{location}/{name}.md").uri == f"{location}/{name}.md"
