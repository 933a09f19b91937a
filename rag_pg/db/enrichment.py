"""Statements about what documents are enriched with."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pgvector.psycopg.halfvec import HalfVector
from psycopg.types.json import Jsonb

from rag_pg.db.connection import Statements
from rag_pg.errors import InvalidInput, StatementCanceled
from rag_pg.types import Enrichment, EnrichmentSize, Job, RulePreview, Vectors


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtractionWork:
    """What rag.extraction_input hands to a worker; fields {}: none any more."""

    title: str
    content: str
    document_version: int
    fields: Mapping[str, Mapping[str, Any]]
    model: str | None
    settings_version: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ContextWork:
    """What rag.context_input hands to a worker; wanted False: the chunks shall have no context."""

    title: str
    content: str
    wanted: bool
    model: str | None
    source: str | None
    space_id: int
    chunk_ids: Sequence[int]
    headings: Sequence[str]
    contents: Sequence[str]
    starts: Sequence[int | None]


class Enrichments(Statements):
    """Enrichment: set, tried, done."""

    def set_enrichment(self, collection: str, rules: Sequence[Mapping[str, Any]]) -> int:
        return int(
            self._scalar(
                "SELECT rag.set_enrichment(%(collection)s, %(rules)s)",
                collection=collection,
                rules=Jsonb(list(rules)),
            )
        )

    def get_enrichment(self, collection: str) -> list[Enrichment]:
        return self._rows(
            Enrichment, "SELECT * FROM rag.get_enrichment(%(collection)s)", collection=collection
        )

    def preview_enrichment(
        self, collection: str, rules: Sequence[Mapping[str, Any]] | None, limit: int
    ) -> list[RulePreview]:
        return self._rows(
            RulePreview,
            "SELECT * FROM rag.preview_enrichment(%(collection)s, %(rules)s, %(limit)s)",
            collection=collection,
            rules=None if rules is None else Jsonb(list(rules)),
            limit=limit,
        )

    def enrich_document(self, job: Job, seconds: float) -> str:
        """Run the collection's rules over a document, for so many seconds at most.

        Raises: InvalidInput where they take longer.
        """
        began = time.monotonic()
        bounded = self.with_settings({"statement_timeout": f"{round(seconds * 1000)}ms"})
        try:
            return str(
                bounded._scalar(
                    "SELECT rag.enrich_document(%(job_id)s, %(lease)s)",
                    job_id=job.job_id,
                    lease=job.lease,
                )
            )
        except StatementCanceled as exc:
            if time.monotonic() - began < seconds:
                raise
            raise InvalidInput(
                f"the rules of collection {job.collection_name!r} took more than {seconds:g} s on"
                " this document; rag.preview_enrichment with one rule at a time finds the slow one"
            ) from exc

    # --- by a language model

    def set_extraction(self, collection: str, fields: Mapping[str, Any], model: str | None) -> int:
        return int(
            self._scalar(
                "SELECT rag.set_extraction(%(collection)s, %(fields)s, %(model)s)",
                collection=collection,
                fields=Jsonb(fields),
                model=model,
            )
        )

    def set_contexts(self, collection: str, wanted: bool, model: str | None) -> int:
        return int(
            self._scalar(
                "SELECT rag.set_contexts(%(collection)s, %(wanted)s, %(model)s)",
                collection=collection,
                wanted=wanted,
                model=model,
            )
        )

    def enrichment_size(self, collection: str) -> EnrichmentSize:
        (size,) = self._rows(
            EnrichmentSize,
            "SELECT * FROM rag.estimate_enrichment(%(collection)s)",
            collection=collection,
        )
        return size

    def extraction_input(self, job: Job) -> ExtractionWork | None:
        rows = self._rows(
            ExtractionWork,
            "SELECT * FROM rag.extraction_input(%(job_id)s, %(lease)s)",
            job_id=job.job_id,
            lease=job.lease,
        )
        return rows[0] if rows else None

    def store_extraction(
        self, job: Job, work: ExtractionWork, extracted: Mapping[str, Any], model: str | None
    ) -> str:
        return str(
            self._scalar(
                """SELECT rag.store_extraction(%(job_id)s, %(lease)s, %(document_version)s,
                   %(settings_version)s, %(extracted)s, %(model)s)""",
                job_id=job.job_id,
                lease=job.lease,
                document_version=work.document_version,
                settings_version=work.settings_version,
                extracted=Jsonb(extracted),
                model=model,
            )
        )

    def context_input(self, job: Job, limit: int) -> ContextWork | None:
        rows = self._rows(
            ContextWork,
            "SELECT * FROM rag.context_input(%(job_id)s, %(lease)s, %(limit)s)",
            job_id=job.job_id,
            lease=job.lease,
            limit=limit,
        )
        return rows[0] if rows else None

    def store_contexts(
        self,
        job: Job,
        work: ContextWork,
        contexts: Sequence[str | None],
        vectors: Sequence[Vectors],
    ) -> str:
        return str(
            self._scalar(
                """SELECT rag.store_contexts(%(job_id)s, %(lease)s, %(source)s, %(chunk_ids)s,
                   %(contexts)s::pg_catalog.text[], %(space_id)s, %(vectors)b)""",
                job_id=job.job_id,
                lease=job.lease,
                source=work.source,
                chunk_ids=list(work.chunk_ids),
                contexts=list(contexts),
                space_id=work.space_id,
                vectors=[HalfVector(vector) for vector in vectors],
            )
        )
