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

from rag_pg.answer.attribution import OWN_WORDS, ground_answer
from rag_pg.answer.context import AnswerContext
from rag_pg.answer.editor import Editor
from rag_pg.answer.late import answer_late
from rag_pg.answer.llm_verify import check_verify
from rag_pg.answer.statements import Unsupported, check_unsupported
from rag_pg.answer.strategies import BUILT_IN
from rag_pg.answer.write import not_found
from rag_pg.errors import BudgetExceeded, InvalidInput, ProviderAuth, ProviderError
from rag_pg.tracing import Span, span
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


def answer_question(
    question: str,
    context: AnswerContext,
    *,
    strategy: str | Strategy = "auto",
    verify: str | None = None,
    unsupported: str | None = None,
) -> Answer:
    """Return the answer of a strategy; of `single` when it fails, of `extractive` when the model
    does.

    A call of a model that might pass a bound of the question is not made; `notes` and `reason` of
    the answer say so. A key that is refused and a library that is missing are mistakes in the
    set-up, and errors.

    Args:
        verify: once or strict: the helper judges the statements too, see `check_statements`. Their
            sources' words, figures and meaning do in any case, see `ground_answer`.
        unsupported: drop, mark or keep statements that are found to have no support. Default: drop
            where a model judges them, else mark.
    Raises: InvalidInput (unknown strategy, no language model where one is needed), ProviderAuth,
        ModelUnavailable, and what a search raises.
    """
    started = time.perf_counter()
    checked = check_verify(verify)
    wanted = check_unsupported(unsupported)
    name, function = find_strategy(strategy)
    judges = checked is not None or function is BUILT_IN["verify"]
    action: Unsupported = wanted or ("drop" if judges else "mark")
    context.question = question
    context.editor = Editor(context.listener, action, is_gated=checked is not None)
    if function is BUILT_IN["verify"]:
        if checked == "strict":
            function = BUILT_IN["single"]  # the draft
        else:
            checked = None
    answer: Answer | None = None
    while answer is None:
        try:
            with _strategy_span(name, function):
                answer = function(question, context)
        except ProviderError as exc:
            late = context.account.is_late
            if isinstance(exc, ProviderAuth) or (name == "extractive" and not late):
                raise
            if isinstance(exc, BudgetExceeded):
                context.stopped = exc.bound
            failed = context.llm is None or context.llm.name in context.failed
            following = "extractive" if late or failed or name == "single" else "single"
            verb = "was stopped" if isinstance(exc, BudgetExceeded) else "failed"
            context.note(f"{name} {verb}: {exc}; answered by {following}")
            context.step("fallback", strategy=following, reason=str(exc))
            name, function = (following, answer_late) if late else find_strategy(following)
    if checked is not None and (answer.strategy or name) in UNVERIFIED:
        context.note("not verified: the answer is made of the documents' own text")
        checked = None
    with span("ground answer", {"rag_pg.citations": len(answer.citations)}):
        answer = ground_answer(answer, context, unsupported=action, verify=checked)
    if context.statement_judge is not None and answer.model not in OWN_WORDS:
        context.editor.close(answer, context.statement_judge)
    judged = context.assessments.get(question)
    if context.min_support is not None and answer.found:
        if judged is not None and judged.zone == "refuse":  # by a strategy of one's own
            answer = not_found(context, judged.reason)
        elif judged is None and context.calibration() is not None:  # None was noted
            context.note(
                "min_support was not applied: nobody assessed what strategy"
                f" {answer.strategy or name} answers from"
            )
    if judged is not None and answer.support is None and answer.strategy != "metadata":
        is_whole = judged.zone == "answer"
        sufficient = answer.sufficient
        if sufficient is None or not is_whole:
            sufficient = is_whole and answer.found
        reason = answer.reason or ("" if is_whole else judged.reason)
        answer = replace(answer, support=judged.support, sufficient=sufficient, reason=reason)
    stopped = f"stopped by {context.stopped}" if context.stopped else ""
    return replace(
        answer,
        strategy=answer.strategy or name,
        reason=answer.reason or stopped,
        notes=tuple(dict.fromkeys([*context.notes, *answer.notes])),
        steps=tuple(context.steps),
        usage=context.usage,
        cost=context.account.cost,
        seconds=time.perf_counter() - started,
        trace_id=secrets.token_hex(16),
    )


def _strategy_span(name: str, function: Strategy) -> AbstractContextManager[Span]:
    if function is BUILT_IN["agent"]:
        return span(
            f"invoke_agent {name}",
            {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name},
        )
    return span(f"strategy {name}", {"rag_pg.strategy": name})
