"""Calls of language models: bounded, and added to the day's figures."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from rag_pg.db import Database
from rag_pg.errors import ModelUnavailable, RagError
from rag_pg.fault import Fault, fault_of
from rag_pg.protocols import LLM
from rag_pg.providers import Account, Bounds, LLMReranker, Models
from rag_pg.search.options import SearchOptions
from rag_pg.types import ModelUsage

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
        purpose: what stands in the place of a strategy in `Rag.admin.usage`: search, evaluation.
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
    return bool(options.get("rewrite") or options.get("history") or asks_reranker(options))


def asks_reranker(options: SearchOptions) -> bool:
    """Whether a language model reranks."""
    rerank = options.get("rerank")
    return isinstance(rerank, LLMReranker) or str(rerank).partition(":")[0] == "llm"


def open_helper(models: Models, llm: str | LLM | None) -> LLM | None:
    """Return what rewrites: a model, one by its name, or that of the settings; None: there is
    none."""
    if isinstance(llm, str | None):
        return models.helper_llm(llm) or models.llm(llm)
    return llm


def meter_search(options: SearchOptions, models: Models, account: Account) -> None:
    """Let an account bound and count the models that rewrite and rerank for a search."""
    if options.get("rewrite") or options.get("history"):
        helper = open_helper(models, options.get("helper_llm"))
        if helper is not None:
            options["helper_llm"] = account.meter(helper, "rewrite")
    with suppress(ModelUnavailable):  # the search itself tells, in its order
        meter_reranker(options, models, account)


def meter_reranker(
    options: SearchOptions, models: Models, account: Account, *, answering: LLM | None = None
) -> None:
    """Let the calls of a language model that reranks count.

    Args:
        answering: the model that is to answer after them, which "llm" names; they leave room for
            that. None: "llm" names that of the settings.
    """
    rerank = options.get("rerank")
    if rerank == "llm" and answering is not None:
        rerank = LLMReranker(answering)
    elif isinstance(rerank, str) and rerank.partition(":")[0] == "llm":
        rerank = models.reranker(rerank)
    if isinstance(rerank, LLMReranker):
        metered = account.meter(rerank.llm, "rerank", before=answering)
        options["rerank"] = LLMReranker(metered)


def drop_llm_reranker(options: SearchOptions) -> None:
    """Let no language model rerank."""
    if asks_reranker(options):
        del options["rerank"]


class UsageRecorder:
    """Adds to the day's figures of a collection what models were asked. A role that may not write
    them does without, and tries no more."""

    def __init__(self, database: Database, collection: str) -> None:
        self._database, self._collection = database, collection
        self.may_write = True

    def record(self, strategy: str, calls: Sequence[ModelUsage], answers: int = 0) -> None:
        """Count calls by their strategy. answers: how many they gave; 0 for an error."""
        if not self.may_write:
            return
        try:
            self._database.record_usage(self._collection, strategy, calls, answers=answers)
        except RagError as exc:
            self.may_write = fault_of(exc) is not Fault.WORKER  # no right to
            log.info("usage was not recorded: %s", exc)
