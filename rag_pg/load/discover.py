"""Finds the files to load: in folders, by patterns, by name.
What Git ignores is left out of folders."""

from __future__ import annotations

import contextlib
import glob
import itertools
import os
import stat
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from rag_pg.errors import InvalidInput, UnsupportedFile
from rag_pg.load.formats import (
    _LISTED,
    SUPPORTED,
    describe_error,
    display_path,
    unsupported,
)
from rag_pg.text import clean_text
from rag_pg.types import LoadFailure

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """Files, each with its uri; paths that cannot be loaded, and why; and how many files in
    folders were passed over because of their type, by suffix."""

    files: Sequence[tuple[Path, str]]
    failures: Sequence[LoadFailure]
    skipped: Mapping[str, int]


def find_files(paths: Sequence[Path], *, exclude: Sequence[str] = ()) -> Found:
    """Return the supported files at and below `paths`, each once, folders sorted by name.

    A file's uri is its path from the working folder where the path given lies in that,
    however it is
    spelled: "handbook/install.md". Elsewhere it is the absolute path. In folders and patterns,
    links to other folders are not followed; in folders, names with a leading dot and what a
    .gitignore names are left out. A path that does not exist may be a pattern: docs/**/*.md.

    exclude: patterns as in .gitignore of what else to leave out of folders and patterns.
    """
    without = _ignore_spec(exclude)
    files: dict[str, Path] = {}
    failures: list[LoadFailure] = []
    skipped: Counter[str] = Counter()
    for path in paths:
        candidates, others, root = [path], Counter[str](), path
        try:
            if stat.S_ISDIR(path.stat().st_mode):
                candidates, others = _walk(path, failures, without)
        except FileNotFoundError as exc:
            if not glob.has_magic(str(path)):
                failures.append(_failure(path, describe_error(path, exc)))
                continue
            root = _fixed(path)
            candidates, others = _matches(path, root, failures, without)
        except (OSError, ValueError) as exc:
            failures.append(_failure(path, describe_error(path, exc)))
            continue
        skipped += others
        for file in candidates:
            try:
                files.setdefault(_uri(file, root), file)
            except InvalidInput as exc:
                failures.append(_failure(file, str(exc), root))
    found = [(path, uri) for uri, path in files.items()]
    return Found(files=found, failures=failures, skipped=skipped)


def uri_of(path: Path, root: Path | None = None) -> str:
    """Return a path as a uri, with slashes, the same for each spelling: from the working folder
    where `root`, a folder above it or the path itself, lies in that; else absolute."""
    absolute = Path(os.path.abspath(root or path))  # noqa: PTH100 links keep their names
    uri = PurePosixPath(absolute.as_posix())
    with contextlib.suppress(OSError, ValueError):
        here, real = Path.cwd(), Path(os.path.realpath(absolute))
        for full in (absolute, real):  # the working folder's own path has no links
            if full.is_relative_to(here) and here != Path(here.anchor):
                uri = PurePosixPath(full.relative_to(here).as_posix())
                break
    return str(uri / (path.relative_to(root).as_posix() if root else ""))


def _failure(path: Path, error: str, root: Path | None = None) -> LoadFailure:
    uri = uri_of(path, root).encode("utf-8", "backslashreplace").decode()
    return LoadFailure(uri=uri, error=error, path=path)


def _uri(path: Path, root: Path) -> str:
    if path.suffix.lower() not in SUPPORTED:
        raise UnsupportedFile(unsupported(path))
    uri = uri_of(path, root)
    if clean_text(uri)[1]:
        raise InvalidInput(f"the name of {display_path(path)} is not valid UTF-8; rename the file")
    return uri


def _fixed(pattern: Path) -> Path:
    """Return the folder that a pattern begins with."""
    return Path(*itertools.takewhile(lambda part: not glob.has_magic(part), pattern.parts))


def _matches(
    pattern: Path, base: Path, failures: list[LoadFailure], without: GitIgnoreSpec
) -> tuple[list[Path], Counter[str]]:
    """Return the supported files that a pattern names, and how many others it names, by suffix."""
    names = sorted(glob.glob(str(pattern), recursive=True))  # noqa: PTH207 it leaves out .hidden
    found = []
    for path in map(Path, names):
        below = path.relative_to(base)
        linked = any((base / above).is_symlink() for above in below.parents if above != Path())
        if path.is_file() and not linked and not without.match_file(below.as_posix()):
            found.append(path)
    supported = [path for path in found if path.name.lower().endswith(SUPPORTED)]
    if not supported:
        error = (
            f"{display_path(pattern)} names no file of a supported type ({_LISTED}); it names "
            f"{len(found)} of other types: check the pattern"
        )
        failures.append(_failure(pattern, error))
    return supported, _suffixes(path for path in found if path not in supported)


def _suffixes(paths: Iterable[Path]) -> Counter[str]:
    return Counter(path.suffix.lower() or "no suffix" for path in paths)


def _walk(
    folder: Path, failures: list[LoadFailure], without: GitIgnoreSpec
) -> tuple[list[Path], Counter[str]]:
    """Return the supported files below `folder`, and how many others there are, by suffix."""
    files: list[Path] = []
    others: Counter[str] = Counter()
    before, ignored = len(failures), 0
    ignore = _Ignore(folder)

    def note(exc: OSError) -> None:
        path = Path(exc.filename)
        failures.append(_failure(path, describe_error(path, exc), folder))

    def leaves_out(root: str, name: str, end: str = "") -> bool:
        below = Path(root, name).relative_to(folder).as_posix() + end
        return ignore.matches(Path(root, name), end) or without.match_file(below)

    for root, folders, names in os.walk(folder, onerror=note):
        ignore.read(Path(root))
        seen = [name for name in folders if not name.startswith(".")]
        folders[:] = sorted(name for name in seen if not leaves_out(root, name, "/"))
        visible = sorted(name for name in names if not name.startswith("."))
        kept = [name for name in visible if not leaves_out(root, name)]
        supported = [Path(root, name) for name in kept if name.lower().endswith(SUPPORTED)]
        files += supported
        others += _suffixes(Path(n) for n in kept if not n.lower().endswith(SUPPORTED))
        ignored += len(seen) - len(folders) + len(visible) - len(kept)
    if not files and len(failures) == before:
        also = f", and .gitignore leaves out {ignored}" if ignored else ""
        raise UnsupportedFile(
            f"{display_path(folder)} has no file of a supported type ({_LISTED}); "
            f"it has {others.total()} of other types{also}: convert those, or name another folder"
        )
    return files, others


def _ignore_spec(lines: Iterable[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec  # a search needs none

    return GitIgnoreSpec.from_lines(lines)


class _Ignore:
    """The .gitignore files that hold for a folder: its own, those in it, and those above it up to
    the root of its repository, unless they ignore the folder itself, which was asked for."""

    def __init__(self, folder: Path) -> None:
        self._specs: dict[Path, GitIgnoreSpec] = {}
        absolute = folder.absolute()
        above: list[Path] = []
        for parent in absolute.parents:
            above.append(parent)
            if (parent / ".git").exists():
                break
        else:
            return
        if not (absolute / ".git").exists():
            for parent in reversed(above):
                self.read(parent)
        if self.matches(absolute, "/"):
            self._specs.clear()

    def read(self, folder: Path) -> None:
        """Take the .gitignore of `folder`, if there is one."""
        try:
            lines = (folder / ".gitignore").read_text("utf-8", "replace").splitlines()
        except OSError:
            return
        self._specs[folder.absolute()] = _ignore_spec(lines)

    def matches(self, path: Path, end: str = "") -> bool:
        """Whether the last rule that names `path` ignores it; `end` is "/" for a folder."""
        absolute = path.absolute()
        verdict = False
        for folder, spec in self._specs.items():
            if absolute.is_relative_to(folder):
                found = spec.check_file(absolute.relative_to(folder).as_posix() + end).include
                verdict = verdict if found is None else found
        return verdict


# --- messages ------------------------------------------------------------------------------------
