"""Statements about the queue and its jobs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from rag_pg.db.statements import Statements
from rag_pg.errors import InvalidInput
from rag_pg.types import Job, JobCounts, Vectors

TEXTS_BYTES = 200_000_000  # of one document's chunks as JSON; a jsonb array holds 256 MB
STATEMENT_BYTES = 1_000_000_000  # with their vectors; a message to the server holds 1 GB


@dataclass(frozen=True, kw_only=True, slots=True)
class IngestWork:
    """What rag.job_input hands to a worker."""

    document_id: UUID
    uri: str
    title: str
    content: str
    media_type: str
    document_version: int
    chunking: Mapping[str, Any]
    embedded_hashes: Sequence[bytes]
    space_id: int


class Jobs(Statements):
    """Jobs: queued, taken, done, watched."""

    def queue_backlog(self, collections: Sequence[str] | None) -> int:
        return self.value(int, "queue_backlog", collections=collections)

    def take_jobs(
        self,
        *,
        limit: int,
        lease_seconds: float,
        collections: Sequence[str] | None,
        worker: str,
        kinds: Sequence[str] | None = None,
    ) -> list[Job]:
        return self.rows(
            Job,
            "take_jobs",
            job_limit=limit,
            lease_seconds=lease_seconds,
            collections=collections,
            worker_name=worker,
            kinds=kinds,
        )

    def read_job(self, job: Job) -> IngestWork | None:
        return self.row(IngestWork, "job_input", job_id=job.job_id, lease=job.lease)

    def chunks_to_embed(self, job: Job, limit: int) -> list[tuple[int, str]]:
        return self.tuples(
            ("chunk_id", "searchable"),
            "chunks_to_embed",
            job_id=job.job_id,
            lease=job.lease,
            chunk_limit=limit,
        )

    def store_chunks(
        self,
        job: Job,
        work: IngestWork,
        chunks: Sequence[Mapping[str, Any]],
        vectors: Mapping[int, Vectors],
    ) -> str:
        """Store a document's chunks; vectors: by their places, where they are new.

        Raises: InvalidInput for a document that one statement cannot hold.
        """
        texts = json.dumps(chunks, ensure_ascii=False)
        size = len(texts.encode())
        if size > TEXTS_BYTES or size + 2 * sum(map(len, vectors.values())) > STATEMENT_BYTES:
            raise InvalidInput(
                f"document {work.uri!r} is too large: its {len(chunks)} chunks have {size} bytes of"
                f" text and {len(vectors)} vectors; {TEXTS_BYTES} bytes of text and"
                f" {STATEMENT_BYTES} of both are stored at most: divide it"
            )
        return self.value(
            str,
            "store_chunks",
            job_id=job.job_id,
            lease=job.lease,
            document_version=work.document_version,
            chunks=Jsonb(chunks, dumps=lambda _: texts),
            embedded_space=work.space_id,
            vectors=[vectors.get(index) for index in range(len(chunks))] if vectors else None,
        )

    def store_embeddings(self, job: Job, chunk_ids: Sequence[int], vectors: Vectors) -> int:
        return self.value(
            int,
            "store_embeddings",
            job_id=job.job_id,
            lease=job.lease,
            chunk_ids=chunk_ids,
            vectors=vectors,
        )

    def extend_jobs(self, jobs: Sequence[Job], lease_seconds: float) -> list[int]:
        """Return the ids of the jobs whose lease is lost."""
        return self.value(
            list,
            "extend_jobs",
            job_ids=[job.job_id for job in jobs],
            leases=[job.lease for job in jobs],
            lease_seconds=lease_seconds,
        )

    def finish_job(self, job: Job) -> None:
        self.call("finish_job", job_id=job.job_id, lease=job.lease)

    def fail_job(
        self, job: Job, error: str, *, retry_in: float | None = None, permanent: bool = False
    ) -> str:
        return self.value(
            str,
            "fail_job",
            job_id=job.job_id,
            lease=job.lease,
            error=error.replace("\0", ""),
            retry_in=retry_in,
            permanent=permanent,
        )

    def release_job(self, job: Job, delay: float = 0, reason: str | None = None) -> str:
        """Hand a job back: it costs no attempt."""
        return self.value(
            str,
            "release_job",
            job_id=job.job_id,
            lease=job.lease,
            delay=delay,
            reason=None if reason is None else reason.replace("\0", ""),
        )

    def job_stats(self, collection: str | None = None) -> list[JobCounts]:
        return self.rows(JobCounts, "job_stats", collection=collection)

    def list_jobs(
        self, collection: str | None, state: str | None, limit: int
    ) -> list[dict[str, Any]]:
        return self.dicts("list_jobs", collection=collection, wanted_state=state, limit=limit)

    def explain_job(self, job_id: int) -> dict[str, Any]:
        return self.dicts("explain_job", job_id=job_id)[0]

    def search_note(self, collection: str) -> str | None:
        """What a search should be told: that documents wait and nobody works."""
        ((note,),) = self.tuples(("note",), "_search_status", collection=collection)
        return None if note is None else str(note)
