"""What a report holds: runs of a set beside each other, and what each found for a question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rag_pg.evaluation.types import EvalMetric, EvalRun, RunComparison

METRIC = "ndcg"


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportedRun:
    """A run with its metrics over all questions.

    latency_p50, latency_p95: seconds. on_frontier: no other run is both faster and better.
    """

    run: EvalRun
    value: float | None
    latency_p50: float | None
    latency_p95: float | None
    on_frontier: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportedHit:
    """relevant: whether it is judged to be. uri: empty where the document was erased."""

    uri: str
    relevant: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportedResult:
    """What a run gave for a question. value: of METRIC; None where nothing is judged."""

    value: float | None
    hits: Sequence[ReportedHit]
    error: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportedQuery:
    """A question with what each run gave, in the order of the runs; None: it was not asked."""

    query_id: str
    question: str
    category: str
    results: Sequence[ReportedResult | None]

    def values(self, pair: Sequence[int]) -> list[float | None]:
        """The METRIC of the runs at these positions."""
        chosen = (self.results[position] for position in pair)
        return [None if result is None else result.value for result in chosen]

    def change(self, pair: Sequence[int]) -> float:
        """Of the last of two runs against the first; of one run, its value."""
        values = [value or 0.0 for value in self.values(pair)]
        return values[-1] - values[0] if len(values) > 1 else values[0]

    @property
    def is_missed(self) -> bool:
        """Whether no run has anything relevant among its first k hits."""
        values = [result.value for result in self.results if result is not None]
        return bool(values) and all(value == 0 for value in values)


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportContent:
    """What a report holds. metrics: of each run. pair: the positions of the runs that are
    compared question by question: the one, both, or of more the first and the best of the
    others. comparison: of that pair."""

    runs: Sequence[EvalRun]
    metrics: Sequence[Sequence[EvalMetric]]
    queries: Sequence[ReportedQuery]
    pair: Sequence[int]
    k: int
    comparison: Sequence[RunComparison] = ()

    def name_of(self, position: int) -> str:
        """What people call the run there: its name, or what it is and when it began; with its
        number where several are called so."""
        names = [run.name or f"{run.kind} of {run.started_at:%Y-%m-%d %H:%M}" for run in self.runs]
        name = names[position]
        return name if names.count(name) == 1 else f"{name} ({self.runs[position].run_id})"

    def run_rows(self) -> list[ReportedRun]:
        """The runs with their quality and their latency."""
        found = [overall(metrics) for metrics in self.metrics]
        points = [(one.get("latency_p50"), one.get(METRIC)) for one in found]
        best = frontier([(x, y) for x, y in points if x is not None and y is not None])
        return [
            ReportedRun(
                run=run,
                value=one.get(METRIC),
                latency_p50=one.get("latency_p50"),
                latency_p95=one.get("latency_p95"),
                on_frontier=point in best,
            )
            for run, one, point in zip(self.runs, found, points, strict=True)
        ]

    def metric_rows(self) -> list[tuple[Any, ...]]:
        """Category, metric and the value of each run."""
        by_run = [{(m.category, m.metric): m.value for m in of_run} for of_run in self.metrics]
        keys = sorted(
            {key for one in by_run for key in one}, key=lambda key: (key[0] or "", key[1])
        )
        return [(*key, *(one.get(key) for one in by_run)) for key in keys]

    def worst(self, count: int) -> list[ReportedQuery]:
        """The judged questions that lost most, or of one run are answered worst."""
        judged = [q for q in self.queries if any(v is not None for v in q.values(self.pair))]
        return sorted(judged, key=lambda q: (q.change(self.pair), q.query_id))[:count]

    def failures(self) -> Iterator[tuple[EvalRun, ReportedQuery, str]]:
        """Yield each error, with its run and its question."""
        for query in self.queries:
            for run, result in zip(self.runs, query.results, strict=True):
                if result is not None and result.error:
                    yield run, query, result.error


def overall(metrics: Sequence[EvalMetric]) -> dict[str, float]:
    """The metrics of all questions."""
    return {m.metric: m.value for m in metrics if m.category is None}


def frontier(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points (latency, quality) that no other is both faster and better than, fastest
    first."""
    best: list[tuple[float, float]] = []
    for point in sorted(points, key=lambda one: (one[0], -one[1])):
        if not best or point[1] > best[-1][1]:
            best.append(point)
    return best
