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

    def block_provider(self, provider: str, seconds: float, reason: str) -> None:
        self._scalar(
            "SELECT rag.block_provider(%(provider)s, %(seconds)s, %(reason)s)",
            provider=provider,
            seconds=seconds,
            reason=reason.replace("\0", ""),
        )
