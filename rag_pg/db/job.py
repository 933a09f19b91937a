"""Statements about the queue and its jobs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pgvector.psycopg.halfvec import HalfVector

from rag_pg.db.connection import Statements
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
        return int(
            self._scalar(
                "SELECT rag.queue_backlog(collections => %(collections)s::pg_catalog.text[])",
                collections=None if collections is None else list(collections),
            )
        )

    def take_jobs(
        self,
        *,
        limit: int,
        lease_seconds: float,
        collections: Sequence[str] | None,
        worker: str,
        kinds: Sequence[str] | None = None,
    ) -> list[Job]:
        return self._rows(
            Job,
            """SELECT * FROM rag.take_jobs(%(limit)s, %(seconds)s,
                   %(collections)s::pg_catalog.text[], %(worker)s,
                   %(kinds)s::pg_catalog.text[])""",
            limit=limit,
            seconds=lease_seconds,
            collections=None if collections is None else list(collections),
            worker=worker,
            kinds=None if kinds is None else list(kinds),
        )

    def read_job(self, job: Job) -> IngestWork | None:
        rows = self._rows(
            IngestWork,
            "SELECT * FROM rag.job_input(%(job_id)s, %(lease)s)",
            job_id=job.job_id,
            lease=job.lease,
        )
        return rows[0] if rows else None

    def chunks_to_embed(self, job: Job, limit: int) -> list[tuple[int, str]]:
        found: list[Any] = self._tuples(
            "SELECT * FROM rag.chunks_to_embed(%(job_id)s, %(lease)s, %(limit)s)",
            job_id=job.job_id,
            lease=job.lease,
            limit=limit,
        )
        return found

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
        return str(
            self._scalar(
                """SELECT rag.store_chunks(%(job_id)s, %(lease)s, %(version)s,
                   %(chunks)s::pg_catalog.jsonb, embedded_space => %(space_id)s,
                   vectors => %(vectors)b)""",
                job_id=job.job_id,
                lease=job.lease,
                version=work.document_version,
                chunks=texts,
                space_id=work.space_id,
                vectors=[
                    HalfVector(vectors[index]) if index in vectors else None
                    for index in range(len(chunks))
                ]
                if vectors
                else None,
            )
        )

    def store_embeddings(self, job: Job, chunk_ids: Sequence[int], vectors: Vectors) -> int:
        return int(
            self._scalar(
                "SELECT rag.store_embeddings(%(job_id)s, %(lease)s, %(chunk_ids)s, %(vectors)b)",
                job_id=job.job_id,
                lease=job.lease,
                chunk_ids=list(chunk_ids),
                vectors=[HalfVector(vector) for vector in vectors],
            )
        )

    def extend_job(self, job: Job, lease_seconds: float) -> bool:
        return bool(
            self._scalar(
                "SELECT rag.extend_job(%(job_id)s, %(lease)s, %(seconds)s)",
                job_id=job.job_id,
                lease=job.lease,
                seconds=lease_seconds,
            )
        )

    def extend_jobs(self, jobs: Sequence[Job], lease_seconds: float) -> list[int]:
        """Return the ids of the jobs whose lease is lost."""
        lost: list[int] = self._scalar(
            "SELECT rag.extend_jobs(%(ids)s, %(leases)s, %(seconds)s)",
            ids=[job.job_id for job in jobs],
            leases=[job.lease for job in jobs],
            seconds=lease_seconds,
        )
        return lost

    def finish_job(self, job: Job) -> None:
        self._scalar(
            "SELECT rag.finish_job(%(job_id)s, %(lease)s)", job_id=job.job_id, lease=job.lease
        )

    def fail_job(
        self, job: Job, error: str, *, retry_in: float | None = None, permanent: bool = False
    ) -> str:
        return str(
            self._scalar(
                """SELECT rag.fail_job(%(job_id)s, %(lease)s, %(error)s, %(retry_in)s,
                   %(permanent)s)""",
                job_id=job.job_id,
                lease=job.lease,
                error=error.replace("\0", ""),
                retry_in=retry_in,
                permanent=permanent,
            )
        )

    def release_job(self, job: Job, delay: float = 0, reason: str | None = None) -> str:
        """Hand a job back: it costs no attempt."""
        return str(
            self._scalar(
                "SELECT rag.release_job(%(job_id)s, %(lease)s, %(delay)s, %(reason)s)",
                job_id=job.job_id,
                lease=job.lease,
                delay=delay,
                reason=None if reason is None else reason.replace("\0", ""),
            )
        )

    def job_stats(self, collection: str | None = None) -> list[JobCounts]:
        return self._rows(
            JobCounts, "SELECT * FROM rag.job_stats(%(collection)s)", collection=collection
        )

    def list_jobs(
        self, collection: str | None, state: str | None, limit: int
    ) -> list[dict[str, Any]]:
        return self._dicts(
            "SELECT * FROM rag.list_jobs(%(collection)s, %(state)s, %(limit)s)",
            collection=collection,
            state=state,
            limit=limit,
        )

    def explain_job(self, job_id: int) -> dict[str, Any]:
        return self._dicts("SELECT * FROM rag.explain_job(%(job_id)s)", job_id=job_id)[0]

    def retry_jobs(
        self,
        collection: str | None,
        error_like: str | None,
        *,
        kind: str | None = None,
        uri_like: str | None = None,
        job_ids: Sequence[int] | None = None,
        include_waiting: bool = False,
    ) -> int:
        return int(
            self._scalar(
                """SELECT rag.retry_jobs(%(collection)s, %(error_like)s, %(kind)s, %(uri_like)s,
                   %(job_ids)s::bigint[], %(include_waiting)s)""",
                collection=collection,
                error_like=error_like,
                kind=kind,
                uri_like=uri_like,
                job_ids=None if job_ids is None else list(job_ids),
                include_waiting=include_waiting,
            )
        )

    def search_note(self, collection: str) -> str | None:
        """What a search should be told: that documents wait and nobody works."""
        note = self._scalar("SELECT s.note FROM rag.search_status(%(c)s) AS s", c=collection)
        return None if note is None else str(note)
