"""Statements about what documents are enriched with."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from psycopg.types.json import Jsonb

from rag_pg.db.connection import Statements
from rag_pg.errors import InvalidInput, StatementCanceled
from rag_pg.types import Enrichment, Job, RulePreview


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
