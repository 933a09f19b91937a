"""Statements about what providers may be asked for."""

from __future__ import annotations

from rag_pg.db.connection import Statements


class Budgets(Statements):
    """The budgets of providers: taken from, closed for a while."""

    def take_budget(self, provider: str, requests: int, tokens: int) -> float:
        """Return how many seconds to wait before asking again; 0: go."""
        return float(
            self._scalar(
                "SELECT rag.take_budget(%(provider)s, %(requests)s, %(tokens)s)",
                provider=provider,
                requests=requests,
                tokens=tokens,
            )
        )

    def budget_reason(self, provider: str) -> str | None:
        """Return why a provider may not be asked now; None when it may."""
        found = self._scalars(
            "SELECT l.reason FROM rag.list_budgets() AS l"
            " WHERE l.provider OPERATOR(pg_catalog.=) %(provider)s",
            provider=provider,
        )
        return found[0] if found else None

    def block_provider(self, provider: str, seconds: float, reason: str) -> None:
        self._scalar(
            "SELECT rag.block_provider(%(provider)s, %(seconds)s, %(reason)s)",
            provider=provider,
            seconds=seconds,
            reason=reason.replace("\0", ""),
        )
