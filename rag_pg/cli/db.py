"""`rag-pg db`: the schema, and the embedded server."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated

import typer

from rag_pg import console
from rag_pg.console import Dsn, Schema, command

db = typer.Typer(help="The database: its schema, and the embedded server.", no_args_is_help=True)
PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True}


@db.command("upgrade")
@command
def db_upgrade(
    plan: Annotated[
        bool, typer.Option("--plan", help="Only print what would be done, and its locks.")
    ] = False,
    schema: Schema = None,
    dsn: Dsn = None,
) -> None:
    """Install or upgrade the schema."""
    from rag_pg.db import schema as of_rag

    with console.silence():
        rag = console.make_client(dsn, schema)
        if plan:
            lines = of_rag.plan(rag.dsn or console.embedded_server().start(), rag.schema)
        else:
            revision = rag.upgrade()
    if plan:
        for line in lines:
            console.write_result(line, step=line)
        if not lines and not console.as_json.get():
            console.write("nothing to do")
        return
    console.write_result(f"schema {rag.schema} is at revision {revision}", revision=revision)


@command
def scale_out(schema: Schema = None, dsn: Dsn = None) -> None:
    """Hand the schema to Citus, whole to one of its nodes."""
    from rag_pg.db import schema as of_rag

    rag = console.make_client(dsn, schema)
    node = of_rag.scale_out(rag.dsn or console.embedded_server().start(), rag.schema)
    console.write_result(f"schema {rag.schema} lies on {node}", node=node)


@db.command("check")
@command
def db_check(
    tenants: Annotated[
        bool,
        typer.Option("--tenants", help="Fail unless tenants are held apart, warnings included."),
    ] = False,
    schema: Schema = None,
    dsn: Dsn = None,
) -> None:
    """Compare the database with this program; exit 1 when they differ."""
    from rag_pg.db import schema as of_rag

    rag = console.make_client(dsn, schema)
    problems = of_rag.check(
        rag.dsn or console.embedded_server().start(), rag.schema, tenants=tenants
    )
    for problem in problems:
        console.write_result(problem, problem=problem)
    if problems:
        raise SystemExit(1)
    if not console.as_json.get():
        console.write(f"schema {rag.schema} is as this program installs it")


@db.command("stop")
@command
def db_stop() -> None:
    """Stop the embedded server."""
    stopped = console.embedded_server().stop()
    console.write_result("stopped" if stopped else "it was not running", stopped=stopped)


@db.command("url")
@command
def db_url(dsn: Dsn = None) -> None:
    """Print the connection string; the embedded server is started for it, with the schema, and
    runs until `rag-pg db stop`."""
    with console.silence():
        rag = console.make_client(dsn)
        if rag.dsn is None:
            with rag:  # which brings the schema up to date
                pass
    console.write_result(str(rag.dsn), dsn=rag.dsn)


@db.command("psql", context_settings=PASSED_ON)
@command
def db_psql(context: typer.Context, dsn: Dsn = None) -> None:
    """psql of the server's version, connected; what follows is passed on."""
    _run("psql", context.args, dsn)


@db.command("dump", context_settings=PASSED_ON)
@command
def db_dump(
    context: typer.Context,
    file: Annotated[str, typer.Argument(help="Where to write the dump.")],
    dsn: Dsn = None,
) -> None:
    """Dump the whole database into a file; options of pg_dump are passed on."""
    _run("pg_dump", ["--format=custom", f"--file={file}", *context.args], dsn)


@db.command("restore", context_settings=PASSED_ON)
@command
def db_restore(
    context: typer.Context,
    file: Annotated[str, typer.Argument(help="A file of rag-pg db dump.")],
    dsn: Dsn = None,
) -> None:
    """Restore a dump into an empty database; options of pg_restore are passed on."""
    _run("pg_restore", ["--exit-on-error", *context.args, file], dsn)


def _run(program: str, arguments: Sequence[str], dsn: str | None) -> None:
    """Become a program of PostgreSQL that fits the server. The password goes by its environment,
    where nobody sees it."""
    from rag_pg.db import client_program

    with console.silence():
        found = console.make_client(dsn).dsn or console.embedded_server().start()
    path, conninfo, environment = client_program(program, found)
    os.execve(path, [str(path), f"--dbname={conninfo}", *arguments], os.environ | environment)
