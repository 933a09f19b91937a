"""The commands about a whole collection: `adopt` a table, `describe`, `index-field`, `drop`."""

from __future__ import annotations

from typing import Annotated

import typer

from rag_pg.cli.console import count_of, print_adopted
from rag_pg.cli.options import (
    Dsn,
    Json,
    Name,
    open_client,
    open_collection,
    print_json,
    write_result,
)


def adopt(
    table: Annotated[str, typer.Argument(help="A table or view, named as in SQL.")],
    layout: Annotated[
        str, typer.Option("--from", help="Who made it: pgai, langchain, llamaindex or haystack.")
    ],
    into: Annotated[str, typer.Option(help="The collection; created where it does not exist.")],
    model: Annotated[
        str | None, typer.Option(help="What made the vectors; a new collection needs it.")
    ] = None,
    source_dsn: Annotated[
        str | None, typer.Option(help="The table's database, where it is another.")
    ] = None,
    distance: Annotated[
        str | None, typer.Option(help="Of a new collection: cosine, l2 or ip.")
    ] = None,
    language: Annotated[str | None, typer.Option(help="Language of a new collection.")] = None,
    langchain_collection: Annotated[
        str | None, typer.Option(help="Which, in a langchain_pg_embedding that holds several.")
    ] = None,
    uri_key: Annotated[
        str | None, typer.Option(help="The metadata that tells a row's document.")
    ] = None,
    sample: Annotated[
        int, typer.Option(help="Compare the neighbours of so many vectors in both; 0: of none.")
    ] = 20,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Take over a table that another program filled, with its embeddings; it is only read."""
    with open_client(dsn) as rag:
        report = rag.adopt(
            table,
            into,
            layout=layout,
            model=model,
            source_dsn=source_dsn,
            distance=distance,
            language=language,
            langchain_collection=langchain_collection,
            uri_key=uri_key,
            sample=sample,
        )
    if json_:
        print_json(report)
    else:
        print_adopted(report)


def index_field(
    field: Annotated[str, typer.Argument(help="A metadata field: year, author.name.")],
    type: Annotated[str, typer.Argument(help="text, numeric, timestamptz or boolean.")],
    collection: Name = "docs",
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Declare a metadata field, so that filters by its range or prefix are fast."""
    with open_client(dsn) as rag:
        open_collection(rag, collection).metadata.index(field, type)
    write_result(f"field {field} is indexed as {type}", json_, field=field, type=type)


def describe(
    collection: Annotated[str, typer.Argument(help="Which collection.")],
    description: Annotated[
        str | None, typer.Argument(help='What its documents are and what they answer; "": nothing.')
    ] = None,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Say what a collection holds, for people and for programs that choose among several."""
    with open_client(dsn) as rag:
        opened = open_collection(rag, collection)
        if description is not None:
            opened.alter(description=description)
        text = opened.info.description
    write_result(text, json_, collection=collection, description=text)


def drop(
    collection: Annotated[str, typer.Argument(help="The collection to remove, with all in it.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Remove a collection and everything in it."""
    with open_client(dsn) as rag:
        stats = open_collection(rag, collection).stats()
        if not yes:
            what = f"{count_of(stats.documents, 'document')}"
            typer.confirm(f"Remove collection {collection} with {what}?", abort=True, err=True)
        rag.drop_collection(collection)
    write_result(f"collection {collection} is gone", json_, dropped=collection)
