"""The tools that count, list and compute: over metadata, and over exposed views."""

from __future__ import annotations

from typing import Annotated, Any

from mcp_types import CallToolResult, TextContent
from pydantic import Field

from rag_pg.errors import InvalidInput
from rag_pg.server.mcp.render import as_json
from rag_pg.server.mcp.results import Count, Documents, Facets, Fields, Groups, Rows, Views
from rag_pg.server.mcp.tool import Cursor, Detail, Filter, Limit, Name, ToolBase
from rag_pg.types import Document, Grouping, ViewQuery

MOST_ROWS = 1000  # facets, groups
SAMPLED = (
    "estimates from {:,} documents: others may have more; count, facets and aggregate are exact"
)
UNORDERED = ("json", "xml", "point", "box", "path", "polygon", "circle", "line", "lseg")
Aggregates = Annotated[
    dict[str, dict[str, str]],
    Field(
        description='Named, e.g. {"total": {"sum": "amount"}, "n": {"count": "*"}}; count,'
        " count_distinct, sum, avg, min, max."
    ),
]
GroupBy = Annotated[
    list[str], Field(description="Fields, or parts of dates: year(signed), quarter, month, day…")
]
OrderBy = Annotated[list[str], Field(description='Names; "-total" descends.')]
Having = Annotated[
    dict[str, Any] | None, Field(description='A filter of aggregates: {"n": {"$gt": 1}}.')
]


class StructuredTools(ToolBase):
    """describe_metadata, count, facets, select, aggregate, list_views, query_view."""

    def describe_metadata(
        self,
        collection: Name = None,
        filter: Filter = None,
        detail: Detail = "full",
        cursor: Cursor = None,
    ) -> Annotated[CallToolResult, Fields]:
        """Metadata fields of the documents, the most frequent first. detail full: with ranges and
        examples. Use it before a filter, to know fields and values."""
        opened = self._reader.collection(collection)
        start, after = self._pages(
            "describe_metadata", cursor, opened, filter=filter, detail=detail
        )
        rows: list[dict[str, Any]] = []
        fields = opened.metadata.describe(filter=filter)
        for one in fields:
            row = {"field": one.field, "type": one.type, "documents": one.documents}
            if detail == "full":
                row |= {"distinct_values": one.distinct_values, "examples": list(one.examples)}
                if one.minimum is not None:
                    row |= {"minimum": one.minimum, "maximum": one.maximum}
            rows.append(row)
        sampled = fields[0].sampled_documents if fields else None
        notes = [SAMPLED.format(sampled)] if sampled else []
        return self._page("fields", rows[start:], len(rows), start, after, notes)

    def count(
        self, collection: Name = None, filter: Filter = None
    ) -> Annotated[CallToolResult, Count]:
        """How many documents there are, or pass the filter."""
        opened = self._reader.collection(collection)
        found = {"documents": opened.count(filter=filter)}
        return CallToolResult(
            content=[TextContent(type="text", text=as_json(found))], structured_content=found
        )

    def facets(
        self,
        field: str,
        text: Annotated[str | None, Field(description="Values like this text, best first.")] = None,
        collection: Name = None,
        filter: Filter = None,
        limit: Limit = 20,
        cursor: Cursor = None,
    ) -> Annotated[CallToolResult, Facets]:
        """Values of a metadata field and how many documents have each, the most frequent first.
        With text: what a misspelt or partial name may mean; the filter does not hold then."""
        opened = self._reader.collection(collection)
        start, after = self._pages(
            "facets", cursor, opened, field=field, text=text, filter=filter, limit=limit
        )
        most = min(start + limit + 1, MOST_ROWS)
        if text is not None:
            if filter:
                raise InvalidInput("facets takes a text or a filter, not both")
            rows = [
                {"value": m.value, "documents": m.documents, "similarity": m.similarity}
                for m in opened.metadata.find_values(field, text, limit=most)[start:]
            ]
        else:
            found = opened.metadata.facets(field, filter=filter, limit=most)[start:]
            rows = [{"value": f.value, "documents": f.documents} for f in found]
        return self._page("facets", rows, limit, start, after)

    def select(
        self,
        collection: Name = None,
        filter: Filter = None,
        order_by: Annotated[
            str, Field(description="uri, title, created_at, updated_at or a metadata field")
        ] = "uri",
        descending: bool = False,
        limit: Limit = 20,
        detail: Detail = "low",
        cursor: Cursor = None,
    ) -> Annotated[CallToolResult, Documents]:
        """List documents that pass a filter, in some order: first, last, all. detail low: uri and
        title; full: also metadata and dates."""
        opened = self._reader.collection(collection)
        start, after = self._pages(
            "select", cursor, opened,
            filter=filter, order_by=order_by, descending=descending, limit=limit, detail=detail,
        )  # fmt: skip
        found = opened.metadata.select(
            filter=filter,
            order_by=order_by,
            descending=descending,
            limit=limit + 1,
            offset=start,
        )
        rows = [_document_row(one, detail) for one in found]
        return self._page("documents", rows, limit, start, after)

    def aggregate(
        self,
        aggregates: Aggregates,
        group_by: GroupBy | None = None,
        collection: Name = None,
        filter: Filter = None,
        having: Having = None,
        order_by: OrderBy | None = None,
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> Annotated[CallToolResult, Groups]:
        """Compute over metadata, a row for each group: counts, sums, averages, extremes."""
        opened = self._reader.collection(collection)
        asked: Grouping = {
            "filter": filter, "group_by": group_by, "having": having, "order_by": order_by,
        }  # fmt: skip
        start, after = self._pages(
            "aggregate", cursor, opened, aggregates=aggregates, limit=limit, **asked
        )
        asked["limit"] = min(start + limit + 1, MOST_ROWS)
        found = opened.metadata.aggregate(aggregates, **asked)
        return self._page("groups", found[start:], limit, start, after)

    def list_views(self, cursor: Cursor = None) -> Annotated[CallToolResult, Views]:
        """Tables of the application that query_view answers from, with their columns."""
        start, after = self._pages("list_views", cursor, None)
        rows = [
            {
                "name": view.name,
                "description": view.description,
                "columns": [
                    {
                        "name": column.name,
                        "type": column.type,
                        **({"description": column.description} if column.description else {}),
                        **({"labels": list(column.labels)} if column.labels else {}),
                    }
                    for column in view.columns
                ],
            }
            for view in self._reader.rag.views.list()
            if view.problem is None
        ]
        return self._page("views", rows[start:], len(rows), start, after)

    def query_view(
        self,
        name: str,
        columns: list[str] | None = None,
        filter: Filter = None,
        aggregates: Aggregates | None = None,
        group_by: GroupBy | None = None,
        having: Having = None,
        order_by: OrderBy | None = None,
        limit: Limit = 20,
        cursor: Cursor = None,
    ) -> Annotated[CallToolResult, Rows]:
        """Rows of a view that list_views names, or aggregates over them. Filters name columns."""
        asked: ViewQuery = {
            "columns": columns, "aggregates": aggregates, "filter": filter,
            "group_by": group_by, "having": having, "order_by": order_by,
        }  # fmt: skip
        start, after = self._pages("query_view", cursor, None, name=name, limit=limit, **asked)
        view = next((one for one in self._reader.rag.views.list() if one.name == name), None)
        if not order_by and aggregates is None and view is not None:
            # Pages need an order: by the first column that has one, then by the others.
            shown = [c.name for c in view.columns if c.type not in UNORDERED]
            asked["order_by"] = [c for c in columns or shown if c in shown][:1]
        asked["limit"] = min(start + limit + 1, view.max_rows if view else 1)
        found = self._reader.rag.views.query(name, **asked)
        return self._page("rows", found[start:], limit, start, after)


def _document_row(document: Document, detail: str) -> dict[str, Any]:
    row: dict[str, Any] = {"uri": document.uri, "title": document.title}
    if detail == "full":
        row |= {
            "metadata": document.metadata,
            "language": document.language,
            "media_type": document.media_type,
            "created_at": document.created_at,
            "updated_at": document.updated_at,
        }
    return row
