"""Evidence and a collection's calibration -> whether to answer, how surely, and what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp

from rag_pg.answer.extractive.answer import explain_lack
from rag_pg.answer.extractive.passage_scores import Evidence
from rag_pg.answer.features import WORSE, measure
from rag_pg.answer.llm_relevance import JUDGEMENT, Judgement
from rag_pg.types import Assessment, Calibration, Zone

SHORTFALL = 10.0  # weight of evidence below the calibration's floor


def assess(
    question: str,
    evidence: Evidence,
    calibration: Calibration,
    min_support: float | None = None,
    judgement: Judgement | None = None,
) -> Assessment:
    """Return the zone of a question, the support of its answer, and what is missing.

    With a judgement by what was measured with judgements, without one by what was measured without.

    Args:
        min_support: 0 to 1; refused is what the calibration does not show to be right that often
            (`Calibration.threshold_for`).
    """
    features = measure(question, evidence)
    missing = ""
    if judgement is not None and calibration.judged is not None:
        calibration = calibration.judged
        features[JUDGEMENT] = judgement.score
        missing = judgement.missing
    short = min(evidence.strength - calibration.evidence_floor, 0.0)
    names = calibration.features
    answerable = probability(names, calibration.answerable_weights, features, short)
    support = answerable * probability(names, calibration.right_weights, features, short)
    lack = missing or _explain(evidence, calibration, features, short)
    zone: Zone = "answer" if support >= calibration.answer_from else "hedge"
    if answerable < calibration.refuse_below:
        zone = "refuse"
    reason = "" if zone == "answer" else lack
    if min_support is not None:
        needed = calibration.threshold_for(min_support)
        if needed is None or support < needed:
            zone = "refuse"
            told = "more than was measured" if needed is None else f"{needed:.2f}"
            reason = f"{lack}; its support is {support:.2f}, needed is {told}"
        else:
            zone = "answer" if zone == "refuse" else zone
    return Assessment(zone=zone, support=support, reason=reason)


def _explain(
    evidence: Evidence, calibration: Calibration, features: Mapping[str, float], shortfall: float
) -> str:
    """Say what the evidence lacks, and what lowers the support most beside right answers."""
    weights = zip(
        calibration.features,
        calibration.answerable_weights[1:],
        calibration.right_weights[1:],
        strict=True,
    )
    usual = calibration.figures.get("usual", {})
    cost = {
        WORSE[name]: (one + other) * (usual[name] - features[name])
        for name, one, other in weights
        if name in usual
    }
    cost["less was found than for nearly all questions with an answer"] = -2 * SHORTFALL * shortfall
    worst = max(cost, key=lambda told: cost[told])
    told = [explain_lack(evidence)]
    if cost[worst] > 0:
        told.append(f"compared with right answers, {worst}")
    found = "; ".join(filter(None, told))
    return found or "answers with such evidence were not measured to be right often enough"


def probability(
    names: Sequence[str],
    weights: Sequence[float],
    features: Mapping[str, float],
    shortfall: float,
) -> float:
    """Return the logistic function of intercept + weighted features + SHORTFALL x shortfall."""
    total = weights[0] + SHORTFALL * shortfall
    total += sum(w * features[name] for name, w in zip(names, weights[1:], strict=True))
    return 1 / (1 + exp(-max(-500.0, min(500.0, total))))
