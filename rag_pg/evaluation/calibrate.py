"""Questions with what is right for them, asked of a collection -> its calibration.

Probabilities of the curve are of questions that were not fitted to: the questions are divided into
FOLDS, and each is judged by weights of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_pg.answer import (
    FEATURES,
    JUDGEMENT,
    RERANKED,
    SHORTFALL,
    Evidence,
    compose_answer,
    measure,
)
from rag_pg.errors import InvalidInput
from rag_pg.types import Calibration, EvalQuery, Hit, Hits, Passage

Numbers = NDArray[np.float64]
Truths = NDArray[np.bool_]

FOLDS = 5
LEAST = 100  # right answers, and questions without one: LOST of fewer are less than five
RIDGE = 10.0  # on weights of features with spread 1
STEPS = 20  # thresholds of a curve
SIGNS = {**FEATURES, **RERANKED, JUDGEMENT: 1}
LOST = 0.05  # share of right answers that the refusing zone may take
KEPT = 0.95  # share of the relevant passages that a smaller context keeps
FLOOR = 0.05  # share of the answerable questions that have less evidence than the floor
CITED = 2  # the first citations, of which one holds the right answer


@dataclass(kw_only=True, slots=True)
class Observation:
    """A question that was asked. relevant: the standing (score / best score) of each relevant hit;
    tokens: of each hit, standing beside it. by_passage: whether a hit is relevant for a passage in
    it, not for its document. passages: those that answer, as a model is shown them."""

    question: str = ""
    answerable: bool
    off_corpus: bool
    right: bool
    features: Mapping[str, float]
    strength: float
    relevant: Sequence[float] = ()
    standings: Sequence[float] = ()
    tokens: Sequence[int] = ()
    by_passage: bool = False
    passages: Sequence[Hit] = ()


@dataclass(kw_only=True, slots=True)
class Model:
    """What is fitted: weights with their intercept first, and the floor of the evidence."""

    names: Sequence[str]
    answerable: Numbers
    right: Numbers
    floor: float = 0.0

    def probabilities(self, items: Sequence[Observation]) -> tuple[Numbers, Numbers]:
        """The probability that the documents answer, and that the answer then is right."""
        rows = np.array([[1.0, *(o.features[n] for n in self.names)] for o in items])
        short = SHORTFALL * np.minimum(np.array([o.strength for o in items]) - self.floor, 0.0)
        return _logistic(rows @ self.answerable + short), _logistic(rows @ self.right + short)


def observe(
    query: EvalQuery,
    hits: Hits,
    evidence: Evidence | None,
    count_tokens: Callable[[Sequence[str]], Sequence[int]],
    *,
    relevant: Collection[int] = (),
    off_corpus: bool = False,
    read_around: Callable[..., Passage | None] | None = None,
) -> Observation | None:
    """Return what a question shows; None where nothing was found.

    Args:
        relevant: ids of the chunks that are relevant to it. read_around: as of an answer.
    """
    if evidence is None:
        return None
    answerable = not query.unanswerable and not off_corpus
    cited = list(compose_answer(query.question, evidence, read_around).citations)[:CITED]
    if query.answers:
        gold = [_plain(text) for text in query.answers]
        right = any(text in _plain(c.quote) for text in gold for c in cited)
    else:
        right = any(c.chunk_id in relevant for c in cited[:1])
    best = max((hit.score for hit in hits), default=0.0) or 1.0
    standings = [hit.score / best for hit in hits]
    return Observation(
        question=query.question,
        answerable=answerable,
        off_corpus=off_corpus,
        right=answerable and right,
        features=measure(query.question, evidence),
        strength=evidence.strength,
        relevant=[
            s
            for s, hit in zip(standings, hits, strict=True)
            if answerable and hit.chunk_id in relevant
        ],
        standings=standings,
        tokens=list(count_tokens([hit.content for hit in hits])),
        by_passage=any(r.get("quote") or r.get("stop") is not None for r in query.relevant),
        passages=[c.hit for c in evidence.candidates],
    )


def distinct_questions(queries: Sequence[EvalQuery]) -> list[EvalQuery]:
    """Return the first of equal questions: one asked twice is no further evidence."""
    first: dict[str, EvalQuery] = {}
    for query in queries:
        first.setdefault(_plain(query.question), query)
    return list(first.values())


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def fit(items: Sequence[Observation]) -> Model:
    """Fit both probabilities to observations of the collection's own questions.

    Weights have the sign of SIGNS or are 0; a judgement is weighed where the observations have one.
    Weights that off-corpus questions would need are not fitted, they follow from the floor:
    evidence below what FLOOR of the answerable have counts against an answer, SHORTFALL x what
    lacks.
    """
    names = [name for name in SIGNS if name in items[0].features]
    rows = np.array([[o.features[n] for n in names] for o in items], dtype=np.float64)
    answerable = np.array([o.answerable for o in items])
    right = np.array([o.right for o in items])
    strength = np.array([o.strength for o in items])
    signs = np.array([SIGNS[n] for n in names], dtype=np.float64)
    weights = _fit_logistic(rows, answerable, signs)
    return Model(
        names=names,
        answerable=weights,
        right=_fit_logistic(rows[answerable], right[answerable], signs),
        floor=float(np.quantile(strength[answerable], FLOOR)),
    )


def _fit_logistic(rows: Numbers, truths: Truths, signs: Numbers) -> Numbers:
    """Return intercept and weights of a ridge logistic regression whose weights have given signs.

    Newton's method on the weights that are not held at 0. With one outcome alone only the intercept
    is fitted, to (n + 1/2) / (n + 1): Krichevsky and Trofimov, 1981.
    """
    count, width = rows.shape
    if truths.all() or not truths.any():
        share = (truths.sum() + 0.5) / (count + 1)
        return np.array([np.log(share / (1 - share)), *np.zeros(width)])
    mean, spread = rows.mean(axis=0), rows.std(axis=0)
    used = spread > 1e-9
    spread = np.where(used, spread, 1.0)
    data = np.column_stack([np.ones(count), (rows - mean) / spread * used])
    ridge = np.array([1e-6, *np.full(width, RIDGE)])
    sign = np.array([0.0, *signs])
    weights = np.zeros(width + 1)
    for _ in range(100):
        chance = _logistic(data @ weights)
        slope = data.T @ (truths - chance) - ridge * weights
        free = ~((sign != 0) & (weights * sign <= 0) & (slope * sign <= 0))
        bend = (data * (chance * (1 - chance))[:, None]).T @ data + np.diag(ridge)
        step = np.zeros(width + 1)
        step[free] = np.linalg.solve(bend[np.ix_(free, free)], slope[free])
        moved = weights + step
        moved[(sign != 0) & (moved * sign < 0)] = 0.0
        if np.abs(moved - weights).max() < 1e-8:
            break
        weights = moved
    own = weights[1:] / spread * used
    return np.array([weights[0] - float(own @ mean), *own])


def _logistic(values: Numbers) -> Numbers:
    chance: Numbers = 1 / (1 + np.exp(-np.clip(values, -500, 500)))
    return chance


def calibrate(
    items: Sequence[Observation], *, set_name: str, settings: Mapping[str, Any]
) -> Calibration:
    """Fit, and measure on questions that were left out; all answers are hedged as yet.

    Raises: InvalidInput: too few questions, with how many more are needed of which kind.
    """
    own = [o for o in items if not o.off_corpus]
    off = [o for o in items if o.off_corpus]
    good = sum(o.answerable for o in own)
    if lack := _what_lacks(own):
        raise InvalidInput(lack)
    order = np.random.default_rng(14).permutation(len(own))
    answerable, right, far = np.zeros(len(own)), np.zeros(len(own)), np.zeros(len(off))
    for fold in range(FOLDS):
        left_out = order[fold::FOLDS]
        model = fit([own[i] for i in order if i not in set(left_out.tolist())])
        answerable[left_out], right[left_out] = model.probabilities([own[i] for i in left_out])
        if off:
            far += np.multiply(*model.probabilities(off)) / FOLDS
    model = fit(own)
    support = answerable * right
    is_answerable = np.array([o.answerable for o in own])
    is_right = np.array([o.right for o in own])
    thresholds = np.unique(np.quantile(support, np.arange(STEPS) / STEPS))
    ratio, context = measure_context([o for o in own if o.answerable])
    figures = {
        "auroc_near_misses": auroc(support[is_answerable], support[~is_answerable]),
        "auroc_off_corpus": auroc(support[is_answerable], far),
        "auroc_right": auroc(right[is_right], right[is_answerable & ~is_right]),
        "accuracy": float(is_right[is_answerable].mean()),
        "accuracy_at_80": accuracy_at(right[is_answerable], is_right[is_answerable], 0.8),
        "off_corpus_questions": len(off),
        "usual": {n: mean([o.features[n] for o in own if o.right]) for n in model.names},
        **context,
    }
    return Calibration(
        set_name=set_name,
        settings=settings,
        features=model.names,
        answerable_weights=model.answerable.tolist(),
        right_weights=model.right.tolist(),
        evidence_floor=model.floor,
        thresholds=thresholds.tolist(),
        answered=[int((support >= t).sum()) for t in thresholds],
        correct=[int(is_right[support >= t].sum()) for t in thresholds],
        question_count=len(own),
        answerable_count=good,
        refuse_below=float(np.quantile(answerable[is_right], LOST)),
        answer_from=1.0,
        context_ratio=ratio,
        figures=figures,
    )


def _what_lacks(own: Sequence[Observation]) -> str:
    """Say how many questions of which kind are missing for a calibration; "": none."""
    good, right = sum(o.answerable for o in own), sum(o.right for o in own)
    others = len(own) - good
    wanted = []
    if right < LEAST:
        more = ceil((LEAST - right) * good / right) if right else LEAST
        wanted.append(f"about {more} more that the documents answer")
    if others < LEAST:
        wanted.append(f"{LEAST - others} more that come near and that they do not answer")
    if not wanted:
        return ""
    return (
        f"{good} questions with an answer, {right} of them answered right, and {others} without are"
        f" too few to calibrate on, which takes {LEAST} right answers and {LEAST} questions without"
        f" one: add {' and '.join(wanted)}"
    )


def auroc(positive: Numbers, negative: Numbers) -> float | None:
    """Return the share of pairs of a positive and a negative that are in order, ties counted half;
    None without pairs."""
    if not len(positive) or not len(negative):
        return None
    above = (positive[:, None] > negative).mean() + (positive[:, None] == negative).mean() / 2
    return float(above)


def accuracy_at(support: Numbers, right: Truths, coverage: float) -> float:
    """The share of right answers among the best supported `coverage` of them."""
    kept = np.argsort(-support, kind="stable")[: max(int(coverage * len(right)), 1)]
    return float(right[kept].mean())


def measure_context(items: Sequence[Observation]) -> tuple[float | None, dict[str, float]]:
    """Return the standing that KEPT of the relevant hits reach, and what that saves, measured on
    the questions that it was not chosen on: those of the other half.

    Relevant are the hits that have a passage of the question's judgements, or, where these name no
    passage, all of the documents that they name; both are counted.
    The quantile is that of split conformal prediction, floor((1 - KEPT) (n + 1)); None where there
    are too few hits for it.
    """
    halves = [items[0::2], items[1::2]]
    kept: list[bool] = []
    shown = whole = 0
    counts: list[int] = []
    by_passage = [o.by_passage for o in items if o.relevant]
    known: dict[str, float] = {
        "context_questions_by_passage": by_passage.count(True),
        "context_questions_by_document": by_passage.count(False),
    }
    for chosen_on, measured_on in (halves, halves[::-1]):
        ratio = _ratio(chosen_on)
        if ratio is None:
            return None, known
        for o in measured_on:
            kept += [standing >= ratio for standing in o.relevant]
            inside = [n for n, s in zip(o.tokens, o.standings, strict=True) if s >= ratio]
            shown, whole = shown + sum(inside), whole + sum(o.tokens)
            counts.append(len(inside))
    return _ratio(items), known | {
        "context_kept": sum(kept) / len(kept),
        "context_passages": sum(counts) / len(counts),
        "context_tokens_saved": 1 - shown / max(whole, 1),
    }


def _ratio(items: Sequence[Observation]) -> float | None:
    standings = sorted(standing for o in items for standing in o.relevant)
    rank = floor((1 - KEPT) * (len(standings) + 1))
    return standings[rank - 1] if rank >= 1 else None
