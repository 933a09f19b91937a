"""The worker: claims jobs, chunks and embeds with no transaction open, stores with its lease."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from rag_pg.db import Database
from rag_pg.errors import (
    DatabaseUnavailable,
    InvalidInput,
    RagError,
    StatementCanceled,
)
from rag_pg.metrics import Figures
from rag_pg.protocols import LLM, Embedder
from rag_pg.retry import Backoff
from rag_pg.threads import Threads
from rag_pg.version import __version__
from rag_pg.worker.handlers import EMBEDDING, ENRICHING, WRITING, WorkerContext
from rag_pg.worker.leases import Heartbeat
from rag_pg.worker.locations import LocationSyncer, Sync
from rag_pg.worker.pipeline import JOBS_PER_BATCH, Pipeline
from rag_pg.worker.requests import Answerer, RequestAnswerer
from rag_pg.worker.sources import SourceFollower
from rag_pg.worker.throttle import Throttle

log = logging.getLogger(__name__)

POLL_SECONDS = 5.0
LISTEN_SECONDS = 60.0  # on one connection: Citus may have moved the schema to another node
MAINTAIN_SECONDS = 60.0
AWAY = Backoff(first=1.0, longest=10.0)  # between attempts to reach a database that is gone


class Worker:
    """Works the queue of some or all collections with the embedders it is handed.

    Args:
        embedder_of: returns the embedder of a collection's space (by name and space id; None: the
            active one), checked against what it stores.
        concurrency: how many pipelines embed side by side;
            more than one helps where a provider is waited for.
        lease_seconds: how long a job is leased without a heartbeat.
        on_progress: called with (documents stored, chunks embedded) since the last call.
        llm_of: returns the language model of a name, of None the one that the settings name for
            such work; without it, jobs that need one are left to others.
        answerers: what answers requests, by their kind; `run` attends to them beside the queue.
        sync: brings a collection in step with a location; `run` does so when one is due that begins
            with one of `locations`.
    """

    def __init__(
        self,
        database: Database,
        embedder_of: Callable[[str, int | None], Embedder],
        *,
        collections: Sequence[str] | None = None,
        concurrency: int = 1,
        lease_seconds: float = 60.0,
        on_progress: Callable[[int, int], None] | None = None,
        answerers: Mapping[str, Answerer] | None = None,
        llm_of: Callable[[str | None], LLM] | None = None,
        sync: Sync | None = None,
        locations: Sequence[str] = (),
    ) -> None:
        if not 1 <= concurrency <= 64:
            raise InvalidInput(f"concurrency {concurrency} is out of range; use 1 to 64")
        if lease_seconds <= 0:
            raise InvalidInput(f"lease_seconds {lease_seconds:g} is out of range; use more than 0")
        self.database = database
        self.concurrency = concurrency
        self.lease_seconds = lease_seconds
        self.name = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:6]}"
        self.stop = threading.Event()
        self.figures = Figures()
        self.sources = SourceFollower(database, collections=collections)
        self.locations = sync and LocationSyncer(
            database,
            sync,
            name=self.name,
            prefixes=locations,
            collections=collections,
            lease_seconds=lease_seconds,
        )
        self.requests = RequestAnswerer(
            database,
            answerers or {},
            name=self.name,
            collections=collections,
        )
        self._report = on_progress or (lambda documents, chunks: None)
        self._reporting = threading.Lock()
        self._heartbeat = Heartbeat(
            database,
            self.name,
            version=__version__,
            collections=collections,
            concurrency=concurrency,
            lease_seconds=lease_seconds,
            stop=self.stop,
        )
        context = WorkerContext(
            database,
            embedder_of,
            throttle=Throttle(database, self.stop),
            llm_of=llm_of,
            figures=self.figures,
        )

        def pipeline(kinds: Sequence[str], jobs: int = JOBS_PER_BATCH) -> Pipeline:
            return Pipeline(context, self._heartbeat, self.stop, self._on_progress, kinds, jobs)

        self._embedding = [pipeline(EMBEDDING) for _ in range(concurrency)]
        self._enriching = pipeline(ENRICHING)
        self._writing = [pipeline(WRITING, 1) for _ in range(concurrency if llm_of else 0)]
        self._pipelines = [*self._embedding, self._enriching, *self._writing]
        self._wakes = [threading.Event() for _ in self._pipelines]

    def run(self) -> None:
        """Work until `stop` is set: woken by NOTIFY, polling every few seconds beside it.

        A database that goes away is waited for; everything else that fails is recorded with its
        job. Raises SchemaMismatch when the schema is upgraded beyond this program meanwhile.
        """
        self._grow_pool()
        with (
            self._heartbeat.beating(at_once=True),
            Threads(len(self._pipelines) + 1, "rag-pg-pipeline") as threads,
        ):
            running = [
                threads.submit(self._work, pipeline, wake)
                for pipeline, wake in zip(self._pipelines, self._wakes, strict=True)
            ]
            running.append(threads.submit(self._maintain))
            self.database.grow_pool(2 * len(self._pipelines) + 9)  # requests, sources, locations
            self.requests.start()
            self.sources.start()
            if self.locations:
                self.locations.start()
            try:
                self._listen(running)
            finally:
                self.stop.set()
                self.sources.close()
                if self.locations:
                    self.locations.close()
                self.requests.close()
                self._wake()
            for thread in running:
                thread.result()
        self._raise_mismatch()

    def drain(self) -> int:
        """Work until no job is due, or `stop` is set. Returns how many jobs were claimed.

        Raises DatabaseUnavailable or StatementCanceled; the leases of what was in hand then expire,
        and the jobs are taken again. Interrupted (by Ctrl-C), it hands them back first.
        Raises at its end what kept it from storing some, which stay queued: ProviderAuth,
        ModelUnavailable, a right that it lacks, a database that is full.
        """
        self._grow_pool()
        self.sources.act()
        with self._heartbeat.beating(at_once=False):
            claimed = self._drain(self._embedding)
            claimed += self._drain([self._enriching])  # of what was just stored
            claimed += self._drain(self._writing)
        if claimed:
            self.database.value(int, "measure_spaces", collections=self._heartbeat.collections)
        self._raise_mismatch()
        return claimed

    @property
    def planned(self) -> tuple[int, int]:
        """How many texts the jobs claimed so far had embedded or will have,
        and their characters."""
        texts = sum(one.planned for one in self._pipelines)
        return texts, sum(one.planned_characters for one in self._pipelines)

    def health(self) -> dict[str, Any]:
        """Whether it lives, in its own words: ok, when the database answers and the heart beats."""
        beat = self._heartbeat.age
        database = self.database.is_reachable()
        return {
            "ok": database and beat < max(self.lease_seconds, 2 * POLL_SECONDS),
            "worker": self.name,
            "database": database,
            "leased_jobs": self._heartbeat.leased,
            "heartbeat_age": round(beat, 1),
            "progress_age": round(self._heartbeat.progress_age, 1),
        }

    def metrics(self) -> str:
        """Return its figures and those of the database, as Prometheus reads them.
        Raises: RagError (the database cannot be asked)."""
        return self.figures.render(self.database.metrics())

    def _work(self, pipeline: Pipeline, wake: threading.Event) -> None:
        failures = 0
        while not self.stop.is_set():
            wake.clear()
            try:
                pipeline.drain()
                failures = 0
            except (DatabaseUnavailable, StatementCanceled) as exc:
                failures += 1
                delay = AWAY.pause(failures)
                log.warning("%s; trying again in %.0f s at most", exc, delay)
                wake.wait(delay)  # it is woken when the database can be listened to again
                continue
            except RagError as exc:  # a model, a key or a right that this worker lacks
                log.warning("%s; other workers may be able to", exc)
            if not self.stop.is_set():
                wake.wait(POLL_SECONDS)

    def _listen(self, running: Sequence[Future[None]]) -> None:
        """Wake who waits at each NOTIFY, until `stop` is set or a pipeline broke.

        One connection hears of jobs, requests and sources.
        """
        wake = {
            "jobs": self._wake,
            "requests": self.requests.wake,
            "sources": self.sources.wake,
        }
        failures = 0
        while not self.stop.is_set():
            try:
                with self.database.listen(*wake) as connection:
                    failures = 0
                    for act in wake.values():  # for what came while nobody listened
                        act()
                    renewed = time.monotonic() + LISTEN_SECONDS
                    while not self.stop.is_set() and time.monotonic() < renewed:
                        if any(thread.done() for thread in running):
                            return
                        for notify in connection.notifies(timeout=0.5, stop_after=1):
                            wake[notify.channel.rpartition("_")[2]]()
            except DatabaseUnavailable as exc:
                log.warning("cannot listen for new jobs and requests: %s", exc)
                failures += 1
                self.stop.wait(AWAY.pause(failures))

    def _wake(self) -> None:
        for wake in self._wakes:
            wake.set()

    def _maintain(self) -> None:
        while not self.stop.is_set():
            for act in (
                lambda: self.database.maintain(lambda: not self.stop.is_set()),
                lambda: self.database.build_indexes(self._heartbeat.collections),
                self.sources.tell_broken,
            ):
                try:
                    act()
                except RagError as exc:
                    log.warning("maintenance was put off: %s", exc)
            self.stop.wait(MAINTAIN_SECONDS)

    def _drain(self, pipelines: Sequence[Pipeline]) -> int:
        """Work with all of these side by side until nothing is due. Returns how many jobs."""
        if len(pipelines) == 1:
            return pipelines[0].drain()
        was_stopped = self.stop.is_set()
        with Threads(len(pipelines) or 1, "rag-pg-pipeline") as threads:
            try:
                return sum(threads.map(lambda pipeline: pipeline.drain(), pipelines))
            except (KeyboardInterrupt, SystemExit):
                self.stop.set()  # so that the others hand back what they hold
                threads.shutdown()
                if not was_stopped:
                    self.stop.clear()
                raise

    def _on_progress(self, documents: int, chunks: int) -> None:
        with self._reporting:
            self._report(documents, chunks)

    def _grow_pool(self) -> None:
        self.database.grow_pool(
            2 * len(self._pipelines) + 2
        )  # feeders and storers, heart, maintenance

    def _raise_mismatch(self) -> None:
        if self._heartbeat.error is not None:
            raise self._heartbeat.error
