"""The worker: claims jobs, chunks and embeds with no transaction open, stores with its lease.

Three stages run side by side, so that the model stays busy while the database is read and written: a feeder thread
claims and chunks the next batch, the calling thread embeds, a storer thread writes what is embedded.
"""

from __future__ import annotations

import hashlib
import logging
import os
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from rag_pg.attend import Answerer, Attendant
from rag_pg.db import Database, IngestWork
from rag_pg.errors import (
    CollectionMismatch,
    DatabaseUnavailable,
    InvalidInput,
    LeaseLost,
    ModelUnavailable,
    RagError,
    RateLimited,
)
from rag_pg.models import Embedder, Job, Span, Vectors
from rag_pg.split import Splitter, embedded_text

log = logging.getLogger(__name__)

DEFAULT_TOKENS = 256  # of a chunk
JOBS_PER_BATCH = 32
STORES_IN_FLIGHT = 64
POLL_SECONDS = 5.0
MAINTAIN_SECONDS = 60.0
TEXTS_PER_CALL = 64  # of the embedder; between calls progress is reported
CHUNKS_PER_READ = 1000  # of an embed job: the rest is read when these are stored


@dataclass(slots=True)
class Task:
    """A job with what has to be embedded for it and, later, the vectors."""

    job: Job
    texts: list[str]
    work: IngestWork | None = None  # of an ingest job
    spans: Sequence[Span] = ()
    places: Sequence[int] = ()  # of the spans whose texts are embedded
    chunk_ids: Sequence[int] = ()  # of an embed job
    vectors: list[Vectors] = field(default_factory=list)


class Worker:
    """Works the queue of some or all collections with the embedders it is handed.

    Args:
        embedder_of: returns the embedder of a collection by name, checked against what it stores.
        on_progress: called with (documents stored, chunks embedded) since the last call.
        answerers: what answers requests, by their kind; `run` attends to them beside the queue.
    """

    def __init__(
        self,
        database: Database,
        embedder_of: Callable[[str], Embedder],
        *,
        collections: Sequence[str] | None = None,
        lease_seconds: float = 60.0,
        on_progress: Callable[[int, int], None] | None = None,
        answerers: Mapping[str, Answerer] | None = None,
    ) -> None:
        self.database = database
        self.embedder_of = embedder_of
        self.collections = collections
        self.lease_seconds = lease_seconds
        self.on_progress = on_progress or (lambda documents, chunks: None)
        self.name = f"{socket.gethostname()}:{os.getpid()}"
        self.stop = threading.Event()
        self.attendant = Attendant(
            database, answerers or {}, name=self.name, collections=collections
        )
        self._held: dict[int, Job] = {}
        self._splitters: dict[str, Splitter] = {}

    def run(self) -> None:
        """Work until `stop` is set: woken by NOTIFY, polling every few seconds beside it.

        A database that goes away is waited for; everything else that fails is recorded with its job.
        """
        self.attendant.start()
        try:
            self._run()
        finally:
            self.attendant.close()

    def _run(self) -> None:
        delay = 1.0
        maintain_at = time.monotonic()
        while not self.stop.is_set():
            try:
                with self.database.listen() as connection:
                    while not self.stop.is_set():
                        self.drain()
                        delay = 1.0
                        if time.monotonic() >= maintain_at:
                            self.database.maintain()
                            maintain_at = time.monotonic() + MAINTAIN_SECONDS
                        self._sleep_until_notified(connection)
            except DatabaseUnavailable as exc:
                log.warning("%s; trying again in %.0f s", exc, delay)
                self.stop.wait(delay)
                delay = min(30.0, delay * 2)

    def _sleep_until_notified(self, connection: Any) -> None:
        waited = 0.0
        while waited < POLL_SECONDS and not self.stop.is_set():
            for _ in connection.notifies(timeout=0.5, stop_after=1):
                return
            waited += 0.5

    def drain(self) -> int:
        """Work until no job is due, or `stop` is set. Returns how many jobs were claimed.

        Raises DatabaseUnavailable; the leases of what was in hand then expire, and the jobs are taken again.
        """
        claimed = 0
        self.attendant.follow()
        with (
            self._heartbeat(),
            ThreadPoolExecutor(1, "rag-pg-feed") as feeder,
            ThreadPoolExecutor(1, "rag-pg-store") as storer,
        ):
            storing: deque[Future[None]] = deque()

            def store(task: Task) -> None:
                storing.append(storer.submit(self._store, task))
                if len(storing) > STORES_IN_FLIGHT:
                    storing.popleft().result()

            feeding = feeder.submit(self._claim)
            try:
                while True:
                    batch = feeding.result()
                    if self.stop.is_set():
                        self._hand_back(batch)
                        break
                    if not batch and not storing:
                        break
                    if not batch:  # what is being stored may queue more
                        while storing:
                            storing.popleft().result()
                    feeding = feeder.submit(self._claim)
                    claimed += len(batch)
                    for tasks in _by_collection(batch):
                        self._embed(tasks, store)
                while storing:
                    storing.popleft().result()
            except BaseException:  # what is held is not worked: its leases expire
                storer.shutdown(wait=False, cancel_futures=True)
                self._held.clear()
                raise
        return claimed

    def _hand_back(self, tasks: Sequence[Task]) -> None:
        """Return to the queue what was claimed but will not be worked."""
        for task in tasks:
            if task.job.job_id in self._held:
                self._fail(task.job, "handed back by a stopping worker", retry_in=0, count=False)

    # --- feeding

    def _claim(self) -> list[Task]:
        if self.stop.is_set():
            return []
        jobs = self.database.take_jobs(
            limit=JOBS_PER_BATCH,
            lease_seconds=self.lease_seconds,
            collections=self.collections,
            worker=self.name,
        )
        self._held.update({job.job_id: job for job in jobs})
        tasks = [task for job in jobs if (task := self._prepare(job))]
        return tasks if tasks or not jobs else self._claim()

    def _prepare(self, job: Job) -> Task | None:
        """Read and chunk. None when there is nothing to do, or it failed and that is recorded."""
        try:
            if job.kind == "embed":
                pairs = self.database.chunks_to_embed(job, CHUNKS_PER_READ)
                if not pairs:
                    self.database.finish_job(job)
                    self._held.pop(job.job_id, None)
                    return None
                return Task(job, [text for _, text in pairs], chunk_ids=[i for i, _ in pairs])
            work = self.database.read_job(job)
            if work is None:  # the document was deleted
                self.database.finish_job(job)
                self._held.pop(job.job_id, None)
                return None
            spans = self._splitter(job, work).split(
                work.content, media_type=work.media_type, title=work.title
            )
            texts = [embedded_text(work.title, span.heading, span.text) for span in spans]
            known = set(work.embedded_hashes)
            places = [i for i, text in enumerate(texts) if _hash(text) not in known]
            return Task(job, [texts[i] for i in places], work, spans, places)
        except LeaseLost:
            self._held.pop(job.job_id, None)
        except DatabaseUnavailable:
            raise
        except Exception as exc:
            self._fail_for(job, exc)
        return None

    def _splitter(self, job: Job, work: IngestWork) -> Splitter:
        if job.collection_name not in self._splitters:
            embedder = self.embedder_of(job.collection_name)
            settings = {"max_tokens": min(DEFAULT_TOKENS, embedder.max_tokens), **work.chunking}
            self._splitters[job.collection_name] = Splitter.from_settings(
                settings, embedder.count_tokens
            )
        return self._splitters[job.collection_name]

    # --- embedding

    def _embed(self, tasks: list[Task], done: Callable[[Task], None]) -> None:
        """Embed the texts of several documents together; a failing batch is halved to the culprit."""
        try:
            embedder = self.embedder_of(tasks[0].job.collection_name)
            vectors = self._vectors(embedder, [text for task in tasks for text in task.texts])
        except DatabaseUnavailable:  # not the batch's fault
            raise
        except (RateLimited, ModelUnavailable, CollectionMismatch) as exc:
            for task in tasks:
                self._fail_for(task.job, exc)
            return
        except Exception as exc:
            if len(tasks) == 1:
                self._fail_for(tasks[0].job, exc)
                return
            middle = len(tasks) // 2
            self._embed(tasks[:middle], done)
            self._embed(tasks[middle:], done)
            return
        remaining = iter(vectors)
        for task in tasks:
            task.vectors = list(islice(remaining, len(task.texts)))
            done(task)

    def _vectors(self, embedder: Embedder, texts: Sequence[str]) -> list[Vectors]:
        """Embed texts of like length together, a slice at a time; the vectors are in their order."""
        vectors: dict[int, Vectors] = {}
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        for start in range(0, len(order), TEXTS_PER_CALL):
            places = order[start : start + TEXTS_PER_CALL]
            found = embedder.embed_documents([texts[i] for i in places])
            vectors.update(zip(places, found, strict=True))
            self.on_progress(0, len(places))
        return [vectors[i] for i in range(len(texts))]

    # --- storing

    def _store(self, task: Task) -> None:
        try:
            if task.work is None:
                self.database.store_embeddings(task.job, task.chunk_ids, np.asarray(task.vectors))
                stored = "stored"
                self._release_unfinished(task.job)
            else:
                stored = self.database.store_chunks(
                    task.job, task.work.document_version, _chunks(task)
                )
            if stored == "stored":
                self.on_progress(1, 0)
        except LeaseLost as exc:
            log.info("job %s: %s", task.job.job_id, exc, extra={"job_id": task.job.job_id})
        except DatabaseUnavailable:
            raise
        except Exception as exc:
            self._fail_for(task.job, exc)
        finally:
            self._held.pop(task.job.job_id, None)

    def _release_unfinished(self, job: Job) -> None:
        """An embed job with more chunks than were read goes back to the queue at once."""
        self.database.fail_job(job, "more chunks to embed", retry_in=0, count_attempt=False)

    # --- failures and leases

    def _fail_for(self, job: Job, exc: Exception) -> None:
        if isinstance(exc, RateLimited):
            self._fail(job, str(exc), retry_in=exc.retry_after, count=False)
        elif isinstance(exc, InvalidInput | CollectionMismatch):
            self._fail(job, str(exc), permanent=True)
        else:
            known = isinstance(exc, RagError)
            if not known:
                log.exception("job %s failed", job.job_id, extra={"job_id": job.job_id})
            self._fail(job, str(exc) if known else f"{type(exc).__name__}: {exc}")

    def _fail(
        self,
        job: Job,
        error: str,
        *,
        retry_in: float | None = None,
        permanent: bool = False,
        count: bool = True,
    ) -> None:
        self._held.pop(job.job_id, None)
        state = self.database.fail_job(
            job, error, retry_in=retry_in, permanent=permanent, count_attempt=count
        )
        log.warning("job %s: %s (%s)", job.job_id, error, state, extra={"job_id": job.job_id})

    @contextmanager
    def _heartbeat(self) -> Iterator[None]:
        """Extend every lease that is held, three times within its life."""
        ended = threading.Event()

        def beat() -> None:
            while not ended.wait(self.lease_seconds / 3):
                for job in list(self._held.values()):
                    try:
                        if not self.database.extend_job(job, self.lease_seconds):
                            self._held.pop(job.job_id, None)
                    except RagError as exc:
                        log.warning("cannot extend the lease of job %s: %s", job.job_id, exc)
                        break

        thread = threading.Thread(target=beat, name="rag-pg-heartbeat", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _by_collection(tasks: Sequence[Task]) -> list[list[Task]]:
    groups: dict[int, list[Task]] = {}
    for task in tasks:
        groups.setdefault(task.job.collection_id, []).append(task)
    return list(groups.values())


def _chunks(task: Task) -> list[dict[str, Any]]:
    """The document's chunks as rag.store_chunks takes them; a vector only where it is new."""
    chunks: list[dict[str, Any]] = [
        {"content": s.text, "heading": s.heading, "start": s.start, "stop": s.stop}
        for s in task.spans
    ]
    for place, vector in zip(task.places, task.vectors, strict=True):
        chunks[place]["embedding"] = "[" + ",".join(map(repr, vector.tolist())) + "]"
    return chunks
