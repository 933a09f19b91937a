"""What a strategy has at hand where a test gives what is found: no database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rag_pg.answer import AnswerContext
from rag_pg.answer.asker import ANSWER_TOKENS, Asker
from rag_pg.answer.assessor import Assessor
from rag_pg.answer.prompt import BUDGET_TOKENS
from rag_pg.answer.question import Question, Unsupported, Verify
from rag_pg.answer.reading.term_match import match_here
from rag_pg.answer.retriever import Retriever
from rag_pg.answer.trace import Trace
from rag_pg.protocols import LLM, Embedder
from rag_pg.providers import Account
from rag_pg.types import (
    Calibration,
    Citation,
    Document,
    Event,
    Hit,
    Hits,
    MetadataQuery,
    MetadataResult,
    Passage,
    Route,
    TermMatch,
    Toolset,
)


class Found(Retriever):
    """Retrieves what `find` gives. embedder: what makes it; None: there is none."""

    collection = "docs"
    _expand = None

    def __init__(
        self,
        find: Callable[..., Hits],
        *,
        read: Callable[[str], Document | None] = lambda uri: None,
        embedder: Callable[[], Embedder] | None = None,
        tools: Toolset | None = None,
        calibration: Calibration | None = None,
    ) -> None:
        self._find, self._read, self._open = find, read, embedder
        self._toolset, self._measured = tools or Toolset(), calibration

    def search(self, query: str, **options: Any) -> Hits:
        return self._find(query, **options)

    def expand(self, hits: Sequence[Hit]) -> Sequence[Hit]:
        return hits

    def read(self, uri: str) -> Document | None:
        return self._read(uri)

    def read_around(self, chunk_id: int, before: int = 1) -> Passage | None:
        return None

    def embedder(self) -> Embedder | None:
        return self._open and self._open()

    def cosine_spread(self) -> None:
        return None

    def match_terms(self, question: str, texts: Sequence[str]) -> Sequence[TermMatch]:
        return match_here(question, texts)

    def route(self, question: str, *, helper_llm: LLM | None, reads: int | None) -> Route:
        return Route(name="retrieval", reason="no other way is known")

    def ask_metadata(self, query: MetadataQuery) -> MetadataResult:
        raise AssertionError("no question is routed to the metadata")

    def toolset(self) -> Toolset:
        return self._toolset

    def calibration(self) -> Calibration | None:
        return self._measured

    def check_citations(self, citations: Sequence[Citation], *others: object) -> None:
        return None


def context_of(
    question: str,
    find: Callable[..., Hits],
    *,
    llm: LLM | None = None,
    helper_llm: LLM | None = None,
    account: Account | None = None,
    answer_tokens: int = ANSWER_TOKENS,
    budget_tokens: int = BUDGET_TOKENS,
    listener: Callable[[Event], None] | None = None,
    verify: Verify | None = None,
    unsupported: Unsupported | None = None,
    min_support: float | None = None,
    **given: Any,
) -> AnswerContext:
    """Return the context of a question. given: what `Found` takes."""
    trace, retriever = Trace(listener), Found(find, **given)
    asker = Asker(
        trace=trace,
        llm=llm,
        helper_llm=helper_llm,
        account=account or Account(),
        answer_tokens=answer_tokens,
        budget_tokens=budget_tokens,
    )
    return AnswerContext(
        question=Question(
            text=question, verify=verify, unsupported=unsupported, min_support=min_support
        ),
        retriever=retriever,
        trace=trace,
        asker=asker,
        assessor=Assessor(retriever, asker, trace, min_support),
    )
