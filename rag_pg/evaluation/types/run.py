"""Evaluation: sets, runs, their metrics and comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from rag_pg.types import Usage


@dataclass(frozen=True, kw_only=True, slots=True)
class EvalSet:
    """A set of questions: how many, how many judgements, unanswerable questions and runs."""

    name: str
    description: str
    queries: int
    judgements: int
    unanswerable: int
    categories: Sequence[str]
    sources: Sequence[str]
    runs: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Rejected:
    """What an import left out. line: of the file, from 1."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


@dataclass(frozen=True, kw_only=True, slots=True)
class EvalImport:
    """What an import did with the questions of a file. notes: what the file has beside them."""

    added: int
    updated: int
    unchanged: int
    rejected: Sequence[Rejected] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class EvalRun:
    """A run of a set on a collection. finished_at: None while it goes on, or was interrupted.

    corpus_fingerprint: of the documents, set_fingerprint: of the questions and judgements: runs
    whose fingerprints are equal measured the same. notes: what was degraded. errors: questions
    without a result.
    """

    run_id: int
    eval_set: str
    collection: str
    name: str
    kind: str
    settings: Mapping[str, Any]
    corpus_fingerprint: str
    set_fingerprint: str
    model: str
    model_fingerprint: str | None
    code_version: str
    baseline: bool
    notes: Sequence[str]
    started_at: datetime
    finished_at: datetime | None
    queries: int
    errors: int


class LineCount(int):
    """How many lines a run has in TREC's form. notes: what other programs do not read of it."""

    notes: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class EvalRunImport:
    """A ranking of another program as a run.

    ranked: how many documents, of all questions. missing: uris that no document has; they keep
    their ranks. unknown: ids that no question of the set has. unranked: questions without a line,
    for which nothing was found. passages: questions that are left out, for passages are judged.
    """

    run: EvalRun
    ranked: int
    missing: Sequence[str]
    unknown: Sequence[str]
    unranked: int
    passages: int
    rejected: Sequence[Rejected] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class EvalMetric:
    """A metric of a run: of all its questions (category None) or of a category.

    low, high: the 95 % interval of a mean. queries: how many questions have the metric. advisory: a
    judge whose agreement with people is not measured on 20 labels.
    """

    category: str | None
    metric: str
    value: float
    low: float | None
    high: float | None
    queries: int
    advisory: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class RunComparison:
    """Two runs by one metric, b beside a; see rag.compare_runs.

    low, high: the differences that the test does not exclude, 0 among them unless adjusted_p_value
    is below 0.05; None where so few questions exclude nothing. detectable: the smallest difference
    that so many questions can show. missing_a, missing_b: questions that a run failed on, was not
    asked or has no such metric of; they count as 0, and are left out for seconds, tokens and cost.
    """

    category: str | None
    metric: str
    queries: int
    value_a: float
    value_b: float
    difference: float
    low: float | None
    high: float | None
    p_value: float
    adjusted_p_value: float
    wins: int
    ties: int
    losses: int
    detectable: float | None
    missing_a: int
    missing_b: int


@dataclass(frozen=True, kw_only=True, slots=True)
class QueryComparison:
    """A metric of two runs for one question. missing_a, missing_b: why a run has it not, which
    counts as 0; None where it has it."""

    query_id: str
    question: str | None
    category: str
    value_a: float
    value_b: float
    difference: float
    missing_a: str | None
    missing_b: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class EvalDrift:
    """A judgement that no longer describes a collection: uri gone, quote gone, moved, or beyond the
    end."""

    query_id: str
    question: str
    uri: str
    quote: str | None
    state: str
    detail: str


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedAnswer:
    """What a judge is shown. answer: None where the run only searched. contexts: the texts of the
    hits, best first. answers: right ones."""

    query_id: str
    question: str
    answer: str | None
    contexts: Sequence[str]
    answers: Sequence[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledResult:
    """A result of a run with a person's label (score 0 to 1; None: not labelled yet), and the
    scores of judges by their names."""

    query_id: str
    question: str | None
    answer: str | None
    score: float | None
    reason: str | None
    judges: Mapping[str, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelReport:
    """What became of labels: how many are stored, and which are not, with the reason."""

    stored: int
    rejected: Sequence[Rejected] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class EvalJudge:
    """A judge that scored results, in a version. samples and what follows, as in `JudgeAgreement`:
    None where its agreement with people was not measured."""

    judge: str
    judge_version: str
    scores: int
    samples: int | None
    accuracy: float | None
    accuracy_low: float | None
    accuracy_high: float | None
    kappa: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeAgreement:
    """How well a judge agrees with people. accuracy_low, accuracy_high: its 95 % interval. kappa:
    agreement beyond chance; None where that is not defined. samples: results that both have; with
    fewer than 20 the judge stays advisory."""

    samples: int
    accuracy: float
    accuracy_low: float
    accuracy_high: float
    kappa: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeReport:
    """What a judge did: how many results it scored, and on which it failed. usage: of the model's
    calls; what was asked before costs none."""

    judge: str
    judge_version: str
    scored: int
    failures: Sequence[str] = ()
    usage: Usage = field(default_factory=Usage, metadata={"column": False})
