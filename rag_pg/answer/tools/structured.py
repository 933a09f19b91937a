"""The tools over the metadata of a collection, as an agent has them.

Their schemas are made of the fields that the documents have, so that they name no other. A name
that a document brings is shown in a schema only where it is a plain word; examples of values are
shown as a quotation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rag_pg.db import Database
from rag_pg.tools import (
    METADATA_TOOLS,
    RULES,
    SAMPLED,
    SharedTool,
    Source,
    field_row,
    make_tool,
)
from rag_pg.types import MetadataField, Toolset

MOST_FIELDS = 30  # that a prompt names
_MOST_LISTED = 15  # fields in a schema's enumeration; more are texts
_MOST_FOUND = 100
_MOST_SHOWN = 10  # fields of a document, where a call names none
_EXAMPLES = 5
_EXAMPLE_LENGTH = 40  # characters
EXPLAINED = ("filter", "aggregates", "group_by")  # by RULES
_SPELLING = " Ask facets with a text how a name is spelt before you filter by it."
_PLAIN = re.compile(r"[A-Za-z_][\w.-]{0,62}")


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
    names = [f.field for f in shown]
    field = _field_schema(names, complete=not more and not sampled)
    source = Source(database=database, collection=collection, within=within)

    def find_fields(text: str) -> Any:
        wanted = text.casefold()
        alike = [field_row(f) for f in fields if wanted in f.field.casefold()]
        for found in alike[:_MOST_FOUND]:
            found["examples"] = [_short(e) for e in found["examples"]]
        return alike[:_MOST_FOUND]

    of_text = ["text"] if within else []  # it would tell values of other documents
    tools = [
        METADATA_TOOLS["count"].offer(asking(METADATA_TOOLS["count"], source), explained=EXPLAINED),
        METADATA_TOOLS["facets"].offer(
            asking(METADATA_TOOLS["facets"], source),
            without=of_text,
            explained=EXPLAINED,
            field=field,
        ),
        METADATA_TOOLS["select"].offer(
            asking(METADATA_TOOLS["select"], source, fields=names[:_MOST_SHOWN]),
            without=["detail"],
            explained=EXPLAINED,
        ),
        METADATA_TOOLS["aggregate"].offer(
            asking(METADATA_TOOLS["aggregate"], source), explained=EXPLAINED
        ),
    ]
    if more:
        tools.append(
            make_tool(
                "find_fields",
                f"The collection has {len(fields)} metadata fields: those with a text in the name.",
                find_fields,
                text={"type": "string", "minLength": 1},
            )
        )
    lines = [SAMPLED.format(sampled)] if sampled else []
    lines += [_line(f) for f in shown] + ([f"… {more} more; see find_fields"] if more else [])
    rules = RULES if within else RULES + _SPELLING
    return Toolset(tools=tools, fields="\n".join(lines), rules=rules)


def asking(tool: SharedTool, source: Source, **defaults: Any) -> Callable[..., Any]:
    """Return what answers a call of a tool over a source."""

    def run(**arguments: Any) -> Any:
        return tool.run(source, **{**defaults, **arguments}) or "nothing found"

    return run


def _field_schema(names: Sequence[str], *, complete: bool) -> dict[str, Any]:
    """Return the schema of a field's name: an enumeration of a few plain names, else a text."""
    if complete and 0 < len(names) <= _MOST_LISTED and all(map(_PLAIN.fullmatch, names)):
        return {"type": "string", "enum": list(names)}
    return {"type": "string", "minLength": 1}


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
