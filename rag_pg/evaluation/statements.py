"""Statements about evaluation: sets, runs, metrics, judges, live queries asked again."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag_pg.db import Database
from rag_pg.evaluation.types import EvalMetric, EvalRun


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

    def verdict(
        self,
        judged: Sequence[object],
        judge_version: str,
        since: float,
        ask: Callable[[], Mapping[str, Any]],
    ) -> Mapping[str, Any]:
        """Return what a judging model said of the same before, else what it is asked now, which is
        kept. since: `time.monotonic()` before what is judged was read."""
        key = hashlib.sha256(json.dumps(judged, ensure_ascii=False).encode()).digest()
        known: Mapping[str, Any] | None = self._database.optional(
            dict, "_read_verdict", wanted_hash=key, wanted_version=judge_version
        )
        if known is None:
            known = ask()
            self._database.call(
                "_keep_verdict", given_hash=key, given_version=judge_version, given_verdict=known,
                age=time.monotonic() - since,
            )  # fmt: skip
        return known

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
