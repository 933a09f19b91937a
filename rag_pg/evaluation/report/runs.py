"""Runs of a set, as they are stored -> a report of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rag_pg.db import Database
from rag_pg.errors import InvalidInput
from rag_pg.evaluation.report.content import (
    METRIC,
    ReportContent,
    ReportedHit,
    ReportedQuery,
    ReportedResult,
    overall,
)
from rag_pg.evaluation.report.page import page
from rag_pg.evaluation.run import find_run
from rag_pg.evaluation.statements import ResultRow
from rag_pg.evaluation.types import EvalMetric, RunComparison

SHOWN_HITS = 10
COMPARED = ("ndcg", "recall", "mrr")


class Report(ReportContent):
    """What `report_runs` returns."""

    __slots__ = ()

    def html(self) -> str:
        """One page: plots, metrics, failures, every question, of two runs that the reader may
        choose. Texts are escaped.
        """
        return page(self)


def report_runs(database: Database, run_ids: Sequence[int], k: int) -> Report:
    """Read runs of a set. Raises: NotFound, InvalidInput (of different sets, a run twice)."""
    runs = [find_run(database, run_id) for run_id in run_ids]
    if len({run.eval_set for run in runs}) != 1:
        raise InvalidInput("a report is of runs of one set; rag-pg eval show lists them")
    if len(set(run_ids)) < len(run_ids):
        raise InvalidInput("a report names each run once")
    metrics = [database.rows(EvalMetric, "eval_metrics", run_id=run_id, k=k) for run_id in run_ids]
    pair = [0]
    if len(runs) > 1:
        others = range(1, len(runs))
        pair.append(max(others, key=lambda n: overall(metrics[n]).get(METRIC, -1.0)))
    texts = {q.query_id: q.question for q in database.list_eval_queries(runs[0].eval_set)}
    results: dict[str, list[ReportedResult | None]] = {}
    categories: dict[str, str] = {}
    for position, run_id in enumerate(run_ids):
        for row in database.rows(ResultRow, "_reported_results", of_run=run_id, depth=k):
            of_query = results.setdefault(row.query_id, [None] * len(runs))
            of_query[position] = ReportedResult(
                value=row.ndcg, hits=_hits(row.hits), error=row.error
            )
            categories.setdefault(row.query_id, row.category)
    queries = [
        ReportedQuery(
            query_id=query_id,
            question=texts.get(query_id, ""),
            category=categories[query_id],
            results=results[query_id],
        )
        for query_id in sorted(results)
    ]
    return Report(
        runs=runs,
        metrics=metrics,
        queries=queries,
        pair=pair,
        k=k,
        comparison=_compare(database, [run_ids[n] for n in pair], [metrics[n] for n in pair], k),
    )


def _compare(
    database: Database, run_ids: Sequence[int], metrics: Sequence[Sequence[EvalMetric]], k: int
) -> list[RunComparison]:
    """The differences of two runs in what both measure; none of one run."""
    shared = [one for one in COMPARED if all(one in overall(of_run) for of_run in metrics)]
    if len(run_ids) < 2 or not shared:
        return []
    run_a, run_b = run_ids
    found = database.rows(
        RunComparison, "compare_runs", run_a=run_a, run_b=run_b, metrics=shared, k=k
    )
    return [one for one in found if one.category is None]


def _hits(hits: Sequence[Mapping[str, Any]]) -> list[ReportedHit]:
    return [
        ReportedHit(uri=str(hit.get("uri") or ""), relevant=(hit.get("grade") or 0) > 0)
        for hit in hits[:SHOWN_HITS]
    ]
