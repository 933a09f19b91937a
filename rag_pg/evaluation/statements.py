"""Statements about evaluation: sets, runs, metrics, judges, live queries asked again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag_pg.db import Database
from rag_pg.evaluation.types import (
    EvalMetric,
    EvalRun,
    RecallMeasure,
    ReplayedQuery,
    RunComparison,
)
from rag_pg.types import Vectors


@dataclass(frozen=True, kw_only=True, slots=True)
class SavedQuery:
    """What became of an entry: a row of rag.put_eval_queries."""

    entry_number: int
    query_id: str | None
    state: str
    reason: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class SampledChunk:
    """A chunk to make a question of."""

    chunk_id: int
    uri: str
    title: str
    heading: str
    content: str
    start_offset: int | None
    stop_offset: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultRow:
    """What a run found for a question."""

    query_id: str
    category: str
    hits: Sequence[Mapping[str, Any]]
    ndcg: float | None
    seconds: float | None
    error: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class EqualRun:
    """A run that would find the same again."""

    run_id: int
    kind: str
    settings: Mapping[str, Any]
    model_fingerprint: str | None
    chunking: Mapping[str, Any]


class EvalStatements:
    """Calls of the database about evaluation."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put_eval_queries(
        self, set_name: str, queries: Sequence[Mapping[str, Any]], source: str = "human"
    ) -> list[SavedQuery]:
        return self._database.rows(
            SavedQuery, "put_eval_queries", set_name=set_name, queries=queries, source=source
        )

    def start_eval_run(
        self, set_name: str, collection: str, *, kind: str, settings: Mapping[str, Any], name: str
    ) -> int:
        return self._database.value(
            int,
            "start_eval_run",
            set_name=set_name,
            collection=collection,
            kind=kind,
            settings=settings,
            run_name=name,
        )

    def put_eval_results(self, run_id: int, results: Sequence[Mapping[str, Any]]) -> int:
        return self._database.value(int, "put_eval_results", run_id=run_id, results=results)

    def finish_eval_run(self, run_id: int, notes: Sequence[str] = ()) -> None:
        self._database.call("finish_eval_run", run_id=run_id, notes=notes)

    def drop_eval_run(self, run_id: int) -> None:
        self._database.call("drop_eval_run", run_id=run_id)

    def list_eval_runs(
        self, set_name: str | None = None, limit: int = 100, run_id: int | None = None
    ) -> list[EvalRun]:
        return self._database.rows(
            EvalRun, "list_eval_runs", set_name=set_name, limit=limit, wanted_run=run_id
        )

    def eval_metrics(self, run_id: int, k: int = 10) -> list[EvalMetric]:
        return self._database.rows(EvalMetric, "eval_metrics", run_id=run_id, k=k)

    def eval_result_rows(self, run_id: int, k: int) -> list[ResultRow]:
        return self._database.rows(ResultRow, "_reported_results", of_run=run_id, depth=k)

    def compare_runs(
        self,
        run_a: int,
        run_b: int,
        *,
        metrics: Sequence[str],
        k: int,
        permutations: int,
        seed: int,
        correction: str,
        significance: float = 0.05,
    ) -> list[RunComparison]:
        return self._database.rows(
            RunComparison,
            "compare_runs",
            run_a=run_a,
            run_b=run_b,
            metrics=metrics,
            k=k,
            permutations=permutations,
            seed=seed,
            correction=correction,
            significance=significance,
        )

    def equal_runs(self, set_name: str, collection: str) -> list[EqualRun]:
        return self._database.rows(
            EqualRun, "_equal_runs", set_name=set_name, collection=collection
        )

    def put_eval_scores(
        self, run_id: int, judge: str, judge_version: str, scores: Sequence[Mapping[str, Any]]
    ) -> int:
        return self._database.value(
            int,
            "put_eval_scores",
            run_id=run_id,
            judge=judge,
            judge_version=judge_version,
            scores=scores,
        )

    def read_verdict(self, prompt_hash: bytes, judge_version: str) -> Mapping[str, Any] | None:
        return self._database.optional(
            dict, "_read_verdict", wanted_hash=prompt_hash, wanted_version=judge_version
        )

    def keep_verdict(
        self,
        prompt_hash: bytes,
        judge_version: str,
        verdict: Mapping[str, Any],
        *,
        age: float,
    ) -> None:
        """age: seconds since what was judged was read."""
        self._database.call(
            "_keep_verdict",
            given_hash=prompt_hash,
            given_version=judge_version,
            given_verdict=verdict,
            age=age,
        )

    def sample_chunks(
        self, collection: str, count: int, shortest: int, seed: int
    ) -> list[SampledChunk]:
        return self._database.rows(
            SampledChunk,
            "_sample_chunks",
            of_collection=collection,
            sample_size=count,
            shortest=shortest,
            seed=seed,
        )

    def replay_queries(
        self,
        collection: str,
        options: Mapping[str, Any],
        candidate: str | None,
        *,
        k: int,
        sample: int,
        query_ids: Sequence[int] | None = None,
        embeddings: Sequence[Vectors] | None = None,
    ) -> list[ReplayedQuery]:
        return self._database.rows(
            ReplayedQuery,
            "replay_queries",
            collection=collection,
            options=options,
            candidate=candidate,
            k=k,
            sample=sample,
            query_ids=query_ids,
            embeddings=embeddings,
        )

    def measure_recall(
        self, collection: str, *, sample: int, k: int, target: float | None, seconds: float
    ) -> RecallMeasure:
        ((number,),) = self._database.tuples(
            ("measure_id",),
            "measure_recall",
            collection=collection,
            sample=sample,
            k=k,
            target=target,
            seconds=seconds,
        )
        (measure,) = [m for m in self.list_recall(collection, 100) if m.measure_id == number]
        return measure

    def list_recall(self, collection: str | None, limit: int) -> list[RecallMeasure]:
        return self._database.rows(RecallMeasure, "list_recall", collection=collection, limit=limit)
