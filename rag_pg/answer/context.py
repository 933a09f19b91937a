"""What a strategy has at hand, and the account of what it does."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rag_pg.answer.prompt import BUDGET_TOKENS, CountTokens
from rag_pg.errors import InvalidInput, ModelUnavailable, ProviderError
from rag_pg.protocols import LLM, Embedder
from rag_pg.text import estimate_tokens
from rag_pg.types import Completion, Hits, Message, Step, Usage

ANSWER_TOKENS = 1024


@dataclass(kw_only=True, slots=True)
class AnswerContext:
    """The searches, models and bounds of one question; `steps`, `notes` and `usage` tell what was done.

    find: searches the collection; its options are those of the question. embedder: opens the
    collection's. llm: writes the answer; None: there is none. helper_llm: checks and extracts; None: llm.
    history: the conversation before the question. budget_tokens: of the sources in a prompt, counted by
    count_tokens. answer_tokens: of an answer's text.
    """

    find: Callable[..., Hits]
    embedder: Callable[[], Embedder] | None = None
    llm: LLM | None = None
    helper_llm: LLM | None = None
    history: Sequence[Message] = ()
    budget_tokens: int = BUDGET_TOKENS
    answer_tokens: int = ANSWER_TOKENS
    count_tokens: CountTokens = estimate_tokens
    notes: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    failed: list[str] = field(default_factory=list)  # names of models that did not answer

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
        self, messages: Sequence[Message], *, purpose: str, helper: bool = False
    ) -> Completion:
        """Ask the language model, or the helper. Raises: ProviderError and its kinds,
        ModelUnavailable; InvalidInput when there is no model."""
        llm = (self.helper_llm or self.llm) if helper else self.llm
        if llm is None:
            raise InvalidInput(
                "this strategy needs a language model, and the setting is extractive; "
                "set RAG_PG_LLM, pass llm, or use strategy extractive"
            )
        started = time.perf_counter()
        try:
            got = llm.complete(messages, max_tokens=self.answer_tokens)
        except (ProviderError, ModelUnavailable):
            self.failed.append(llm.name)
            raise
        self.step(
            "llm",
            seconds=time.perf_counter() - started,
            usage=got.usage,
            purpose=purpose,
            model=llm.name,
            finish=got.finish,
        )
        return got

    def note(self, text: str) -> None:
        """Say what was degraded, once."""
        if text not in self.notes:
            self.notes.append(text)

    def step(
        self, kind: str, *, seconds: float = 0.0, usage: Usage | None = None, **detail: Any
    ) -> None:
        """Write down what was done; see `Step`."""
        used = usage or Usage()
        self.steps.append(Step(kind=kind, detail=detail, seconds=seconds, usage=used))
        self.usage += used
