"""What models are asked on behalf of one piece of work: bounded before each call, and counted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Unpack

from rag_pg.deadline import Scope, Stopped, call_within, current_scope, iterate_within
from rag_pg.errors import BudgetExceeded, InvalidInput, ProviderError, ProviderTimeout
from rag_pg.protocols import LLM, MAX_TOKENS, CompletionOptions
from rag_pg.providers.bounds import Bounds
from rag_pg.providers.checks import check_completion
from rag_pg.providers.limits import cost, token_counter
from rag_pg.tracing import Span, chat_span, tell_completion
from rag_pg.types import Completion, Message, ModelUsage, Usage

LEAST_ANSWER = 64  # tokens; a call that may write no more is not made
MOST_TOKENS = 1 << 24  # of a prompt that a bound is measured by
Price = Callable[[str, Usage], float | None]
Admit = Callable[[LLM, int], None]


@dataclass(slots=True, eq=False)
class _Call:
    """One call of a model under way. reserved: the most that it may use. usage: what it used, None
    while that is not known. unknown: it may have been paid for without an answer. estimate: tells
    what it used until then."""

    name: str
    reserved: Usage
    max_tokens: int
    estimate: Callable[[], Usage] = Usage
    usage: Usage | None = None
    unknown: bool = False
    failed: bool = False


class Account:
    """The bounds of one piece of work and what its calls of models used. Threads may share it.

    A call reserves the most that it may use before it is made: its prompt, counted by the model's
    own tokenizer or an estimate that errs on the high side, and the tokens it may answer with. One
    that would pass a bound is not made. So what was used never passes the bounds, as far as the
    count is right and the provider keeps to max_tokens.

    Args:
        price: US dollars for a model's usage, None where it is not known.
        admit: called before each call with its model and the tokens it may use; raises
            BudgetExceeded where it may not be made.
    """

    def __init__(
        self, bounds: Bounds | None = None, *, price: Price = cost, admit: Admit | None = None
    ) -> None:
        self.bounds = bounds or Bounds()
        self.least_prompt = 0  # tokens of a prompt that answers, with the fewest sources
        self.scope = _scope_of(self.bounds)
        self._price = price
        self._admit = admit
        self._lock = threading.Lock()
        self._open: set[_Call] = set()
        self._spent_tokens = 0
        self._spent_cost = 0.0
        self._lines: dict[tuple[str, str], ModelUsage] = {}

    @property
    def usage(self) -> Usage:
        """The tokens of all calls."""
        with self._lock:
            return sum((line.usage for line in self._lines.values()), Usage())

    @property
    def lines(self) -> list[ModelUsage]:
        """What was used, by kind of call and model."""
        with self._lock:
            return list(self._lines.values())

    @property
    def cost(self) -> float | None:
        """US dollars of all calls; None when a model's price is not known."""
        lines = self.lines
        return None if any(x.unpriced_calls for x in lines) else sum(x.cost for x in lines)

    @property
    def is_late(self) -> bool:
        """Whether the time of the whole is over."""
        return self.scope.is_late

    def meter(self, llm: LLM, kind: str, *, before: LLM | None = None) -> MeteredLLM:
        """Return the model as one whose calls are bounded and counted here.

        Args:
            kind: answer, rewrite, verify, rerank, …: what the calls are for, in reports.
            before: the model that is to answer after them; they leave room for that.
        Raises: InvalidInput when max_cost is set and the model's price is not known.
        """
        inner = llm.inner if isinstance(llm, MeteredLLM) else llm
        if self.bounds.max_cost is not None and self._price(inner.name, Usage()) is None:
            raise InvalidInput(
                f"max_cost cannot bound {inner.name}: its price is not known; use max_tokens"
            )
        return MeteredLLM(inner, self, kind, before)

    @property
    def innermost(self) -> Scope:
        """The scope of what is done now within this work."""
        now = current_scope()
        return now if now is not None and now.within(self.scope) else self.scope

    @property
    def is_bounded(self) -> bool:
        """Whether tokens or money are."""
        return self.bounds.max_tokens is not None or self.bounds.max_cost is not None

    @property
    def needs_counts(self) -> bool:
        """Whether the tokens of a prompt are to be counted before it is sent."""
        return self.is_bounded or self._admit is not None

    def refusal(self, llm: LLM, prompt: int, answer: int = LEAST_ANSWER) -> BudgetExceeded | None:
        """Return why a call with so many tokens may not be made, None when it may."""
        with self._lock:
            return self._refusal(llm, _most(llm, prompt, answer), None)

    def affordable_prompt(self, llm: LLM, answer_tokens: int) -> int:
        """Return the tokens that the next prompt may have, so that the answer has a quarter of what
        is left, or answer_tokens when that is less."""

        def fits(prompt: int, answer: int) -> bool:
            return self.refusal(llm, prompt, answer) is None

        answer = _largest(lambda n: fits(3 * n, n), answer_tokens)
        answer = max(answer, min(answer_tokens, 2 * LEAST_ANSWER))
        return _largest(lambda n: fits(n, answer), MOST_TOKENS)

    @contextmanager
    def call(
        self,
        llm: LLM,
        kind: str,
        prompt: int,
        max_tokens: int,
        before: LLM | None = None,
    ) -> Iterator[_Call]:
        """Reserve a call of at most max_tokens; its block makes the call and sets `usage`.

        Raises: BudgetExceeded when it may not be made, or was not over in time.
        """
        call = self._reserve(llm, prompt, max_tokens, before)
        try:
            yield call
        except (BudgetExceeded, Stopped):
            call.failed = call.unknown = True
            raise
        except ProviderError as exc:
            call.failed = True
            call.usage = exc.usage or call.usage
            call.unknown = call.unknown or isinstance(exc, ProviderTimeout)
            raise
        except BaseException:
            call.failed = True
            raise
        finally:
            self._settle(call, kind)

    def _reserve(self, llm: LLM, prompt: int, max_tokens: int, before: LLM | None) -> _Call:
        with self._lock:
            least = _most(llm, prompt, min(max_tokens, LEAST_ANSWER))
            if refusal := self._refusal(llm, least, before):
                raise refusal
            allowed = max_tokens
            if self.is_bounded:
                allowed = _largest(
                    lambda n: self._refusal(llm, _most(llm, prompt, n), before) is None, max_tokens
                )
            call = _Call(name=llm.name, reserved=_most(llm, prompt, allowed), max_tokens=allowed)
            self._open.add(call)
        if self._admit is not None:
            try:
                self._admit(llm, _total(call.reserved))
            except BaseException:
                with self._lock:
                    self._open.discard(call)
                raise
        return call

    def _settle(self, call: _Call, kind: str) -> None:
        used = call.usage or (call.estimate() if call.unknown else Usage())
        counted = call.reserved if call.unknown else used
        with self._lock:
            self._open.discard(call)
            price = self._price(call.name, used)
            self._spent_tokens += _total(counted)
            self._spent_cost += self._cost(call.name, counted)
            key = (kind, call.name)
            line = self._lines.get(key) or ModelUsage(kind=kind, model=call.name)
            self._lines[key] = replace(
                line,
                calls=line.calls + 1,
                usage=line.usage + used,
                cost=line.cost + (price or 0.0),
                unpriced_calls=line.unpriced_calls + (price is None),
                failures=line.failures + call.failed,
            )

    def _refusal(self, llm: LLM, most: Usage, before: LLM | None) -> BudgetExceeded | None:
        """Why a call that may use so much may not be made. With the lock."""
        if self.is_late:
            bound = self.scope.bound
            return BudgetExceeded(f"{bound} is over: {llm.name} was not asked", bound=bound)
        if not self.is_bounded:
            return None
        kept = Usage()
        if before is not None:
            prompt = max(most.prompt_tokens, self.least_prompt)
            answer = LEAST_ANSWER + before.capabilities.thought_tokens
            kept = Usage(prompt_tokens=prompt, answer_tokens=answer)
        if self.bounds.max_tokens is not None:
            left = self.bounds.max_tokens - self._spent_tokens
            left -= sum(_total(call.reserved) for call in self._open) + _total(kept)
            if _total(most) > left:
                return self._exceeded(
                    "max_tokens", f"{self.bounds.max_tokens}", llm, f"{_total(most)} tokens", left
                )
        if self.bounds.max_cost is not None:
            spent = self._spent_cost + sum(self._cost(c.name, c.reserved) for c in self._open)
            spent += self._cost(before.name, kept) if before is not None else 0.0
            call = self._cost(llm.name, most)
            if spent + call > self.bounds.max_cost:
                rest = self.bounds.max_cost - spent
                bound = f"{self.bounds.max_cost:g}"
                return self._exceeded("max_cost", bound, llm, f"{call:.2g} US dollars", rest)
        return None

    def _exceeded(
        self, name: str, bound: str, llm: LLM, needed: str, left: float
    ) -> BudgetExceeded:
        rest = f"{max(0, left):.2g}" if isinstance(left, float) else f"{max(0, left)}"
        return BudgetExceeded(
            f"{name} ({bound}) leaves {rest}, and a call of {llm.name} may take {needed}; "
            f"raise {name}",
            bound=f"{name} ({bound})",
        )

    def _cost(self, name: str, usage: Usage) -> float:
        return self._price(name, usage) or 0.0


class MeteredLLM:
    """A language model whose calls are bounded and counted by an account; else as the model."""

    def __init__(self, inner: LLM, account: Account, kind: str, before: LLM | None) -> None:
        self.inner = inner
        self.name = inner.name
        self.capabilities = inner.capabilities
        self._account, self._kind, self._before = account, kind, before
        if callable(own := getattr(inner, "count_tokens", None)):
            self.count_tokens = own  # the model's own tokenizer
        if hasattr(inner, "fingerprint"):
            self.fingerprint = inner.fingerprint

    def load(self) -> None:
        """Load the model, where it has a method `load()`. Raises: as that."""
        if load := getattr(self.inner, "load", None):
            load()

    def complete(
        self, messages: Sequence[Message], **options: Unpack[CompletionOptions]
    ) -> Completion:
        """As `LLM.complete`, with fewer max_tokens where a bound leaves no more. Raises: as that,
        and BudgetExceeded."""
        with self._call(messages, options) as call, self._span(messages, options) as current:
            call.estimate = lambda: self._estimate(messages, options)
            reply = call_within(
                self._account.innermost,
                lambda: self.inner.complete(messages, **{**options, "max_tokens": call.max_tokens}),
                self.name,
            )
            got = check_completion(reply, self.name)
            call.usage = got.usage
            tell_completion(current, got)
        return self._told(got, call, options)

    def stream(
        self, messages: Sequence[Message], **options: Unpack[CompletionOptions]
    ) -> Generator[str | Completion]:
        """As `LLM.stream`. Raises: as `complete`."""
        with (
            self._call(messages, options) as call,
            self._span(messages, options, streams=True) as current,
        ):
            began, is_first, told = time.perf_counter(), True, list[str]()
            call.estimate = lambda: self._estimate(messages, options, told)
            pieces = iterate_within(
                self._account.innermost,
                lambda: self.inner.stream(messages, **{**options, "max_tokens": call.max_tokens}),
                self.name,
            )
            try:
                for piece in pieces:
                    call.unknown = True
                    if is_first:
                        seconds, is_first = time.perf_counter() - began, False
                        current.set_attribute("gen_ai.response.time_to_first_chunk", seconds)
                    if not isinstance(piece, str):
                        piece = check_completion(piece, self.name)
                        call.usage, call.unknown = piece.usage, False
                        tell_completion(current, piece)
                        piece = self._told(piece, call, options)
                    else:
                        told.append(piece)
                    yield piece
            finally:
                pieces.close()

    def _span(
        self, messages: Sequence[Message], options: CompletionOptions, *, streams: bool = False
    ) -> AbstractContextManager[Span]:
        return chat_span(self.inner, messages, options, self._kind, streams=streams)

    def _call(self, messages: Sequence[Message], options: CompletionOptions) -> Any:
        prompt = self._prompt_tokens(messages, options) if self._account.needs_counts else 0
        wanted = options.get("max_tokens", MAX_TOKENS)
        return self._account.call(self.inner, self._kind, prompt, wanted, self._before)

    def _prompt_tokens(self, messages: Sequence[Message], options: CompletionOptions) -> int:
        counter = token_counter(self.inner)
        return counter.of_prompt(messages, options.get("tools", ()), options.get("schema"))

    def _estimate(
        self, messages: Sequence[Message], options: CompletionOptions, told: Sequence[str] = ()
    ) -> Usage:
        text = ["".join(told)] if told else []
        return Usage(
            prompt_tokens=self._prompt_tokens(messages, options),
            answer_tokens=sum(token_counter(self.inner).count(text)),
        )

    def _told(self, got: Completion, call: _Call, options: CompletionOptions) -> Completion:
        """Say by which bound an answer was cut."""
        if got.finish == "length" and call.max_tokens < options.get("max_tokens", MAX_TOKENS):
            return replace(got, reason=f"the {call.max_tokens} tokens that its bounds left")
        return got


def _scope_of(bounds: Bounds) -> Scope:
    if bounds.timeout is None:
        return Scope()
    return Scope(time.monotonic() + bounds.timeout, f"timeout ({bounds.timeout:g} s)")


def _most(llm: LLM, prompt: int, answer: int) -> Usage:
    """The most that a call may use: a model that thinks first may use more than it answers."""
    thoughts = llm.capabilities.thought_tokens
    return Usage(prompt_tokens=prompt, answer_tokens=answer + thoughts)


def _total(usage: Usage) -> int:
    return usage.prompt_tokens + usage.answer_tokens


def _largest(fits: Callable[[int], bool], most: int) -> int:
    """Return the largest number of 0 to most that fits, by halving; 0 where none does."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low
