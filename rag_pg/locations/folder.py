"""A folder of this machine as a location."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from rag_pg.errors import InvalidInput
from rag_pg.load import display_path, find_files, load_documents, uri_of
from rag_pg.locations.location import Item, Known, Limits, Location, is_same, noted, state_of
from rag_pg.locations.secrets import without_secrets
from rag_pg.types import Skipped, Unchanged

_SETTLED_SECONDS = 2.0  # a file written twice within a tick of its clock looks unchanged


class Folder(Location):
    """The supported files below a folder, as `find_files` finds them.

    Raises: InvalidInput (not a folder, or one whose documents cannot be told by their uris).
    """

    def __init__(self, path: Path, limits: Limits) -> None:
        if not path.is_dir():
            raise InvalidInput(
                f"{without_secrets(display_path(path))} is not a folder; name the folder to keep in"
                " step with"
            )
        uri = uri_of(path)
        if uri == ".":
            raise InvalidInput(
                "the documents of the working folder cannot be told from others by their uris; "
                f"go to the folder above it and name it: cd .. and then {path.resolve().name}"
            )
        self.prefix = uri.rstrip("/") + "/"
        self.path = path
        self._limits = limits

    def read(self, known: Known) -> Iterator[Item]:
        found = find_files([self.path], exclude=self._limits.exclude)
        yield from found.failures
        for reason, count in found.skipped.items():
            yield from [Skipped(uri=self.prefix, reason=reason)] * count
        for path, uri in found.files:
            tag = _tag(path)
            if is_same(known.get(uri), tag, self._limits):
                yield Unchanged(uri=uri)
                continue
            state = state_of(tag, self._limits) if tag else None
            limits = self._limits
            for item in load_documents(path, uri, max_bytes=limits.max_bytes, ocr=limits.ocr):
                yield noted(item, uri, state)


def _tag(path: Path) -> str:
    """Return what changes with a file, "" where that cannot be told."""
    try:
        status = path.stat()
    except OSError:
        return ""
    if time.time() - status.st_mtime < _SETTLED_SECONDS:
        return ""
    return f"{status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino} {status.st_size}"
