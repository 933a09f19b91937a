"""Git repositories at a commit: blobs that changed are read, and no program of theirs is run."""

from __future__ import annotations

from pathlib import Path

import pytest
from locations.repositories import git

from rag_pg import InvalidInput, LocationUnavailable, Rag
from rag_pg.client import Collection
from rag_pg.locations import Limits, Network
from rag_pg.locations.git import Repository
from rag_pg.types import Loaded, LoadFailure, Skipped, Unchanged


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "handbook"
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "a.md").write_text("# A\n\nRed fish.")
    (folder / "docs" / "b.md").write_text("# B\n\nBlue fish.")
    (folder / "docs" / "link.md").symlink_to("/etc/passwd")
    (folder / "docs" / ".hidden.md").write_text("Hidden.")
    (folder / "code.py").write_text("print('fish')")
    git(tmp_path, "init", "-q", "-b", "main", "handbook")
    git(folder, "config", "uploadpack.allowFilter", "true")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "one")
    git(folder, "tag", "v1")
    return folder


@pytest.fixture
def docs(rag: Rag) -> Collection:
    return rag.collection("docs", model="hash:32")


def test_what_changed_since_another_commit_is_read(
    docs: Collection, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    location, base = f"git+file://{repository}", f"git+file://{repository}/"
    assert docs.sync(location).changed == 3
    assert [one.uri.removeprefix(base) for one in docs.list()] == [
        "code.py",
        "docs/a.md",
        "docs/b.md",
    ]
    first = git(repository, "rev-parse", "HEAD")
    assert docs.get(base + "docs/a.md").metadata == {"commit": first}
    (repository / "docs" / "a.md").write_text("# A\n\nGreen fish.")
    (repository / "docs" / "b.md").unlink()
    git(repository, "commit", "-q", "-a", "-m", "two")
    report = docs.sync(location)
    assert (report.changed, report.unchanged, report.deleted) == (1, 1, 1)
    assert docs.get(base + "docs/a.md").metadata == {"commit": git(repository, "rev-parse", "HEAD")}
    report = docs.sync(location + "@v1#docs")
    assert (report.changed, report.unchanged, report.deleted) == (2, 0, 0)
    assert docs.get(base + "docs/b.md").metadata == {"commit": first}


def test_only_blobs_that_are_not_known_are_fetched(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[list[str]] = []
    read = Repository._fetch_blobs

    def fetch(self: Repository, folder: Path, blobs: list[str]) -> None:
        present = git(folder, "cat-file", "--batch-check", "--batch-all-objects")
        assert " blob " not in present  # the listing brought none
        fetched.append(list(blobs))
        read(self, folder, blobs)
        present = git(folder, "cat-file", "--batch-check", "--batch-all-objects")
        assert present.count(" blob ") == len(blobs)

    monkeypatch.setattr(Repository, "_fetch_blobs", fetch)
    opened = Repository(f"git+file://{repository}#docs", Limits(max_bytes=999), {}, Network())
    items = [one for one in opened.read({}) if isinstance(one, Loaded)]
    known = {one.uri: one.sync_state for one in items if one.sync_state}
    assert len(fetched[0]) == len(known) == 2
    again = list(opened.read(known))
    assert [type(one) for one in again] == [Unchanged, Unchanged]
    assert fetched[1] == []


def test_what_is_too_large_fails_alone_and_what_stands_for_another_is_skipped(
    repository: Path,
) -> None:
    (repository / "large.md").write_text("Large fish. " * 100)
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
    (repository / "stored.md").write_text(pointer)
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "large")
    opened = Repository(f"git+file://{repository}", Limits(max_bytes=999), {}, Network())
    found = {one.uri.rpartition("/")[2]: one for one in opened.read({})}
    assert isinstance(found["large.md"], LoadFailure)
    assert found["large.md"].error.startswith("has 1,200 bytes, the limit is 999")
    assert isinstance(found["stored.md"], Skipped) and found["stored.md"].reason == "Git LFS"
    assert sum(isinstance(one, Loaded) for one in found.values()) == 3


def test_nothing_of_a_repository_is_run(
    docs: Collection, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = tmp_path / "ran"
    (repository / ".gitattributes").write_text("*.md filter=evil diff=evil\n")
    (repository / ".gitmodules").write_text(
        f'[submodule "x"]\n path = x\n url = ext::sh -c "touch {ran}"\n'
    )
    config = tmp_path / "config"
    config.write_text(
        f'[filter "evil"]\n smudge = touch {ran}\n[core]\n hooksPath = {tmp_path}\n'
        f" fsmonitor = touch {ran}\n"
    )
    for name in ("post-checkout", "reference-transaction", "post-merge"):
        (tmp_path / name).write_text(f"#!/bin/sh\ntouch {ran}\n")
        (tmp_path / name).chmod(0o755)
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "evil")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", f"touch {ran}")
    assert docs.sync(f"git+file://{repository}").changed == 3
    assert not ran.exists()


@pytest.mark.one_database
@pytest.mark.parametrize(
    "location",
    [
        "git+ext::sh -c touch% /tmp/x",
        "git+ext://sh/x",
        "git+http://example.com/x.git",
        "git+git://example.com/x.git",
        "git+ssh://-oProxyCommand=touch/x.git",
        "git+ssh://git@-oProxyCommand=touch/x.git",
        "git+https://127.0.0.1:22/x.git",
        "git+https://127.0.0.1/x.git",
        "git+https://[::ffff:10.0.0.1]/x.git",
        "git+https://2130706433/x.git",
        "git+https://user:secret@example.com/x.git",
        "git+https://example.com/",
        "git+file:///srv/public/../private.git",
        "git+https://example.com/public/%2e%2e/private.git",
        "git+https://example.com/x.git@--upload-pack=touch",
        "git+https://example.com/x.git@a..b",
        "git+https://example.com/x.git@a:b",
        "git+https://example.com/x\n.git",
    ],
)
@pytest.mark.few(9)
def test_what_is_no_plain_repository_is_refused(docs: Collection, location: str) -> None:
    with pytest.raises((InvalidInput, LocationUnavailable)) as caught:
        docs.sync(location)
    assert "secret" not in str(caught.value)


def test_a_repository_that_cannot_be_read_deletes_nothing(
    docs: Collection, repository: Path, tmp_path: Path
) -> None:
    docs.sync(f"git+file://{repository}")
    for location in (f"git+file://{repository}@gone", f"git+file://{repository}#none"):
        with pytest.raises(LocationUnavailable, match="cannot be (read|listed)"):
            docs.sync(location)
    repository.rename(tmp_path / "moved")
    with pytest.raises(LocationUnavailable, match="cannot be read"):
        docs.sync(f"git+file://{repository}")
    assert docs.count() == 3
