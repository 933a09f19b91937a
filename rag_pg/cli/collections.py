"""The commands that make and end a collection: `adopt` a table, `drop`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rag_pg.console import (
    as_json,
    command,
    count_of,
    open_collection,
    print_adopted,
    write_json,
    write_result,
)

if TYPE_CHECKING:
    from rag_pg.client import Rag


@command
def adopt(
    rag: Rag,
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
        str | None, typer.Option(help="The metadata that tells a row's document; $id: its id does.")
    ] = None,
    sample: Annotated[
        int, typer.Option(help="Compare the neighbours of so many vectors in both; 0: of none.")
    ] = 20,
) -> None:
    """Take over another program's table with its embeddings.

    The table is only read.
    """
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
    if as_json.get():
        write_json(report)
    else:
        print_adopted(report)


@command
def drop(
    rag: Rag,
    collection: Annotated[str, typer.Argument(help="The collection to remove, with all in it.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Remove a collection and everything in it."""
    stats = open_collection(rag, collection).stats()
    if not yes:
        what = f"{count_of(stats.documents, 'document')}"
        typer.confirm(f"Remove collection {collection} with {what}?", abort=True, err=True)
    rag.drop_collection(collection)
    write_result(f"collection {collection} is gone", dropped=collection)
