"""What each kind of job means: which texts it wants embedded, and where their vectors go.

A new kind is one function in `KINDS`. It reads what the job is about and returns an EmbedTask, or
None when there is nothing to do. It may raise: the failure is recorded with the job.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from rag_pg.chunk import Splitter, pages_of
from rag_pg.db import ContextWork, Database, IngestWork
from rag_pg.enrich import extract_fields, fit_context, write_context
from rag_pg.errors import InvalidInput, ModelUnavailable
from rag_pg.metrics import Figures
from rag_pg.protocols import LLM, Embedder
from rag_pg.search import accounted
from rag_pg.text import Fence, embedded_text, in_context
from rag_pg.types import Job, Span, Vectors
from rag_pg.worker.throttle import Throttle
from rag_pg.worker.vector_cache import VectorCache

RULES_SECONDS = 5.0  # for a collection's rules on one document
CHUNKS_PER_STORE = 16  # of a context job: what a worker that dies has paid for in vain
CONTEXT_TOKENS = 100  # of a chunk's room that is kept for its context
CHUNKS_PER_READ = 1000  # of an embed job: the rest is read when these are stored


@dataclass(frozen=True, slots=True)
class EmbedTask:
    """A job, the texts to embed for it, and what stores their vectors (in the order of the texts).

    `store` ends the job or hands it back, and returns how many documents it has stored.
    """

    job: Job
    space_id: int | None  # whose model embeds the texts; None: the active one's
    texts: Sequence[str]
    store: Callable[[Sequence[Vectors]], int]


@dataclass(slots=True)
class WorkerContext:
    """What tasks are made with: the database, the embedder of a collection's space, its splitter,
    vectors from an earlier attempt, what is counted of jobs."""

    database: Database
    embedder_of: Callable[[str, int | None], Embedder]
    throttle: Throttle
    llm_of: Callable[[str | None], LLM] | None = None
    splitters: dict[tuple[int, str], Splitter] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    vectors: VectorCache = field(default_factory=VectorCache)
    figures: Figures = field(default_factory=Figures)

    def embedder(self, collection: str, space_id: int | None) -> Embedder:
        """The embedder of a space, opened once although pipelines ask for it side by side."""
        with self.lock:
            return self.embedder_of(collection, space_id)

    def llm(self, name: str | None) -> LLM:
        """The language model of that name, else the helper model of the settings.
        Raises: ModelUnavailable."""
        with self.lock:
            if self.llm_of is None:
                raise ModelUnavailable("this worker has no language models")
            return self.llm_of(name)

    def count(self, job: Job, outcome: str) -> None:
        """Count what became of a job: done, failed, returned or lost."""
        self.figures.count("rag_pg_worker_jobs_total", kind=job.kind, outcome=outcome)

    @contextmanager
    def metered(self, job: Job, name: str | None) -> Iterator[LLM]:
        """The language model of that name, whose calls are added to the day's figures as enrichment
        of the job's kind, also where they fail. Raises: as `llm`."""
        with accounted(self.database, job.collection_name, "enrichment") as account:
            yield account.meter(self.llm(name), job.kind)

    def splitter(self, job: Job, work: IngestWork) -> Splitter:
        key = (work.space_id, repr(work.chunking))
        if key not in self.splitters:
            embedder = self.embedder(job.collection_name, work.space_id)
            self.splitters[key] = Splitter.from_settings(
                work.chunking,
                embedder.count_tokens,
                embed=embedder.embed_documents,
                longest=embedder.max_tokens,
            )
        return self.splitters[key]


def ingest(context: WorkerContext, job: Job) -> EmbedTask | None:
    """Cut a document into chunks; embed those whose text has no vector yet."""
    work = context.database.read_job(job)
    if work is None:  # the document was deleted
        return None
    spans = context.splitter(job, work).split(
        work.content, media_type=work.media_type, title=work.title
    )
    texts = [embedded_text(work.title, span.heading, span.text) for span in spans]
    known = set(work.embedded_hashes)
    missing = [i for i, text in enumerate(texts) if _hash(text) not in known]

    def store(vectors: Sequence[Vectors]) -> int:
        new = dict(zip(missing, vectors, strict=True))
        return int(
            context.database.store_chunks(job, work, _chunks(spans, pages_of(work.content)), new)
            == "stored"
        )

    return EmbedTask(job, work.space_id, [texts[i] for i in missing], store)


def embed(context: WorkerContext, job: Job) -> EmbedTask | None:
    """Embed a document's chunks that have no vector."""
    pairs = context.database.chunks_to_embed(job, CHUNKS_PER_READ)
    if not pairs:
        return None

    def store(vectors: Sequence[Vectors]) -> int:
        ids = [chunk_id for chunk_id, _ in pairs]
        if context.database.store_embeddings(job, ids, np.asarray(vectors)) == 0:
            return 1
        context.database.release_job(job)
        return 0

    return EmbedTask(job, job.space_id, [text for _, text in pairs], store)


def enrich(context: WorkerContext, job: Job) -> EmbedTask:
    """Give a document and its chunks the metadata that the collection's rules find."""

    def store(vectors: Sequence[Vectors]) -> int:
        context.database.enrich_document(job, RULES_SECONDS)
        return 0

    return EmbedTask(job, None, (), store)


def extract(context: WorkerContext, job: Job) -> EmbedTask | None:
    """Read the fields that the collection wants out of a document, by a language model."""
    work = context.database.extraction_input(job)
    if work is None:
        return None
    found: Mapping[str, Any] = {}
    model = None
    if work.fields:
        with context.metered(job, work.model) as llm:
            model = llm.name
            found = context.throttle.write(
                llm,
                [work.content],
                lambda: extract_fields(llm, work.title, work.content, work.fields),
            )

    def store(vectors: Sequence[Vectors]) -> int:
        context.database.store_extraction(job, work, found, model)
        return 0

    return EmbedTask(job, None, (), store)


def contextualize(context: WorkerContext, job: Job) -> EmbedTask | None:
    """Write contexts for some of a document's chunks, and embed these chunks behind them."""
    work = context.database.context_input(job, CHUNKS_PER_STORE)
    if work is None:
        return None
    contexts: list[str | None] = [None] * len(work.chunk_ids)
    if work.wanted:
        with context.metered(job, work.model) as llm:
            contexts = _write_contexts(context, llm, job, work)
    texts = [
        embedded_text(work.title, heading, in_context(written, content))
        for heading, content, written in zip(work.headings, work.contents, contexts, strict=True)
    ]

    def store(vectors: Sequence[Vectors]) -> int:
        stored = context.database.value(
            str,
            "store_contexts",
            job_id=job.job_id,
            lease=job.lease,
            source=work.source,
            chunk_ids=work.chunk_ids,
            contexts=contexts,
            embedded_space=work.space_id,
            vectors=vectors,
        )
        if stored == "more":
            context.database.release_job(job)
        return 0

    return EmbedTask(job, work.space_id, texts, store)


def _write_contexts(
    context: WorkerContext, llm: LLM, job: Job, work: ContextWork
) -> list[str | None]:
    embedder = context.embedder(job.collection_name, work.space_id)
    fence = Fence()
    contexts: list[str | None] = []
    for heading, content, start in zip(work.headings, work.contents, work.starts, strict=True):
        write = partial(
            write_context, llm, work.title, work.content, content, start=start, fence=fence
        )
        written = context.throttle.write(llm, [work.content, content], write)

        def embedded(text: str, heading: str = heading, content: str = content) -> str:
            return embedded_text(work.title, heading, in_context(text, content))

        fitting = fit_context(written, embedded, embedder.count_tokens, embedder.max_tokens)
        if fitting is None:
            limit = max(16, embedder.max_tokens - CONTEXT_TOKENS)
            smaller = json.dumps({"max_tokens": limit})
            raise InvalidInput(
                f"a chunk of {embedder.count_tokens([embedded('')])[0]} tokens leaves no room for"
                f" a context in the {embedder.max_tokens} that {embedder.name} reads; make chunks"
                f" smaller: rag-pg rechunk {job.collection_name} --chunking '{smaller}'"
            )
        contexts.append(fitting)
    return contexts


KINDS: dict[str, Callable[[WorkerContext, Job], EmbedTask | None]] = {
    "ingest": ingest,
    "embed": embed,
    "enrich": enrich,
    "extract": extract,
    "context": contextualize,
}


# A slow rule or model holds up its own kinds of jobs, never the others.
EMBEDDING = ("ingest", "embed")
ENRICHING = ("enrich",)
WRITING = ("extract", "context")  # by a language model


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _chunks(
    spans: Sequence[Span], pages: Callable[[int, int], dict[str, int]]
) -> list[dict[str, Any]]:
    """A document's chunks as rag.store_chunks takes them, without their vectors."""
    return [
        {
            "content": s.text,
            "heading": s.heading,
            "start": s.start,
            "stop": s.stop,
            "metadata": pages(s.start, s.stop) | ({"parent": list(s.parent)} if s.parent else {}),
        }
        for s in spans
    ]
