"""What a search can be told beside its question: one list, for every call that searches."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from typing import Any

from rag_pg.cache import Cache
from rag_pg.errors import InvalidInput
from rag_pg.protocols import LLM, Reranker
from rag_pg.types import Message
from rag_pg.types import StatementOptions as StatementOptions


class SearchOptions(StatementOptions, total=False):
    """Every option of `Collection.search`, which says what they do."""

    rerank: str | Reranker | None
    rerank_timeout: float | None  # seconds
    rerank_weight: float  # of the reranker's score, 0 to 1
    rewrite: Sequence[str]
    history: Sequence[Message | Mapping[str, Any]]
    helper_llm: str | LLM | None
    now: datetime | None
    time_zone: str | None
    cache: bool | Cache | None


def check_names(
    options: Mapping[str, object],
    *,
    known: Collection[str] = SearchOptions.__optional_keys__,
    call: str = "search",
) -> None:
    """Raises InvalidInput naming the options of a call that there are none of."""
    for name in options:
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"use {', '.join(sorted(known))}"
            raise InvalidInput(f"{call} has no option {name!r}; {hint}")
