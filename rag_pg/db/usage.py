"""Statements about what models were asked, and what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from psycopg.types.json import Jsonb

from rag_pg.db.connection import Statements
from rag_pg.types import ModelUsage, UsageLine


class UsageFigures(Statements):
    """Usage: recorded, reported."""

    def record_usage(
        self, collection: str, strategy: str, calls: Sequence[ModelUsage], *, answers: int = 1
    ) -> None:
        self._scalar(
            "SELECT rag.record_usage(%(collection)s, %(strategy)s, %(calls)s, %(answers)s)",
            collection=collection,
            strategy=strategy,
            calls=Jsonb(
                [
                    {
                        "kind": call.kind,
                        "model": call.model,
                        "calls": call.calls,
                        "prompt_tokens": call.usage.prompt_tokens,
                        "answer_tokens": call.usage.answer_tokens,
                        "cost": call.cost,
                        "unpriced_calls": call.unpriced_calls,
                        "cached_hits": call.cached_hits,
                        "failures": call.failures,
                    }
                    for call in calls
                ]
            ),
            answers=answers,
        )

    def usage_report(
        self, since: date | None, until: date | None, by: Sequence[str]
    ) -> list[UsageLine]:
        return self._rows(
            UsageLine,
            "SELECT * FROM rag.usage_report(%(since)s, %(until)s, %(by)s::pg_catalog.text[])",
            since=since,
            until=until,
            by=by,
        )
