"""The commands that make and end a collection: `adopt` a table, `export`, `import`, `drop`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict, Unpack

import typer

from rag_pg import console
from rag_pg.console import command, count_of

if TYPE_CHECKING:
    from rag_pg.client import Rag
    from rag_pg.types import Transfer


class AdoptFlags(TypedDict):
    """Options of `adopt`, under the names of the client's."""

    model: Annotated[
        str | None, typer.Option(help="What made the vectors; a new collection needs it.")
    ]
    source_dsn: Annotated[
        str | None, typer.Option(help="The table's database, where it is another.")
    ]
    distance: Annotated[str | None, typer.Option(help="Of a new collection: cosine, l2 or ip.")]
    language: Annotated[str | None, typer.Option(help="Language of a new collection.")]
    langchain_collection: Annotated[
        str | None, typer.Option(help="Which, in a langchain_pg_embedding that holds several.")
    ]
    uri_key: Annotated[
        str | None, typer.Option(help="The metadata that tells a row's document; $id: its id does.")
    ]
    sample: Annotated[
        int,
        typer.Option(help="Compare the neighbours of so many vectors in both; 0: of none."),
        20,
    ]


@command
def adopt(
    rag: Rag,
    table: Annotated[str, typer.Argument(help="A table or view, named as in SQL.")],
    layout: Annotated[
        str, typer.Option("--from", help="Who made it: pgai, langchain, llamaindex or haystack.")
    ],
    into: Annotated[str, typer.Option(help="The collection; created where it does not exist.")],
    **options: Unpack[AdoptFlags],
) -> None:
    """Take over another program's table with its embeddings.

    The table is only read.
    """
    report = rag.adopt(table, into, layout=layout, **options)
    if console.as_json.get():
        console.write_json(report)
    else:
        console.print_adopted(report)


@command
def export(
    rag: Rag,
    collection: Annotated[str, typer.Argument(help="The collection.")],
    folder: Annotated[Path, typer.Argument(help="A new folder, or one to go on with.")],
    versions: Annotated[bool, typer.Option("--versions", help="Earlier texts, too.")] = False,
    originals: Annotated[bool, typer.Option("--originals", help="The files, too.")] = False,
) -> None:
    """Write a collection with its vectors into a folder, for import.

    One that was stopped goes on.
    """
    _print_transfer(
        rag.export_collection(collection, folder, versions=versions, originals=originals),
        "exported",
    )


@command
def import_(
    rag: Rag,
    folder: Annotated[Path, typer.Argument(help="What export wrote.")],
    name: Annotated[
        str | None, typer.Option("--as", help="Its name here; default: as it was called.")
    ] = None,
) -> None:
    """Make a collection of what export wrote.

    Nothing is embedded. One that was stopped goes on.
    """
    _print_transfer(rag.import_collection(folder, name), "imported")


def _print_transfer(report: Transfer, done: str) -> None:
    for note in report.notes:
        console.write_message(note)
    if console.as_json.get():
        console.write_json(report)
        return
    counts = f"{count_of(report.documents, 'document')}, {count_of(report.chunks, 'chunk')}"
    for kind in ("version", "original"):
        if number := getattr(report, f"{kind}s"):
            counts += f", {count_of(number, kind)}"
    console.write(f"{done} collection {report.collection}: {counts}")


@command
def drop(
    rag: Rag,
    collection: Annotated[str, typer.Argument(help="The collection to remove, with all in it.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Remove a collection and everything in it."""
    stats = console.open_collection(rag, collection).stats()
    if not yes:
        what = f"{count_of(stats.documents, 'document')}"
        typer.confirm(f"Remove collection {collection} with {what}?", abort=True, err=True)
    rag.drop_collection(collection)
    console.write_result(f"collection {collection} is gone", dropped=collection)
