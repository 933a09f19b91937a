"""A question to a collection: its options, and the context that its strategy answers from."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from rag_pg.answer import AnswerContext, Strategy
from rag_pg.protocols import LLM
from rag_pg.providers import LLMReranker
from rag_pg.search import SearchOptions, check_names
from rag_pg.types import Hits

if TYPE_CHECKING:
    from rag_pg.client.collection import Collection

PASSAGES = 8


class AskOptions(SearchOptions, total=False):
    """Every option of `Collection.ask`, which says what they do."""

    strategy: str | Strategy
    llm: str | LLM | None
    helper_llm: str | LLM | None


def make_context(collection: Collection, options: AskOptions) -> AnswerContext:
    """Return what a strategy answers from. Raises: InvalidInput (unknown option or model)."""
    check_names(options, known=AskOptions.__optional_keys__, call="ask")
    models = collection.rag.models
    llm, helper = options.pop("llm", None), options.pop("helper_llm", None)
    options.pop("strategy", None)
    model = models.llm(llm) if isinstance(llm, str | None) else llm
    given = cast(SearchOptions, options)
    if given.get("rerank") == "llm" and model is not None:
        given["rerank"] = LLMReranker(model)
    given.setdefault("limit", PASSAGES)

    def find(query: str, **changed: object) -> Hits:
        return collection.search(query, **cast(SearchOptions, {**given, **changed}))

    return AnswerContext(
        find=find,
        embedder=lambda: collection.embedder,
        llm=model,
        helper_llm=models.llm(helper) if isinstance(helper, str) else helper,
    )
