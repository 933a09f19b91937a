"""What a question may cost."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rag_pg.errors import InvalidInput

STEPS = 4
LONGEST_TIMEOUT = 86_400.0


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """What a question may cost: a call of a model that might pass a bound is not made.

    max_steps: 1 to 50, how often a strategy searches anew or calls the model with tools.
    max_tokens: of all calls. max_cost: of all calls, in US dollars. timeout: seconds for the whole
    answer. None: no bound.
    Raises: InvalidInput.
    """

    max_steps: int = STEPS
    max_tokens: int | None = None
    max_cost: float | None = None
    timeout: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.max_steps, bool) or not isinstance(self.max_steps, int):
            raise InvalidInput(f"max_steps is {self.max_steps!r:.100}; use 1 to 50")
        if not 1 <= self.max_steps <= 50:
            raise InvalidInput(f"max_steps {self.max_steps} is out of range; use 1 to 50")
        for name in ("max_tokens", "max_cost", "timeout"):
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise InvalidInput(f"{name} is {value!r:.100}; use a number above 0, or None")
            if isinstance(value, int) and value >= 2**63:  # a float cannot hold any whole number
                raise InvalidInput(f"{name} is out of range; use less than 2**63")
        if self.timeout is not None and not self.timeout <= LONGEST_TIMEOUT:
            raise InvalidInput(
                f"timeout {self.timeout:g} is out of range; use at most {LONGEST_TIMEOUT:g} s"
            )
        if self.max_cost is not None and not math.isfinite(self.max_cost):
            raise InvalidInput(f"max_cost is {self.max_cost}; use a number, or None")
