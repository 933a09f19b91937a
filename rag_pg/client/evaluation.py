"""Evaluation of a collection, and the sets and runs of a database."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from rag_pg.answer import AskOptions
from rag_pg.client.answers import Answers
from rag_pg.client.resources import HasDatabase, Resources
from rag_pg.client.search import Searching
from rag_pg.errors import InvalidInput
from rag_pg.protocols import LLM
from rag_pg.search import SearchOptions, accounted, check_names
from rag_pg.types import (
    EvalDrift,
    EvalImport,
    EvalMetric,
    EvalQuery,
    EvalRun,
    EvalRunImport,
    EvalSet,
    QueryComparison,
    RunComparison,
    Usage,
)

if TYPE_CHECKING:
    from rag_pg.evaluation import Estimate, Report

METRICS = ("ndcg", "recall", "mrr")


class Evaluation(Searching, Answers):
    """The methods of `Collection` that evaluate it."""

    def evaluate(
        self,
        set_name: str,
        *,
        kind: str = "search",
        name: str = "",
        at_once: int = 1,
        progress: Callable[[int, int], None] | None = None,
        **options: Unpack[AskOptions],
    ) -> EvalRun:
        """Ask each question of a set, record what is found, and return the run; `Rag.eval_metrics`
        measures it.

        Args:
            kind: search (of `search`), or ask (answers, of `ask`).
            name: a label. at_once: how many questions are asked side by side.
            progress: called with how many were asked, of how many.
            options: of `search` or `ask`; cache is off.
        Raises: NotFound, InvalidInput, and as `search` or `ask` what stands in the way of every
            question. Another failure is recorded with its question.
        """
        from rag_pg.evaluation import answer_result, run_set, search_result

        if kind not in ("search", "ask"):
            raise InvalidInput(f"a run is of kind {kind!r:.100}; use search or ask")
        if not 1 <= at_once <= 64:
            raise InvalidInput(f"at_once is {at_once}; use 1 to 64")
        known = SearchOptions if kind == "search" else AskOptions
        check_names(options, known=known.__optional_keys__, call=kind)
        options.setdefault("cache", False)  # what is measured is made now
        cosine = self.rag.database.space_settings(self.name).distance == "cosine"
        searching = self._unsampled()

        def ask(question: str) -> tuple[Mapping[str, Any], Sequence[str]]:
            if kind == "search":
                hits = searching.search(question, **cast(SearchOptions, dict(options)))
                return search_result(hits, cosine=cosine)
            return answer_result(
                self._answer(question, cast(AskOptions, dict(options)), logged=False)
            )

        return run_set(
            self.rag.database,
            set_name,
            self.name,
            ask,
            kind=kind,
            settings={"limit": 10, **options} if kind == "search" else {**options},
            name=name,
            at_once=at_once,
            progress=progress,
        )

    def import_eval_run(self, set_name: str, path: str | Path, *, name: str = "") -> EvalRunImport:
        """Store a ranking that another program made as a run, to be compared with others.

        Args:
            path: a file in TREC's form, as `Rag.export_eval_run` writes it; its document ids are
                uris of this collection. name: a label; default: the tag in the file.
        Raises: InvalidInput (it cannot be read, no line is of the set), NotFound.
        """
        from rag_pg.evaluation import import_run

        return import_run(self.rag.database, set_name, self.name, Path(path), name=name)

    def embed_eval_queries(self, set_name: str, *, space_id: int | None = None) -> int:
        """Keep the vectors of a set's questions, so that SQL runs it without a model; return how
        many.

        Args:
            space_id: by the model of that space, None: of the active one.
        Raises: NotFound, ModelUnavailable, ProviderError.
        """
        from rag_pg.evaluation import embed_queries

        return embed_queries(self.rag.database, self.rag.models, set_name, self.name, space_id)

    def eval_drift(self, set_name: str) -> list[EvalDrift]:
        """The judgements of a set that no longer describe this collection."""
        return self.rag.database.eval_drift(set_name, self.name)

    def estimate_eval_queries(
        self, *, count: int, llm: str | LLM | None = None, seed: int = 0
    ) -> Estimate:
        """What `generate_eval_queries` will take: calls, tokens, US dollars. Asks no model."""
        from rag_pg.evaluation import estimate_questions

        model = _helper(self.rag, llm)
        return estimate_questions(self.rag.database, self.name, model, count=count, seed=seed)

    def generate_eval_queries(
        self,
        set_name: str,
        *,
        count: int,
        llm: str | LLM | None = None,
        limit: int = 10,
        seed: int = 0,
        max_tokens: int | None = None,
        max_cost: float | None = None,
    ) -> tuple[Mapping[str, int], Usage]:
        """Have a model write questions to chunks, marked synthetic; keep those that find their
        chunk among the first `limit` hits and that it alone answers.

        max_tokens, max_cost: of all calls, tokens and US dollars; a call that might pass one is not
        made, and its chunk fails.
        Returns: what became of the chunks, by reason, and the tokens.
        Raises: InvalidInput (no language model), ProviderAuth, ModelUnavailable.
        """
        from rag_pg.evaluation import generate_questions

        self.rag.database.require_insert("eval_queries")
        searching = self._unsampled()
        with accounted(
            self.rag.database, self.name, "evaluation", max_tokens=max_tokens, max_cost=max_cost
        ) as account:
            return generate_questions(
                self.rag.database,
                self.name,
                set_name,
                lambda question: searching.search(question, limit=limit),
                account.meter(_helper(self.rag, llm), "questions"),
                count=count,
                seed=seed,
            )


class Evaluations:
    """The methods of `Rag` about sets of questions and their runs."""

    def import_eval_set(
        self: HasDatabase,
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
        from rag_pg.evaluation import import_set

        return import_set(
            self.database,
            set_name,
            Path(path),
            form=form,
            qrels=None if qrels is None else Path(qrels),
            source=source,
        )

    def export_eval_set(
        self: HasDatabase, set_name: str, path: str | Path, *, form: str
    ) -> list[str]:
        """Write a set as jsonl or csv (a file), beir or trec (a folder); return notes on what the
        form cannot hold."""
        from rag_pg.evaluation import export_set

        return export_set(self.database, set_name, Path(path), form=form)

    def export_eval_run(self: HasDatabase, run_id: int, path: str | Path) -> int:
        """Write what a run found in TREC's form; return how many lines."""
        from rag_pg.evaluation import export_run

        return export_run(self.database, run_id, Path(path))

    def put_eval_queries(
        self: HasDatabase,
        set_name: str,
        queries: Sequence[Mapping[str, Any]],
        *,
        source: str = "human",
    ) -> EvalImport:
        """Store questions in a set; see rag.put_eval_queries. `Rejected.line` counts them."""
        from rag_pg.evaluation import put_queries

        return put_queries(self.database, set_name, queries, source)

    def eval_sets(self: HasDatabase) -> list[EvalSet]:
        """Every set, and how large it is."""
        return self.database.list_eval_sets()

    def eval_queries(self: HasDatabase, set_name: str) -> list[EvalQuery]:
        """The questions of a set. Raises: NotFound."""
        return self.database.list_eval_queries(set_name)

    def drop_eval_set(self: HasDatabase, set_name: str) -> None:
        """Remove a set with its runs. Raises: NotFound."""
        self.database.drop_eval_set(set_name)

    def eval_runs(
        self: HasDatabase, set_name: str | None = None, *, limit: int = 100
    ) -> list[EvalRun]:
        """The latest runs, of one set or of all."""
        return self.database.list_eval_runs(set_name, limit)

    def drop_eval_run(self: HasDatabase, run_id: int) -> None:
        """Remove a run. Raises: NotFound."""
        self.database.drop_eval_run(run_id)

    def set_eval_baseline(self: HasDatabase, run_id: int, baseline: bool = True) -> None:
        """Make a run the one that others of its set, collection and kind are compared with."""
        self.database.set_eval_baseline(run_id, baseline)

    def eval_metrics(self: HasDatabase, run_id: int, *, k: int = 10) -> list[EvalMetric]:
        """The metrics of a run, for all questions and by category; see rag.eval_metrics."""
        return self.database.eval_metrics(run_id, k)

    def compare_runs(
        self: HasDatabase,
        run_a: int,
        run_b: int,
        *,
        metrics: Sequence[str] = METRICS,
        k: int = 10,
        permutations: int = 10_000,
        seed: int = 0,
        correction: str = "holm",
    ) -> list[RunComparison]:
        """Two runs of one set: differences, intervals, p values, wins; see rag.compare_runs."""
        return self.database.compare_runs(
            run_a,
            run_b,
            metrics=metrics,
            k=k,
            permutations=permutations,
            seed=seed,
            correction=correction,
        )

    def compare_queries(
        self: HasDatabase, run_a: int, run_b: int, *, metric: str = "ndcg", k: int = 10
    ) -> list[QueryComparison]:
        """A metric of two runs question by question, what lost most first."""
        return self.database.compare_queries(run_a, run_b, metric=metric, k=k)

    def eval_report(self: HasDatabase, run_ids: Sequence[int], *, k: int = 10) -> Report:
        """Runs of a set beside each other: metrics, and every question of two of them, as HTML by
        `Report.html`. Raises: NotFound, InvalidInput."""
        from rag_pg.evaluation import report_runs

        return report_runs(self.database, run_ids, k)


def _helper(rag: Resources, llm: str | LLM | None) -> LLM:
    """The model that writes questions. Raises: InvalidInput."""
    models = rag.models
    model = (models.helper_llm(llm) or models.llm(llm)) if isinstance(llm, str | None) else llm
    if model is None:
        raise InvalidInput("questions are written by a language model: name one, or set RAG_PG_LLM")
    return model
