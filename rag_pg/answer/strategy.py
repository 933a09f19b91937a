"""Strategies by name, and the run of one of them with what it falls back to."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from difflib import get_close_matches
from importlib import import_module

from rag_pg.answer.attribute import OWN_WORDS, ground_answer
from rag_pg.answer.context import AnswerContext
from rag_pg.answer.editor import Editor
from rag_pg.answer.late import answer_late
from rag_pg.answer.question import Question, Unsupported, Verify
from rag_pg.answer.strategies import BUILT_IN
from rag_pg.answer.write import not_found
from rag_pg.errors import BudgetExceeded, InvalidInput, ProviderAuth, ProviderError
from rag_pg.protocols import LLM
from rag_pg.tracing import Span, provider_name, span
from rag_pg.types import Answer

UNVERIFIED = ("extractive", "metadata", "none")  # nothing that a model said of the documents
Strategy = Callable[[str, AnswerContext], Answer]

_strategies: dict[str, Strategy] = dict(BUILT_IN)


def register_strategy(name: str, function: Strategy) -> None:
    """Name a strategy, for `ask`, the command line and the workers of this process.

    Args:
        function: called with the question and its `AnswerContext`; returns the `Answer`.
    Raises: InvalidInput (a name that is none, or taken).
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,62}", name):
        raise InvalidInput(
            f"{name!r} is no name for a strategy; use up to 63 of a-z, 0-9 and _, first a letter"
        )
    if _strategies.get(name, function) is not function:
        raise InvalidInput(f"there is a strategy {name!r} already; use another name")
    _strategies[name] = function


def find_strategy(strategy: str | Strategy) -> tuple[str, Strategy]:
    """Return a strategy with its name. Raises: InvalidInput naming those that there are."""
    if callable(strategy):
        return getattr(strategy, "__name__", type(strategy).__name__), strategy
    if strategy not in _strategies:
        near = get_close_matches(strategy, _strategies, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"use {', '.join(sorted(_strategies))}"
        raise InvalidInput(f"there is no strategy {strategy!r:.100}; {hint}")
    return strategy, _strategies[strategy]


def strategy_with_tools(strategy: str | Strategy) -> str | Strategy:
    """Return the strategy of a question that comes with tools: agent for auto, one of your own as
    it is. Raises: InvalidInput for one that calls none."""
    name, function = find_strategy(strategy)
    if function is BUILT_IN["auto"]:
        return "agent"
    if function in BUILT_IN.values() and function is not BUILT_IN["agent"]:
        raise InvalidInput(f"strategy {name} calls no tools; use agent, or leave tools out")
    return strategy


def is_built_in(strategy: str) -> bool:
    """Whether a name is that of a strategy of this program's, and no program has registered another
    function under it."""
    return strategy in BUILT_IN and _strategies.get(strategy) is BUILT_IN[strategy]


def import_strategy(name: str) -> str | Strategy:
    """Return the function that module:function names, another name as it is.

    Raises: InvalidInput (it cannot be imported, or is no function).
    """
    module, colon, attribute = name.partition(":")
    if not colon:
        return name
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as exc:
        raise InvalidInput(f"cannot import the strategy {name!r}: {exc}") from exc
    if not callable(found):
        raise InvalidInput(f"{name!r} is no function; name one that takes a question and a context")
    function: Strategy = found
    return function


def answer_question(context: AnswerContext, strategy: str | Strategy = "auto") -> Answer:
    """Return the answer of a strategy; of `single` when it fails, of `extractive` when the model
    does. Its statements are judged by their sources, see `ground_answer`.

    A call of a model that might pass a bound of the question is not made; `notes` and `reason` of
    the answer say so. A key that is refused and a library that is missing are mistakes in the
    set-up, and errors.

    Raises: InvalidInput (unknown strategy, no language model where one is needed), ProviderAuth,
        ModelUnavailable, and what a search raises.
    """
    started = time.perf_counter()
    name, function = find_strategy(strategy)
    function, verify, unsupported = _treatment(context.question, function)
    is_gated = context.question.verify is not None
    context.editor = Editor(context.trace.listener, unsupported, is_gated=is_gated)
    name, answer = _run(name, function, context)
    if verify is not None and (answer.strategy or name) in UNVERIFIED:
        context.trace.note("not verified: the answer is made of the documents' own text")
        verify = None
    with span("ground answer", {"rag_pg.citations": len(answer.citations)}):
        answer = ground_answer(answer, context, unsupported=unsupported, verify=verify)
    if answer.model not in OWN_WORDS:
        context.editor.close(answer)
    answer = _with_support(_refuse_unsupported(answer, name, context), context)
    stopped = f"stopped by {context.asker.stopped}" if context.asker.stopped else ""
    return replace(
        answer,
        strategy=answer.strategy or name,
        reason=answer.reason or stopped,
        notes=tuple(dict.fromkeys([*context.trace.notes, *answer.notes])),
        steps=tuple(context.trace.steps),
        usage=context.asker.usage,
        cost=context.asker.account.cost,
        seconds=time.perf_counter() - started,
        trace_id=secrets.token_hex(16),
    )


def _treatment(
    question: Question, function: Strategy
) -> tuple[Strategy, Verify | None, Unsupported]:
    """Return what answers, how its statements are judged by a model, and what becomes of those
    without support. Strategy verify judges by itself; told to be strict, it drafts alone."""
    verify, verifies = question.verify, function is BUILT_IN["verify"]
    default: Unsupported = "drop" if verify is not None or verifies else "mark"
    unsupported = question.unsupported or default
    if not verifies:
        return function, verify, unsupported
    if verify == "strict":
        return BUILT_IN["single"], verify, unsupported
    return function, None, unsupported


def _run(name: str, function: Strategy, context: AnswerContext) -> tuple[str, Answer]:
    """Return the answer of a strategy, or of what follows it when it fails, and which that is."""
    while True:
        try:
            with _strategy_span(name, function, context.asker.llm):
                return name, function(context.question.text, context)
        except ProviderError as exc:
            is_late = context.asker.account.is_late
            if isinstance(exc, ProviderAuth) or (name == "extractive" and not is_late):
                raise
            following = _following(name, exc, context)
            name, function = (following, answer_late) if is_late else find_strategy(following)


def _following(name: str, exc: ProviderError, context: AnswerContext) -> str:
    """Return the strategy that answers where one failed, and tell so."""
    asker = context.asker
    verb = "failed"
    if isinstance(exc, BudgetExceeded):
        asker.stopped, verb = exc.bound, "was stopped"
    has_failed = asker.llm is None or asker.llm.name in asker.failed
    by_words = asker.account.is_late or has_failed or name == "single"
    following = "extractive" if by_words else "single"
    context.trace.note(f"{name} {verb}: {exc.told}; answered by {following}")
    context.trace.step("fallback", strategy=following, reason=exc.told)
    return following


def _refuse_unsupported(answer: Answer, name: str, context: AnswerContext) -> Answer:
    """Return a refusal in the place of an answer that min_support forbids; a note where nobody can
    tell."""
    if context.question.min_support is None or not answer.found:
        return answer
    judged = context.assessor.assessments.get(context.question.text)
    if judged is not None and judged.zone == "refuse":  # by a strategy of one's own
        return not_found(context, judged.reason)
    if judged is None and context.assessor.calibration is not None:  # None was noted
        context.trace.note(
            "min_support was not applied: nobody assessed what strategy"
            f" {answer.strategy or name} answers from"
        )
    return answer


def _with_support(answer: Answer, context: AnswerContext) -> Answer:
    """Return an answer with what the calibration says of it."""
    judged = context.assessor.assessments.get(context.question.text)
    if judged is None or answer.support is not None or answer.strategy == "metadata":
        return answer
    is_whole, sufficient = judged.zone == "answer", answer.sufficient
    if sufficient is None or not is_whole:
        sufficient = is_whole and answer.found
    reason = answer.reason or ("" if is_whole else judged.reason)
    return replace(answer, support=judged.support, sufficient=sufficient, reason=reason)


def _strategy_span(name: str, function: Strategy, llm: LLM | None) -> AbstractContextManager[Span]:
    if function is BUILT_IN["agent"] and llm is not None:
        return span(
            f"invoke_agent {name}",
            {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.provider.name": provider_name(llm.name),
                "gen_ai.request.model": llm.name,
                "gen_ai.agent.name": name,
            },
        )
    return span(f"strategy {name}", {"rag_pg.strategy": name})
