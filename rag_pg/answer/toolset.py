"""The tools of one question: those of its collection, and those that the caller gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from rag_pg.answer.tools import BUILT_IN, GivenTools, dates_tool, structured_tools, view_tools
from rag_pg.errors import RagError
from rag_pg.search import Searcher
from rag_pg.types import AgentTool, MetadataField, Toolset

SECONDS = 10.0  # for a statement of a tool


def make_toolset(
    given: GivenTools | None,
    searcher: Searcher,
    within: Mapping[str, Any] | None,
    today: date,
    *,
    views: bool,
) -> Toolset:
    """Return the tools that a model may call beside searching and calculating.

    Args:
        within: the filter of the question, which bounds what the collection's tools tell. views:
            whether exposed views may be asked.
    """
    notes: list[str] = []
    fields: Sequence[MetadataField] = ()
    try:
        fields = searcher.describe_metadata(within)
    except RagError as exc:  # too long, or no right
        notes.append(f"the metadata were not described to the model: {exc}")
    collection = structured_tools(
        searcher.database.limited(SECONDS), searcher.info.name, fields, within=within
    )
    of_views: Sequence[AgentTool] = ()
    try:
        of_views = view_tools(searcher.database) if views else ()
    except RagError as exc:
        notes.append(f"exposed views are left out: {exc}")
    built_in = [*collection.tools, *of_views, dates_tool(today)]
    if given is None:
        return replace(collection, tools=built_in, notes=notes)
    tools, missing = given.offer([*BUILT_IN, *(tool.name for tool in built_in)])
    return replace(collection, tools=[*built_in, *tools], notes=[*notes, *missing])
