"""Answers from the metadata of documents: counts, lists and values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rag_pg.search import test_in_words
from rag_pg.types import Answer, Document, MetadataQuery, MetadataResult

MODEL = "metadata"


def metadata_answer(result: MetadataResult) -> Answer:
    """Return an answer that says how many there are, and lists the first of them."""
    query = result.query
    noun = "value" if query.kind == "values" else "document"
    verb, plural = ("is", "") if result.total == 1 else ("are", "s")
    where = f" of {query.values_of}" if query.values_of else _where(query.filter)
    text = f"There {verb} {result.total or 'no'} {noun}{plural}{where}{_order(query)}."
    lines = [f"- {_named(document)}" for document in result.documents]
    lines += [f"- {facet.value} ({facet.documents})" for facet in result.values]
    if lines:
        text = "\n".join([text, "", *lines])
        if len(lines) < result.total:
            text += f"\n- … and {result.total - len(lines)} more"
    return Answer(text=text, found=True, sufficient=True, model=MODEL, strategy="metadata")


def _where(filter: Mapping[str, Any]) -> str:
    """A filter in words."""
    parts = [
        f"{key} {value}" if isinstance(value, str | int | float) else test_in_words(key, value)
        for key, value in filter.items()
    ]
    return f" with {' and '.join(parts)}" if parts else ""


def _order(query: MetadataQuery) -> str:
    """In which order documents are listed, where a question asks for one."""
    if query.kind != "list" or query.order_by == "uri":
        return ""
    by = "when they were stored" if query.order_by == "updated_at" else query.order_by
    return f", the {'latest' if query.descending else 'oldest'} by {by} first"


def _named(document: Document) -> str:
    title = " ".join(document.title.split())
    return f"{title} ({document.uri})" if title else document.uri
