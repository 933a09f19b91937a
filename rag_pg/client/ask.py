"""A question to a collection: its options, and the context that its strategy answers from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, Unpack, cast

from rag_pg.answer import AnswerContext, Bounds, Strategy, answer_question
from rag_pg.errors import NotFound
from rag_pg.protocols import LLM, Embedder
from rag_pg.providers import LLMReranker, Models
from rag_pg.search import SearchOptions, check_names
from rag_pg.types import Answer, Document, Event, Hits

PASSAGES = 8


class AskOptions(SearchOptions, total=False):
    """Every option of `Collection.ask`, which says what they do."""

    strategy: str | Strategy
    verify: str | None
    llm: str | LLM | None
    helper_llm: str | LLM | None
    max_steps: int
    max_tokens: int | None
    max_cost: float | None


class AskedCollection(Protocol):
    """The part of `Collection` that an answer is made from."""

    @property
    def embedder(self) -> Embedder: ...

    def search(self, query: str, **options: Unpack[SearchOptions]) -> Hits: ...

    def document(self, uri: str) -> Document: ...


def ask(
    collection: AskedCollection,
    models: Models,
    question: str,
    options: AskOptions,
    listener: Callable[[Event], None] | None = None,
) -> Answer:
    """See `Collection.ask`. listener: is called with every event but the answer."""
    check_names(options, known=AskOptions.__optional_keys__, call="ask")
    strategy, verify = options.pop("strategy", "auto"), options.pop("verify", None)
    context = _context(collection, models, options, listener)
    return answer_question(question, context, strategy=strategy, verify=verify)


def _context(
    collection: AskedCollection,
    models: Models,
    options: AskOptions,
    listener: Callable[[Event], None] | None,
) -> AnswerContext:
    """Return what a strategy answers from. Raises: InvalidInput (unknown model, bounds)."""
    llm, helper = options.pop("llm", None), options.pop("helper_llm", None)
    model = models.llm(llm) if isinstance(llm, str | None) else llm
    bounds = Bounds(
        max_steps=options.pop("max_steps", Bounds.max_steps),
        max_tokens=options.pop("max_tokens", None),
        max_cost=options.pop("max_cost", None),
    )
    given = cast(SearchOptions, options)
    if given.get("rerank") == "llm" and model is not None:
        given["rerank"] = LLMReranker(model)
    given.setdefault("limit", PASSAGES)

    def find(query: str, **changed: object) -> Hits:
        return collection.search(query, **cast(SearchOptions, {**given, **changed}))

    def read(uri: str) -> Document | None:
        try:
            return collection.document(uri)
        except NotFound:
            return None

    return AnswerContext(
        find=find,
        read=read,
        embedder=lambda: collection.embedder,
        llm=model,
        helper_llm=models.helper_llm(helper) if isinstance(helper, str | None) else helper,
        listener=listener,
        bounds=bounds,
    )
