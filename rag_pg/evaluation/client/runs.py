"""Sets of questions, runs of them, and judges of runs."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_pg.client import OfRag, in_thread
from rag_pg.evaluation.files import export_run, export_set, import_set, put_queries
from rag_pg.evaluation.judges import Judge, find_judge, judge_run
from rag_pg.evaluation.labels import judge_of, put_labels
from rag_pg.evaluation.report import Report, report_runs
from rag_pg.evaluation.run import find_run
from rag_pg.evaluation.statements import ResultRow
from rag_pg.evaluation.types import (
    EvalImport,
    EvalJudge,
    EvalMetric,
    EvalRun,
    EvalSet,
    JudgeAgreement,
    JudgeReport,
    LabelledResult,
    LabelReport,
    LineCount,
    QueryComparison,
    RunComparison,
)
from rag_pg.protocols import LLM
from rag_pg.search import accounted, open_helper
from rag_pg.types import EvalQuery

METRICS = ("ndcg", "recall", "mrr")


class EvalSets(OfRag):
    """Sets of questions with what answers them."""

    def list(self) -> list[EvalSet]:
        """Every set, and how large it is."""
        return self._rag.database.rows(EvalSet, "list_eval_sets")

    def queries(self, set_name: str) -> builtins.list[EvalQuery]:
        """The questions of a set. Raises: NotFound."""
        return self._rag.database.list_eval_queries(set_name)

    @in_thread("long")
    def put(
        self,
        set_name: str,
        queries: Sequence[Mapping[str, Any]],
        *,
        source: str = "human",
    ) -> EvalImport:
        """Store questions in a set; see rag.put_eval_queries. `Rejected.line` counts them."""
        return put_queries(self._rag.database, set_name, queries, source)

    @in_thread("long")
    def import_file(
        self,
        set_name: str,
        path: str | Path,
        *,
        form: str | None = None,
        qrels: str | Path | None = None,
        source: str = "human",
    ) -> EvalImport:
        """Store the questions of a file in a set: jsonl, csv, beir (a folder) or trec.

        A line that cannot be read is reported, and the rest is stored.
        """
        return import_set(
            self._rag.database,
            set_name,
            Path(path),
            form=form,
            qrels=None if qrels is None else Path(qrels),
            source=source,
        )

    @in_thread("long")
    def export_file(self, set_name: str, path: str | Path, *, form: str) -> builtins.list[str]:
        """Write a set as jsonl or csv (a file), beir or trec (a folder); return notes on what the
        form cannot hold."""
        return export_set(self._rag.database, set_name, Path(path), form=form)

    def drop(self, set_name: str) -> None:
        """Remove a set with its runs. Raises: NotFound."""
        self._rag.database.call("drop_eval_set", set_name=set_name)


class EvalRuns(OfRag):
    """Runs of sets: what was found or answered, measured and compared."""

    def list(self, set_name: str | None = None, *, limit: int = 100) -> list[EvalRun]:
        """The latest runs, of one set or of all."""
        return self._rag.database.rows(EvalRun, "list_eval_runs", set_name=set_name, limit=limit)

    def get(self, run_id: int) -> EvalRun:
        """One run. Raises: NotFound."""
        return find_run(self._rag.database, run_id)

    def results(self, run_id: int, *, k: int = 10) -> builtins.list[ResultRow]:
        """What each question got: its hits, of which k are judged, its answer, its error. Raises:
        NotFound."""
        self.get(run_id)
        return self._rag.database.rows(ResultRow, "_reported_results", of_run=run_id, depth=k)

    def metrics(self, run_id: int, *, k: int = 10) -> builtins.list[EvalMetric]:
        """The metrics of a run, for all questions and by category; see rag.eval_metrics."""
        return self._rag.database.rows(EvalMetric, "eval_metrics", run_id=run_id, k=k)

    def compare(
        self,
        run_a: int,
        run_b: int,
        *,
        metrics: Sequence[str] = METRICS,
        k: int = 10,
        permutations: int = 10_000,
        seed: int = 0,
        correction: str = "holm",
    ) -> builtins.list[RunComparison]:
        """Two runs of one set: differences, intervals, p values, wins; see rag.compare_runs."""
        return self._rag.database.rows(
            RunComparison, "compare_runs", run_a=run_a, run_b=run_b, metrics=metrics, k=k,
            permutations=permutations, seed=seed, correction=correction,
        )  # fmt: skip

    def compare_queries(
        self, run_a: int, run_b: int, *, metric: str = "ndcg", k: int = 10
    ) -> builtins.list[QueryComparison]:
        """A metric of two runs question by question, what lost most first."""
        return self._rag.database.rows(
            QueryComparison, "compare_queries", run_a=run_a, run_b=run_b, metric=metric, k=k
        )

    @in_thread("long")
    def report(self, run_ids: Sequence[int], *, k: int = 10) -> Report:
        """Runs of a set beside each other: metrics, and every question of two of them, as HTML by
        `Report.html`. Raises: NotFound, InvalidInput."""
        return report_runs(self._rag.database, run_ids, k)

    @in_thread("long")
    def export_file(self, run_id: int, path: str | Path) -> LineCount:
        """Write what a run found in TREC's form; return how many lines. Its `notes` count ids with
        blanks, and questions without a line."""
        return export_run(self._rag.database, run_id, Path(path))

    def set_baseline(self, run_id: int, baseline: bool = True) -> None:
        """Make a run the one that others of its set, collection and kind are compared with."""
        self._rag.database.call("set_eval_baseline", run_id=run_id, baseline=baseline)

    def drop(self, run_id: int) -> None:
        """Remove a run. Raises: NotFound."""
        self._rag.database.call("drop_eval_run", run_id=run_id)

    @in_thread("long")
    def judge(
        self,
        run_id: int,
        judge: str | Callable[..., Any] | Judge,
        *,
        llm: str | LLM | None = None,
        max_tokens: int | None = None,
        max_cost: float | None = None,
    ) -> JudgeReport:
        """Have a judge score the results of a run.

        Args:
            judge: faithfulness, answer_relevance, context_relevance or correctness, by a language
                model; module:function or a function of question, answer, contexts and right
                answers, which returns a score from 0 to 1; sql:<schema>.<function> for a function
                of the database with the same arguments.
            llm: the judging model; default: RAG_PG_HELPER_LLM, else RAG_PG_LLM.
            max_tokens, max_cost: of all calls, tokens and US dollars; a result whose call might
                pass one is not judged, which `failures` say.
        Its metrics are advisory until `measure_judge` has compared it with people.
        """
        database = self._rag.database
        if isinstance(judge, str) and judge.startswith("sql:"):
            return database.only(
                JudgeReport,
                "score_answers",
                run_id=run_id,
                judge_function=judge.removeprefix("sql:"),
            )
        model = open_helper(self._rag.models, llm)
        find_judge(judge, database, model)  # its name is checked before the run is looked for
        run = find_run(database, run_id)
        database.require_insert("eval_scores")
        with accounted(
            database, run.collection, "evaluation", max_tokens=max_tokens, max_cost=max_cost
        ) as account:
            metered = None if model is None else account.meter(model, "judge")
            return judge_run(database, run_id, find_judge(judge, database, metered))

    @in_thread("long")
    def label(
        self,
        run_id: int,
        labels: Sequence[Mapping[str, Any]] | str | Path,
        *,
        person: str = "",
    ) -> LabelReport:
        """Store what people say of the results of a run, which judges are measured by.

        Args:
            labels: objects of query_id, score (0 to 1, yes or no) and perhaps reason, or a file of
                them, JSON Lines or CSV. A question that was labelled before gets the new label.
            person: who labels, where there are several: the judge human:<person>.
        Returns: how many are stored, and what is not: unknown questions, scores that are none.
        Raises: InvalidInput (a file that cannot be read, a run without results), NotFound.
        """
        given = Path(labels) if isinstance(labels, str | Path) else labels
        return put_labels(self._rag.database, run_id, given, person)

    def labelled(self, run_id: int, *, person: str = "") -> builtins.list[LabelledResult]:
        """The results of a run with their labels and what judges say of them. Raises: NotFound."""
        return self._rag.database.rows(
            LabelledResult, "_labelled_results", of_run=run_id, of_person=judge_of(person)
        )


class EvalJudges(OfRag):
    """Judges of runs, and how well they agree with people."""

    def list(self) -> list[EvalJudge]:
        """The judges that scored results, of each the version that scored last first."""
        return self._rag.database.rows(EvalJudge, "_list_judges")

    def measure(
        self, judge: str, judge_version: str, *, reference: str = "human"
    ) -> JudgeAgreement:
        """Compare a judge's scores with those of people, and keep the result.

        From 20 labels on, its metrics are not advisory. reference: human, labels, or human:name.
        Raises: NotFound, InvalidInput.
        """
        return self._rag.database.only(
            JudgeAgreement,
            "measure_judge",
            judge=judge,
            judge_version=judge_version,
            reference_judge=reference,
        )


class Evaluation(OfRag):
    """Sets of questions, runs of them, and judges of runs, of all collections."""

    @property
    def sets(self) -> EvalSets:
        """Sets of questions."""
        return EvalSets(self._rag)

    @property
    def runs(self) -> EvalRuns:
        """Runs of sets."""
        return EvalRuns(self._rag)

    @property
    def judges(self) -> EvalJudges:
        """Judges of runs."""
        return EvalJudges(self._rag)
