"""The options of a question. Importing them imports nothing that answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from rag_pg.protocols import LLM
from rag_pg.search import SearchOptions, check_names

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


WAITED = 0.95  # of the time that a caller of rag.ask waits, for the answer
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


def read_request(asked: Mapping[str, Any]) -> AskOptions:
    """Return the options of a call of rag.ask. Who may only call workers chooses none of their
    models. Raises: InvalidInput (an option that names one, or that there is none of)."""
    given = {name: value for name, value in asked["options"].items() if value is not None}
    if "result_offset" in given:
        given["offset"] = given.pop("result_offset")
    check_names(given, known=CALLERS_OPTIONS, call="rag.ask")
    given |= {"limit": asked["limit"], "filter": asked["filter"], "views": False}
    given.setdefault("timeout", WAITED * asked["timeout"])
    return cast(AskOptions, given)
