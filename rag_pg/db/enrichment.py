"""Statements about what documents are enriched with."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag_pg.db.statements import Statements
from rag_pg.errors import InvalidInput, StatementCanceled
from rag_pg.types import Enrichment, EnrichmentSize, Job


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
        return self.value(int, "set_enrichment", collection=collection, rules=list(rules))

    def get_enrichment(self, collection: str) -> list[Enrichment]:
        return self.rows(Enrichment, "get_enrichment", collection=collection)

    def enrich_document(self, job: Job, seconds: float) -> str:
        """Run the collection's rules over a document, for so many seconds at most.

        Raises: InvalidInput where they take longer.
        """
        began = time.monotonic()
        bounded = self.with_settings({"statement_timeout": f"{round(seconds * 1000)}ms"})
        try:
            return bounded.value(str, "enrich_document", job_id=job.job_id, lease=job.lease)
        except StatementCanceled as exc:
            if time.monotonic() - began < seconds:
                raise
            error = InvalidInput(
                f"the rules of collection {job.collection_name!r} took more than {seconds:g} s on"
                " this document; rag.preview_enrichment with one rule at a time finds the slow one"
            )
            error.sqlstate = "54000"  # too complex: an attempt, where a statement that somebody
            raise error from exc  # cancelled is done again for a while

    # --- by a language model

    def enrichment_size(self, collection: str) -> EnrichmentSize:
        return self.only(EnrichmentSize, "estimate_enrichment", collection=collection)

    def extraction_input(self, job: Job) -> ExtractionWork | None:
        return self.row(ExtractionWork, "extraction_input", job_id=job.job_id, lease=job.lease)

    def store_extraction(
        self, job: Job, work: ExtractionWork, extracted: Mapping[str, Any], model: str | None
    ) -> str:
        return self.value(
            str,
            "store_extraction",
            job_id=job.job_id,
            lease=job.lease,
            document_version=work.document_version,
            settings_version=work.settings_version,
            extracted=extracted,
            model_name=model,
        )

    def context_input(self, job: Job, limit: int) -> ContextWork | None:
        return self.row(
            ContextWork, "context_input", job_id=job.job_id, lease=job.lease, chunk_limit=limit
        )
