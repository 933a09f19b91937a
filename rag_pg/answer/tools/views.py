"""Exposed views as tools: one for each, or two for all where there are many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rag_pg.answer.tools.schema import LONGEST_DESCRIPTION, make_tool
from rag_pg.answer.tools.structured import QUERY
from rag_pg.db import Database
from rag_pg.types import AgentTool, ExposedView

MOST_VIEWS = 3  # that have a tool each
_MOST_LISTED = 20  # columns that a description names
_DESCRIPTION_LENGTH = 300
_GRACE_SECONDS = 5.0


def view_tools(database: Database) -> list[AgentTool]:
    """Return the tools of the views that the caller may read, typed from their columns."""
    views = [view for view in database.list_views() if view.problem is None and view.columns]
    if len(views) <= MOST_VIEWS:
        return [_tool_of(view, database) for view in views]
    return _tools_of_many(views, database)


def _tool_of(view: ExposedView, database: Database) -> AgentTool:
    def run(**asked: Any) -> Any:
        return _query(database, view.name, **asked)

    names = [column.name for column in view.columns]
    columns = ", ".join(_column(column.name, column) for column in view.columns[:_MOST_LISTED])
    more = f", … {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    parameters: dict[str, Any] = {"columns": _columns(names), **_query_of(view)}
    return make_tool(
        f"view_{view.name}"[:64],
        f"{view.description[:_DESCRIPTION_LENGTH]} Columns: {columns}{more}.",
        run,
        timeout=view.timeout.total_seconds() + _GRACE_SECONDS,
        **parameters,
    )


def _tools_of_many(views: Sequence[ExposedView], database: Database) -> list[AgentTool]:
    by_name = {view.name: view for view in views}
    name = {"type": "string", "enum": list(by_name)}

    def describe_view(view: str) -> Any:
        return [
            {"column": c.name, "type": c.type, "description": c.description or "",
             "values": ", ".join(c.labels)}
            for c in by_name[view].columns
        ]  # fmt: skip

    def query_view(view: str, **asked: Any) -> Any:
        return _query(database, view, **asked)

    listed = "; ".join(f"{view.name}: {view.description:.80}" for view in views)
    longest = max(view.timeout.total_seconds() for view in views)
    parameters: dict[str, Any] = {
        "view": name,
        "columns": _columns([]),
        **QUERY,
        "limit": {"type": "integer", "minimum": 1, "default": None},
    }
    return [
        make_tool("describe_view", "The columns of a view.", describe_view, view=name),
        make_tool(
            "query_view",
            f"Rows of a view, or aggregates over them. {listed}"[:LONGEST_DESCRIPTION],
            query_view,
            timeout=longest + _GRACE_SECONDS,
            **parameters,
        ),
    ]


def _query_of(view: ExposedView) -> dict[str, Any]:
    limit = {"type": "integer", "minimum": 1, "maximum": view.max_rows, "default": None}
    return {**QUERY, "limit": limit}


def _columns(names: Sequence[str]) -> dict[str, Any]:
    item: dict[str, Any] = {"type": "string"}
    if 0 < len(names) <= _MOST_LISTED:
        item["enum"] = list(names)
    return {"type": "array", "items": item, "default": []}


def _column(name: str, column: Any) -> str:
    told = f"{name} {column.type}"
    if column.labels:
        told += f" ({'|'.join(column.labels[:10])})"
    return f"{told} {column.description:.80}" if column.description else told


def _query(database: Database, name: str, **asked: Any) -> Any:
    given = {key: value for key, value in asked.items() if value not in (None, [], {})}
    return database.query_view(name, **given) or "no row"
