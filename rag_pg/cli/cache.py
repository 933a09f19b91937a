"""`rag-pg cache`: what is kept to be read again, and how it is emptied."""

from __future__ import annotations

from typing import Annotated

import typer

from rag_pg.cli.console import size_of
from rag_pg.cli.options import Dsn, Json, open_client, print_json, write_result
from rag_pg.cli.terminal import Column, write_message, write_table

cache = typer.Typer(help="The cache: what was computed once and is kept.", no_args_is_help=True)
COLUMNS = (
    Column("collection"),
    Column("kind"),
    Column("entries"),
    Column("size", shown=size_of),
    Column("hits"),
    Column("misses"),
    Column("tokens saved"),
    Column("dollars saved", shown="{:.4f}".format),
)


@cache.command("stats")
def cache_stats(json_: Json = False, dsn: Dsn = None) -> None:
    """Show what the cache holds, and the tokens and US dollars that its hits have saved."""
    with open_client(dsn) as rag:
        found = rag.admin.cache_stats()
    if json_:
        for row in found:
            print_json(row)
        return
    if not found:
        write_message("nothing was cached yet")
        return
    write_table(
        COLUMNS,
        [
            (
                row.collection or "",
                row.kind,
                row.entries,
                row.bytes,
                row.hits,
                row.misses,
                row.saved_tokens,
                row.saved_cost,
            )
            for row in found
        ],
    )


@cache.command("clear")
def cache_clear(
    collection: Annotated[
        str | None, typer.Option("--collection", "-c", help="Of this one alone.")
    ] = None,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Empty the cache."""
    with open_client(dsn) as rag:
        removed = rag.admin.clear_cache(collection)
    count = "1 entry" if removed == 1 else f"{removed} entries"
    write_result(f"{count} removed", json_, removed=removed)
