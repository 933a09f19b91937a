"""What was done with a model, and the tokens it took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """Tokens as the provider counts them, estimated where it does not say; usages add up."""

    prompt_tokens: int = 0
    answer_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            answer_tokens=self.answer_tokens + other.answer_tokens,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelUsage:
    """What one model was asked for one kind of call.

    kind: answer, helper, rewrite, verify, rerank, …. cost: US dollars, without the unpriced_calls,
    of models whose price is not known. cached_hits: calls that were not made, for a cache knew
    their reply. failures: of the calls, those without a usable reply.
    """

    kind: str
    model: str
    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float = 0.0
    unpriced_calls: int = 0
    cached_hits: int = 0
    failures: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """What was done for an answer: kind is search, llm, tool, or what a strategy calls it.
    `detail` is
    JSON: the query and the hits of a search, the purpose and the end of a model's call.
    `seconds`: how long it took."""

    kind: str
    detail: Mapping[str, Any]
    seconds: float = 0.0
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """What a provider may be asked for, and what is used of it.

    requests_per_minute, tokens_per_minute, spend_cap (US dollars of a spend_period: day or total):
    None where there is no limit. window_requests, window_tokens, spent: used of them now.
    wait_seconds: for how long it is left alone, and the reason why; 0: it may be asked.
    """

    provider: str
    requests_per_minute: int | None
    tokens_per_minute: int | None
    window_requests: int
    window_tokens: int
    spend_cap: float | None
    spend_period: str | None
    spent: float | None
    wait_seconds: float
    reason: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class UsageLine:
    """What models were asked, and what it cost in US dollars, of one day, strategy, …; what a
    report does not tell apart is None. cost_per_answer: None where no answer is counted."""

    day: date | None
    role: str | None
    collection: str | None
    strategy: str | None
    kind: str | None
    model: str | None
    answers: int
    calls: int
    prompt_tokens: int
    answer_tokens: int
    cost: float
    cost_per_answer: float | None
    unpriced_calls: int
    cached_hits: int
    failures: int
