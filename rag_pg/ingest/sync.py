"""Keeps a collection in step with a location: what changed goes in, what vanished goes out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from rag_pg.db import Database
from rag_pg.errors import DatabaseUnavailable
from rag_pg.load import find_files
from rag_pg.locations import Item, Location
from rag_pg.types import AddReport, SyncReport, Unchanged

POLL_SECONDS = 2.0
T = TypeVar("T")

State = dict[str, tuple[int, ...]]


def sync_location(
    database: Database,
    collection: str,
    location: Location,
    add: Callable[[Iterator[Item]], AddReport],
    *,
    dry_run: bool,
) -> SyncReport:
    """Add what is at a location, and delete the documents of it that are not there any more.

    A document stays while its object, or a folder above that, cannot be read: so does all when the
    location holds nothing that can be loaded, as when a disk is not mounted. An object that is
    empty has no document.

    Args:
        add: adds what was read to the collection, or only says what it would add.
        dry_run: delete nothing.
    Raises: InvalidInput, LocationUnavailable (it cannot be listed: nothing is deleted).
    """
    stored = {one.uri: one for one in database.synced_documents(collection, location.prefix)}
    states = {uri: one.sync_state for uri, one in stored.items() if one.sync_state}

    def items() -> Iterator[Item]:
        for item in location.read(states):
            if isinstance(item, Unchanged):
                yield replace(item, document_id=stored[item.uri].document_id)
            else:
                yield item

    report = add(items())
    present = set(report.uris)
    unread = [failure.uri.rstrip("/") for failure in report.failures]
    gone = [
        uri
        for uri in stored
        if present  # else all are empty, as after a disk was full
        and uri not in present
        and location.owns(states.get(uri, {}))
        and not any(uri == one or uri.startswith(f"{one}/") for one in unread)
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
    looked at every few seconds. While the folder itself is away nothing has changed."""
    before: State | None = None
    while True:
        if (now := _state(folder)) != before and folder.is_dir():
            yield
            before = now
        sleep(seconds)


def until_back(
    look: Callable[[], T],
    away: Callable[[DatabaseUnavailable], object],
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> T:
    """Return what `look` does, as soon as the database answers; `away` is told once that it does
    not."""
    is_told = False
    while True:
        try:
            return look()
        except DatabaseUnavailable as exc:
            if not is_told:
                away(exc)
            is_told = True
        sleep(POLL_SECONDS)


def _state(folder: Path) -> State:
    """Return what changes with each file, also where another takes its place."""
    state: State = {}
    for path, uri in find_files([folder]).files:
        try:
            status = path.stat()
        except OSError:  # it vanished just now
            continue
        state[uri] = status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_size
    return state
