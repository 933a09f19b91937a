"""Exposed views as an agent has them: a tool for each, or two for all where there are many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rag_pg.answer.tools.structured import EXPLAINED, asking
from rag_pg.db import Database
from rag_pg.tools import LONGEST_DESCRIPTION, VIEW_TOOLS, Source, column_row, make_tool
from rag_pg.types import AgentTool, ExposedView, ViewColumn

MOST_VIEWS = 3  # that have a tool each
_MOST_LISTED = 20  # columns that a description names
_DESCRIPTION_LENGTH = 300
_GRACE_SECONDS = 5.0
_QUERY = VIEW_TOOLS["query_view"]


def view_tools(database: Database) -> list[AgentTool]:
    """Return the tools of the views that the caller may read, typed from their columns."""
    views = [view for view in database.list_views() if view.problem is None and view.columns]
    if len(views) <= MOST_VIEWS:
        return [_tool_of(view, database) for view in views]
    return _tools_of_many(views, database)


def _tool_of(view: ExposedView, database: Database) -> AgentTool:
    names = [column.name for column in view.columns]
    columns = ", ".join(_column(column) for column in view.columns[:_MOST_LISTED])
    more = f", … {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    named = replace(
        _QUERY,
        name=f"view_{view.name}"[:64],
        description=f"{view.description[:_DESCRIPTION_LENGTH]} Columns: {columns}{more}.",
    )
    limit = {**_QUERY.parameters["limit"], "maximum": view.max_rows}
    item = {"enum": names} if len(names) <= _MOST_LISTED else {}
    return named.offer(
        asking(_QUERY, Source(database=database), name=view.name),
        without=["name"],
        timeout=view.timeout.total_seconds() + _GRACE_SECONDS,
        columns={"type": "array", "items": {"type": "string", **item}, "default": []},
        limit={**limit, "default": min(view.max_rows, limit["default"])},
        explained=EXPLAINED,
    )


def _tools_of_many(views: Sequence[ExposedView], database: Database) -> list[AgentTool]:
    by_name = {view.name: view for view in views}
    name = {"type": "string", "enum": list(by_name)}

    def describe_view(name: str) -> Any:
        return [column_row(column) for column in by_name[name].columns]

    listed = "; ".join(f"{view.name}: {view.description:.80}" for view in views)
    named = replace(_QUERY, description=f"{_QUERY.description} {listed}"[:LONGEST_DESCRIPTION])
    longest = max(view.timeout.total_seconds() for view in views)
    return [
        make_tool("describe_view", "The columns of a view.", describe_view, name=name),
        named.offer(
            asking(_QUERY, Source(database=database)),
            timeout=longest + _GRACE_SECONDS,
            name=name,
            explained=EXPLAINED,
        ),
    ]


def _column(column: ViewColumn) -> str:
    told = f"{column.name} {column.type}"
    if column.labels:
        told += f" ({'|'.join(column.labels[:10])})"
    return f"{told} {column.description:.80}" if column.description else told
