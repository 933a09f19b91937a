"""Tools over the application's own tables that are exposed: list_views, query_view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rag_pg.tools.shared import (
    AGGREGATES,
    GROUPING,
    MOST_PAGED,
    NAMES,
    TEXT,
    Listed,
    SharedTool,
    Source,
    listed,
    row,
)
from rag_pg.types import ViewColumn

UNORDERED = ("json", "xml", "point", "box", "path", "polygon", "circle", "line", "lseg")


def list_views(source: Source) -> Listed:
    return Listed(
        [
            {
                "name": view.name,
                "description": view.description,
                "columns": [column_row(column) for column in view.columns],
            }
            for view in source.database.list_views()
            if view.problem is None
        ]
    )


def column_row(column: ViewColumn) -> dict[str, Any]:
    """Return a column as the tools tell it."""
    return {
        "name": column.name,
        "type": column.type,
        **({"description": column.description} if column.description else {}),
        **({"labels": list(column.labels)} if column.labels else {}),
    }


def query_view(
    source: Source,
    name: str,
    columns: Sequence[str] = (),
    order_by: Sequence[str] = (),
    limit: int = 20,
    offset: int = 0,
    **query: Any,
) -> Listed:
    asked = {key: value for key, value in query.items() if value}
    if columns:
        asked["columns"] = columns
    view = next((one for one in source.database.list_views() if one.name == name), None)
    if not order_by and "aggregates" not in asked and view is not None:
        # Pages need an order: by the first column that has one.
        ordered = [c.name for c in view.columns if c.type not in UNORDERED]
        order_by = [c for c in columns or ordered if c in ordered][:1]
    if order_by:
        asked["order_by"] = order_by
    most = min(offset + limit, view.max_rows if view else MOST_PAGED)
    return Listed(source.database.query_view(name, **asked, limit=most)[offset:])


VIEW_TOOLS: Mapping[str, SharedTool] = {
    tool.name: tool
    for tool in (
        SharedTool(
            name="list_views",
            description="Tables of the application that query_view answers from, with their"
            " columns.",
            parameters={},
            rows="views",
            result=row(
                name=TEXT,
                description=TEXT,
                columns=listed(
                    row({"description": TEXT, "labels": listed(TEXT)}, name=TEXT, type=TEXT)
                ),
            ),
            run=list_views,
        ),
        SharedTool(
            name="query_view",
            description="Rows of a view, or aggregates over them. Filters name columns.",
            parameters={
                "name": TEXT,
                "columns": NAMES,
                "aggregates": {**AGGREGATES, "default": {}},
                **GROUPING,
            },
            rows="rows",
            result={"type": "object"},
            run=query_view,
        ),
    )
}
