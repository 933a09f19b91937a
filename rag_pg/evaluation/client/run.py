"""A run of a set of questions over a collection."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from rag_pg.answer import AskOptions
from rag_pg.client import OpenCollection
from rag_pg.errors import InvalidInput
from rag_pg.evaluation.run import answer_result, run_set, search_result
from rag_pg.evaluation.types import EvalRun
from rag_pg.search import SearchOptions, check_names


def run(
    opened: OpenCollection,
    set_name: str,
    options: AskOptions,
    *,
    kind: str,
    name: str,
    at_once: int,
    progress: Callable[[int, int], None] | None,
) -> EvalRun:
    """See `CollectionEvaluation.run`."""
    if kind not in ("search", "ask"):
        raise InvalidInput(f"a run is of kind {kind!r:.100}; use search or ask")
    if not 1 <= at_once <= 64:
        raise InvalidInput(f"at_once is {at_once}; use 1 to 64")
    known = SearchOptions if kind == "search" else AskOptions
    check_names(options, known=known.__optional_keys__, call=kind)
    options.setdefault("cache", False)  # what is measured is made now
    cosine = opened.rag.database.space_settings(opened.name).distance == "cosine"
    searching = opened.unsampled()

    def ask(question: str) -> tuple[Mapping[str, Any], Sequence[str]]:
        if kind == "search":
            hits = searching.search(question, cast(SearchOptions, dict(options)))
            return search_result(hits, cosine=cosine)
        return answer_result(opened.answer(question, cast(AskOptions, dict(options)), logged=False))

    return run_set(
        opened.rag.database,
        set_name,
        opened.name,
        ask,
        kind=kind,
        settings={"limit": 10, **options} if kind == "search" else {**options},
        name=name,
        at_once=at_once,
        progress=progress,
    )
