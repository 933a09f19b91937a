"""A question to a collection: its options, and the context that its strategy answers from."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from typing import cast

from rag_pg.answer.answer_cache import answer_scope, ask_kept
from rag_pg.answer.calibrated import check_support, read_calibration
from rag_pg.answer.context import AnswerContext
from rag_pg.answer.late import without_time
from rag_pg.answer.options import PASSAGES, AskOptions
from rag_pg.answer.prompt import BUDGET_TOKENS, least_prompt
from rag_pg.answer.statements import check_unsupported
from rag_pg.answer.strategy import answer_question, find_strategy, strategy_with_tools
from rag_pg.answer.tools import GivenTools
from rag_pg.answer.toolset import make_toolset, reader_within
from rag_pg.deadline import grace
from rag_pg.errors import BudgetExceeded, InvalidInput, RagError
from rag_pg.protocols import LLM
from rag_pg.providers import (
    LEAST_ANSWER,
    Account,
    Bounds,
    LLMReranker,
    Models,
    token_counter,
)
from rag_pg.search import Searcher, SearchOptions, check_names, combine, local_time, read_history
from rag_pg.text import words
from rag_pg.tracing import span, trace_id_of
from rag_pg.types import (
    Answer,
    Document,
    Event,
    Hits,
    MetadataQuery,
    MetadataResult,
    ModelUsage,
    Route,
    TermMatch,
    Vectors,
)

EXPANDED_TOKENS = 6000  # of the sources, where more is shown than the hits
LONGEST_PASSAGE = 6000  # characters
WHOLE_SHARE = 0.75  # of what a model reads, for sources
AROUND = {"before": 1, "after": 4}  # chunks beside one, which an answer may show with it


def ask_question(
    question: str,
    options: AskOptions,
    *,
    searcher: Searcher,
    models: Models,
    read: Callable[[str], Document | None],
    listener: Callable[[Event], None] | None = None,
    admit: Callable[[LLM, int], None] | None = None,
    record: Callable[[str, Sequence[ModelUsage], int], None] = lambda strategy, calls, answers: (
        None
    ),
    keep: Callable[[Answer], Answer] = lambda answer: answer,
) -> Answer:
    """See `Collection.ask`.

    Args:
        read: the document of a uri. listener: is called with every event but the answer. admit: see
            `Account`. record: is told the strategy, what models were asked, and how many answers
            that gave: 0 for an error. keep: writes the answer down, and returns it.
    """
    check_names(options, known=AskOptions.__optional_keys__, call="ask")
    account = Account(
        Bounds(
            max_steps=options.pop("max_steps", Bounds.max_steps),
            max_tokens=options.pop("max_tokens", None),
            max_cost=options.pop("max_cost", None),
            timeout=options.pop("timeout", None),
        ),
        admit=admit,
    )
    with (
        account.scope.entered(),
        span("invoke_workflow ask", {"gen_ai.operation.name": "invoke_workflow"}) as current,
    ):
        try:
            answer = _ask_in_time(question, options, searcher, models, read, listener, account)
        except BaseException:
            if account.lines:
                with grace():
                    record("none", account.lines, 0)
            raise
        answer = replace(answer, trace_id=trace_id_of(current) or answer.trace_id)
        with grace():
            record(answer.strategy, _lines(answer, account), 1)
            answer = keep(answer)
        current.set_attribute("rag_pg.strategy", answer.strategy)
        current.set_attribute("rag_pg.found", answer.found)
        current.set_attribute("gen_ai.usage.input_tokens", answer.usage.prompt_tokens)
        current.set_attribute("gen_ai.usage.output_tokens", answer.usage.answer_tokens)
    return answer


def _ask_in_time(
    question: str,
    options: AskOptions,
    searcher: Searcher,
    models: Models,
    read: Callable[[str], Document | None],
    listener: Callable[[Event], None] | None,
    account: Account,
) -> Answer:
    """The answer, or that there was no time to find one."""
    started = time.perf_counter()
    try:
        return _ask_or_give_again(question, options, searcher, models, read, listener, account)
    except BudgetExceeded as exc:
        if not account.is_late:
            raise
        return replace(
            without_time(exc),
            usage=account.usage,
            cost=account.cost,
            seconds=time.perf_counter() - started,
        )


def _ask_or_give_again(
    question: str,
    options: AskOptions,
    searcher: Searcher,
    models: Models,
    read: Callable[[str], Document | None],
    listener: Callable[[Event], None] | None,
    account: Account,
) -> Answer:
    """The answer of the cache, where answers are kept; else one that is made now."""

    def ask_now() -> Answer:
        return _ask(question, options, searcher, models, read, listener, account)

    entries = searcher.entries(options.get("cache"))
    if entries is None or not entries.settings.answers or not isinstance(question, str):
        return ask_now()
    others = {k: v for k, v in options.items() if k not in ("cache", "llm", "helper_llm")}
    others["bounds"] = account.bounds
    try:
        scope = answer_scope(
            others,
            question=question,
            collection=searcher.info.name,
            model=_opened(models.llm, options.get("llm")),
            helper_llm=_opened(models.helper_llm, options.get("helper_llm")),
            embedder=lambda: searcher.embedder,
        )
    except RagError:  # it is raised, or noted, where it is met
        scope = None
    if scope is None:
        return ask_now()

    cache = options.get("cache")

    def meaning() -> Vectors:
        return searcher.question_vector(question, cache)

    def ask_anew() -> Answer:
        searcher.forget_metadata()
        return ask_now()

    return ask_kept(
        question,
        scope,
        entries,
        searcher.info.name,
        listener,
        ask_anew,
        None if entries.settings.semantic is None else meaning,
    )


def _opened(open_llm: Callable[[str | None], LLM | None], llm: str | LLM | None) -> LLM | None:
    return open_llm(llm) if isinstance(llm, str | None) else llm


def _ask(
    question: str,
    options: AskOptions,
    searcher: Searcher,
    models: Models,
    read: Callable[[str], Document | None],
    listener: Callable[[Event], None] | None,
    account: Account,
) -> Answer:
    strategy, verify = options.pop("strategy", "auto"), options.pop("verify", None)
    unsupported = check_unsupported(options.pop("unsupported", None))
    given_tools = GivenTools(options.pop("tools", ()), searcher.database)
    views = options.pop("views", True)
    min_support = options.pop("min_support", None)
    if given_tools:
        strategy = strategy_with_tools(strategy)
    check_support(min_support)
    find_strategy(strategy)  # a rewrite may cost a call of a model
    expand = check_expand(options.pop("expand", None))
    llm, helper = options.pop("llm", None), options.pop("helper_llm", None)
    model, helper_llm = _opened(models.llm, llm), _opened(models.helper_llm, helper)
    cache = options.get("cache")
    told: list[str] = []
    calibration = read_calibration(
        searcher.database, searcher.info.name, min_support, told, (model, helper_llm)
    )
    if min_support is not None:
        calibration()  # what cannot be given is said before anything is spent
    refused = None
    if model is not None:
        model = account.meter(model, "answer")
        account.least_prompt = least_prompt(question, token_counter(model).count)
        refused = account.refusal(model, account.least_prompt, LEAST_ANSWER)
    if refused is not None and isinstance(strategy, str):
        model = helper_llm = None
        strategy = strategy if strategy == "auto" else "extractive"
    rewriter = helper_llm or model
    rewrites, history = options.pop("rewrite", ()), options.pop("history", ())
    given = cast(SearchOptions, options)
    if refused is None:
        _meter_reranker(given, models, model, account)
    elif isinstance(rerank := given.get("rerank"), LLMReranker) or str(rerank).startswith("llm"):
        del given["rerank"]
    given.setdefault("limit", PASSAGES)
    now, time_zone = given.pop("now", None), given.pop("time_zone", None)
    started = time.perf_counter()
    rewritten = searcher.rewrite(
        question,
        rewrites,
        history=history,
        helper_llm=account.meter(rewriter, "rewrite", before=model) if rewriter else "extractive",
        filter=given.get("filter"),
        now=now,
        time_zone=time_zone,
        cache=cache,
    )

    def find(query: str, **changed: object) -> Hits:
        asked = cast(SearchOptions, {**given, **changed})
        wanted = rewritten if query == rewritten.question else rewritten.about(query)
        return searcher.find(wanted, **asked)

    def route(question: str) -> Route:
        # Who says which passages, or how many, wants no whole collection.
        whole = given.get("rerank") is None and given.get("limit") == PASSAGES
        reads = model.capabilities.context_tokens if model is not None and whole else None
        return searcher.route(
            question,
            helper_llm=account.meter(rewriter, "route", before=model) if rewriter else None,
            reads=None if reads is None else int(WHOLE_SHARE * reads),
            now=now,
            time_zone=time_zone,
            cache=cache,
        )

    def metadata(query: MetadataQuery) -> MetadataResult:
        return searcher.answer_metadata(query, combine(given.get("filter"), rewritten.filter))

    def match_terms(question: str, texts: Sequence[str]) -> Sequence[TermMatch]:
        found = searcher.database.match_terms(searcher.info.name, question, texts)
        left = [term for term in found if rewritten.filter_words.isdisjoint(words(term.word))]
        return left or found  # what the filter was read from speaks neither for nor against

    context = AnswerContext(
        find=find,
        expand=lambda hits: searcher.expand(hits, expand, longest=LONGEST_PASSAGE),
        budget_tokens=BUDGET_TOKENS if expand is None else EXPANDED_TOKENS,
        read=reader_within(read, searcher.database, searcher.info.name, given.get("filter")),
        tools=lambda: make_toolset(
            given_tools,
            searcher,
            given.get("filter"),
            local_time(now, time_zone).date(),
            views=views,
        ),
        embedder=lambda: searcher.embedder,
        cosine_spread=partial(searcher.database.cosine_spread, searcher.info.collection_id),
        route=route,
        metadata=metadata,
        match_terms=match_terms,
        read_around=partial(searcher.database.read_around, searcher.info.name, **AROUND),
        llm=model,
        helper_llm=helper_llm,
        history=read_history(history, question),
        listener=listener,
        check_citations=partial(searcher.database.check_citations, searcher.info.name),
        calibration=calibration,
        min_support=min_support,
        now=date.today if now is None else now.date,
        account=account,
    )
    if refused is not None and model is None:
        context.stopped = refused.bound
        context.note(f"answered without a model: {refused}")
    for step in rewritten.steps:
        context.step(step.kind, seconds=step.seconds, usage=step.usage, **step.detail)
    for note in rewritten.notes:
        context.note(note)
    with given_tools:
        answer = answer_question(
            rewritten.question, context, strategy=strategy, verify=verify, unsupported=unsupported
        )
    return replace(answer, notes=(*answer.notes, *told), seconds=time.perf_counter() - started)


def _lines(answer: Answer, account: Account) -> list[ModelUsage]:
    """What models were asked for an answer, those that wrote it first."""
    lines = sorted(account.lines, key=lambda line: (line.kind != "answer", line.model))
    if not lines or lines[0].kind != "answer":
        model = answer.model or "none"
        lines.insert(0, ModelUsage(kind="answer", model=model, cached_hits=int(answer.cached)))
    return lines


def _meter_reranker(
    options: SearchOptions, models: Models, model: LLM | None, account: Account
) -> None:
    """Let the calls of a language model that reranks count; "llm" is the one that answers."""
    reranker = options.get("rerank")
    if reranker == "llm" and model is not None:
        reranker = LLMReranker(model)
    elif isinstance(reranker, str) and reranker.partition(":")[0] == "llm":
        reranker = models.reranker(reranker)
    if isinstance(reranker, LLMReranker):
        options["rerank"] = LLMReranker(account.meter(reranker.llm, "rerank", before=model))


def check_expand(expand: str | None) -> str | None:
    """Return what is shown around hits. Raises: InvalidInput."""
    if expand not in (None, "window", "section"):
        raise InvalidInput(f"expand is {expand!r:.100}; use window or section, or leave it out")
    return expand
