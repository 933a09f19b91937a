"""Which files are found: .gitignore, patterns."""

from __future__ import annotations

from pathlib import Path

import pytest
from file_kinds import make

from rag_pg.load.discover import find_files


def names(folder: Path, *paths: Path | str) -> list[str]:
    found = find_files([folder / path for path in paths])
    assert found.failures == []
    return [path.relative_to(folder).as_posix() for path, _ in found.files]


def test_what_git_ignores_is_left_out_of_folders(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "build/b.md", "sub/c.md", "sub/draft.md", "sub/keep.md", "sub/x/log.txt")
    (tmp_path / ".gitignore").write_text("build/\n*.txt\ndraft.*\n")
    (tmp_path / "sub" / ".gitignore").write_text("/c.md\n!draft.md\n")
    assert names(tmp_path, "") == ["a.md", "sub/draft.md", "sub/keep.md"]


def test_ignored_files_are_loaded_when_they_are_named(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "build/b.md", "build/c.txt")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("build/\na.md\n*.txt\n")
    assert names(tmp_path, "a.md") == ["a.md"]
    assert names(tmp_path, "build") == ["build/b.md", "build/c.txt"]


def test_the_rules_of_the_repository_around_a_folder_hold(tmp_path: Path) -> None:
    make(tmp_path, "docs/deep/a.md", "docs/deep/b.txt", "docs/c.txt")
    (tmp_path / ".gitignore").write_text("*.txt\n")
    assert names(tmp_path, "docs/deep") == ["docs/deep/a.md", "docs/deep/b.txt"]
    (tmp_path / ".git").mkdir()
    assert names(tmp_path, "docs/deep") == ["docs/deep/a.md"]


def test_a_folder_of_ignored_files_says_so(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "b/c.md", "d.png")
    (tmp_path / ".gitignore").write_text("*.md\n")
    (failure,) = find_files([tmp_path]).failures
    assert "it has 1 of other types, and .gitignore leaves out 2" in failure.error


def test_a_pattern_names_the_supported_files_that_match(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "b/c.md", "b/d.png", "b/.e.md", "b/f/g.md")
    assert names(tmp_path, "**/*.md") == ["a.md", "b/c.md", "b/f/g.md"]
    found = find_files([tmp_path / "b" / "*"])
    assert ([path.name for path, _ in found.files], found.skipped) == (["c.md"], {".png": 1})


@pytest.mark.parametrize(("pattern", "count"), [("*.rst", 0), ("*.png", 1)])
def test_a_pattern_without_files_is_an_error(tmp_path: Path, pattern: str, count: int) -> None:
    make(tmp_path, "a.png")
    (failure,) = find_files([tmp_path / pattern]).failures
    assert "names no file of a supported type (.md, " in failure.error
    assert f"it names {count} of other types: check the pattern" in failure.error


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path: Path) -> None:
    make(tmp_path, "a[1].md", "a1.md")
    assert names(tmp_path, "a[1].md") == ["a[1].md"]


def test_patterns_follow_links_to_folders_as_little_as_folders_do(tmp_path: Path) -> None:
    make(tmp_path, "mixed/a.md", "mixed/deep/b.md", "elsewhere/c.md")
    (tmp_path / "mixed" / "link").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    (tmp_path / "mixed" / "file.md").symlink_to(tmp_path / "elsewhere" / "c.md")
    found = sorted(names(tmp_path, "mixed"))
    assert found == sorted(names(tmp_path, "mixed/**/*.md"))
    assert "mixed/link/c.md" not in found and "mixed/file.md" in found
    assert names(tmp_path, "mixed/link/*.md") == ["mixed/link/c.md"]  # it is named


def test_what_is_excluded_is_left_out_of_folders_and_patterns(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "drafts/b.md", "sub/drafts/c.md", "sub/d.txt")
    for path in (tmp_path, tmp_path / "**" / "*"):
        found = find_files([path], exclude=["drafts/", "*.txt"])
        assert [one.name for one, _ in found.files] == ["a.md"]
    assert len(find_files([tmp_path / "drafts" / "b.md"], exclude=["drafts/"]).files) == 1
