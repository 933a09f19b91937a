"""How good the searches and answers of a collection are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Unpack

from rag_pg.answer import AskOptions
from rag_pg.client import OfCollection, Resources, in_thread
from rag_pg.errors import InvalidInput
from rag_pg.evaluation.advice import advise
from rag_pg.evaluation.client.calibration import calibrate, estimate_calibration
from rag_pg.evaluation.client.gates import Gates
from rag_pg.evaluation.client.live import replay
from rag_pg.evaluation.client.run import run
from rag_pg.evaluation.client.sweep import estimate_sweep, plan_sweep, sweep
from rag_pg.evaluation.generate import Estimate, estimate_questions, generate_questions
from rag_pg.evaluation.import_run import import_run
from rag_pg.evaluation.sweep import Comparing
from rag_pg.evaluation.types import (
    MOST_CANDIDATES,
    EvalDrift,
    EvalRun,
    EvalRunImport,
    RecallMeasure,
    Replay,
    RunProgress,
    Sweep,
    SweepEstimate,
    Tell,
    Vary,
)
from rag_pg.ingest import Report as CopyReport
from rag_pg.protocols import LLM, Reranker
from rag_pg.search import StatementOptions, accounted, open_helper
from rag_pg.types import Advice, AuditFinding, Calibration, Usage


class CollectionEvaluation(OfCollection):
    """How good the searches and answers of a collection are: runs of sets of questions, sweeps over
    its settings, gates, calibration, live queries, audit. Sets and runs are listed by
    `Rag.evaluation`."""

    @property
    def gates(self) -> Gates:
        """What its changes must not make worse."""
        return Gates(self._opened)

    @in_thread("long")
    def run(
        self,
        set_name: str,
        *,
        kind: str = "search",
        name: str = "",
        at_once: int = 1,
        progress: Callable[[int, int], None] | None = None,
        **options: Unpack[AskOptions],
    ) -> EvalRun:
        """Ask each question of a set, record what is found, and return the run;
        `Rag.evaluation.runs.metrics` measures it.

        Args:
            kind: search (of `search`), or ask (answers, of `ask`).
            name: a label. at_once: how many questions are asked side by side.
            progress: called with how many were asked, of how many.
            options: of `search` or `ask`; cache is off.
        Raises: NotFound, InvalidInput, and as `search` or `ask` what stands in the way of every
            question. Another failure is recorded with its question.
        """
        return run(
            self._opened,
            set_name,
            options,
            kind=kind,
            name=name,
            at_once=at_once,
            progress=progress,
        )

    @in_thread("long")
    def import_run(self, set_name: str, path: str | Path, *, name: str = "") -> EvalRunImport:
        """Store a ranking that another program made as a run, to be compared with others.

        Args:
            path: a file in TREC's form, as `Rag.evaluation.runs.export_file` writes it; its
                document ids are uris of this collection.
            name: a label; default: the tag in the file.
        Raises: InvalidInput (it cannot be read, no line is of the set), NotFound.
        """
        return import_run(self._database, set_name, self._name, Path(path), name=name)

    @in_thread("long")
    def embed_queries(self, set_name: str, *, space_id: int | None = None) -> int:
        """Keep the vectors of a set's questions, so that SQL runs it without a model; return how
        many.

        Args:
            space_id: by the model of that space, None: of the active one.
        Raises: NotFound, ModelUnavailable, ProviderError.
        """
        from rag_pg.ingest import embed_queries

        return embed_queries(
            self._database, self._opened.rag.models, set_name, self._name, space_id
        )

    def drift(self, set_name: str) -> list[EvalDrift]:
        """The judgements of a set that no longer describe this collection."""
        return self._database.rows(
            EvalDrift, "eval_drift", set_name=set_name, collection=self._name
        )

    @in_thread("long")
    def estimate_queries(
        self, *, count: int, llm: str | LLM | None = None, seed: int = 0
    ) -> Estimate:
        """What `generate_queries` will take: calls, tokens, US dollars. Asks no model."""
        model = _helper(self._opened.rag, llm)
        return estimate_questions(self._database, self._name, model, count=count, seed=seed)

    @in_thread("long")
    def generate_queries(
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
        self._database.require_insert("eval_queries")
        searching = self._opened.unsampled()
        with accounted(
            self._database, self._name, "evaluation", max_tokens=max_tokens, max_cost=max_cost
        ) as account:
            return generate_questions(
                self._database,
                self._name,
                set_name,
                lambda question: searching.search(question, {"limit": limit}),
                account.meter(_helper(self._opened.rag, llm), "questions"),
                count=count,
                seed=seed,
            )

    def add_logged_queries(self, set_name: str, since: datetime | None = None) -> int:
        """Put logged questions that found nothing, or whose answers were liked or disliked, into an
        evaluation set. Returns how many."""
        return self._database.value(
            int, "add_logged_queries", set_name=set_name, collection=self._name, since=since
        )

    @in_thread("long")
    def sweep(
        self,
        set_name: str,
        vary: Vary | None = None,
        *,
        techniques: bool = False,
        kind: str = "search",
        metric: str | None = None,
        k: int = 10,
        most: int = MOST_CANDIDATES,
        reuse: bool = True,
        copies: bool = True,
        at_once: int = 1,
        correction: str = "holm",
        tell: Tell | None = None,
        progress: RunProgress | None = None,
        copy_progress: CopyReport | None = None,
        **options: Unpack[AskOptions],
    ) -> Sweep:
        """Measure each combination of settings by a run of a set, and compare it with the
        collection as it is.

        What takes another chunking or model is measured on a temporary copy, which is dropped
        afterwards. A candidate that fails is reported, and the others are measured. A run of equal
        settings, documents, questions and release is not made again, so the same call goes on with
        a sweep that was interrupted.

        Args:
            vary: values by the name of a setting, e.g. {"vector_weight": [0, 0.5, 1], "rerank":
                [None, "llm"], "chunking": ["sentence", {"max_tokens": 128}], "model": ["e5"]}:
                mode (hybrid, keyword, vector), chunking, model (of embeddings), contexts (True: by
                a language model), and every option of `search` or `ask`; None: as it is.
            techniques: measure each technique that there is instead; those that cannot be measured
                here are rows with the reason. Option rerank names a cross-encoder.
            kind: search, or ask (answers).
            metric: what is compared; None: ndcg of searches, answer_f1 of answers, or what the set
                has instead. k: of how many hits.
            most: candidates; more are refused. reuse: whether runs that are there are taken.
            copies: False: techniques that take a copy are left out, which their rows say.
            correction: of p values, for how many are compared: holm, bonferroni or none.
            tell: is told what is done. progress: called with questions asked, of how many of a run;
                copy_progress: with a `Progress` of a copy.
            options: of `search` or `ask`, of all candidates.
        Raises: InvalidInput (a name, too many candidates), NotFound, and what stands in the way of
            the baseline.
        """
        plan = plan_sweep(
            self._opened, set_name, vary, options,
            techniques=techniques, kind=kind, most=most, reuse=reuse, copies=copies,
        )  # fmt: skip
        return sweep(
            self._opened, plan, Comparing(metric=metric, k=k, correction=correction),
            at_once=at_once, tell=tell, progress=progress, copy_progress=copy_progress,
        )  # fmt: skip

    @in_thread("long")
    def estimate_sweep(
        self,
        set_name: str,
        vary: Vary | None = None,
        *,
        techniques: bool = False,
        kind: str = "search",
        most: int = MOST_CANDIDATES,
        reuse: bool = True,
        copies: bool = True,
        **options: Unpack[AskOptions],
    ) -> SweepEstimate:
        """What `sweep` will take: runs, copies, calls of language models, tokens, US dollars. Asks
        no model.

        Raises: InvalidInput, NotFound.
        """
        plan = plan_sweep(
            self._opened, set_name, vary, options,
            techniques=techniques, kind=kind, most=most, reuse=reuse, copies=copies,
        )  # fmt: skip
        return estimate_sweep(self._opened, plan, options)

    @in_thread("long")
    def calibrate(
        self,
        set_name: str,
        *,
        off_corpus: str | None = None,
        accuracy: float = 0.9,
        judge: bool = False,
        llm: str | LLM | None = None,
        max_tokens: int | None = None,
        max_cost: float | None = None,
        rerank: str | Reranker | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Calibration:
        """Ask the questions of a set, measure with which evidence their extractive answers are
        right, and store it: `ask` then tells how surely it answers, and refuses by it.

        An answer is right when one of its first two citations holds one of the question's answers;
        of a question without such texts, when its first source is a relevant passage, or of a
        relevant document.

        Args:
            set_name: some hundreds of questions, with unanswerable ones that come near. Of equal
                questions the first is asked.
            off_corpus: a set of questions about other matters; they are measured, not fitted to.
            accuracy: 0 to 1; an answer stands without a hedge from the support on at which answers
                are right at least that often, by the exact lower bound.
            judge: measure with a language model's judgement of the passages as well, a call for
                each question (`estimate_calibration` tells what that takes); `Calibration.judged`
                then is what `ask` applies where the same model is its helper or its llm.
            llm: the model that judges; default: RAG_PG_HELPER_LLM, else RAG_PG_LLM. Implies judge.
            max_tokens, max_cost: of all judgements, tokens and US dollars.
            rerank: measure with this reranker, no language model; it is applied where `ask` is
                given the same.
            progress: called with how many were asked, of how many; then with how many were judged.
        Raises: NotFound, InvalidInput (too few questions or judgements; what was judged is not
            asked again), ProviderAuth, ModelUnavailable, and as `search`.
        """
        calibrate(
            self._opened,
            set_name,
            off_corpus=off_corpus,
            accuracy=accuracy,
            judge=judge,
            llm=llm,
            max_tokens=max_tokens,
            max_cost=max_cost,
            rerank=rerank,
            progress=progress,
        )
        stored = self.calibration()
        assert stored is not None  # it was written just now
        return stored

    @in_thread("long")
    def estimate_calibration(
        self, set_name: str, *, off_corpus: str | None = None, llm: str | LLM | None = None
    ) -> Estimate:
        """What `calibrate` with a judgement will take, at most about: calls, tokens, US dollars.
        Asks no model.

        Raises: NotFound, InvalidInput (there is no model).
        """
        return estimate_calibration(self._opened, set_name, off_corpus=off_corpus, llm=llm)

    def calibration(self) -> Calibration | None:
        """What is stored of when this collection's answers are right, and whether the documents
        were changed since; None: nothing."""
        found = self._database.get_calibration(self._name)
        if found is None:
            return None
        now = self._database.value(str, "_corpus_fingerprint", collection=self._name)
        return replace(found, corpus_changed=now != found.corpus_fingerprint)

    def drop_calibration(self) -> bool:
        """Forget when answers are right; whether that was stored."""
        return self._database.value(bool, "drop_calibration", collection=self._name)

    @in_thread("long")
    def audit(
        self,
        set_name: str | None = None,
        *,
        sample_size: int = 5000,
        max_tokens: int | None = None,
    ) -> list[AuditFinding]:
        """Return what stands in the way of good answers: each check with what it found.

        Args:
            set_name: a set of questions; its latest run tells how answers fail.
            sample_size: 10 to 100,000 chunks; of more so many are looked at, evenly spaced.
            max_tokens: of the model; None: of the collection's chunking.
        Raises: NotFound, InvalidInput.
        """
        return self._database.rows(
            AuditFinding, "audit", collection=self._name, set_name=set_name,
            sample_size=sample_size, max_tokens=max_tokens,
        )  # fmt: skip

    @in_thread("long")
    def advise(self) -> list[Advice]:
        """Return which settings suit the collection, by statistics of it alone; nothing changes.

        Runs of a question set on these documents go before any rule (`Advice.evidence`).
        """
        return advise(self._database, self._name)

    @in_thread("long")
    def replay(
        self,
        candidate: str | None = None,
        *,
        sample: int = 100,
        k: int = 10,
        **options: Unpack[StatementOptions],
    ) -> Replay:
        """Ask the latest sampled live queries again, each with its own options and filter, and of a
        candidate: with other options, of another collection, or both. Nothing is written, and no
        judgement is needed; `alter(sample_queries=…)` begins the sample.

        Args:
            candidate: another collection, such as a copy; None: this one.
            sample: 1 to 10,000 queries. k: the first so many hits are compared, by chunk, and by
                uri where the candidate is another collection.
            options: of `search`, that the candidate is asked with in place of the live ones, but
                for limit, offset and filter.
        Raises: InvalidQuery, InvalidInput, NotFound; ModelUnavailable, ProviderError of a candidate
            with another model.
        """
        return replay(self._opened, candidate, options, sample=sample, k=k)

    @in_thread("long")
    def measure_recall(
        self,
        *,
        sample: int = 100,
        k: int = 10,
        target: float | None = None,
        seconds: float = 60.0,
    ) -> RecallMeasure:
        """Run sampled vector searches as they are run live and once more exactly, and keep which
        share of the nearest k was found; where that is below the target, doubled values of
        ef_search are tried. See rag.measure_recall.

        Args:
            sample: 1 to 10,000 live queries; where fewer than 20 are kept, vectors of chunks.
            k: 1 to 100. target: 0 to 1; None: the collection's, else 0.95.
            seconds: after so many nothing further is begun.
        Raises: InvalidQuery, NotReady (nothing is embedded).
        """
        ((number,),) = self._database.tuples(
            ("measure_id",), "measure_recall", collection=self._name, sample=sample, k=k,
            target=target, seconds=seconds,
        )  # fmt: skip
        (measure,) = [one for one in self.recall_measures() if one.measure_id == number]
        return measure

    def recall_measures(self, *, limit: int = 100) -> list[RecallMeasure]:
        """What was measured of its vector searches, the latest first."""
        return self._database.rows(RecallMeasure, "list_recall", collection=self._name, limit=limit)


def _helper(rag: Resources, llm: str | LLM | None) -> LLM:
    """The model that writes questions. Raises: InvalidInput."""
    model = open_helper(rag.models, llm)
    if model is None:
        raise InvalidInput("questions are written by a language model: name one, or set RAG_PG_LLM")
    return model
