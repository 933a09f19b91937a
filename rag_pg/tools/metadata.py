"""Tools over the metadata of a collection: describe, count, facets, select, aggregate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rag_pg.errors import InvalidInput
from rag_pg.tools.shared import (
    AGGREGATES,
    ANY,
    DETAIL,
    FILTER,
    GROUPING,
    INTEGER,
    LIMIT,
    MOST_PAGED,
    NAMES,
    TEXT,
    Filter,
    Listed,
    SharedTool,
    Source,
    listed,
    row,
)
from rag_pg.types import Document, MetadataField

SAMPLED = (
    "Estimates from {:,} of the documents: others may have more fields, values and wider ranges;"
    " count, facets and aggregate are exact."
)
RULES = """\
A filter is a JSON object: {"field": value}, {"field": {"$gte": 10, "$lt": 20}}; operators $eq $ne \
$in $nin $gt $gte $lt $lte $like $contains $exists, and $and $or $not. Dates are texts such as \
2026-11-22; {"signed": "2026-11"} does not mean a month, $gte and $lt do. Aggregates are \
{"name": {"sum": "field"}} of count count_distinct sum avg min max; {"n": {"count": "*"}} counts \
all. group_by names fields, or year(field), quarter(field), month(field), weekday(field). order_by \
takes "-name" for descending."""


def describe_metadata(source: Source, filter: Filter = None, detail: str = "full") -> Listed:
    fields = source.database.describe_metadata(
        source.collection,
        metadata_filter=source.filter(filter),
        examples=5,
        sample_size=20_000,
    )
    sampled = fields[0].sampled_documents if fields else None
    return Listed(
        [field_row(one, detail) for one in fields], [SAMPLED.format(sampled)] if sampled else []
    )


def field_row(field: MetadataField, detail: str = "full") -> dict[str, Any]:
    """Return a field as the tools tell it; detail full: with ranges and examples."""
    found = {"field": field.field, "type": field.type, "documents": field.documents}
    if detail == "full":
        found |= {"distinct_values": field.distinct_values, "examples": list(field.examples)}
        if field.minimum is not None:
            found |= {"minimum": field.minimum, "maximum": field.maximum}
    return found


def count(source: Source, filter: Filter = None) -> dict[str, int]:
    found = source.database.count_documents(
        source.collection, metadata_filter=source.filter(filter)
    )
    return {"documents": found}


def facets(
    source: Source,
    field: str,
    text: str | None = None,
    filter: Filter = None,
    limit: int = 20,
    offset: int = 0,
) -> Listed:
    most, within = min(offset + limit, MOST_PAGED), source.filter(filter)
    if text is None:
        found = source.database.facets(source.collection, field, metadata_filter=within, limit=most)
        return Listed([{"value": f.value, "documents": f.documents} for f in found[offset:]])
    if within:
        raise InvalidInput("facets takes a text or a filter, not both")
    alike = source.database.find_values(source.collection, field, text, limit=most)
    return Listed(
        [
            {"value": m.value, "documents": m.documents, "similarity": m.similarity}
            for m in alike[offset:]
        ]
    )


def select(
    source: Source,
    filter: Filter = None,
    order_by: str = "uri",
    descending: bool = False,
    fields: Sequence[str] = (),
    detail: str = "low",
    limit: int = 20,
    offset: int = 0,
) -> Listed:
    found = source.database.select_documents(
        source.collection,
        metadata_filter=source.filter(filter),
        order_by=order_by,
        descending=descending,
        limit=limit,
        offset=offset,
    )
    return Listed([_document_row(one, fields, detail) for one in found])


def _document_row(document: Document, fields: Sequence[str], detail: str) -> dict[str, Any]:
    found: dict[str, Any] = {"uri": document.uri, "title": document.title}
    for name in fields:
        if name.startswith("$"):
            found[name] = getattr(document, name[1:], None)
            continue
        value: Any = document.metadata
        for part in [name] if name in document.metadata else name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        found[name] = value
    if detail == "full":
        found |= {
            "metadata": document.metadata,
            "language": document.language,
            "media_type": document.media_type,
            "created_at": document.created_at,
            "updated_at": document.updated_at,
        }
    return found


def aggregate(
    source: Source,
    aggregates: Mapping[str, Mapping[str, str]],
    filter: Filter = None,
    limit: int = 20,
    offset: int = 0,
    **grouping: Any,
) -> Listed:
    found = source.database.aggregate_documents(
        source.collection,
        aggregates,
        filter=source.filter(filter),
        limit=min(offset + limit, MOST_PAGED),
        **grouping,
    )
    return Listed(found[offset:])


METADATA_TOOLS: Mapping[str, SharedTool] = {
    tool.name: tool
    for tool in (
        SharedTool(
            name="describe_metadata",
            description="Metadata fields of the documents, the most frequent first. detail full:"
            " with ranges and examples. Use it before a filter, to know fields and values.",
            parameters={"filter": FILTER, "detail": {**DETAIL, "default": "full"}},
            rows="fields",
            result=row(
                {
                    "distinct_values": INTEGER,
                    "examples": listed(ANY),
                    "minimum": ANY,
                    "maximum": ANY,
                },
                field=TEXT,
                type={**TEXT, "description": "With [] where some documents have an array."},
                documents=INTEGER,
            ),
            run=describe_metadata,
        ),
        SharedTool(
            name="count",
            description="How many documents there are, or pass the filter.",
            parameters={"filter": FILTER},
            result=row(documents=INTEGER),
            run=count,
        ),
        SharedTool(
            name="facets",
            description="Values of a metadata field and how many documents have each, the most"
            " frequent first. With text: what a misspelt or partial name may mean; without a"
            " filter then.",
            parameters={
                "field": {**TEXT, "minLength": 1},
                "text": {
                    **TEXT,
                    "minLength": 1,
                    "maxLength": 200,
                    "description": "Values like this text, best first.",
                    "default": None,
                },
                "filter": FILTER,
                "limit": LIMIT,
            },
            rows="facets",
            result=row(
                {"similarity": {"type": "number", "description": "0 to 1, where text is given."}},
                value=ANY,
                documents=INTEGER,
            ),
            run=facets,
        ),
        SharedTool(
            name="select",
            description="List documents that pass a filter, in some order: first, last, all.",
            parameters={
                "filter": FILTER,
                "order_by": {
                    **TEXT,
                    "description": "uri, title, created_at, updated_at or a metadata field",
                    "default": "uri",
                },
                "descending": {"type": "boolean", "default": False},
                "fields": {**NAMES, "description": "metadata to show"},
                "detail": {**DETAIL, "description": "full: also metadata and dates"},
                "limit": LIMIT,
            },
            rows="documents",
            result=row(
                {
                    "metadata": {"type": "object"},
                    "language": TEXT,
                    "media_type": TEXT,
                    "created_at": TEXT,
                    "updated_at": TEXT,
                },
                uri=TEXT,
                title=TEXT,
            ),
            run=select,
        ),
        SharedTool(
            name="aggregate",
            description="Compute over metadata, a row for each group: counts, sums, averages,"
            " extremes.",
            parameters={"aggregates": AGGREGATES, **GROUPING},
            rows="groups",
            result={"type": "object"},
            run=aggregate,
        ),
    )
}
