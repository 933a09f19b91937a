"""A question to a collection -> its answer: from the cache, or by a strategy, within its bounds."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from typing import cast

from rag_pg.answer.answer_cache import AnswerEntry, answer_scope
from rag_pg.answer.answer_log import log_answer
from rag_pg.answer.asker import Asker
from rag_pg.answer.assessor import Assessor
from rag_pg.answer.context import AnswerContext
from rag_pg.answer.late import without_time
from rag_pg.answer.options import AskOptions
from rag_pg.answer.prompt import BUDGET_TOKENS
from rag_pg.answer.question import (
    PASSAGES,
    Expand,
    Question,
    Unsupported,
    Verify,
    check_choice,
    check_support,
)
from rag_pg.answer.retriever import Retriever
from rag_pg.answer.strategy import Strategy, answer_question, find_strategy, strategy_with_tools
from rag_pg.answer.tools import GivenTools
from rag_pg.answer.trace import Trace
from rag_pg.deadline import grace
from rag_pg.errors import BudgetExceeded, RagError
from rag_pg.protocols import LLM
from rag_pg.providers import Account, Bounds
from rag_pg.search import (
    Rewritten,
    Searcher,
    SearchOptions,
    check_names,
    check_query,
    drop_llm_reranker,
    local_time,
    meter_reranker,
    read_history,
)
from rag_pg.tracing import Span, span, trace_id_of
from rag_pg.types import Answer, Event, ModelUsage

EXPANDED_TOKENS = 6000  # of the sources, where more is shown than the hits


@dataclass(frozen=True, kw_only=True, slots=True)
class _Call:
    """One call of `Collection.ask`."""

    question: str
    options: AskOptions
    searcher: Searcher
    account: Account
    listener: Callable[[Event], None] | None


def ask_question(
    question: str,
    options: AskOptions,
    *,
    searcher: Searcher,
    listener: Callable[[Event], None] | None = None,
    admit: Callable[[LLM, int], None] | None = None,
    is_logged: bool = True,
) -> Answer:
    """See `Collection.ask`.

    Args:
        listener: is called with every event but the answer. admit: see `Account`. is_logged:
            whether the answer may be kept in the log of answers.
    """
    check_names(options, known=AskOptions.__optional_keys__, call="ask")
    account = Account(_bounds(options), admit=admit)
    call = _Call(
        question=question,
        options=options,
        searcher=searcher,
        account=account,
        listener=listener,
    )
    attributes = {"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": "ask"}
    with account.scope.entered(), span("invoke_workflow ask", attributes) as current:
        try:
            answer = _answer_in_time(call)
        except BaseException:
            if account.lines:
                with grace():
                    searcher.usage.record("none", account.lines)
            raise
        answer = replace(answer, trace_id=trace_id_of(current) or answer.trace_id)
        with grace():
            searcher.usage.record(answer.strategy, _lines(answer, account), answers=1)
            if is_logged:
                answer = log_answer(searcher.database, searcher.info, question, answer)
        _describe(answer, current)
    return answer


def _bounds(options: AskOptions) -> Bounds:
    return Bounds(
        max_steps=options.pop("max_steps", Bounds.max_steps),
        max_tokens=options.pop("max_tokens", None),
        max_cost=options.pop("max_cost", None),
        timeout=options.pop("timeout", None),
    )


def _answer_in_time(call: _Call) -> Answer:
    """The answer, or that there was no time to find one."""
    started = time.perf_counter()
    try:
        return _answer_or_give_again(call)
    except BudgetExceeded as exc:
        if not call.account.is_late:
            raise
        return replace(
            without_time(exc),
            usage=call.account.usage,
            cost=call.account.cost,
            seconds=time.perf_counter() - started,
        )


def _answer_or_give_again(call: _Call) -> Answer:
    """The answer of the cache, where answers are kept; else one that is made now."""
    entry = _look_up(call)
    if entry is None:
        return _answer(call)
    if entry.answer is not None:
        return entry.give_again(entry.answer, call.listener)
    call.searcher.forget_metadata()
    return entry.keep(_answer(call))


def _look_up(call: _Call) -> AnswerEntry | None:
    """What the cache has of a question; None where no answer to it is kept."""
    options, models = call.options, call.searcher.models
    entries = call.searcher.entries(options.get("cache"))
    if entries is None or not entries.settings.answers or not isinstance(call.question, str):
        return None
    others = {k: v for k, v in options.items() if k not in ("cache", "llm", "helper_llm")}
    try:
        scope = answer_scope(
            {**others, "bounds": call.account.bounds},
            question=call.question,
            searcher=call.searcher,
            model=_opened(models.llm, options.get("llm")),
            helper_llm=_opened(models.helper_llm, options.get("helper_llm")),
        )
    except RagError:  # it is raised, or noted, where it is met
        return None
    if scope is None:
        return None
    return AnswerEntry(call.question, scope, entries, call.searcher)


def _opened(open_llm: Callable[[str | None], LLM | None], llm: str | LLM | None) -> LLM | None:
    return open_llm(llm) if isinstance(llm, str | None) else llm


def _answer(call: _Call) -> Answer:
    """The answer, made now."""
    started = time.perf_counter()
    options, trace = call.options, Trace(call.listener)
    now = local_time(options.pop("now", None), options.pop("time_zone", None))
    question = _read_question(call.question, options, now.date())
    strategy, tools = _read_strategy(options, call.searcher)
    expand = check_choice("expand", options.pop("expand", None), Expand)
    views, rewrites = options.pop("views", True), options.pop("rewrite", ())
    asker = _open_asker(call, trace, EXPANDED_TOKENS if expand else BUDGET_TOKENS)
    strategy = _within_bounds(call, asker, strategy)
    retriever = Retriever(
        call.searcher, _search_options(options), now=now, expand=expand, tools=tools, views=views
    )
    assessor = Assessor(retriever, asker, trace, question.min_support)
    if question.min_support is not None:
        assessor.check()  # a min_support that nothing reaches is refused before a model is asked
    rewritten = retriever.rewrite(question, rewrites, helper_llm=asker.metered("rewrite"))
    _tell_rewritten(rewritten, trace)
    context = AnswerContext(
        question=replace(question, text=rewritten.question),
        retriever=retriever,
        trace=trace,
        asker=asker,
        assessor=assessor,
    )
    with tools:
        answer = answer_question(context, strategy)
    return replace(answer, seconds=time.perf_counter() - started)


def _read_question(text: str, options: AskOptions, today: date) -> Question:
    return Question(
        text=check_query(text),
        history=read_history(options.pop("history", ()), text),
        verify=check_choice("verify", options.pop("verify", None), Verify),
        unsupported=check_choice("unsupported", options.pop("unsupported", None), Unsupported),
        min_support=check_support(options.pop("min_support", None)),
        today=today,
    )


def _read_strategy(options: AskOptions, searcher: Searcher) -> tuple[str | Strategy, GivenTools]:
    """The strategy, checked before a rewrite costs a call of a model, and the caller's tools."""
    strategy = options.pop("strategy", "auto")
    tools = GivenTools(options.pop("tools", ()), searcher.database)
    if tools:
        strategy = strategy_with_tools(strategy)
    find_strategy(strategy)
    return strategy, tools


def _open_asker(call: _Call, trace: Trace, budget_tokens: int) -> Asker:
    return Asker(
        trace=trace,
        llm=_opened(call.searcher.models.llm, call.options.pop("llm", None)),
        helper_llm=_opened(call.searcher.models.helper_llm, call.options.pop("helper_llm", None)),
        account=call.account,
        budget_tokens=budget_tokens,
    )


def _within_bounds(call: _Call, asker: Asker, strategy: str | Strategy) -> str | Strategy:
    """The strategy, one without a model where the bounds leave no room for its shortest prompt;
    the reranker's calls count, and it does without a model where the answer does."""
    refusal = asker.find_refusal(call.question)
    if refusal is None:
        meter_reranker(call.options, call.searcher.models, call.account, answering=asker.llm)
        return strategy
    drop_llm_reranker(call.options)
    if not isinstance(strategy, str):
        return strategy
    asker.give_up(refusal)
    return strategy if strategy == "auto" else "extractive"


def _search_options(options: AskOptions) -> SearchOptions:
    """What is left of the options of a question, once it was read: those of its searches."""
    return cast(SearchOptions, {"limit": PASSAGES, **options})


def _tell_rewritten(rewritten: Rewritten, trace: Trace) -> None:
    for step in rewritten.steps:
        trace.step(step.kind, seconds=step.seconds, usage=step.usage, **step.detail)
    for note in rewritten.notes:
        trace.note(note)


def _lines(answer: Answer, account: Account) -> list[ModelUsage]:
    """What models were asked for an answer, those that wrote it first."""
    lines = sorted(account.lines, key=lambda line: (line.kind != "answer", line.model))
    if not lines or lines[0].kind != "answer":
        model = answer.model or "none"
        lines.insert(0, ModelUsage(kind="answer", model=model, cached_hits=int(answer.cached)))
    return lines


def _describe(answer: Answer, current: Span) -> None:
    current.set_attribute("rag_pg.strategy", answer.strategy)
    current.set_attribute("rag_pg.found", answer.found)
    current.set_attribute("gen_ai.usage.input_tokens", answer.usage.prompt_tokens)
    current.set_attribute("gen_ai.usage.output_tokens", answer.usage.answer_tokens)
