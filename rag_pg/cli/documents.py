"""`rag-pg documents`, `count` and `facets`: what is in a collection, by metadata."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from rag_pg.cli.options import (  # fmt: skip
    Dsn,
    Filter,
    Json,
    Name,
    open_collection,
    opened,
    parsed_filter,
    print_json,
)
from rag_pg.cli.terminal import Column, tell, write, write_table


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
    rows = [
        (one.uri, one.title, one.chunks, f"failed: {one.error}" if one.error else one.state)
        for one in found
    ]
    write_table([Column("uri"), Column("title"), Column("chunks"), Column("state")], rows)


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
        write(str(found))


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
        tell("nothing found")
        return
    write_table([Column(field), Column("documents")], [(one.value, one.documents) for one in found])


def show(
    uri: Annotated[str, typer.Argument(help="The uri of a document.")],
    collection: Name = "docs",
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Print a document's text; what else is known of it goes to stderr, or with --json into one object."""
    with opened(dsn) as rag:
        found = open_collection(rag, collection).document(uri)
    if json_:
        print_json(found)
        return
    state = f"{found.state}: {found.error}" if found.error else found.state
    for name, value in (("title", found.title), ("state", f"{state}, {found.chunks} chunks")):
        tell((f"{name}: {value}", "dim"))
    for key, value in found.metadata.items():
        tell((f"{key}: {value if isinstance(value, str) else json.dumps(value)}", "dim"))
    write(found.content or "")
