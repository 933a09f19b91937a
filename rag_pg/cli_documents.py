"""`rag-pg documents`, `count` and `facets`: what is in a collection, by metadata."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from rag_pg.command import (  # fmt: skip
    Dsn,
    Filter,
    Json,
    Name,
    open_collection,
    opened,
    parsed_filter,
    print_json,
)
from rag_pg.show import err, out


def documents(
    collection: Name = "docs",
    limit: Annotated[int, typer.Option(help="At most so many.")] = 100,
    filter: Filter = None,
    order_by: Annotated[
        str | None,
        typer.Option(
            help="uri, title, created_at, updated_at or a metadata field: the first 1000."
        ),
    ] = None,
    descending: Annotated[bool, typer.Option("--descending", help="The largest first.")] = False,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """List a collection's documents."""
    where = parsed_filter(filter)
    with opened(dsn) as rag:
        target = open_collection(rag, collection)
        if order_by is None and not descending:
            found = list(target.documents(filter=where, limit=limit))
        else:
            order = order_by or "uri"
            found = target.select(filter=where, order_by=order, descending=descending, limit=limit)
    if json_:
        for document in found:
            print_json(document)
        return
    table = Table("uri", "title", "chunks", "state")
    for document in found:
        state = f"failed: {document.error}" if document.error else document.state
        table.add_row(*map(escape, (document.uri, document.title, str(document.chunks), state)))
    out.print(table)


def count(
    collection: Name = "docs", filter: Filter = None, json_: Json = False, dsn: Dsn = None
) -> None:
    """Count a collection's documents, or those that pass a filter."""
    where = parsed_filter(filter)
    with opened(dsn) as rag:
        found = open_collection(rag, collection).count(filter=where)
    if json_:
        print_json({"collection": collection, "documents": found})
    else:
        out.print(found)


def facets(
    field: Annotated[str, typer.Argument(help="A metadata field: lang, author.name.")],
    collection: Name = "docs",
    limit: Annotated[int, typer.Option("--limit", "-n", help="1 to 1000 values.")] = 20,
    filter: Filter = None,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """The values of a metadata field and how many documents hold each, the most frequent first."""
    where = parsed_filter(filter)
    with opened(dsn) as rag:
        found = open_collection(rag, collection).facets(field, filter=where, limit=limit)
    if json_:
        for facet in found:
            print_json(facet)
        return
    if not found:
        err.print("nothing found")
        return
    table = Table(escape(field), "documents")
    for facet in found:
        value = facet.value if isinstance(facet.value, str) else json.dumps(facet.value, ensure_ascii=False)  # fmt: skip
        table.add_row(escape(value), str(facet.documents))
    out.print(table)
