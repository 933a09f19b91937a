"""The options of a question. Importing them imports nothing that answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rag_pg.protocols import LLM
from rag_pg.search import SearchOptions

if TYPE_CHECKING:
    from rag_pg.answer.strategy import Strategy
    from rag_pg.answer.tools import GivenTool


class AskOptions(SearchOptions, total=False):
    """Every option of `Collection.ask`, which says what they do."""

    strategy: str | Strategy
    verify: str | None
    unsupported: str | None  # drop, mark or keep
    llm: str | LLM | None
    expand: str | None  # window or section
    max_steps: int
    max_tokens: int | None
    max_cost: float | None
    tools: Sequence[GivenTool]
    views: bool
    min_support: float | None
    timeout: float | None


# What a caller of rag.ask may set: a role that may write rag.worker_calls passes by its checks.
CALLERS_OPTIONS = AskOptions.__optional_keys__ - {
    "llm",
    "helper_llm",
    "rerank",
    "rerank_timeout",
    "now",
    "tools",  # with the worker's rights, as the views
    "views",
}
