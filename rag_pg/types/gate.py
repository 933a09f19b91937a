"""Gates: what a collection demands of its changes, and what a run gives for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Gate:
    """Changes of a collection may lower a metric of a set by epsilon (0 to 1) at most.

    options: of the search that is measured; k: of how many hits. queries: of the set.
    kind: search, or ask: it tests runs of answers, and refuses no change.
    """

    collection_name: str
    eval_set: str
    metric: str
    epsilon: float
    k: int
    options: Mapping[str, Any]
    queries: int
    kind: str


@dataclass(frozen=True, kw_only=True, slots=True)
class GateResult:
    """A gate tested on two runs, b against the baseline a: over all questions (category None) or in
    a category; see rag.test_regression.

    detectable: the loss that so many questions show; None where none could be shown. worst: the
    questions that lost most. against: the baseline's run.
    """

    metric: str
    k: int
    epsilon: float
    category: str | None
    queries: int
    value_a: float
    value_b: float
    difference: float
    p_value: float
    passed: bool
    detectable: float | None
    worst: Sequence[Mapping[str, Any]]
    against: int


@dataclass(frozen=True, kw_only=True, slots=True)
class GateCheck:
    """What the gates of a collection decided: passed, failed (a run), refused or forced (a
    change)."""

    check_id: int
    collection_name: str
    action: str
    outcome: str
    details: Sequence[Mapping[str, Any]]
    checked_by: str
    checked_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class EvalQuery:
    """A question of a set with what is right for it.

    relevant: objects of uri, grade and perhaps quote, start and stop. answers: each is right by
    itself. source: human, synthetic, feedback or log.
    """

    query_id: str
    question: str
    category: str = ""
    source: str = "human"
    unanswerable: bool = False
    relevant: Sequence[Mapping[str, Any]] = ()
    answers: Sequence[str] = ()
    expected_terms: Sequence[str] = ()
    expected_metadata: Mapping[str, Any] = field(default_factory=dict)
    min_score: float | None = None
