"""Until documents are searchable: work the queue here, or wait for the workers that do."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

from rag_pg.db import Database
from rag_pg.errors import NotReady, PermissionDenied
from rag_pg.retry import Backoff
from rag_pg.types import LoadFailure, Progress

if TYPE_CHECKING:
    from rag_pg.worker import Worker

POLL_SECONDS = 0.2  # between looks at a queue that others work, too
POLL = Backoff(first=0.005, factor=1.5, longest=0.1)
PATIENCE_SECONDS = 120.0  # without progress, while the provider may not be asked
NO_WORKER = 'this role may not work the queue, and no worker ("rag-pg worker") does'
SILENT_SECONDS = 2.0  # without progress, until it is said what is waited for

log = logging.getLogger(__name__)

CHARACTERS_PER_CHUNK = 800  # until the first documents are cut

Report = Callable[[Progress], None]


class OpenWorker(Protocol):
    """Returns a worker for the queue of these collections, not started."""

    def __call__(
        self, collections: Sequence[str], *, on_progress: Callable[[int, int], None], **options: Any
    ) -> Worker: ...


def work_queue(
    database: Database,
    open_worker: OpenWorker,
    collection: str,
    todo: set[UUID],
    progress: Report | None = None,
    characters: int = 0,
) -> list[LoadFailure]:
    """Work a collection's queue until none of `todo` is pending, or wait for others that do where
    the role may only write; return what failed for good.

    characters: of all of them, by which their chunks are estimated.
    Raises: NotReady (its provider may not be asked for long, nobody works for a role that may not),
        ProviderAuth, ModelUnavailable, DatabaseUnavailable.
    """
    done = embedded = 0
    may_work = True

    def report() -> None:
        if progress:
            texts, claimed = worker.planned
            count = min(done, len(todo))
            estimated = _estimated(texts, claimed, characters) if count < len(todo) else 0
            chunks = max(embedded, estimated)
            progress(
                Progress(documents=count, of_documents=len(todo), chunks=embedded, of_chunks=chunks)
            )

    def on_progress(documents: int, chunks: int) -> None:
        nonlocal done, embedded
        done, embedded = done + documents, embedded + chunks
        report()

    worker = open_worker([collection], on_progress=on_progress, llm_of=None)
    report()
    reported = ""
    moved, moved_at = (0, 0), time.monotonic()
    while True:
        if may_work:
            try:
                worker.drain()
            except PermissionDenied:
                may_work = False
        states = database.unfinished(collection, list(todo))
        done = len(todo) - len(states)
        report()
        if not any(s.state == "pending" for s in states):
            return [
                LoadFailure(
                    uri=s.uri,
                    error=f"{s.error or 'unknown'}; to try again: rag-pg jobs --retry",
                )
                for s in states
            ]
        if (done, embedded) != moved:
            moved, moved_at = (done, embedded), time.monotonic()
        elif time.monotonic() - moved_at > PATIENCE_SECONDS:
            reason = database.job_stats(collection)[0].reason if may_work else NO_WORKER
            if reason:
                raise NotReady(
                    f"{len(states)} documents wait: {reason}; they stay queued for a worker"
                )
        if may_work and time.monotonic() - moved_at > SILENT_SECONDS:
            waits, seconds = _waits_for(database, collection)
            if waits and waits != reported:
                reported = waits
                log.warning("%s in %.0f s", waits, seconds)
        time.sleep(POLL_SECONDS)  # another worker has it, or it waits for its next attempt


def work_backlog(database: Database, worker: Worker, collection: str) -> None:
    """Work a collection's queue until nothing of it waits but for a language model."""
    while True:
        worker.drain()
        if not _jobs_left(database, collection) and not database.queue_backlog([collection]):
            return
        time.sleep(POLL_SECONDS)


def _jobs_left(database: Database, collection: str) -> int:
    """How many jobs of a collection are not done, but for those of a language model."""
    (counts,) = database.job_stats(collection)
    written = (one.waiting for one in database.get_enrichment(collection) if one.kind != "enrich")
    return counts.waiting + counts.running - sum(written)


def work_enrichment(
    database: Database, open_worker: OpenWorker, collection: str, kind: str
) -> None:
    """Work a collection's queue until a language model is done with its documents.

    Raises: NotReady where documents failed for good, and what keeps the worker from going on.
    """
    worker = open_worker([collection], on_progress=lambda documents, chunks: None)
    moved, moved_at = None, time.monotonic()
    while True:
        worker.drain()
        (state,) = (one for one in database.get_enrichment(collection) if one.kind == kind)
        if not state.waiting and not database.queue_backlog([collection]):
            break
        if state != moved:
            moved, moved_at = state, time.monotonic()
        elif time.monotonic() - moved_at > PATIENCE_SECONDS:
            raise NotReady(f"{state.waiting} documents wait; they stay queued for a worker")
        time.sleep(POLL_SECONDS)
    if state.failed:
        dead = database.list_jobs(collection, "dead", 1000)
        error = next((job["last_error"] for job in dead if job["kind"] == kind), "unknown")
        raise NotReady(
            f"{state.failed} documents failed: {error}; to try again: rag-pg jobs -c {collection}"
            " --retry"
        )


def _estimated(texts: int, claimed: int, characters: int) -> int:
    """How many chunks there will be, from those of the jobs claimed and the characters of all."""
    per_chunk = claimed / texts if texts else CHARACTERS_PER_CHUNK
    return texts + round(max(0, characters - claimed) / per_chunk)


def _waits_for(database: Database, collection: str) -> tuple[str, float]:
    """What a collection's queue waits for, a worker's lease or a next attempt,
    and when that ends."""
    now = datetime.now(UTC)
    if leased := database.list_jobs(collection, "running", 1000):
        ends_at = max(job["lease_expires_at"] for job in leased)
        what = (
            f"{len(leased)} jobs are held by worker {leased[0]['worker']}; if it is gone, its lease"
            " ends"
        )
        return what, max(0.0, (ends_at - now).total_seconds())
    if late := [j for j in database.list_jobs(collection, "waiting", 1000) if j["run_at"] > now]:
        due = min(late, key=lambda job: job["run_at"])
        what = f"{len(late)} jobs wait ({due['last_error']}); the next attempt is"
        return what, (due["run_at"] - now).total_seconds()
    return "", 0.0


def wait_until_searchable(
    database: Database, collection: str, document_ids: Iterable[UUID], timeout: float
) -> None:
    """See Collection.wait."""
    left = {d.document_id: d for d in database.unfinished(collection, list(document_ids))}
    deadline = time.monotonic() + timeout
    looked = 0
    while left:
        if failed := [d for d in left.values() if d.state == "failed"]:
            raise NotReady(f"{failed[0].uri} cannot be made searchable: {failed[0].error}")
        if time.monotonic() >= deadline:
            names = ", ".join(sorted(d.uri for d in left.values())[:5])
            raise NotReady(
                f"{len(left)} documents are not searchable after {timeout} s: {names}; "
                'is a worker running ("rag-pg worker")?'
            )
        looked += 1
        time.sleep(POLL.pause(looked))
        versions = [d.wanted_version for d in left.values()]
        left = {d.document_id: d for d in database.unfinished(collection, list(left), versions)}
