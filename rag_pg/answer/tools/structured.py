"""Tools over the metadata of a collection: count, facets, select, aggregate, find_values.

Their schemas are made of the fields that the documents have, so that they name no other. A name
that a document brings is shown in a schema only where it is a plain word; examples of values are
shown as a quotation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rag_pg.answer.tools.schema import make_tool
from rag_pg.db import Database
from rag_pg.types import Document, MetadataField, Toolset

MOST_FIELDS = 30  # that a prompt names
_MOST_LISTED = 15  # fields in a schema's enumeration; more are texts
_MOST_ROWS = 100
_EXAMPLES = 5
_EXAMPLE_LENGTH = 40  # characters
_SAMPLED = (
    "Estimates from {:,} of the documents: others may have more fields, values and wider ranges;"
    " count and aggregate are exact."
)
_PLAIN = re.compile(r"[A-Za-z_][\w.-]{0,62}")
_Filter = Mapping[str, Any] | None
RULES = """\
A filter is a JSON object: {"field": value}, {"field": {"$gte": 10, "$lt": 20}}; operators $eq $ne \
$in $nin $gt $gte $lt $lte $like $contains $exists, and $and $or $not. Dates are texts such as \
2026-11-22; {"signed": "2026-11"} does not mean a month, $gte and $lt do. Aggregates are \
{"name": {"sum": "field"}} of count count_distinct sum avg min max; {"n": {"count": "*"}} counts \
all. group_by names fields, or year(field), quarter(field), month(field), weekday(field). order_by \
takes "-name" for descending. Ask find_values how a name is spelt before you filter by it."""
_FILTER: Mapping[str, Any] = {"type": "object", "default": {}}
_LIMIT: Mapping[str, Any] = {
    "type": "integer",
    "minimum": 1,
    "maximum": _MOST_ROWS,
    "default": 20,
}
_NAMES: Mapping[str, Any] = {"type": "array", "items": {"type": "string"}, "default": []}
QUERY: Mapping[str, Any] = {
    "aggregates": {"type": "object", "default": {}},
    "group_by": _NAMES,
    "filter": _FILTER,
    "having": {"type": "object", "description": "a filter of aggregates", "default": {}},
    "order_by": _NAMES,
    "limit": _LIMIT,
}


def structured_tools(
    database: Database,
    collection: str,
    fields: Sequence[MetadataField],
    *,
    within: Mapping[str, Any] | None = None,
) -> Toolset:
    """Return the tools of a collection, and its fields as a model is shown them.

    Args:
        fields: those of its documents. within: a filter that all documents pass of which a tool
            tells anything.
    """
    shown = sorted(fields, key=lambda f: (not f.declared, -f.documents, f.field))[:MOST_FIELDS]
    more = len(fields) - len(shown)
    sampled = fields[0].sampled_documents if fields else None
    field = _field_schema([f.field for f in shown], complete=not more and not sampled)
    names = [f.field for f in shown]

    def count(filter: _Filter = None) -> dict[str, int]:
        found = database.count_documents(collection, metadata_filter=_both(within, filter))
        return {"documents": found}

    def facets(field: str, filter: _Filter = None, limit: int = 20) -> Any:
        found = database.facets(
            collection, field, metadata_filter=_both(within, filter), limit=limit
        )
        return [{"value": f.value, "documents": f.documents} for f in found]

    def select(
        filter: _Filter = None,
        order_by: str = "$uri",
        descending: bool = False,
        fields: Sequence[str] | None = None,
        limit: int = 20,
    ) -> Any:
        found = database.select_documents(
            collection,
            metadata_filter=_both(within, filter),
            order_by=order_by,
            descending=descending,
            limit=limit,
            offset=0,
        )
        return [_row(d, names[:10] if fields is None else fields) for d in found] or "no document"

    def aggregate(filter: _Filter = None, **asked: Any) -> Any:
        return database.aggregate_documents(collection, filter=_both(within, filter), **asked)

    def find_values(field: str, text: str) -> Any:
        found = database.find_values(collection, field, text, limit=10)
        return [
            {"value": v.value, "similarity": round(v.similarity, 2), "documents": v.documents}
            for v in found
        ] or "no value is like that"

    def find_fields(text: str) -> Any:
        wanted = text.casefold()
        return [_described(f) for f in fields if wanted in f.field.casefold()][:_MOST_ROWS]

    tools = [
        make_tool("count", "How many documents pass a filter.", count, filter=_FILTER),
        make_tool(
            "facets",
            "The values of a metadata field, the most frequent first.",
            facets,
            field=field,
            filter=_FILTER,
            limit=_LIMIT,
        ),
        make_tool(
            "select",
            "The documents that pass a filter, with metadata, in an order.",
            select,
            filter=_FILTER,
            order_by={"type": "string", "default": "$uri"},
            descending={"type": "boolean", "default": False},
            fields={**_NAMES, "description": "metadata to show", "default": None},
            limit=_LIMIT,
        ),
        make_tool(
            "aggregate",
            "Sums, averages, extremes and counts over the documents, by groups.",
            aggregate,
            **{**QUERY, "aggregates": {"type": "object"}},
        ),
    ]
    if not within:  # it would tell values of documents that the question is not about
        tools.append(
            make_tool(
                "find_values",
                "The values of a field that a name or a misspelt text may mean.",
                find_values,
                field=field,
                text={"type": "string", "minLength": 1, "maxLength": 200},
            )
        )
    if more:
        tools.append(
            make_tool(
                "find_fields",
                f"The collection has {len(fields)} metadata fields: those with a text in the name.",
                find_fields,
                text={"type": "string", "minLength": 1},
            )
        )
    lines = [_SAMPLED.format(sampled)] if sampled else []
    lines += [_line(f) for f in shown] + ([f"… {more} more; see find_fields"] if more else [])
    return Toolset(tools=tools, fields="\n".join(lines), rules=RULES)


def _field_schema(names: Sequence[str], *, complete: bool) -> dict[str, Any]:
    """Return the schema of a field's name: an enumeration of a few plain names, else a text."""
    if complete and 0 < len(names) <= _MOST_LISTED and all(map(_PLAIN.fullmatch, names)):
        return {"type": "string", "enum": list(names)}
    return {"type": "string", "minLength": 1}


def _both(within: _Filter, filter: _Filter) -> Mapping[str, Any]:
    return {"$and": [within, filter]} if within and filter else within or filter or {}


def _row(document: Document, fields: Sequence[str]) -> dict[str, Any]:
    row: dict[str, Any] = {"uri": document.uri, "title": document.title}
    for name in fields:
        if name.startswith("$"):
            row[name] = getattr(document, name[1:], None)
            continue
        value: Any = document.metadata
        for part in [name] if name in document.metadata else name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        row[name] = value
    return row


def _described(field: MetadataField) -> dict[str, Any]:
    return {
        "field": field.field,
        "type": field.type,
        "documents": field.documents,
        "values": field.distinct_values,
        "examples": [_short(e) for e in field.examples],
    }


def _line(field: MetadataField) -> str:
    """Return a field as a line: its name, type, range or examples, and how many have it."""
    if field.minimum is not None and field.distinct_values > _EXAMPLES:
        told = f"{_short(field.minimum)} to {_short(field.maximum)}"
    else:
        told = ", ".join(map(_short, field.examples[:_EXAMPLES]))
        if field.distinct_values > _EXAMPLES:
            told += f", … {field.distinct_values} values"
    return f"{field.field} ({field.type}, {field.documents} documents): {told}"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = " ".join(text.split())
    return text if len(text) <= _EXAMPLE_LENGTH else f"{text[: _EXAMPLE_LENGTH - 1]}…"
