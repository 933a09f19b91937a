"""Sweeps over the settings of a collection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from rag_pg.answer import AskOptions
from rag_pg.chunk import Chunking
from rag_pg.client import CONTEXT_TOKENS, Enrichment, OpenCollection
from rag_pg.errors import InvalidInput, RagError
from rag_pg.evaluation.client.run import run
from rag_pg.evaluation.run import find_run
from rag_pg.evaluation.statements import EqualRun
from rag_pg.evaluation.sweep import (
    Comparing,
    Corpus,
    Facilities,
    Measure,
    compare_measured,
    find_equal,
    list_techniques,
    make_candidates,
    measure_candidates,
    settings_key,
    settings_of,
)
from rag_pg.evaluation.sweep import estimate_sweep as estimate
from rag_pg.evaluation.types import (
    Candidate,
    EvalRun,
    RunProgress,
    Sweep,
    SweepEstimate,
    Tell,
    Vary,
)
from rag_pg.ingest import Report as CopyReport
from rag_pg.ingest import left_copies, temporary_copy
from rag_pg.protocols import LLM
from rag_pg.providers import embed_query
from rag_pg.search import EXPANSIONS, SearchOptions, check_names


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """Candidates, the runs of equal settings by `settings_key`, and how many questions there
    are."""

    set_name: str
    candidates: Sequence[Candidate]
    equal: Mapping[str, int]
    questions: int


def sweep(
    opened: OpenCollection,
    plan: Plan,
    how: Comparing,
    *,
    at_once: int,
    tell: Tell | None,
    progress: RunProgress | None,
    copy_progress: CopyReport | None,
) -> Sweep:
    """See `CollectionEvaluation.sweep`."""
    told = tell or (lambda text: None)
    set_name = plan.set_name
    for name in left_copies(opened.rag.database, opened.name):
        told(f"{name} is a copy of another sweep: if none is running, rag-pg drop {name}")
    version = opened.rag.database.collection_version(opened.name)

    @contextmanager
    def open_target(first: Candidate) -> Iterator[Measure]:
        if not first.is_copied:
            yield lambda one: _run(opened, one, set_name, at_once, progress)
            return
        with _copied(opened, first, set_name, told, copy_progress) as copy:

            def measure(one: Candidate) -> EvalRun:
                done = _run(copy, one, set_name, at_once, progress)
                opened.rag.database.file_eval_run(
                    done.run_id, opened.name, settings_of(one), version
                )
                return find_run(opened.rag.database, done.run_id)

            yield measure

    measured = measure_candidates(
        opened.rag.database, plan.candidates, plan.equal, open_target, told
    )
    return compare_measured(opened.rag.database, set_name, opened.name, measured, how)


def estimate_sweep(opened: OpenCollection, plan: Plan, options: AskOptions) -> SweepEstimate:
    """See `CollectionEvaluation.estimate_sweep`."""
    from rag_pg.enrich import estimate_contexts

    left = [
        one
        for one in plan.candidates
        if not one.unavailable and settings_key(one) not in plan.equal
    ]
    llm = _answering(opened, options)
    corpus = Corpus(size=opened.rag.database.enrichment_size(opened.name))
    if any(one.contexts for one in left):
        with suppress(RagError):  # it is told where they are written
            writer = opened.rag.models.writing_llm()
            corpus = replace(corpus, contexts=estimate_contexts(writer, corpus.size))
    return estimate(
        left,
        len(plan.equal),
        questions=plan.questions,
        corpus=corpus,
        model=opened.info.model,
        llm=llm,
        helper=_helping(opened, options),
    )


def plan_sweep(
    opened: OpenCollection,
    set_name: str,
    vary: Vary | None,
    options: AskOptions,
    *,
    techniques: bool,
    kind: str,
    most: int,
    reuse: bool,
    copies: bool,
) -> Plan:
    """What a sweep is made of; see `CollectionEvaluation.sweep`. Raises: InvalidInput, NotFound."""
    if kind not in ("search", "ask"):
        raise InvalidInput(f"a sweep is of kind {kind!r:.100}; use search or ask")
    if techniques == bool(vary):
        raise InvalidInput("say what to vary, or take all techniques: one of the two")
    known = (SearchOptions if kind == "search" else AskOptions).__optional_keys__
    for name in {*options, *(vary or {})} - known if not techniques else ():
        if name in AskOptions.__optional_keys__:
            raise InvalidInput(f"{name} is a setting of answers: take kind ask")
    queries = opened.rag.database.list_eval_queries(set_name)
    if not queries:
        raise InvalidInput(f"evaluation set {set_name!r} has no questions: import some")
    opened.searcher.refresh()
    current = {"chunking": opened.info.chunking, "model": opened.info.model}
    has_answers = any(q.answers or q.expected_terms or q.unanswerable for q in queries)
    if techniques:
        check_names(options, known=AskOptions.__optional_keys__, call="sweep")
        candidates = _techniques(opened, options, copies, has_answers, current)
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
    candidates = [_with_named_models(opened, one) for one in candidates]
    equal = (
        find_equal(
            candidates,
            opened.rag.database.rows(
                EqualRun, "_equal_runs", set_name=set_name, collection=opened.name
            ),
            partial(_fingerprint, opened),
            opened.info.chunking,
        )
        if reuse
        else {}
    )
    return Plan(set_name=set_name, candidates=candidates, equal=equal, questions=len(queries))


def _with_named_models(opened: OpenCollection, one: Candidate) -> Candidate:
    """The candidate with the language models of the settings that it asks among its options: a
    run of another model is none of equal settings."""
    models, options = opened.rag.models, dict(one.options)
    defaults: dict[str, Any] = {}
    with suppress(RagError):  # a model that cannot be opened fails in its row
        if one.kind == "ask":
            defaults = {"llm": models.llm(), "helper_llm": models.helper_llm()}
        elif options.get("rewrite") or options.get("history"):
            defaults = {"helper_llm": _helping(opened, options)}
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


def _fingerprint(opened: OpenCollection, model: str) -> str | None:
    """Of the vectors that a model makes here; None: it cannot be opened."""
    try:
        return opened.rag.models.embedder(model).fingerprint
    except RagError:
        return None


def _techniques(
    opened: OpenCollection,
    options: Mapping[str, Any],
    copies: bool,
    has_answers: bool,
    current: Mapping[str, Any],
) -> list[Candidate]:

    models, llm = opened.rag.models, _answering(opened, options)
    given = options.get("rerank")
    reranker_missing = ""
    if isinstance(given, str):
        try:
            models.reranker(given)
        except RagError as exc:
            reranker_missing = str(exc)
    kinds = {one.kind for one in opened.rag.database.get_enrichment(opened.name)
             if one.settings}  # fmt: skip
    longest = opened.embedder.max_tokens
    tokens_left = longest - Chunking.read(opened.info.chunking, longest).max_tokens
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


def _answering(opened: OpenCollection, options: Mapping[str, Any]) -> LLM | None:
    """The model that answers, or that a search asks for help."""
    given = options.get("llm") or options.get("helper_llm")
    return opened.rag.models.llm(given) if isinstance(given, str | None) else given


def _helping(opened: OpenCollection, options: Mapping[str, Any]) -> LLM | None:
    """The model that rewrites."""
    given = options.get("helper_llm")
    if not isinstance(given, str | None):
        return cast(LLM, given)
    return opened.rag.models.helper_llm(given) or _answering(opened, options)


def _run(
    opened: OpenCollection,
    one: Candidate,
    set_name: str,
    at_once: int,
    progress: RunProgress | None,
) -> EvalRun:
    """Raises: what stands in the way of every question, a missing model with it."""
    options = one.options
    if isinstance(options.get("rerank"), str):
        opened.rag.models.reranker(options["rerank"])
    expanded = [name for name in options.get("rewrite", ()) if name in EXPANSIONS]
    if expanded and _helping(opened, options) is None:
        raise InvalidInput(f"{expanded[0]} needs a language model: name one, or set RAG_PG_LLM")
    if options.get("vector_weight") != 0:
        embed_query(opened.embedder, set_name)  # what loads a model is no part of a question
    return run(
        opened,
        set_name,
        cast(AskOptions, dict(options)),
        kind=one.kind,
        name=one.name,
        at_once=at_once,
        progress=progress,
    )


@contextmanager
def _copied(
    opened: OpenCollection, first: Candidate, set_name: str, told: Tell, progress: CopyReport | None
) -> Iterator[OpenCollection]:
    """A copy as a candidate wants it; runs of it that are not filed in the end are dropped."""
    database = opened.rag.database
    with temporary_copy(
        database,
        opened.rag.models,
        opened.rag.worker,
        opened.info,
        chunking=first.chunking,
        model=first.model,
        tell=told,
        progress=progress,
    ) as info:
        copy = OpenCollection(opened.rag, info)
        try:
            if first.contexts:
                Enrichment(copy).set_contexts()
            yield copy
        finally:
            with suppress(RagError):
                for made in database.rows(EvalRun, "list_eval_runs", set_name=set_name):
                    if made.collection == info.name:
                        database.call("drop_eval_run", run_id=made.run_id)
