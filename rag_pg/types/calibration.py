"""Calibrations: when the answers of a collection are right, and how often."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

Zone = Literal["answer", "hedge", "refuse"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Assessment:
    """Whether what was found answers a question.

    zone: answer; hedge (an answer is given and said to be unsure); refuse. support: the
    probability, 0 to 1, that the answer is right; None where the collection is not calibrated.
    reason: what is missing.
    """

    zone: Zone
    support: float | None = None
    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Calibration:
    """When the answers of a collection are right: the rows of rag.get_calibration.

    Two logistic functions of the features, intercepts first, give the probability that the
    documents answer, and that the answer then is right; `support` is their product. thresholds of
    it, ascending: answered[i] of question_count questions reach thresholds[i], correct[i] of them
    are right, and lower_bounds[i] is the exact lower bound of that share. context_ratio: passages
    with at least this share of the best one's score are shown to a model. figures: what was
    measured, by name. judged: the same with a language model's judgement among the features, of
    which judge_model and judge_version tell whose it is. corpus_fingerprint: of the documents then;
    corpus_changed: whether those that the caller may read are others now, None where nobody looked.
    stale: why it is not applied.
    """

    set_name: str
    settings: Mapping[str, Any]
    features: Sequence[str]
    answerable_weights: Sequence[float]
    right_weights: Sequence[float]
    evidence_floor: float
    thresholds: Sequence[float]
    answered: Sequence[int]
    correct: Sequence[int]
    question_count: int
    answerable_count: int
    refuse_below: float
    answer_from: float
    context_ratio: float | None
    figures: Mapping[str, Any]
    lower_bounds: Sequence[float] = ()
    model_fingerprint: str | None = None
    calibrated_at: datetime | None = None
    stale: str | None = None
    judge_model: str | None = None
    judge_version: str | None = None
    corpus_fingerprint: str | None = None
    corpus_changed: bool | None = field(default=None, metadata={"column": False})
    judged: Calibration | None = field(default=None, metadata={"column": False})

    def threshold_for(self, accuracy: float) -> float | None:
        """Return the lowest support of the curve from which on answers are right at least that
        often, by the exact bound of each threshold by itself; None: no support is enough."""
        enough = [
            threshold
            for threshold, bound in zip(self.thresholds, self.lower_bounds, strict=True)
            if bound >= accuracy
        ]
        return min(enough, default=None)
