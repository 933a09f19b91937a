"""The pipeline: three stages side by side, so that the model stays busy while the database is read and written.

A feeder thread claims jobs and prepares their tasks, the calling thread embeds, a storer thread writes what is embedded.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from rag_pg.errors import (
    CollectionMismatch,
    DatabaseUnavailable,
    InvalidInput,
    LeaseLost,
    ModelUnavailable,
    ProviderAuth,
    RagError,
    RateLimited,
    StatementCanceled,
)
from rag_pg.heartbeat import Heartbeat
from rag_pg.models import Embedder, Job, Vectors
from rag_pg.task import KINDS, Task, Tools
from rag_pg.throttle import Stopping, Throttle, may_be_an_outage

log = logging.getLogger(__name__)

JOBS_PER_BATCH = 32
TEXTS_PER_PART = (
    128  # embedded together and stored at once: what a worker that dies has done in vain
)
STORES_IN_FLIGHT = 64
RESTART_SECONDS = 10.0  # a database that is back by then was only restarted: nothing is given up
UNABLE_SECONDS = 30.0  # until jobs are due again that this worker has no model or key for

T = TypeVar("T")


class Pipeline:
    """One batch after the other: claimed, embedded, stored. A worker has as many as its concurrency."""

    def __init__(
        self,
        tools: Tools,
        heartbeat: Heartbeat,
        stop: threading.Event,
        on_progress: Callable[[int, int], None],
    ) -> None:
        self.tools = tools
        self.database = tools.database
        self.heartbeat = heartbeat
        self.stop = stop
        self.on_progress = on_progress
        self._throttle = Throttle(tools.database, stop)
        self._storing: deque[tuple[Task, Future[None]]] = deque()
        self._batch: list[Task] = []
        self._given_up: list[Job] = []
        self._unable: RagError | None = None

    def drain(self) -> int:
        """Work until no job is due, or `stop` is set. Returns how many jobs were claimed.

        Raises DatabaseUnavailable or StatementCanceled; the leases of what was in hand then expire, and the
        jobs are taken again.
        Raises at its end what kept this worker from embedding at all: ProviderAuth, ModelUnavailable.
        """
        claimed = 0
        self._unable = None
        while (
            self._given_up
        ):  # the database was gone: not their fault, where nobody took them since
            self.database.fail_job(self._given_up[-1], None, retry_in=0, count_attempt=False)
            self._given_up.pop()
        with (
            ThreadPoolExecutor(1, "rag-pg-feed") as feeder,
            ThreadPoolExecutor(1, "rag-pg-store") as storer,
        ):
            feeding = feeder.submit(self._claim)
            try:
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
            except BaseException:  # what is held is not worked: its leases expire
                storer.shutdown(wait=False, cancel_futures=True)
                self._forget(feeding)
                raise
        if self._unable is not None:
            raise self._unable
        return claimed

    def _through_restart(self, action: Callable[[], T]) -> T:
        """Do it again while the database is away or cancels it, for as long as it takes to restart one.

        Raises: DatabaseUnavailable, StatementCanceled, and what the action raises.
        """
        ends_at = time.monotonic() + RESTART_SECONDS
        while True:
            try:
                return action()
            except (DatabaseUnavailable, StatementCanceled):
                if self.stop.is_set() or time.monotonic() > ends_at:
                    raise
                self.stop.wait(0.25)

    def _forget(self, feeding: Future[list[Task]]) -> None:
        tasks = [*self._batch, *(task for task, _ in self._storing)]
        if feeding.exception() is None:
            tasks += feeding.result()
        for task in tasks:
            self.heartbeat.release(task.job)
        self._given_up += [task.job for task in tasks]
        self._storing.clear()

    def _hand_back(
        self, tasks: Sequence[Task], error: str | None = None, retry_in: float = 0
    ) -> None:
        """Return to the queue what was claimed and is not at fault: it costs no attempt."""
        fail = partial(self.database.fail_job, retry_in=retry_in, count_attempt=False)
        for task in self._still_held(tasks):
            self.heartbeat.release(task.job)
            self._through_restart(partial(fail, task.job, error))

    def _still_held(self, tasks: Sequence[Task]) -> list[Task]:
        """Leave out what may be another's by now, or whose document was deleted."""
        held = []
        for task in tasks:
            if self.heartbeat.holds(task.job):
                held.append(task)
            else:
                self.heartbeat.release(task.job)
        return held

    def _cannot(self, tasks: Sequence[Task], exc: RagError) -> None:
        """This worker has no model or key for these; another may have."""
        log.warning("%s", exc)
        self._unable = exc
        self._hand_back(tasks, str(exc), UNABLE_SECONDS)

    # --- feeding

    def _claim(self) -> list[Task]:
        while not self.stop.is_set():
            began = time.monotonic()
            jobs = self._through_restart(self._take)
            self.heartbeat.hold(jobs, began)
            try:
                tasks = [task for job in jobs if (task := self._prepare(job))]
            except BaseException:
                for job in jobs:
                    self.heartbeat.release(job)
                self._given_up += jobs
                raise
            if tasks:
                return tasks
            if not jobs and not self._through_restart(self._queue_backlog):
                return []
        return []

    def _take(self) -> list[Job]:
        return self.database.take_jobs(
            limit=JOBS_PER_BATCH,
            lease_seconds=self.heartbeat.lease_seconds,
            collections=self.heartbeat.collections,
            worker=self.heartbeat.name,
            kinds=list(KINDS),
        )

    def _queue_backlog(self) -> int:
        return self.database.queue_backlog(self.heartbeat.collections)

    def _prepare(self, job: Job) -> Task | None:
        """None when there is nothing to do, or it failed and that is recorded."""
        try:
            task = self._through_restart(lambda: KINDS[job.kind](self.tools, job))
            if task is None:
                self._through_restart(lambda: self.database.finish_job(job))
                self.heartbeat.release(job)
            return task
        except LeaseLost:
            self.heartbeat.release(job)
        except DatabaseUnavailable:
            raise
        except Exception as exc:
            self._fail(job, exc)
        return None

    # --- embedding

    def _embed_batch(self, batch: Sequence[Task], storer: ThreadPoolExecutor) -> None:
        """Embed a batch's texts, those of collections with the same model together."""
        spaces: dict[tuple[str, int | None], list[Task]] = {}
        for task in batch:
            spaces.setdefault((task.job.collection_name, task.space_id), []).append(task)
        groups: dict[int, tuple[Embedder, list[Task]]] = {}
        for (name, space_id), tasks in spaces.items():
            try:
                embedder = self.tools.embedder(name, space_id)
            except (DatabaseUnavailable, StatementCanceled):
                raise
            except ModelUnavailable as exc:
                self._cannot(tasks, exc)
                continue
            except Exception as exc:
                for task in tasks:
                    self._fail(task.job, exc)
                continue
            groups.setdefault(id(embedder), (embedder, []))[1].extend(tasks)
        for embedder, tasks in groups.values():
            for part in _parts(tasks):
                texts = (text for task in part for text in task.texts)
                self._embed(embedder, part, self.tools.spare.of(embedder, texts), storer)

    def _embed(
        self,
        embedder: Embedder,
        tasks: Sequence[Task],
        known: dict[str, Vectors],
        storer: ThreadPoolExecutor,
    ) -> None:
        """Embed the texts of several documents together; a failing batch is halved to the culprit.

        known: vectors by text, kept from half to half so that nothing is embedded twice.
        """
        tasks = self._still_held(tasks)
        if not tasks:
            return
        texts = [text for task in tasks for text in task.texts]
        error: Exception | None = None
        try:
            self._through_restart(
                lambda: self._throttle.embed(embedder, texts, known, self._embedded)
            )
        except DatabaseUnavailable:  # not the batch's fault
            raise
        except Exception as exc:
            error = exc
        finally:
            self.tools.spare.keep(embedder, {text: known[text] for text in texts if text in known})
        done = [task for task in tasks if all(text in known for text in task.texts)]
        for task in done:
            vectors = [known[text] for text in task.texts]
            self._storing.append((task, storer.submit(self._store, task, embedder, vectors)))
            self._wait_for_stores(STORES_IN_FLIGHT)
        if error is not None:
            self._despair(embedder, [t for t in tasks if t not in done], error, known, storer)

    def _despair(
        self,
        embedder: Embedder,
        tasks: Sequence[Task],
        exc: Exception,
        known: dict[str, Vectors],
        storer: ThreadPoolExecutor,
    ) -> None:
        """What becomes of tasks that could not be embedded: whose fault is it?"""
        match exc:
            case Stopping():
                self._hand_back(tasks)
            case ProviderAuth() | ModelUnavailable():
                self._cannot(tasks, exc)
            case RateLimited():
                for task in tasks:
                    self._fail(task.job, exc)
            case _ if may_be_an_outage(exc) and self._is_down(embedder):
                log.warning("%s; its jobs wait", exc)
                self._hand_back(tasks, str(exc))
            case _ if len(tasks) > 1:
                middle = len(tasks) // 2
                self._embed(embedder, tasks[:middle], known, storer)
                self._embed(embedder, tasks[middle:], known, storer)
            case _:
                for task in tasks:
                    self._fail(task.job, exc)

    def _is_down(self, embedder: Embedder) -> bool:
        try:
            return self._through_restart(lambda: self._throttle.is_down(embedder))
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

    def _store(self, task: Task, embedder: Embedder, vectors: Sequence[Vectors]) -> None:
        try:
            stored = self._through_restart(lambda: task.store(vectors))
            self.tools.spare.drop(embedder, task.texts)
            self.heartbeat.count(task.job)
            if stored:
                self.on_progress(stored, 0)
        except LeaseLost as exc:
            log.info("job %s: %s", task.job.job_id, exc, extra={"job_id": task.job.job_id})
        except DatabaseUnavailable:
            raise
        except Exception as exc:
            self._fail(task.job, exc)
        finally:
            self.heartbeat.release(task.job)

    # --- failures

    def _fail(self, job: Job, exc: Exception) -> None:
        """Record a failure, in a transaction of its own."""
        self.heartbeat.release(job)
        known = isinstance(exc, RagError)
        if not known:
            log.exception("job %s failed", job.job_id, extra={"job_id": job.job_id})
        error = str(exc) if known else f"{type(exc).__name__}: {exc}"
        state = self._through_restart(
            lambda: self.database.fail_job(
                job,
                error,
                retry_in=exc.retry_after if isinstance(exc, RateLimited) else None,
                permanent=isinstance(exc, InvalidInput | CollectionMismatch),
                count_attempt=not isinstance(exc, RateLimited),
            )
        )
        log.warning("job %s: %s (%s)", job.job_id, error, state, extra={"job_id": job.job_id})


def _parts(tasks: Sequence[Task]) -> Iterator[list[Task]]:
    """Divide tasks into parts of at most TEXTS_PER_PART texts; a longer document is a part of its own."""
    part: list[Task] = []
    count = 0
    for task in tasks:
        if part and count + len(task.texts) > TEXTS_PER_PART:
            yield part
            part, count = [], 0
        part.append(task)
        count += len(task.texts)
    if part:
        yield part
