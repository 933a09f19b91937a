"""Statements about what providers may be asked for."""

from __future__ import annotations

from rag_pg.db.statements import Statements


class Budgets(Statements):
    """The budgets of providers: taken from, closed for a while."""

    def take_budget(self, provider: str, requests: int, tokens: int) -> float:
        """Return how many seconds to wait before asking again; 0: go."""
        return self.value(float, "take_budget", provider=provider, requests=requests, tokens=tokens)

    def budget_reason(self, provider: str) -> str | None:
        """Return why a provider may not be asked now; None when it may."""
        found: dict[str, str] = dict(self.tuples(("provider", "reason"), "list_budgets"))
        return found.get(provider)

    def block_provider(self, provider: str, seconds: float, reason: str) -> None:
        self.call(
            "block_provider", provider=provider, seconds=seconds, reason=reason.replace("\0", "")
        )
