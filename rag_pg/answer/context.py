"""What a strategy has at hand, and the account of what it does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal

from rag_pg.answer.evidence import MatchTerms
from rag_pg.answer.prompt import BUDGET_TOKENS
from rag_pg.errors import (
    AnswerBlocked,
    InvalidInput,
    ProviderAuth,
    ProviderError,
    RagError,
    UnusableReply,
)
from rag_pg.protocols import LLM, Embedder
from rag_pg.providers import TokenCounter, complete_json, cost, prompt_budget, token_counter
from rag_pg.text import estimate_tokens
from rag_pg.tracing import chat_span
from rag_pg.types import (
    CheckedQuote,
    Citation,
    Completion,
    Document,
    Event,
    Hit,
    Hits,
    Message,
    MetadataQuery,
    MetadataResult,
    Route,
    Step,
    Tool,
    Toolset,
    Usage,
)

ANSWER_TOKENS = 1024
LEAST_TOKENS = 100  # for sources
SEPARATORS = 20  # tokens between the parts of a prompt
STEPS = 4
_EVENTS: dict[str, Literal["search", "tool_call", "tool_result"]] = {
    "search": "search",
    "tool_call": "tool_call",
    "tool_result": "tool_result",
}


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """What a question may cost; no further step begins above them, but the answer is still written.

    max_steps: 1 to 50, how often a strategy searches anew or calls the model with tools.
    max_tokens: of all calls. max_cost: of all calls, in US dollars; where a model's price is not
    known, it is no bound. None: none.
    Raises: InvalidInput.
    """

    max_steps: int = STEPS
    max_tokens: int | None = None
    max_cost: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.max_steps, bool) or not isinstance(self.max_steps, int):
            raise InvalidInput(f"max_steps is {self.max_steps!r:.100}; use 1 to 50")
        if not 1 <= self.max_steps <= 50:
            raise InvalidInput(f"max_steps {self.max_steps} is out of range; use 1 to 50")
        for name in ("max_tokens", "max_cost"):
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise InvalidInput(f"{name} is {value!r:.100}; use a number above 0, or None")


@dataclass(kw_only=True, slots=True)
class AnswerContext:
    """The searches, models and bounds of one question; `steps`, `notes` and `usage` tell what was
    done.

    find: searches the collection; its options are those of the question. expand: puts hits that
    stand beside each other together, and more around them where the question asks for it. read: a
    document with its content, None where there is none. embedder: opens the collection's.
    match_terms: how rare the terms of a question are, and which texts have them. read_around: the
    text around a chunk. tools: what a model may call beside searching and calculating. llm: writes
    the answer; None: there is none. helper_llm: checks and extracts; None: llm. history: the
    conversation before the question. route, metadata: how a question is best answered, and what the
    metadata say; None: by passages. budget_tokens: of the sources in a prompt; fewer where the
    model's context has no room for them. answer_tokens: of an answer's text. price: of a model's
    usage in US dollars, None where it is not known. listener: is called with every event.
    check_citations: where quotes stand in their sources; None: nobody looks. now: the day."""

    find: Callable[..., Hits]
    read: Callable[[str], Document | None] = lambda uri: None
    expand: Callable[[Sequence[Hit]], Sequence[Hit]] = list
    embedder: Callable[[], Embedder] | None = None
    route: Callable[[str], Route] | None = None
    metadata: Callable[[MetadataQuery], MetadataResult] | None = None
    match_terms: MatchTerms | None = None
    read_around: Callable[[int], str | None] | None = None
    tools: Callable[[], Toolset] = Toolset
    llm: LLM | None = None
    helper_llm: LLM | None = None
    history: Sequence[Message] = ()
    budget_tokens: int = BUDGET_TOKENS
    answer_tokens: int = ANSWER_TOKENS
    bounds: Bounds = Bounds()
    price: Callable[[str, Usage], float | None] = cost
    listener: Callable[[Event], None] | None = None
    check_citations: Callable[[Sequence[Citation]], Sequence[CheckedQuote]] | None = None
    now: Callable[[], date] = date.today
    notes: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    failed: set[str] = field(default_factory=set)  # names of models that did not answer
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def search(self, query: str, **options: Any) -> Hits:
        """Return the hits of a query; keywords alone answer while the embedder fails.

        Args:
            options: as of `Collection.search`, instead of those of the question.
        Raises: as `Collection.search`.
        """
        hits = self.find(query, **options)
        for text in hits.notes:
            self.note(text)
        found = [
            {"chunk_id": hit.chunk_id, "uri": hit.uri, "score": round(hit.score, 4)} for hit in hits
        ]
        self.step("search", seconds=hits.seconds, query=query, method=hits.method, hits=found)
        return hits

    def complete(
        self,
        messages: Sequence[Message],
        *,
        purpose: str,
        helper: bool = False,
        schema: Mapping[str, Any] | None = None,
        tools: Sequence[Tool] = (),
        show: Callable[[str], None] | None = None,
    ) -> Completion:
        """Ask the language model, or the helper.

        Args:
            purpose: for the trace. schema: then `parsed` is a value that fits it. show: is called
                with the text's pieces as they come.
        Raises: ProviderError and its kinds (AnswerBlocked, UnusableReply, also for an answer
            without a word), ModelUnavailable; InvalidInput when there is no model.
        """
        llm = (self.helper_llm or self.llm) if helper else self.llm
        if llm is None:
            raise InvalidInput(
                "this strategy needs a language model, and the setting is extractive; "
                "set RAG_PG_LLM, pass llm, or use strategy extractive"
            )
        started = time.perf_counter()
        try:
            with chat_span(llm, self.answer_tokens) as current:
                if schema is not None:
                    got = complete_json(llm, messages, schema, max_tokens=self.answer_tokens)
                elif show is None:
                    got = llm.complete(messages, tools=tools, max_tokens=self.answer_tokens)
                else:
                    got = _streamed(llm, messages, tools, self.answer_tokens, show)
                current.set_attribute("gen_ai.response.finish_reasons", [got.finish])
                current.set_attribute("gen_ai.usage.input_tokens", got.usage.prompt_tokens)
                current.set_attribute("gen_ai.usage.output_tokens", got.usage.answer_tokens)
        except Exception as exc:  # a model is anybody's code: a question must not end with it
            if not isinstance(exc, UnusableReply):
                self.failed.add(llm.name)
            seconds = time.perf_counter() - started
            self.step(
                "llm",
                seconds=seconds,
                usage=exc.usage if isinstance(exc, ProviderError) else None,
                purpose=purpose,
                model=llm.name,
                error=str(exc),
            )
            if isinstance(exc, RagError):
                raise
            raise ProviderError(f"{llm.name} failed: {type(exc).__name__}: {exc}") from exc
        self.step(
            "llm",
            seconds=time.perf_counter() - started,
            usage=got.usage,
            purpose=purpose,
            model=llm.name,
            finish=got.finish,
        )
        if got.finish == "blocked":
            self.failed.add(llm.name)
            reason = f" ({got.reason})" if got.reason else ""
            raise AnswerBlocked(f"{llm.name} stopped its answer{reason}; rephrase the question")
        if got.finish == "length" and not got.text.strip():
            raise ProviderError(
                f"{llm.name} used up max_tokens ({self.answer_tokens}) before it wrote a word"
            )
        return got

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
        try:
            return self.complete(messages, purpose=purpose, helper=True, schema=schema).parsed
        except ProviderAuth:
            raise
        except ProviderError as exc:
            self.note(f"{purpose} was skipped: {exc}")
            return None

    def counter(self, *, helper: bool = False) -> TokenCounter:
        """Return what counts tokens: the tokenizer of the model, or of the helper, or an
        estimate."""
        llm = (self.helper_llm or self.llm) if helper else self.llm
        if llm is None:
            return TokenCounter(count=estimate_tokens, exact=False)
        return token_counter(llm)

    def source_tokens(self, around: str, *, helper: bool = False) -> int:
        """Return the tokens that the sources of a prompt may have.

        Args:
            around: all else that stands in the prompt. helper: it is the helper's.
        Raises: ProviderError when the model's context has no room for them.
        """
        llm = (self.helper_llm or self.llm) if helper else self.llm
        limit = prompt_budget(llm, max_tokens=self.answer_tokens) if llm is not None else None
        if llm is None or limit is None:
            return self.budget_tokens
        taken = self.counter(helper=helper).count([around])[0] + SEPARATORS
        if limit - taken < LEAST_TOKENS:
            self.failed.add(llm.name)
            raise ProviderError(
                f"{llm.name} has no room for sources: its prompt may have {limit} tokens, and rules"
                f" and question take {taken}; ask a shorter question, or a model that reads more"
            )
        return min(self.budget_tokens, limit - taken)

    def used_up(self) -> str:
        """Return which bound of the question is reached, "" while none is."""
        tokens, spent = self.usage.prompt_tokens + self.usage.answer_tokens, self.cost()
        if self.bounds.max_tokens is not None and tokens >= self.bounds.max_tokens:
            return f"max_tokens ({self.bounds.max_tokens})"
        if self.bounds.max_cost is not None and spent is not None and spent >= self.bounds.max_cost:
            return f"max_cost ({self.bounds.max_cost:g})"
        return ""

    def cost(self) -> float | None:
        """Return what the calls cost until now, in US dollars; None when a model's price is not
        known."""
        calls = [step for step in self.steps if step.kind == "llm"]
        prices = [self.price(str(step.detail["model"]), step.usage) for step in calls]
        known = [price for price in prices if price is not None]
        return sum(known) if len(known) == len(prices) else None

    def note(self, text: str) -> None:
        """Say what was degraded, once."""
        with self._lock:
            if text not in self.notes:
                self.notes.append(text)

    def step(
        self, kind: str, *, seconds: float = 0.0, usage: Usage | None = None, **detail: Any
    ) -> None:
        """Write down what was done, and tell it; see `Step`."""
        used = usage or Usage()
        step = Step(kind=kind, detail=detail, seconds=seconds, usage=used)
        with self._lock:
            self.steps.append(step)
            self.usage += used
        self.emit(Event(kind=_EVENTS.get(kind, "step"), step=step))

    def emit(self, event: Event) -> None:
        """Tell an event to the listener."""
        if self.listener is not None:
            self.listener(event)


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
