"""The heartbeat: keeps the leases of a worker's jobs, and tells the database that it lives."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from rag_pg.db import Database
from rag_pg.errors import RagError, SchemaMismatch
from rag_pg.threads import start_thread
from rag_pg.types import Job

log = logging.getLogger(__name__)

LONGEST_BEAT = 10.0  # seconds between two beats, at most
RATE_SECONDS = 60.0  # rates are those of the last minute


class Heartbeat:
    """One thread per worker, which beats three times within the life of a lease.

    Args:
        version: of the program, shown with the worker.
        stop: set when the schema is no longer this program's; `error` then says so.
    """

    def __init__(
        self,
        database: Database,
        name: str,
        *,
        version: str,
        collections: Sequence[str] | None,
        concurrency: int,
        lease_seconds: float,
        stop: threading.Event,
    ) -> None:
        self.database = database
        self.name = name
        self.version = version
        self.collections = collections
        self.concurrency = concurrency
        self.lease_seconds = lease_seconds
        self.stop = stop
        self.error: SchemaMismatch | None = None
        self._lock = threading.Lock()
        self._leased: dict[int, Job] = {}
        self._leased_at: dict[int, float] = {}  # when the database last granted it
        self._done: deque[tuple[float, str]] = deque()
        self._began = self._beat_at = self._progress_at = time.monotonic()

    # --- what is leased and done

    def add(self, jobs: Sequence[Job], since: float) -> None:
        """These are leased since that time of time.monotonic, at least."""
        with self._lock:
            self._leased |= {job.job_id: job for job in jobs}
            self._leased_at |= {job.job_id: since for job in jobs}

    def release(self, job: Job) -> None:
        """No longer extend its lease. Another lease of the same job, taken since, stays."""
        with self._lock:
            if self._has_lease(job):
                del self._leased[job.job_id]
                del self._leased_at[job.job_id]

    def is_leased(self, job: Job) -> bool:
        """False as well when the lease may have run out unnoticed,
        after a sleep of the machine for example.

        Who then drops the job must release it: a lease that is extended and not worked is stuck.
        """
        with self._lock:
            return (
                self._has_lease(job)
                and time.monotonic() < self._leased_at[job.job_id] + self.lease_seconds
            )

    def _extended(self, job: Job, since: float) -> None:
        with self._lock:
            if self._has_lease(job):
                self._leased_at[job.job_id] = since

    def _has_lease(self, job: Job) -> bool:
        leased = self._leased.get(job.job_id)
        return leased is not None and leased.lease == job.lease

    @property
    def leased(self) -> int:
        return len(self._leased)

    def count(self, job: Job) -> None:
        """A job was brought to its end: it makes up the rates."""
        with self._lock:
            self._done.append((time.monotonic(), job.collection_name))
        self.progress()

    def progress(self) -> None:
        self._progress_at = time.monotonic()

    @property
    def progress_age(self) -> float:
        return time.monotonic() - self._progress_at

    @property
    def age(self) -> float:
        """Seconds since the last beat that reached the database."""
        return time.monotonic() - self._beat_at

    def rates(self) -> dict[str, float]:
        """Jobs a second of each collection, within the last minute."""
        now = time.monotonic()
        with self._lock:
            while self._done and self._done[0][0] < now - RATE_SECONDS:
                self._done.popleft()
            counts = Counter(collection for _, collection in self._done)
        seconds = max(1.0, min(RATE_SECONDS, now - self._began))
        return {collection: round(count / seconds, 3) for collection, count in counts.items()}

    # --- beating

    @contextmanager
    def beating(self, *, at_once: bool) -> Iterator[None]:
        """Beat while the block runs. at_once: also at its beginning, which announces the worker."""
        ended = threading.Event()
        interval = min(self.lease_seconds / 3, LONGEST_BEAT)
        self._began = self._beat_at = self._progress_at = time.monotonic()
        announced = at_once

        def beat_on() -> None:
            nonlocal announced
            if at_once:
                self._beat()
            while not ended.wait(interval):
                announced = True
                self._beat()

        thread = start_thread(beat_on, "rag-pg-heartbeat")
        try:
            yield
        finally:
            ended.set()
            thread.join()
            if announced:
                with suppress(RagError):  # it is seen no more, and forgotten in an hour
                    self.database.forget_worker(self.name)

    def _beat(self) -> None:
        with self._lock:
            leased = list(self._leased.values())
        began = time.monotonic()
        try:
            if leased:
                lost = set(self.database.extend_jobs(leased, self.lease_seconds))
                for job in leased:
                    if job.job_id in lost:
                        self.release(job)
                    else:
                        self._extended(job, began)
            self.database.beat_worker(
                self.name,
                version=self.version,
                collections=self.collections,
                concurrency=self.concurrency,
                leased_jobs=len(leased),
                rates=self.rates(),
            )
            self._beat_at = time.monotonic()
        except SchemaMismatch as exc:
            self.error = exc
            self.stop.set()
        except RagError as exc:
            log.warning("no heartbeat: %s", exc)
