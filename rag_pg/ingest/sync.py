"""Keeps a collection in step with a folder: what changed goes in, what vanished goes out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from rag_pg.db import Database
from rag_pg.errors import InvalidInput
from rag_pg.load import display_path, find_files, uri_of
from rag_pg.types import AddReport, SyncReport

POLL_SECONDS = 2.0

State = dict[str, tuple[int, int]]


def sync_folder(
    database: Database,
    collection: str,
    folder: Path,
    add: Callable[[Path], AddReport],
    *,
    dry_run: bool,
) -> SyncReport:
    """Add what is in `folder`, and delete the documents below its uri that are not there any more.

    A document stays while its file, or a folder above that, cannot be read: so does all when the
    folder holds nothing that can be loaded, as when a disk is not mounted. A file that is empty has
    no document.

    Args:
        add: adds what is in a folder to the collection, or only says what it would add.
        dry_run: delete nothing.
    Raises: InvalidInput (not a folder, or one whose documents cannot be told by their uris).
    """
    prefix = uri_prefix(folder)
    stored = [one.uri for one in database.each_document(collection, uri_prefix=prefix)]
    report = add(folder)
    present = set(report.uris)
    if not present:  # all are empty, as after a disk was full
        stored = []
    unread = [failure.uri for failure in report.failures]
    gone = [
        uri
        for uri in stored
        if uri not in present and not any(uri == one or uri.startswith(f"{one}/") for one in unread)
    ]
    return SyncReport(
        changed=report.added,
        unchanged=report.unchanged,
        deleted=len(gone) if dry_run else database.delete_documents(collection, gone),
        failures=report.failures,
        skipped=report.skipped,
        notes=report.notes,
        gone=gone,
    )


def changes(
    folder: Path, *, seconds: float = POLL_SECONDS, sleep: Callable[[float], None] = time.sleep
) -> Iterator[None]:
    """Yield at once, and then whenever a file below `folder` was changed, added or removed; it is
    looked at every few seconds."""
    before: State | None = None
    while True:
        now = _state(folder)
        if now != before:
            yield
            before = now
        sleep(seconds)


def uri_prefix(folder: Path) -> str:
    """Return what the uris of a folder's documents begin with. Raises: as `sync_folder`."""
    if not folder.is_dir():
        raise InvalidInput(
            f"{display_path(folder)} is not a folder; name the folder to keep in step with"
        )
    uri = uri_of(folder)
    if uri == ".":
        raise InvalidInput(
            "the documents of the working folder cannot be told from others by their uris; "
            f"go to the folder above it and name it: cd .. and then {folder.resolve().name}"
        )
    return uri.rstrip("/") + "/"


def _state(folder: Path) -> State:
    """Return when each file was written last, and its size."""
    state: State = {}
    for path, uri in find_files([folder]).files:
        try:
            status = path.stat()
        except OSError:  # it vanished just now
            continue
        state[uri] = (status.st_mtime_ns, status.st_size)
    return state
