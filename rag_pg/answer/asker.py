"""Who asks the language models of a question, within its bounds."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rag_pg.answer.prompt import BUDGET_TOKENS, LEAST_TOKENS, SEPARATORS, least_prompt
from rag_pg.answer.trace import Trace
from rag_pg.errors import (
    AnswerBlocked,
    BudgetExceeded,
    InvalidInput,
    ProviderAuth,
    ProviderError,
    RagError,
    UnusableReply,
)
from rag_pg.protocols import LLM
from rag_pg.providers import (
    LEAST_ANSWER,
    Account,
    Bounds,
    TokenCounter,
    complete_json,
    left_out,
    prompt_budget,
    token_counter,
)
from rag_pg.text import estimate_tokens
from rag_pg.types import Completion, Message, Tool, Usage

ANSWER_TOKENS = 1024
log = logging.getLogger(__name__)


@dataclass(kw_only=True, slots=True)
class Asker:
    """Asks the language models of one question.

    llm: writes the answer; None: there is none. helper_llm: checks and extracts; None: llm.
    account: bounds and counts the calls. answer_tokens: of an answer's text, at most.
    budget_tokens: of the sources in a prompt; fewer where the model's context has no room for them.
    failed: names of models that did not answer. stopped: the bound that kept a model from being
    asked, "" for none. names: of the models that were given.
    """

    trace: Trace
    llm: LLM | None = None
    helper_llm: LLM | None = None
    account: Account = field(default_factory=Account)
    answer_tokens: int = ANSWER_TOKENS
    budget_tokens: int = BUDGET_TOKENS
    failed: set[str] = field(default_factory=set)
    stopped: str = ""
    names: Sequence[str] = field(init=False)

    def __post_init__(self) -> None:
        self.names = [model.name for model in (self.helper_llm, self.llm) if model is not None]
        if self.llm is not None:
            self.llm = self.account.meter(self.llm, "answer")
        if self.helper_llm is not None:
            self.helper_llm = self.account.meter(self.helper_llm, "helper", before=self.llm)

    @property
    def bounds(self) -> Bounds:
        return self.account.bounds

    @property
    def usage(self) -> Usage:
        """The tokens of all calls until now."""
        return self.account.usage

    def of(self, *, helper: bool) -> LLM | None:
        """Return the model, or the helper: the model where there is no other."""
        return (self.helper_llm or self.llm) if helper else self.llm

    def metered(self, kind: str) -> LLM | None:
        """Return the helper, its calls counted as `kind` and leaving room for the answer."""
        helper = self.of(helper=True)
        return None if helper is None else self.account.meter(helper, kind, before=self.llm)

    def find_refusal(self, question: str) -> BudgetExceeded | None:
        """Return why not even the shortest prompt of a question may be sent; None when it may."""
        if self.llm is None:
            return None
        least = least_prompt(question, token_counter(self.llm).count)
        self.account.least_prompt = least
        return self.account.refusal(self.llm, least, LEAST_ANSWER)

    def give_up(self, refusal: BudgetExceeded) -> None:
        """Ask no model."""
        self.llm = self.helper_llm = None
        self.stopped = refusal.bound
        self.trace.note(f"answered without a model: {refusal}")

    def complete(
        self,
        messages: Sequence[Message],
        *,
        purpose: str,
        helper: bool = False,
        by: LLM | None = None,
        schema: Mapping[str, Any] | None = None,
        tools: Sequence[Tool] = (),
        show: Callable[[str], None] | None = None,
    ) -> Completion:
        """Ask the language model, or the helper.

        Args:
            purpose: for the trace; a call of the helper, and one for agent, leave room in the
                question's bounds for the answer. by: this model in the place of the helper.
            schema: then `parsed` is a value that fits it. show: is called with the text's pieces as
                they come.
        Raises: ProviderError and its kinds (AnswerBlocked, UnusableReply, also for an answer
            without a word; BudgetExceeded for a call that might pass a bound), ModelUnavailable;
            InvalidInput when there is no model.
        """
        llm = self._metered_for(purpose, by or self.of(helper=helper), helper=helper)
        started = time.perf_counter()
        try:
            if schema is not None:
                got = complete_json(llm, messages, schema, max_tokens=self.answer_tokens)
            elif show is None:
                got = llm.complete(messages, tools=tools, max_tokens=self.answer_tokens)
            else:
                got = _streamed(llm, messages, tools, self.answer_tokens, show)
        except Exception as exc:  # a model is anybody's code: a question must not end with it
            self._tell_failure(exc, llm.name, purpose, time.perf_counter() - started)
            if isinstance(exc, RagError):
                raise
            raise ProviderError(f"{llm.name} failed: {type(exc).__name__}: {exc}") from exc
        self.trace.step(
            "llm",
            seconds=time.perf_counter() - started,
            usage=got.usage,
            purpose=purpose,
            model=llm.name,
            finish=got.finish,
        )
        self._check_finish(got, llm.name)
        return got

    def _metered_for(self, purpose: str, llm: LLM | None, *, helper: bool) -> LLM:
        if llm is None:
            raise InvalidInput(
                "this strategy needs a language model, and the setting is extractive; "
                "set RAG_PG_LLM, pass llm, or use strategy extractive"
            )
        kind = "verify" if purpose == "check" else "helper" if helper else "answer"
        follows = purpose == "agent" or kind == "helper"  # the answer does
        return self.account.meter(llm, kind, before=self.llm if follows else None)

    def _tell_failure(self, exc: Exception, model: str, purpose: str, seconds: float) -> None:
        if isinstance(exc, BudgetExceeded):
            self.stopped = exc.bound
        elif not isinstance(exc, UnusableReply):
            self.failed.add(model)
        usage, told = None, str(exc)
        if isinstance(exc, ProviderError):
            usage, told = exc.usage, exc.told
            if exc.provider_message:
                log.warning("%s", exc)
        self.trace.step(
            "llm", seconds=seconds, usage=usage, purpose=purpose, model=model, error=told
        )

    def _check_finish(self, got: Completion, model: str) -> None:
        if got.finish == "blocked":
            self.failed.add(model)
            reason = f" ({got.reason})" if got.reason else ""
            raise AnswerBlocked(f"{model} stopped its answer{reason}; rephrase the question")
        if got.finish == "length" and not got.text.strip():
            raise ProviderError(
                f"{model} used up max_tokens ({self.answer_tokens}) before it wrote a word"
            )

    def extract(
        self, instructions: str, text: str, schema: Mapping[str, Any], *, purpose: str
    ) -> Any | None:
        """Return the helper's value that fits `schema`; None, with a note, when it gives none.

        Raises: ProviderAuth, ModelUnavailable; InvalidInput when there is no model.
        """
        messages = [
            Message(role="system", content=instructions),
            Message(role="user", content=text),
        ]
        return self.extract_from(messages, schema, purpose=purpose)

    def extract_from(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any],
        *,
        purpose: str,
        by: LLM | None = None,
    ) -> Any | None:
        """As `extract`, of whole messages. by: this model in the place of the helper."""
        try:
            return self.complete(
                messages, purpose=purpose, helper=True, by=by, schema=schema
            ).parsed
        except ProviderAuth:
            raise
        except ProviderError as exc:
            self.trace.note(left_out(purpose, exc))
        return None

    def counter(self, *, helper: bool = False) -> TokenCounter:
        """Return what counts tokens: the tokenizer of the model, or of the helper, or an
        estimate."""
        llm = self.of(helper=helper)
        if llm is None:
            return TokenCounter(count=estimate_tokens, exact=False)
        return token_counter(llm)

    def source_tokens(self, around: str, *, most: int | None = None, helper: bool = False) -> int:
        """Return the tokens that the sources of a prompt may have.

        Args:
            around: all else that stands in the prompt. most: instead of budget_tokens. helper: it
                is the helper's.
        Raises: ProviderError when the model's context has no room for them, BudgetExceeded when a
            bound of the question has none.
        """
        budget = self.budget_tokens if most is None else most
        llm, limit = self.of(helper=helper), self.prompt_tokens(helper=helper)
        if llm is None or limit is None:
            return budget
        taken = self.counter(helper=helper).count([around])[0] + SEPARATORS
        if limit - taken < LEAST_TOKENS:
            if refusal := self.account.refusal(llm, taken + LEAST_TOKENS, 2 * LEAST_ANSWER):
                self.stopped = refusal.bound
                raise refusal
            self.failed.add(llm.name)
            raise ProviderError(
                f"{llm.name} has no room for sources: its prompt may have {limit} tokens, and rules"
                f" and question take {taken}; ask a shorter question, or a model that reads more"
            )
        return min(budget, limit - taken)

    def prompt_tokens(self, *, helper: bool = False) -> int | None:
        """Return the tokens that a prompt may have: of the model, or of the helper; None: its limit
        is not known. That of an answer leaves room in the question's bounds for its text."""
        llm = self.of(helper=helper)
        if llm is None:
            return None
        limit = prompt_budget(llm, max_tokens=self.answer_tokens)
        if helper or not self.account.is_bounded:
            return limit
        affordable = self.account.affordable_prompt(llm, self.answer_tokens)
        return affordable if limit is None else min(limit, affordable)


def _streamed(
    llm: LLM,
    messages: Sequence[Message],
    tools: Sequence[Tool],
    max_tokens: int,
    show: Callable[[str], None],
) -> Completion:
    """Return a streamed completion, its pieces shown. Raises: ProviderError when it ends without
    one."""
    pieces = llm.stream(messages, tools=tools, max_tokens=max_tokens)
    try:
        for piece in pieces:
            if isinstance(piece, Completion):
                return piece
            show(piece)
    finally:
        if isinstance(pieces, Generator):
            pieces.close()
    raise ProviderError(f"{llm.name} ended its stream without a completion")
