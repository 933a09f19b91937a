"""Sweeps over the settings of a collection."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack, cast

from rag_pg.answer import AskOptions
from rag_pg.chunk import Chunking
from rag_pg.client.enrichment import CONTEXT_TOKENS, Enriching
from rag_pg.client.evaluation import Evaluation
from rag_pg.errors import InvalidInput, RagError
from rag_pg.ingest import Report as CopyReport
from rag_pg.ingest import left_copies, temporary_copy
from rag_pg.protocols import LLM
from rag_pg.providers import embed_query
from rag_pg.search import EXPANSIONS, SearchOptions, check_names
from rag_pg.types import Candidate, EvalRun, Sweep, SweepEstimate

if TYPE_CHECKING:
    from rag_pg.evaluation import Measure

MOST = 50  # candidates, unless the caller wants more
Vary = Mapping[str, Sequence[Any]]
Tell = Callable[[str], None]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Plan:
    """Candidates, the runs of equal settings by `settings_key`, and how many questions there
    are."""

    candidates: Sequence[Candidate]
    equal: Mapping[str, int]
    questions: int


class Sweeping(Evaluation, Enriching):
    """The methods of `Collection` that measure many settings of it."""

    def sweep(
        self,
        set_name: str,
        vary: Vary | None = None,
        *,
        techniques: bool = False,
        kind: str = "search",
        metric: str | None = None,
        k: int = 10,
        most: int = MOST,
        reuse: bool = True,
        copies: bool = True,
        at_once: int = 1,
        correction: str = "holm",
        tell: Tell | None = None,
        progress: Progress | None = None,
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
        from rag_pg.evaluation import (
            Comparing,
            compare_measured,
            find_run,
            measure_candidates,
            settings_of,
        )

        told = tell or (lambda text: None)
        plan = self._plan_sweep(set_name, vary, techniques, kind, most, reuse, copies, options)
        for name in left_copies(self.rag.database, self.name):
            told(f"{name} is a copy of another sweep: if none is running, rag-pg drop {name}")
        version = self.rag.database.collection_version(self.name)

        @contextmanager
        def open_target(first: Candidate) -> Iterator[Measure]:
            if not first.is_copied:
                yield lambda one: self._run(one, set_name, at_once, progress)
                return
            with self._copied(first, set_name, told, copy_progress) as copy:

                def measure(one: Candidate) -> EvalRun:
                    run = copy._run(one, set_name, at_once, progress)
                    self.rag.database.file_eval_run(
                        run.run_id, self.name, settings_of(one), version
                    )
                    return find_run(self.rag.database, run.run_id)

                yield measure

        measured = measure_candidates(
            self.rag.database, plan.candidates, plan.equal, open_target, told
        )
        how = Comparing(metric=metric, k=k, correction=correction)
        return compare_measured(self.rag.database, set_name, self.name, measured, how)

    def estimate_sweep(
        self,
        set_name: str,
        vary: Vary | None = None,
        *,
        techniques: bool = False,
        kind: str = "search",
        most: int = MOST,
        reuse: bool = True,
        copies: bool = True,
        **options: Unpack[AskOptions],
    ) -> SweepEstimate:
        """What `sweep` will take: runs, copies, calls of language models, tokens, US dollars. Asks
        no model.

        Raises: InvalidInput, NotFound.
        """
        from rag_pg.enrich import estimate_contexts
        from rag_pg.evaluation import Corpus, estimate_sweep, settings_key

        plan = self._plan_sweep(set_name, vary, techniques, kind, most, reuse, copies, options)
        left = [
            one
            for one in plan.candidates
            if not one.unavailable and settings_key(one) not in plan.equal
        ]
        llm = self._answering(options)
        corpus = Corpus(size=self.rag.database.enrichment_size(self.name))
        if any(one.contexts for one in left):
            with suppress(RagError):  # it is told where they are written
                writer = self.rag.models.writing_llm()
                corpus = replace(corpus, contexts=estimate_contexts(writer, corpus.size))
        return estimate_sweep(
            left,
            len(plan.equal),
            questions=plan.questions,
            corpus=corpus,
            model=self.info.model,
            llm=llm,
            helper=self._helping(options),
        )

    def _plan_sweep(
        self,
        set_name: str,
        vary: Vary | None,
        techniques: bool,
        kind: str,
        most: int,
        reuse: bool,
        copies: bool,
        options: Mapping[str, Any],
    ) -> _Plan:
        from rag_pg.evaluation import find_equal, make_candidates

        if kind not in ("search", "ask"):
            raise InvalidInput(f"a sweep is of kind {kind!r:.100}; use search or ask")
        if techniques == bool(vary):
            raise InvalidInput("say what to vary, or take all techniques: one of the two")
        known = (SearchOptions if kind == "search" else AskOptions).__optional_keys__
        for name in {*options, *(vary or {})} - known if not techniques else ():
            if name in AskOptions.__optional_keys__:
                raise InvalidInput(f"{name} is a setting of answers: take kind ask")
        queries = self.rag.database.list_eval_queries(set_name)
        if not queries:
            raise InvalidInput(f"evaluation set {set_name!r} has no questions: import some")
        self.refresh()
        current = {"chunking": self.info.chunking, "model": self.info.model}
        has_answers = any(q.answers or q.expected_terms or q.unanswerable for q in queries)
        if techniques:
            check_names(options, known=AskOptions.__optional_keys__, call="sweep")
            candidates = self._techniques(options, copies, has_answers, current)
        else:
            check_names(options, known=known, call=kind)
            candidates = make_candidates(
                vary or {},
                kind=kind,
                options=options,
                known=sorted(known - {"cache"}),
                current=current,
                most=most,
            )
        candidates = [self._with_named_models(one) for one in candidates]
        equal = (
            find_equal(
                candidates,
                self.rag.database.equal_runs(set_name, self.name),
                self._fingerprint,
                self.info.chunking,
            )
            if reuse
            else {}
        )
        return _Plan(candidates=candidates, equal=equal, questions=len(queries))

    def _with_named_models(self, one: Candidate) -> Candidate:
        """The candidate with the language models of the settings that it asks among its options: a
        run of another model is none of equal settings."""
        models, options = self.rag.models, dict(one.options)
        defaults: dict[str, Any] = {}
        with suppress(RagError):  # a model that cannot be opened fails in its row
            if one.kind == "ask":
                defaults = {"llm": models.llm(), "helper_llm": models.helper_llm()}
            elif options.get("rewrite") or options.get("history"):
                defaults = {"helper_llm": self._helping(options)}
        for name, llm in defaults.items():
            if llm is not None and options.get(name) is None:
                options[name] = llm
        with suppress(RagError):
            if one.kind == "search" and options.get("rerank") == "llm":
                options["rerank"] = models.reranker("llm")
        with suppress(RagError):
            if one.contexts and one.contexts_model is None:
                one = replace(one, contexts_model=models.writing_llm().name)
        return replace(one, options=options)

    def _fingerprint(self, model: str) -> str | None:
        """Of the vectors that a model makes here; None: it cannot be opened."""
        try:
            return self.rag.models.embedder(model).fingerprint
        except RagError:
            return None

    def _techniques(
        self,
        options: Mapping[str, Any],
        copies: bool,
        has_answers: bool,
        current: Mapping[str, Any],
    ) -> list[Candidate]:
        from rag_pg.evaluation import Facilities, list_techniques

        models, llm = self.rag.models, self._answering(options)
        given = options.get("rerank")
        reranker_missing = ""
        if isinstance(given, str):
            try:
                models.reranker(given)
            except RagError as exc:
                reranker_missing = str(exc)
        kinds = {one.kind for one in self.rag.database.get_enrichment(self.name)
                 if one.settings}  # fmt: skip
        longest = self.embedder.max_tokens
        tokens_left = longest - Chunking.read(self.info.chunking, longest).max_tokens
        facilities = Facilities(
            llm=llm,
            helper=options.get("helper_llm") or options.get("llm"),
            answering=options.get("llm"),
            reranker=given,
            reranker_missing=reranker_missing,
            e5=models.has_e5(),
            copies=copies,
            answers=has_answers,
            contexts="context" in kinds,
            context_chunking=None
            if tokens_left >= CONTEXT_TOKENS
            else {"max_tokens": max(16, longest - 100)},
        )
        shared = {
            name: value
            for name, value in options.items()
            if name not in ("llm", "helper_llm", "rerank")
        }
        return list_techniques(facilities, shared, current)

    def _answering(self, options: Mapping[str, Any]) -> LLM | None:
        """The model that answers, or that a search asks for help."""
        given = options.get("llm") or options.get("helper_llm")
        return self.rag.models.llm(given) if isinstance(given, str | None) else given

    def _helping(self, options: Mapping[str, Any]) -> LLM | None:
        """The model that rewrites."""
        given = options.get("helper_llm")
        if not isinstance(given, str | None):
            return cast(LLM, given)
        return self.rag.models.helper_llm(given) or self._answering(options)

    def _run(
        self, one: Candidate, set_name: str, at_once: int, progress: Progress | None
    ) -> EvalRun:
        """Raises: what stands in the way of every question, a missing model with it."""
        options = one.options
        if isinstance(options.get("rerank"), str):
            self.rag.models.reranker(options["rerank"])
        expanded = [name for name in options.get("rewrite", ()) if name in EXPANSIONS]
        if expanded and self._helping(options) is None:
            raise InvalidInput(f"{expanded[0]} needs a language model: name one, or set RAG_PG_LLM")
        if options.get("vector_weight") != 0:
            embed_query(self.embedder, set_name)  # what loads a model is no part of a question
        return self.evaluate(
            set_name,
            kind=one.kind,
            name=one.name,
            at_once=at_once,
            progress=progress,
            **cast(AskOptions, dict(options)),
        )

    @contextmanager
    def _copied(
        self, first: Candidate, set_name: str, told: Tell, progress: CopyReport | None
    ) -> Iterator[Sweeping]:
        """A copy as a candidate wants it; runs of it that are not filed in the end are dropped."""
        database = self.rag.database
        with temporary_copy(
            database,
            self.rag.models,
            self.rag.worker,
            self.info,
            chunking=first.chunking,
            model=first.model,
            tell=told,
            progress=progress,
        ) as info:
            copy = Sweeping(self.rag, info)
            try:
                if first.contexts:
                    copy.set_contexts()
                yield copy
            finally:
                with suppress(RagError):
                    for run in database.list_eval_runs(set_name):
                        if run.collection == info.name:
                            database.drop_eval_run(run.run_id)
