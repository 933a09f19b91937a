"""The pipeline: three stages side by side, so that the model stays busy while the database is read and written.

A feeder thread claims jobs and prepares their tasks, the calling thread embeds, a storer thread writes what is embedded.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from rag_pg.errors import (
    CollectionMismatch,
    DatabaseUnavailable,
    InvalidInput,
    LeaseLost,
    ModelUnavailable,
    ProviderAuth,
    RagError,
    RateLimited,
)
from rag_pg.heartbeat import Heartbeat
from rag_pg.models import Embedder, Job, Vectors
from rag_pg.task import KINDS, Task, Tools
from rag_pg.throttle import Stopping, Throttle

log = logging.getLogger(__name__)

JOBS_PER_BATCH = 32
STORES_IN_FLIGHT = 64


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

    def drain(self) -> int:
        """Work until no job is due, or `stop` is set. Returns how many jobs were claimed.

        Raises DatabaseUnavailable; the leases of what was in hand then expire, and the jobs are taken again.
        """
        claimed = 0
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
                    if not self._batch:  # what is being stored may queue more
                        self._wait_for_stores(0)
                    feeding = feeder.submit(self._claim)
                    claimed += len(self._batch)
                    self._embed_batch(self._batch, storer)
                self._wait_for_stores(0)
            except BaseException:  # what is held is not worked: its leases expire
                storer.shutdown(wait=False, cancel_futures=True)
                self._forget(feeding)
                raise
        return claimed

    def _forget(self, feeding: Future[list[Task]]) -> None:
        tasks = [*self._batch, *(task for task, _ in self._storing)]
        if feeding.exception() is None:
            tasks += feeding.result()
        for task in tasks:
            self.heartbeat.release(task.job)
        self._storing.clear()

    def _hand_back(self, tasks: Sequence[Task]) -> None:
        """Return to the queue what was claimed but will not be worked."""
        for task in tasks:
            if self.heartbeat.holds(task.job):
                self.heartbeat.release(task.job)
                self.database.fail_job(task.job, None, retry_in=0, count_attempt=False)

    # --- feeding

    def _claim(self) -> list[Task]:
        while not self.stop.is_set():
            jobs = self.database.take_jobs(
                limit=JOBS_PER_BATCH,
                lease_seconds=self.heartbeat.lease_seconds,
                collections=self.heartbeat.collections,
                worker=self.heartbeat.name,
                kinds=list(KINDS),
            )
            self.heartbeat.hold(jobs)
            try:
                tasks = [task for job in jobs if (task := self._prepare(job))]
            except BaseException:
                for job in jobs:
                    self.heartbeat.release(job)
                raise
            if tasks:
                return tasks
            if not jobs and not self.database.queue_backlog(self.heartbeat.collections):
                return []
        return []

    def _prepare(self, job: Job) -> Task | None:
        """None when there is nothing to do, or it failed and that is recorded."""
        try:
            task = KINDS[job.kind](self.tools, job)
            if task is None:
                self.database.finish_job(job)
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
            except DatabaseUnavailable:
                raise
            except Exception as exc:
                for task in tasks:
                    self._fail(task.job, exc)
                continue
            groups.setdefault(id(embedder), (embedder, []))[1].extend(tasks)
        for embedder, tasks in groups.values():
            self._embed(embedder, tasks, {}, storer)

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
        tasks = [task for task in tasks if self.heartbeat.holds(task.job)]  # or deleted meanwhile
        try:
            texts = [text for task in tasks for text in task.texts]
            self._throttle.embed(embedder, texts, known, self._embedded)
        except DatabaseUnavailable:  # not the batch's fault
            raise
        except Stopping:
            self._hand_back(tasks)
            return
        except (RateLimited, ModelUnavailable, CollectionMismatch, ProviderAuth) as exc:
            done = [task for task in tasks if all(text in known for text in task.texts)]
            for task in tasks:
                if task not in done:
                    self._fail(task.job, exc)
            tasks = done
        except Exception as exc:
            if len(tasks) == 1:
                self._fail(tasks[0].job, exc)
                return
            middle = len(tasks) // 2
            self._embed(embedder, tasks[:middle], known, storer)
            self._embed(embedder, tasks[middle:], known, storer)
            return
        for task in tasks:
            vectors = [known[text] for text in task.texts]
            self._storing.append((task, storer.submit(self._store, task, vectors)))
            self._wait_for_stores(STORES_IN_FLIGHT)

    def _embedded(self, chunks: int) -> None:
        self.heartbeat.progress()
        self.on_progress(0, chunks)

    # --- storing

    def _wait_for_stores(self, left: int) -> None:
        while len(self._storing) > left:
            self._storing[0][1].result()
            self._storing.popleft()

    def _store(self, task: Task, vectors: Sequence[Vectors]) -> None:
        try:
            stored = task.store(vectors)
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
        state = self.database.fail_job(
            job,
            error,
            retry_in=exc.retry_after if isinstance(exc, RateLimited) else None,
            permanent=isinstance(exc, InvalidInput | CollectionMismatch),
            count_attempt=not isinstance(exc, RateLimited),
        )
        log.warning("job %s: %s (%s)", job.job_id, error, state, extra={"job_id": job.job_id})
