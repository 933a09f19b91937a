"""Statements about what models were asked, and what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from rag_pg.db.statements import Statements
from rag_pg.types import ModelUsage, UsageLine


class UsageFigures(Statements):
    """Usage: recorded, reported."""

    def record_usage(
        self, collection: str, strategy: str, calls: Sequence[ModelUsage], *, answers: int = 1
    ) -> None:
        self.call(
            "record_usage",
            collection=collection,
            strategy=strategy,
            calls=[
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
            ],
            answer_count=answers,
        )

    def usage_report(
        self, since: date | None, until: date | None, by: Sequence[str]
    ) -> list[UsageLine]:
        return self.rows(UsageLine, "usage_report", since=since, until=until, by=by)
