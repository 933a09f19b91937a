"""Answers from the metadata of documents: counts, lists and values."""

from __future__ import annotations

from rag_pg.types import Answer, Document, MetadataResult

MODEL = "metadata"


def metadata_answer(result: MetadataResult) -> Answer:
    """Return an answer that says how many there are, and lists the first of them."""
    query = result.query
    noun = "value" if query.kind == "values" else "document"
    where = f" of {query.values_of}" if query.values_of else " that match" if query.filter else ""
    verb, plural = ("is", "") if result.total == 1 else ("are", "s")
    count = result.total or "no"
    text = f"There {verb} {count} {noun}{plural}{where}."
    lines = [f"- {_named(document)}" for document in result.documents]
    lines += [f"- {facet.value} ({facet.documents})" for facet in result.values]
    if lines:
        text = "\n".join([text, "", *lines])
        if len(lines) < result.total:
            text += f"\n- … and {result.total - len(lines)} more"
    return Answer(text=text, found=True, sufficient=True, model=MODEL, strategy="metadata")


def _named(document: Document) -> str:
    title = " ".join(document.title.split())
    return f"{title} ({document.uri})" if title else document.uri
