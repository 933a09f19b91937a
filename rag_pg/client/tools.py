"""The tools of one question: those of its collection, and those that the caller gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

from rag_pg.answer import BUILT_IN, GivenTools, dates_tool
from rag_pg.db import Database
from rag_pg.search import combine
from rag_pg.types import Document, Toolset


def open_toolset(given: GivenTools, today: date) -> Toolset:
    """Return the tools that a model may call beside searching and calculating."""
    built_in = [dates_tool(today)]
    tools, notes = given.offer([*BUILT_IN, *(tool.name for tool in built_in)])
    return Toolset(tools=[*built_in, *tools], notes=notes)


def reader_within(
    read: Callable[[str], Document | None],
    database: Database,
    collection: str,
    filter: Mapping[str, Any] | None,
) -> Callable[[str], Document | None]:
    """Return what reads a document by its uri, None for one that does not pass the filter."""
    if not filter:
        return read

    def read_passing(uri: str) -> Document | None:
        wanted = combine(filter, {"$uri": uri})
        found = database.count_documents(collection, metadata_filter=wanted)
        return read(uri) if found else None

    return read_passing
