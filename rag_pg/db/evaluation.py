"""Statements about evaluation: sets, runs, metrics, judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pgvector.psycopg.halfvec import HalfVector
from psycopg.types.json import Jsonb

from rag_pg.db.connection import Statements
from rag_pg.types import (
    EvalDrift,
    EvalJudge,
    EvalMetric,
    EvalQuery,
    EvalRun,
    EvalSet,
    JudgeAgreement,
    JudgedAnswer,
    JudgeReport,
    LabelledResult,
    QueryComparison,
    RunComparison,
    Vectors,
)


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


class Evaluations(Statements):
    """Sets of questions, and runs of them."""

    def put_eval_set(self, set_name: str, description: str | None = None) -> int:
        return int(
            self._scalar(
                "SELECT rag.put_eval_set(%(set_name)s, %(description)s)",
                set_name=set_name,
                description=description,
            )
        )

    def put_eval_queries(
        self, set_name: str, queries: Sequence[Mapping[str, Any]], source: str = "human"
    ) -> list[SavedQuery]:
        return self._rows(
            SavedQuery,
            "SELECT * FROM rag.put_eval_queries(%(set_name)s, %(queries)s, %(source)s)",
            set_name=set_name,
            queries=Jsonb(queries),
            source=source,
        )

    def put_eval_embeddings(
        self, set_name: str, fingerprint: str, query_ids: Sequence[str], vectors: Sequence[Vectors]
    ) -> int:
        return int(
            self._scalar(
                """SELECT rag.put_eval_embeddings(%(set_name)s, %(fingerprint)s, %(query_ids)s,
                       %(vectors)s)""",
                set_name=set_name,
                fingerprint=fingerprint,
                query_ids=list(query_ids),
                vectors=[HalfVector(vector) for vector in vectors],
            )
        )

    def list_eval_sets(self) -> list[EvalSet]:
        return self._rows(EvalSet, "SELECT * FROM rag.list_eval_sets()")

    def list_eval_queries(self, set_name: str) -> list[EvalQuery]:
        return self._rows(
            EvalQuery, "SELECT * FROM rag.list_eval_queries(%(set_name)s)", set_name=set_name
        )

    def delete_eval_queries(self, set_name: str, query_ids: Sequence[str]) -> int:
        return int(
            self._scalar(
                "SELECT rag.delete_eval_queries(%(set_name)s, %(query_ids)s)",
                set_name=set_name,
                query_ids=list(query_ids),
            )
        )

    def drop_eval_set(self, set_name: str) -> None:
        self._scalar("SELECT rag.drop_eval_set(%(set_name)s)", set_name=set_name)

    def eval_drift(self, set_name: str, collection: str) -> list[EvalDrift]:
        return self._rows(
            EvalDrift,
            "SELECT * FROM rag.eval_drift(%(set_name)s, %(collection)s)",
            set_name=set_name,
            collection=collection,
        )

    def start_eval_run(
        self, set_name: str, collection: str, *, kind: str, settings: Mapping[str, Any], name: str
    ) -> int:
        return int(
            self._scalar(
                """SELECT rag.start_eval_run(%(set_name)s, %(collection)s, %(kind)s, %(settings)s,
                       %(name)s)""",
                set_name=set_name,
                collection=collection,
                kind=kind,
                settings=Jsonb(settings),
                name=name,
            )
        )

    def put_eval_results(self, run_id: int, results: Sequence[Mapping[str, Any]]) -> int:
        return int(
            self._scalar(
                "SELECT rag.put_eval_results(%(run_id)s, %(results)s)",
                run_id=run_id,
                results=Jsonb(results),
            )
        )

    def finish_eval_run(self, run_id: int, notes: Sequence[str] = ()) -> None:
        self._scalar(
            "SELECT rag.finish_eval_run(%(run_id)s, %(notes)s)", run_id=run_id, notes=list(notes)
        )

    def set_eval_baseline(self, run_id: int, baseline: bool = True) -> None:
        self._scalar(
            "SELECT rag.set_eval_baseline(%(run_id)s, %(baseline)s)",
            run_id=run_id,
            baseline=baseline,
        )

    def drop_eval_run(self, run_id: int) -> None:
        self._scalar("SELECT rag.drop_eval_run(%(run_id)s)", run_id=run_id)

    def list_eval_runs(
        self, set_name: str | None = None, limit: int = 100, run_id: int | None = None
    ) -> list[EvalRun]:
        return self._rows(
            EvalRun,
            "SELECT * FROM rag.list_eval_runs(%(set_name)s, %(limit)s, %(run_id)s)",
            set_name=set_name,
            limit=limit,
            run_id=run_id,
        )

    def eval_metrics(self, run_id: int, k: int = 10) -> list[EvalMetric]:
        return self._rows(
            EvalMetric,
            "SELECT * FROM rag.eval_metrics(%(run_id)s, %(k)s)",
            run_id=run_id,
            k=k,
        )

    def eval_result_rows(self, run_id: int, k: int) -> list[ResultRow]:
        return self._rows(
            ResultRow,
            "SELECT * FROM rag._reported_results(%(run_id)s, %(k)s)",
            run_id=run_id,
            k=k,
        )

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
        return self._rows(
            RunComparison,
            """SELECT * FROM rag.compare_runs(%(run_a)s, %(run_b)s, %(metrics)s, %(k)s,
                   %(permutations)s, %(seed)s, %(correction)s, %(significance)s)""",
            run_a=run_a,
            run_b=run_b,
            metrics=metrics,
            k=k,
            permutations=permutations,
            seed=seed,
            correction=correction,
            significance=significance,
        )

    def compare_queries(
        self, run_a: int, run_b: int, *, metric: str, k: int
    ) -> list[QueryComparison]:
        return self._rows(
            QueryComparison,
            "SELECT * FROM rag.compare_queries(%(run_a)s, %(run_b)s, %(metric)s, %(k)s)",
            run_a=run_a,
            run_b=run_b,
            metric=metric,
            k=k,
        )

    def adjust_p_values(self, p_values: Sequence[float], correction: str) -> list[float]:
        found: list[float] = self._scalar(
            "SELECT rag.adjust_p_values(%(p_values)s::pg_catalog.float8[], %(correction)s)",
            p_values=list(p_values),
            correction=correction,
        )
        return found or []

    def equal_runs(self, set_name: str, collection: str) -> list[EqualRun]:
        return self._rows(
            EqualRun,
            """SELECT run_id, kind, settings, model_fingerprint, chunking
               FROM rag._equal_runs(%(set_name)s, %(collection)s)""",
            set_name=set_name,
            collection=collection,
        )

    def file_eval_run(
        self, run_id: int, collection: str, settings: Mapping[str, Any], version: int
    ) -> None:
        self._scalar(
            "SELECT rag._file_eval_run(%(run_id)s, %(collection)s, %(settings)s, %(version)s)",
            run_id=run_id,
            collection=collection,
            settings=Jsonb(settings),
            version=version,
        )

    def answers_to_judge(self, run_id: int) -> list[JudgedAnswer]:
        return self._rows(
            JudgedAnswer, "SELECT * FROM rag._answers_to_judge(%(run_id)s)", run_id=run_id
        )

    def put_eval_scores(
        self, run_id: int, judge: str, judge_version: str, scores: Sequence[Mapping[str, Any]]
    ) -> int:
        return int(
            self._scalar(
                """SELECT rag.put_eval_scores(%(run_id)s, %(judge)s, %(judge_version)s,
                       %(scores)s)""",
                run_id=run_id,
                judge=judge,
                judge_version=judge_version,
                scores=Jsonb(scores),
            )
        )

    def score_answers(self, run_id: int, judge_function: str) -> JudgeReport:
        row = self._dicts(
            """SELECT s.judge, s.judge_version, s.scored, s.failures
               FROM rag.score_answers(%(run_id)s, %(judge_function)s) AS s""",
            run_id=run_id,
            judge_function=judge_function,
        )[0]
        return JudgeReport(**row)

    def measure_judge(self, judge: str, judge_version: str, reference: str) -> JudgeAgreement:
        return self._rows(
            JudgeAgreement,
            "SELECT * FROM rag.measure_judge(%(judge)s, %(judge_version)s, %(reference)s)",
            judge=judge,
            judge_version=judge_version,
            reference=reference,
        )[0]

    def labelled_results(self, run_id: int, judge: str) -> list[LabelledResult]:
        return self._rows(
            LabelledResult,
            "SELECT * FROM rag._labelled_results(%(run_id)s, %(judge)s)",
            run_id=run_id,
            judge=judge,
        )

    def list_judges(self) -> list[EvalJudge]:
        return self._rows(EvalJudge, "SELECT * FROM rag._list_judges()")

    def read_verdict(self, prompt_hash: bytes, judge_version: str) -> Mapping[str, Any] | None:
        found: Mapping[str, Any] | None = self._scalar(
            "SELECT rag._read_verdict(%(prompt_hash)s, %(judge_version)s)",
            prompt_hash=prompt_hash,
            judge_version=judge_version,
        )
        return found

    def keep_verdict(
        self,
        prompt_hash: bytes,
        judge_version: str,
        verdict: Mapping[str, Any],
        *,
        age: float,
    ) -> None:
        """age: seconds since what was judged was read."""
        self._scalar(
            "SELECT rag._keep_verdict(%(prompt_hash)s, %(judge_version)s, %(verdict)s, %(age)s)",
            prompt_hash=prompt_hash,
            judge_version=judge_version,
            verdict=Jsonb(verdict),
            age=age,
        )

    def sample_chunks(
        self, collection: str, count: int, shortest: int, seed: int
    ) -> list[SampledChunk]:
        return self._rows(
            SampledChunk,
            """SELECT * FROM rag._sample_chunks(%(collection)s, %(count)s, %(shortest)s,
                   %(seed)s)""",
            collection=collection,
            count=count,
            shortest=shortest,
            seed=seed,
        )

    def missing_documents(self, collection: str, uris: Sequence[str]) -> list[str]:
        return self._scalars(
            "SELECT rag._missing_documents(%(collection)s, %(uris)s::pg_catalog.text[])",
            collection=collection,
            uris=uris,
        )

    def ranked_documents(self, run_id: int) -> list[tuple[str, str, int]]:
        return self._tuples(
            "SELECT query_id, uri, rank FROM rag._ranked_documents(%(run_id)s)", run_id=run_id
        )
