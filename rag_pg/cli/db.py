"""`rag-pg db`: the schema, and the embedded server."""

from __future__ import annotations

import typer

from rag_pg.cli.options import Dsn, Json, embedded_server, make_client, silence, write_result
from rag_pg.cli.terminal import write, write_message

db = typer.Typer(help="The database: its schema, and the embedded server.", no_args_is_help=True)


@db.command("upgrade")
def db_upgrade(json_: Json = False, dsn: Dsn = None) -> None:
    """Install or upgrade schema rag."""
    with silence():
        rag = make_client(dsn)
        revision = rag.upgrade()
    write_result(f"schema rag is at revision {revision}", json_, revision=revision)


@db.command("check")
def db_check(json_: Json = False, dsn: Dsn = None) -> None:
    """Compare the database with this program; exit 1 when they differ."""
    from rag_pg.db import schema

    rag = make_client(dsn)
    problems = schema.check(rag.dsn or embedded_server().start())
    for problem in problems:
        write_result(problem, json_, problem=problem)
    if problems:
        raise SystemExit(1)
    if not json_:
        write("schema rag is as this program installs it")


@db.command("start")
def db_start(json_: Json = False) -> None:
    """Start the embedded server; it runs until `rag-pg db stop`."""
    dsn = embedded_server().start()
    write_message("the embedded server is running")
    write_result(dsn, json_, dsn=dsn)


@db.command("stop")
def db_stop(json_: Json = False) -> None:
    """Stop the embedded server."""
    stopped = embedded_server().stop()
    write_result("stopped" if stopped else "it was not running", json_, stopped=stopped)


@db.command("url")
def db_url(json_: Json = False, dsn: Dsn = None) -> None:
    """Print the connection string; the embedded server is started for it, with the schema."""
    with silence():
        rag = make_client(dsn)
        if rag.dsn is None:
            with rag:  # which brings the schema up to date
                pass
    write_result(str(rag.dsn), json_, dsn=rag.dsn)
