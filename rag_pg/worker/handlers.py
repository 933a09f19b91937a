"""What each kind of job means: which texts it wants embedded, and where their vectors go.

A new kind is one function in `KINDS`. It reads what the job is about and returns an EmbedTask, or
None when there is nothing to do. It may raise: the failure is recorded with the job.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rag_pg.chunk import Splitter, pages_of
from rag_pg.db import Database, IngestWork
from rag_pg.protocols import Embedder
from rag_pg.text import embedded_text
from rag_pg.types import Job, Span, Vectors
from rag_pg.worker.vector_cache import VectorCache

RULES_SECONDS = 10.0  # for a collection's rules on one document
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
    vectors from an earlier attempt."""

    database: Database
    embedder_of: Callable[[str, int | None], Embedder]
    splitters: dict[tuple[int, str], Splitter] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    vectors: VectorCache = field(default_factory=VectorCache)

    def embedder(self, collection: str, space_id: int | None) -> Embedder:
        """The embedder of a space, opened once although pipelines ask for it side by side."""
        with self.lock:
            return self.embedder_of(collection, space_id)

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


KINDS: dict[str, Callable[[WorkerContext, Job], EmbedTask | None]] = {
    "ingest": ingest,
    "embed": embed,
    "enrich": enrich,
}


# A slow rule or model holds up its own kinds of jobs, never the others.
EMBEDDING = ("ingest", "embed")
ENRICHING = ("enrich",)


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
