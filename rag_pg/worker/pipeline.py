"""The pipeline: three stages side by side, so that the model stays busy while the database is read
and written.

A feeder thread claims jobs and prepares their tasks, the calling thread embeds,
a storer thread writes what is embedded.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from rag_pg.errors import (
    DatabaseUnavailable,
    ModelUnavailable,
    ProviderAuth,
    RagError,
    RateLimited,
    StatementCanceled,
    UnknownModel,
)
from rag_pg.fault import Fault, fault_of
from rag_pg.protocols import Embedder
from rag_pg.retry import retry
from rag_pg.threads import Threads
from rag_pg.tracing import QUEUE, current_traceparent, span
from rag_pg.types import Job, Vectors
from rag_pg.worker.handlers import EMBEDDING, KINDS, EmbedTask, WorkerContext
from rag_pg.worker.leases import Heartbeat
from rag_pg.worker.throttle import LONGEST_WAIT, PATIENCE, Stopping, may_be_an_outage

log = logging.getLogger(__name__)

JOBS_PER_BATCH = 32
PROCESS = {
    **QUEUE,
    "messaging.operation.name": "process",
    "messaging.operation.type": "process",
}
TEXTS_PER_PART = (
    128  # embedded together and stored at once: what a worker that dies has done in vain
)
STORES_IN_FLIGHT = 64
RESTART_SECONDS = 10.0  # a database that is back by then was only restarted: nothing is given up
UNABLE_SECONDS = 30.0  # until jobs are due again that this worker has no model, key or right for
BUSY_SECONDS = 30.0  # until one is due again that the database could not store

T = TypeVar("T")


class Pipeline:
    """One batch after the other: claimed, embedded, stored.
    A worker has as many as its concurrency."""

    def __init__(
        self,
        context: WorkerContext,
        heartbeat: Heartbeat,
        stop: threading.Event,
        on_progress: Callable[[int, int], None],
        kinds: Sequence[str] = EMBEDDING,
        jobs_per_batch: int = JOBS_PER_BATCH,
    ) -> None:
        self.context = context
        self.kinds = kinds
        self.jobs_per_batch = jobs_per_batch
        self.database = context.database
        self.heartbeat = heartbeat
        self.stop = stop
        self.on_progress = on_progress
        self._throttle = context.throttle
        self._storing: deque[tuple[EmbedTask, Future[None]]] = deque()
        self._batch: list[EmbedTask] = []
        self._claimed: list[EmbedTask] = []  # by the last claim, which may be the batch by now
        self.planned = self.planned_characters = 0  # of the texts of all jobs claimed
        self._given_up: list[Job] = []
        self._unable: RagError | None = None

    def drain(self) -> int:
        """Work until no job is due, or `stop` is set. Returns how many jobs were claimed.

        Raises DatabaseUnavailable or StatementCanceled; what was in hand is handed back when it can
        be, by the next call at the latest. Interrupted (by Ctrl-C), it hands everything back first.
        Raises at its end what kept this worker from storing some: a model, a key or a right that it
        lacks, a database that is full.
        """
        self._unable = None
        self._release_given_up()
        try:
            claimed = self._drain()
        except (DatabaseUnavailable, StatementCanceled):
            raise
        except BaseException:
            with suppress(RagError):
                self._release_given_up()
            raise
        if self._unable is not None:
            raise self._unable
        return claimed

    def _release_given_up(self) -> None:
        """Hand back what was in hand when a round broke off, where nobody took it since."""
        while self._given_up:
            self.database.release_job(self._given_up[-1])
            self._given_up.pop()

    def _drain(self) -> int:
        claimed = 0
        with (
            Threads(1, "rag-pg-feed") as feeder,
            Threads(1, "rag-pg-store", outlive=True) as storer,
        ):
            feeder.submit(int).result()  # a thread whose start is interrupted is not waited for
            try:
                feeding = feeder.submit(self._claim)
                while True:
                    self._batch = feeding.result()
                    if self.stop.is_set():
                        self._hand_back(self._batch)
                        break
                    if not self._batch and not self._storing:
                        break
                    alone = any(task.job.attempts > 2 for task in self._batch)
                    if not self._batch or alone:  # what is being stored may queue more
                        self._wait_for_stores(0)
                    if not alone:
                        feeding = feeder.submit(self._claim)
                    claimed += len(self._batch)
                    self._embed_batch(self._batch, storer)
                    if alone:  # it may be what kills workers: nothing else is in hand
                        self._wait_for_stores(0)
                        feeding = feeder.submit(self._claim)
                self._wait_for_stores(0)
            except BaseException:  # what is leased is not worked
                storer.shutdown(wait=False, cancel_futures=True)
                feeder.shutdown()  # it has claimed, also where its future did not come back
                self._forget()
                raise
        return claimed

    def _retry_while_restarting(self, action: Callable[[], T]) -> T:
        """Do it again while the database is away or cancels it,
        for as long as it takes to restart one.

        Raises: DatabaseUnavailable, StatementCanceled, and what the action raises.
        """
        ends_at = time.monotonic() + RESTART_SECONDS

        def pause_after(exc: Exception, failures: int) -> float | None:
            away = fault_of(exc) in (Fault.AWAY, Fault.BUSY, Fault.CANCELED)
            over = self.stop.is_set() or time.monotonic() > ends_at
            return 0.25 if away and not over else None

        return retry(action, pause_after=pause_after, sleep=lambda s: self.stop.wait(s) and None)

    def _forget(self) -> None:
        tasks = [*self._batch, *(task for task, _ in self._storing), *self._claimed]
        jobs = {id(task.job): task.job for task in tasks}
        for job in jobs.values():
            self.heartbeat.release(job)
        self._given_up += jobs.values()
        self._storing.clear()

    def _hand_back(
        self, tasks: Sequence[EmbedTask], reason: str | None = None, delay: float = 0
    ) -> None:
        """Return to the queue what was claimed and is not at fault: it costs no attempt."""
        for task in self._still_leased(tasks):
            self._release(task.job, delay, reason)

    def _release(self, job: Job, delay: float, reason: str | None) -> None:
        self.heartbeat.release(job)
        self._retry_while_restarting(partial(self.database.release_job, job, delay, reason))

    def _still_leased(self, tasks: Sequence[EmbedTask]) -> list[EmbedTask]:
        """Leave out what may be another's by now, or whose document was deleted."""
        leased = []
        for task in tasks:
            if self.heartbeat.is_leased(task.job):
                leased.append(task)
            else:
                self.heartbeat.release(task.job)
        return leased

    def _hand_back_unable(self, tasks: Sequence[EmbedTask], exc: RagError) -> None:
        """This worker has no model or key for these; another may have."""
        log.warning("%s", exc)
        self._unable = exc
        self._hand_back(tasks, str(exc), UNABLE_SECONDS)

    # --- feeding

    def _claim(self) -> list[EmbedTask]:
        while not self.stop.is_set():
            began = time.monotonic()
            jobs = self._retry_while_restarting(self._take)
            self.heartbeat.add(jobs, began)
            try:
                tasks = [task for job in jobs if (task := self._prepare(job))]
            except BaseException:
                for job in jobs:
                    self.heartbeat.release(job)
                self._given_up += jobs
                raise
            for task in tasks:
                self.planned += len(task.texts)
                self.planned_characters += sum(map(len, task.texts))
            if tasks:
                self._claimed = tasks
                return tasks
            if not jobs and not self._retry_while_restarting(self._queue_backlog):
                return []
        return []

    def _take(self) -> list[Job]:
        return self.database.take_jobs(
            limit=self.jobs_per_batch,
            lease_seconds=self.heartbeat.lease_seconds,
            collections=self.heartbeat.collections,
            worker=self.heartbeat.name,
            kinds=self.kinds,
        )

    def _queue_backlog(self) -> int:
        return self.database.queue_backlog(self.heartbeat.collections)

    def _prepare(self, job: Job) -> EmbedTask | None:
        """None when there is nothing to do, or it failed and that is recorded."""
        try:
            task = self._retry_while_restarting(lambda: KINDS[job.kind](self.context, job))
            if task is None:
                self._retry_while_restarting(lambda: self.database.finish_job(job))
                self.heartbeat.release(job)
                self.context.count(job, "done")
            return task
        except Stopping:
            self._release(job, 0, None)
        except Exception as exc:
            self._record_failure(job, exc)
        return None

    # --- embedding

    def _embed_batch(self, batch: Sequence[EmbedTask], storer: Threads) -> None:
        """Embed a batch's texts, those of collections with the same model together."""
        attributes: dict[str, str | int] = {
            **PROCESS,
            "messaging.batch.message_count": len(batch),
        }
        put_in = {task.job.traceparent for task in batch if task.job.traceparent is not None}
        with span("process rag.jobs", attributes, kind="consumer", links=sorted(put_in)):
            self._embed_spaces(batch, storer)

    def _embed_spaces(self, batch: Sequence[EmbedTask], storer: Threads) -> None:
        spaces: dict[tuple[str, int | None], list[EmbedTask]] = {}
        for task in batch:
            if not task.texts:
                self._store_soon(task, None, (), storer)
                continue
            spaces.setdefault((task.job.collection_name, task.space_id), []).append(task)
        groups: dict[int, tuple[Embedder, list[EmbedTask]]] = {}
        for (name, space_id), tasks in spaces.items():
            try:
                embedder = self.context.embedder(name, space_id)
            except (DatabaseUnavailable, StatementCanceled):
                raise
            except Exception as exc:
                if isinstance(exc, ModelUnavailable) and not isinstance(exc, UnknownModel):
                    self._hand_back_unable(tasks, exc)
                else:
                    for task in tasks:
                        self._record_failure(task.job, exc)
                continue
            groups.setdefault(id(embedder), (embedder, []))[1].extend(tasks)
        for embedder, tasks in groups.values():
            for part in _parts(tasks):
                texts = (text for task in part for text in task.texts)
                self._embed(embedder, part, self.context.vectors.of(embedder, texts), storer)

    def _embed(
        self,
        embedder: Embedder,
        tasks: Sequence[EmbedTask],
        known: dict[str, Vectors],
        storer: Threads,
    ) -> None:
        """Embed the texts of several documents together; a failing batch is halved to the culprit.

        known: vectors by text, kept from half to half so that nothing is embedded twice.
        """
        tasks = self._still_leased(tasks)
        if not tasks:
            return
        texts = [text for task in tasks for text in task.texts]
        error: Exception | None = None
        try:
            self._retry_while_restarting(
                lambda: self._throttle.embed(embedder, texts, known, self._embedded)
            )
        except DatabaseUnavailable:  # not the batch's fault
            raise
        except Exception as exc:
            error = exc
        finally:
            self.context.vectors.keep(
                embedder, {text: known[text] for text in texts if text in known}
            )
        done = [task for task in tasks if all(text in known for text in task.texts)]
        for task in done:
            self._store_soon(task, embedder, [known[text] for text in task.texts], storer)
        if error is not None:
            self._handle_failure(
                embedder, [t for t in tasks if t not in done], error, known, storer
            )

    def _handle_failure(
        self,
        embedder: Embedder,
        tasks: Sequence[EmbedTask],
        exc: Exception,
        known: dict[str, Vectors],
        storer: Threads,
    ) -> None:
        """What becomes of tasks that could not be embedded: whose fault is it?"""
        match exc:
            case Stopping():
                self._hand_back(tasks)
            case ProviderAuth() | ModelUnavailable():
                self._hand_back_unable(tasks, exc)
            case RateLimited():
                for task in tasks:
                    self._record_failure(task.job, exc)
            case _ if may_be_an_outage(exc) and self._is_down(embedder):
                log.warning("%s; its jobs wait", exc)
                self._hand_back(tasks, str(exc))
            case _ if len(tasks) > 1:
                middle = len(tasks) // 2
                self._embed(embedder, tasks[:middle], known, storer)
                self._embed(embedder, tasks[middle:], known, storer)
            case _:
                for task in tasks:
                    self._record_failure(task.job, exc)

    def _is_down(self, embedder: Embedder) -> bool:
        try:
            return self._retry_while_restarting(lambda: self._throttle.is_down(embedder))
        except DatabaseUnavailable:
            raise
        except Exception:  # it answers, if only with an error
            return False

    def _embedded(self, chunks: int) -> None:
        self.heartbeat.progress()
        self.on_progress(0, chunks)

    # --- storing

    def _wait_for_stores(self, left: int) -> None:
        while len(self._storing) > left:
            self._storing[0][1].result()
            self._storing.popleft()

    def _store_soon(
        self,
        task: EmbedTask,
        embedder: Embedder | None,
        vectors: Sequence[Vectors],
        storer: Threads,
    ) -> None:
        stored = storer.submit(self._store, task, embedder, vectors, current_traceparent())
        self._storing.append((task, stored))
        self._wait_for_stores(STORES_IN_FLIGHT)

    def _store(
        self,
        task: EmbedTask,
        embedder: Embedder | None,
        vectors: Sequence[Vectors],
        batch: str | None,
    ) -> None:
        """Store a task, in the trace of the put. batch: the span that it was worked in."""
        try:
            with span(
                f"store {task.job.collection_name}",
                _store_attributes(task),
                kind="consumer",
                parent=task.job.traceparent,
                links=[] if batch is None else [batch],
            ):
                stored = self._retry_while_restarting(lambda: task.store(vectors))
            if embedder is not None:
                self.context.vectors.drop(embedder, task.texts)
            self.heartbeat.count(task.job)
            self.context.count(task.job, "done")
            if stored:
                self.on_progress(stored, 0)
        except Exception as exc:
            self._record_failure(task.job, exc)
        finally:
            self.heartbeat.release(task.job)

    # --- failures

    def _record_failure(self, job: Job, exc: Exception) -> None:
        """Let an error cost a job what it costs by the table in rag_pg.fault.
        Raises: it, when the database is away."""
        fault = fault_of(exc)
        if fault is Fault.AWAY:
            raise exc
        self.heartbeat.release(job)
        error = str(exc) if isinstance(exc, RagError) else f"{type(exc).__name__}: {exc}"
        match fault:
            case Fault.LEASE:
                self.context.count(job, "lost")
                log.info("job %s: %s", job.job_id, exc, extra=_subjects(job))
                return
            case Fault.BUSY | Fault.WORKER:
                assert isinstance(exc, RagError)
                self._unable = exc
                delay = BUSY_SECONDS if fault is Fault.BUSY else UNABLE_SECONDS
                self._release(job, delay, error)
                state = f"handed back for {delay:.0f} s"
            case Fault.PROVIDER:
                delay = min(getattr(exc, "retry_after", None) or PATIENCE, LONGEST_WAIT)
                self._release(job, delay, error)
                state = f"handed back for {delay:.0f} s"
            case _:
                if not isinstance(exc, RagError):
                    log.exception("job %s failed", job.job_id, extra=_subjects(job))
                state = self._retry_while_restarting(
                    lambda: self.database.fail_job(job, error, permanent=fault is Fault.REFUSED)
                )
        is_failed = fault not in (Fault.BUSY, Fault.WORKER, Fault.PROVIDER)
        self.context.count(job, "failed" if is_failed else "returned")
        level = logging.ERROR if state == "dead" else logging.WARNING
        log.log(level, "job %s: %s (%s)", job.job_id, error, state, extra=_subjects(job))


def _subjects(job: Job) -> Mapping[str, Any]:
    """What a line of the log is about."""
    return {
        "job_id": job.job_id,
        "job_kind": job.kind,
        "collection": job.collection_name,
        "attempts": job.attempts,
    }


def _store_attributes(task: EmbedTask) -> Mapping[str, str | int]:
    return {
        **PROCESS,
        "gen_ai.data_source.id": task.job.collection_name,
        "messaging.message.id": str(task.job.job_id),
        "rag_pg.job_kind": task.job.kind,
        "rag_pg.texts": len(task.texts),
    }


def _parts(tasks: Sequence[EmbedTask]) -> Iterator[list[EmbedTask]]:
    """Divide tasks into parts of at most TEXTS_PER_PART texts;
    a longer document is a part of its own."""
    part: list[EmbedTask] = []
    count = 0
    for task in tasks:
        if part and count + len(task.texts) > TEXTS_PER_PART:
            yield part
            part, count = [], 0
        part.append(task)
        count += len(task.texts)
    if part:
        yield part
