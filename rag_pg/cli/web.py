"""`rag-pg api-schema` and `rag-pg types`: SQL for PostgREST, Supabase and TypeScript."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rag_pg.console import command, write_result

if TYPE_CHECKING:
    from rag_pg.client import Rag


@command
def api_schema(
    rag: Rag,
    roles: Annotated[
        list[str] | None, typer.Argument(help="Roles that call it, as anon and authenticated.")
    ] = None,
    access: Annotated[
        Literal["reader", "writer"] | None,
        typer.Option(help="Give it to the roles by rag.grant_access; default: as they are."),
    ] = None,
) -> None:
    """Make rag_api, the one schema that PostgREST and Supabase expose."""
    from rag_pg.db import schema

    names = schema.make_api(rag.database.dsn, roles or (), access, schema=rag.schema)
    write_result(f"schema {rag.schema}_api has {len(names)} functions", functions=names)


@command
def types(
    rag: Rag,
    schema: Annotated[str, typer.Option(help="rag_api, or rag for SQL by a driver.")] = "rag_api",
    bigint: Annotated[
        Literal["number", "string"],
        typer.Option(help="number from PostgREST, string from node-postgres."),
    ] = "number",
) -> None:
    """Print TypeScript types of the functions of rag_api."""
    from rag_pg.db import schema as of_rag

    text = of_rag.typescript(rag.database.dsn, schema=schema, bigint=bigint, own=rag.schema)
    write_result(text.removesuffix("\n"), types=text)
