"""Sweeps: many settings of a collection, each measured by a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rag_pg.types import Usage

MOST_CANDIDATES = 50  # of a sweep, unless the caller wants more
Vary = Mapping[str, Sequence[Any]]
Tell = Callable[[str], None]
RunProgress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """Settings that a sweep measures.

    options: of `search` or `ask`, by kind. chunking, model, contexts: of a temporary copy of the
    collection; None and False: as the collection is. contexts_model: the language model that writes
    the contexts. unavailable: why it cannot be measured here.
    """

    name: str
    kind: str = "search"
    options: Mapping[str, Any] = field(default_factory=dict)
    chunking: Mapping[str, Any] | None = None
    model: str | None = None
    contexts: bool = False
    contexts_model: str | None = None
    unavailable: str = ""

    @property
    def is_copied(self) -> bool:
        """Whether it takes a copy of the collection."""
        return self.chunking is not None or self.model is not None or self.contexts


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepRow:
    """A candidate as it was measured, against the baseline of its kind.

    value, queries: a question that the baseline alone has the metric of counts as 0. low, high: the
    interval of the difference, 0 inside unless adjusted_p_value is below 0.05 (None: not known of
    so few questions). adjusted_p_value: corrected for how many candidates are compared.
    latency_p50, latency_p95: seconds of a question; tokens, cost (US dollars): of the whole run.
    reused: the run was there. notes: what was degraded. error: why there is no run, or on
    which questions it failed; with a baseline that failed nothing is compared.
    """

    name: str
    kind: str
    baseline: bool = False
    run_id: int | None = None
    reused: bool = False
    metric: str = ""
    queries: int = 0
    value: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    adjusted_p_value: float | None = None
    latency_p50: float | None = None
    latency_p95: float | None = None
    tokens: float | None = None
    cost: float | None = None
    notes: Sequence[str] = ()
    error: str | None = None
    unavailable: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Sweep:
    """What a sweep found: the baseline of each kind first, then the best candidate first, then what
    has no run."""

    eval_set: str
    collection: str
    k: int
    rows: Sequence[SweepRow]

    @property
    def run_ids(self) -> list[int]:
        """The runs, in the order of the rows."""
        return [row.run_id for row in self.rows if row.run_id is not None]


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepEstimate:
    """What a sweep will take, about.

    runs: that are to be made; reused: that are there. copies: of the collection, each of so many
    documents; embedded_tokens: of all copies, by the model that reads them. calls, usage: of
    language models; cost: US dollars of these, None where a price is not known.
    """

    candidates: Sequence[Candidate]
    runs: int
    reused: int
    questions: int
    copies: int
    documents: int
    embedded_tokens: Mapping[str, int]
    calls: int
    usage: Usage
    cost: float | None
