"""The budgets of providers (rag.set_budget), taken before each call of a language model."""

from __future__ import annotations

import time
from collections.abc import Callable

from rag_pg.db import Database
from rag_pg.errors import BudgetExceeded
from rag_pg.protocols import LLM

PATIENCE = 5.0  # seconds: a longer wait is not sat out


def take_budgets(
    database: Database, *, sleep: Callable[[float], object] = time.sleep
) -> Callable[[LLM, int], None]:
    """Return what counts a call of a language model, with the most tokens that it may use, against
    its provider's budget; it raises BudgetExceeded where that allows no call now."""

    def admit(llm: LLM, tokens: int) -> None:
        provider = llm.name.partition(":")[0]
        while wait := database.take_budget(provider, 1, tokens):
            if wait > PATIENCE:
                reason = database.budget_reason(provider) or f"{provider} may not be asked now"
                raise BudgetExceeded(
                    f"{reason}; rag.set_budget raises it", bound=f"the budget of {provider}"
                )
            sleep(wait)

    return admit
