"""Calls of language models beside answers: bounded, and added to the day's figures."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from rag_pg.db import Database
from rag_pg.errors import InvalidInput, ModelUnavailable, RagError
from rag_pg.providers import Account, Bounds, LLMReranker, Models
from rag_pg.search.options import SearchOptions

log = logging.getLogger(__name__)


@contextmanager
def accounted(
    database: Database,
    collection: str,
    purpose: str,
    *,
    max_tokens: int | None = None,
    max_cost: float | None = None,
) -> Iterator[Account]:
    """Give an account for calls of models; what was asked is recorded at the end, failed or not.

    Args:
        purpose: what stands in the place of a strategy in `Rag.usage_report`: search, evaluation.
        max_tokens, max_cost: of all calls, tokens and US dollars; see `Bounds`.
    """
    account = Account(Bounds(max_tokens=max_tokens, max_cost=max_cost))
    try:
        yield account
    finally:
        if account.lines:
            try:
                database.record_usage(collection, purpose, account.lines, answers=0)
            except RagError as exc:
                log.info("usage was not recorded: %s", exc)


def asks_models(options: SearchOptions) -> bool:
    """Whether a search with these options may ask a language model."""
    rerank = options.get("rerank")
    by_model = isinstance(rerank, LLMReranker) or str(rerank).partition(":")[0] == "llm"
    return bool(options.get("rewrite") or options.get("history") or by_model)


def meter_search(options: SearchOptions, models: Models, account: Account) -> None:
    """Let an account bound and count the models that rewrite and rerank for a search."""
    if options.get("rewrite") or options.get("history"):
        helper = options.get("helper_llm")
        if isinstance(helper, str | None):
            helper = models.helper_llm(helper) or models.llm(helper)
        if helper is not None:
            options["helper_llm"] = account.meter(helper, "rewrite")
    rerank = options.get("rerank")
    if isinstance(rerank, str) and rerank.partition(":")[0] == "llm":
        with suppress(InvalidInput, ModelUnavailable):  # the search itself tells, in its order
            rerank = models.reranker(rerank)
    if isinstance(rerank, LLMReranker):
        options["rerank"] = LLMReranker(account.meter(rerank.llm, "rerank"))
