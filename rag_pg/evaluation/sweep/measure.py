"""Candidates -> runs, each compared with the baseline of its kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from rag_pg.db import Database
from rag_pg.evaluation.run import find_run
from rag_pg.evaluation.statements import EqualRun, ResultRow, line_of
from rag_pg.evaluation.sweep.estimate import copy_key
from rag_pg.evaluation.sweep.grid import key_of, settings_key
from rag_pg.evaluation.types import Candidate, EvalMetric, EvalRun, RunComparison, Sweep, SweepRow

# What is compared where the caller names no metric: the first that the baseline has.
PREFERRED: Mapping[str, Sequence[str]] = {
    "search": ("ndcg", "assertion_pass_rate"),
    "ask": ("answer_f1", "assertion_pass_rate", "abstention", "ndcg"),
}
SIGNIFICANCE = 0.05
Measure = Callable[[Candidate], EvalRun]


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparing:
    """How runs are compared. metric: None: the first of PREFERRED that there is."""

    metric: str | None = None
    k: int = 10
    correction: str = "holm"


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """A candidate with its run, or why it has none."""

    candidate: Candidate
    run: EvalRun | None = None
    reused: bool = False
    error: str | None = None


def find_equal(
    candidates: Iterable[Candidate],
    runs: Sequence[EqualRun],
    fingerprint_of: Callable[[str], str | None],
    chunking: Mapping[str, Any],
) -> dict[str, int]:
    """Return the latest run of equal settings for the candidates that have one, by `settings_key`.

    A run that a gate made on a copy is none of the collection as it is, whatever its settings.

    Args:
        chunking: of the collection as it is.
        fingerprint_of: of the vectors that a model makes here; None: it cannot be opened.
    """
    known = {(key_of(run.kind, run.settings), key_of("", run.chunking)): run for run in runs}
    found = {}
    for one in candidates:
        cut = chunking if one.chunking is None else one.chunking
        run = known.get((settings_key(one), key_of("", cut)))
        if run is None or one.unavailable:
            continue
        if one.model is not None:
            fingerprint = fingerprint_of(one.model)
            if fingerprint is None or run.model_fingerprint != fingerprint:
                continue
        found[settings_key(one)] = run.run_id
    return found


def measure_candidates(
    database: Database,
    candidates: Sequence[Candidate],
    equal: Mapping[str, int],
    open_target: Callable[[Candidate], AbstractContextManager[Measure]],
    tell: Callable[[str], None],
) -> list[Measured]:
    """Run the candidates that have no equal run; one that fails costs itself alone.

    Args:
        equal: see `find_equal`. open_target: the collection, or the copy of it, that a candidate is
            measured on; one for all candidates of a `copy_key`.
    Raises: what stands in the way of the first candidate of all, which is a baseline.
    """
    done: dict[str, Measured] = {}
    for one in candidates:
        key = settings_key(one)
        if one.unavailable:
            done[key] = Measured(candidate=one, error=one.unavailable)
        elif key in equal:
            tell(f"{one.name}: run {equal[key]} is of equal settings and is reused")
            done[key] = Measured(candidate=one, run=find_run(database, equal[key]), reused=True)
    left = [one for one in candidates if settings_key(one) not in done]
    groups: dict[str, list[Candidate]] = {}
    for one in left:
        groups.setdefault(copy_key(one) if one.is_copied else "", []).append(one)
    for group in sorted(groups.values(), key=lambda of_one: of_one[0].is_copied):
        try:
            with open_target(group[0]) as measure:
                for one in group:
                    if one is candidates[0]:
                        done[settings_key(one)] = _measured(one, measure, tell)
                    else:
                        done[settings_key(one)] = _attempt(one, measure, tell)
        except Exception as exc:
            if group[0] is candidates[0]:
                raise
            for one in group:
                if settings_key(one) not in done:
                    done[settings_key(one)] = _failed(one, exc, tell)
    return [done[settings_key(one)] for one in candidates]


def _attempt(one: Candidate, measure: Measure, tell: Callable[[str], None]) -> Measured:
    try:
        return _measured(one, measure, tell)
    except Exception as exc:  # a strategy and a reranker are anybody's code
        return _failed(one, exc, tell)


def _measured(one: Candidate, measure: Measure, tell: Callable[[str], None]) -> Measured:
    run = measure(one)
    tell(f"{one.name}: run {run.run_id}")
    return Measured(candidate=one, run=run)


def _failed(one: Candidate, exc: Exception, tell: Callable[[str], None]) -> Measured:
    error = line_of(exc)
    tell(f"{one.name} failed: {error}")
    return Measured(candidate=one, error=error)


def compare_measured(
    database: Database,
    eval_set: str,
    collection: str,
    measured: Sequence[Measured],
    how: Comparing,
) -> Sweep:
    """Compare each run with the first of its kind, and correct for how many are compared."""
    rows: list[SweepRow] = []
    for kind in dict.fromkeys(one.candidate.kind for one in measured):
        of_kind = [one for one in measured if one.candidate.kind == kind]
        rows += _compare_kind(database, of_kind, how)
    rows = _correct(database, rows, how)
    return Sweep(eval_set=eval_set, collection=collection, k=how.k, rows=tuple(_order(rows)))


def _compare_kind(
    database: Database, measured: Sequence[Measured], how: Comparing
) -> list[SweepRow]:
    base = measured[0].run
    is_whole = base is not None and not base.errors
    metric = how.metric
    rows = []
    for position, one in enumerate(measured):
        row = SweepRow(
            name=one.candidate.name,
            kind=one.candidate.kind,
            baseline=position == 0,
            error=one.error,
            unavailable=bool(one.candidate.unavailable),
        )
        if one.run is None:
            rows.append(row)
            continue
        metrics = database.rows(EvalMetric, "eval_metrics", run_id=one.run.run_id, k=how.k)
        found = {m.metric: m for m in metrics if m.category is None}
        metric = metric or _first_metric(one.candidate.kind, found)
        compared = None
        if base is not None and is_whole and position > 0:
            compared = _compare(database, base.run_id, one.run.run_id, metric, how)
        if one.run.errors:
            row = replace(row, error=_failures(database, one.run))
            if position == 0:
                row = replace(row, error=f"{row.error}; no other is compared with it")
        rows.append(_row(row, one, found, metric, compared))
    return rows


def _failures(database: Database, run: EvalRun) -> str:
    results = database.rows(ResultRow, "_reported_results", of_run=run.run_id, depth=1)
    first = next(one for one in results if one.error)
    return f"{run.errors} of {run.queries} questions failed, as {first.query_id}: {first.error}"


def _first_metric(kind: str, found: Mapping[str, EvalMetric]) -> str:
    return next((name for name in PREFERRED[kind] if name in found), PREFERRED[kind][0])


def _compare(
    database: Database,
    base: int,
    run: int,
    metric: str,
    how: Comparing,
    significance: float = SIGNIFICANCE,
) -> RunComparison | None:
    compared = database.rows(
        RunComparison, "compare_runs", run_a=base, run_b=run, metrics=[metric], k=how.k,
        correction="none", significance=significance,
    )  # fmt: skip
    return next((one for one in compared if one.category is None), None)


def _row(
    row: SweepRow,
    one: Measured,
    found: Mapping[str, EvalMetric],
    metric: str,
    compared: RunComparison | None,
) -> SweepRow:
    assert one.run is not None
    values = {name: m.value for name, m in found.items()}
    notes = list(one.run.notes)
    row = replace(
        row,
        run_id=one.run.run_id,
        reused=one.reused,
        metric=metric,
        queries=found[metric].queries if metric in found else 0,
        value=values.get(metric),
        latency_p50=values.get("latency_p50"),
        latency_p95=values.get("latency_p95"),
        tokens=values.get("tokens"),
        cost=values.get("cost"),
        notes=tuple(notes),
    )
    if compared is None:
        return row
    if compared.missing_b:
        notes.append(f"{compared.missing_b} questions without {metric} count as 0")
    return replace(
        row,
        notes=tuple(notes),
        queries=compared.queries,
        value=compared.value_b,
        difference=compared.difference,
        low=compared.low,
        high=compared.high,
        p_value=compared.p_value,
    )


def _correct(database: Database, rows: Sequence[SweepRow], how: Comparing) -> list[SweepRow]:
    """Return the rows with p values for so many comparisons, and the intervals of these."""
    tested = [row.p_value for row in rows if row.p_value is not None]
    corrected = iter(
        database.optional(list, "_adjust_p_values", p_values=tested, correction=how.correction)
        or []
    )
    bases = {row.kind: row.run_id for row in rows if row.baseline}
    done = []
    for row in rows:
        base = bases[row.kind]
        if row.p_value is not None and base is not None and row.run_id is not None:
            adjusted = next(corrected)
            level = SIGNIFICANCE * row.p_value / adjusted
            again = _compare(database, base, row.run_id, row.metric or "", how, level)
            row = replace(row, adjusted_p_value=adjusted)
            if again is not None:
                row = replace(row, low=again.low, high=again.high)
        done.append(row)
    return done


def _order(rows: Sequence[SweepRow]) -> list[SweepRow]:
    """Kind by kind: the baseline, the others best first; in the end what has no run."""
    kinds = list(dict.fromkeys(row.kind for row in rows))
    runs = [row for row in rows if row.run_id is not None]
    runs.sort(
        key=lambda row: (kinds.index(row.kind), not row.baseline, -(row.value or 0.0), row.name)
    )
    without = [row for row in rows if row.run_id is None]
    return runs + sorted(without, key=lambda row: row.unavailable)
