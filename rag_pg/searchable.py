"""Until documents are searchable: work the queue here, or wait for the workers that do."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING
from uuid import UUID

from rag_pg.db import Database
from rag_pg.errors import NotReady
from rag_pg.models import LoadFailure

if TYPE_CHECKING:
    from rag_pg.rag import Rag

PATIENCE_SECONDS = 120.0  # without progress, while the provider may not be asked

Progress = Callable[[int, int, int], None]


def work_queue(
    rag: Rag, collection: str, todo: set[UUID], progress: Progress | None = None
) -> list[LoadFailure]:
    """Work a collection's queue until none of `todo` is pending; return what failed for good.

    Raises: NotReady (its provider may not be asked for long), ProviderAuth, ModelUnavailable, DatabaseUnavailable.
    """
    report = progress or (lambda done, of, chunks: None)
    done = embedded = 0

    def on_progress(documents: int, chunks: int) -> None:
        nonlocal done, embedded
        done, embedded = done + documents, embedded + chunks
        report(min(done, len(todo)), len(todo), embedded)

    worker = rag.worker([collection], on_progress=on_progress)
    moved, moved_at = (0, 0), time.monotonic()
    while True:
        worker.drain()
        states = rag.database.unfinished(collection, list(todo))
        done = len(todo) - len(states)
        report(done, len(todo), embedded)
        if not any(s.state == "pending" for s in states):
            return [LoadFailure(uri=s.uri, error=s.error or "unknown") for s in states]
        if (done, embedded) != moved:
            moved, moved_at = (done, embedded), time.monotonic()
        elif time.monotonic() - moved_at > PATIENCE_SECONDS:
            (stats,) = rag.database.job_stats(collection)
            if stats.reason:
                raise NotReady(
                    f"{len(states)} documents wait: {stats.reason}; they stay queued for a worker"
                )
        time.sleep(0.2)  # another worker has it, or it waits for its next attempt


def wait_until_searchable(
    database: Database, collection: str, document_ids: Iterable[UUID], timeout: float
) -> None:
    """See Collection.wait_until_searchable."""
    left = {d.document_id: d for d in database.unfinished(collection, list(document_ids))}
    deadline = time.monotonic() + timeout
    pause = 0.005
    while left:
        if failed := [d for d in left.values() if d.state == "failed"]:
            raise NotReady(f"{failed[0].uri} cannot be made searchable: {failed[0].error}")
        if time.monotonic() >= deadline:
            names = ", ".join(sorted(d.uri for d in left.values())[:5])
            raise NotReady(
                f"{len(left)} documents are not searchable after {timeout} s: {names}; "
                'is a worker running ("rag-pg worker")?'
            )
        time.sleep(pause)
        pause = min(0.1, pause * 1.5)
        versions = [d.wanted_version for d in left.values()]
        left = {d.document_id: d for d in database.unfinished(collection, list(left), versions)}
