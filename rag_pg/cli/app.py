"""The command line: data on stdout, messages and progress on stderr, exit 0 ok, 1 failed,
2 usage."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Annotated, TextIO

import typer

from rag_pg.cli.audit import advise, audit
from rag_pg.cli.cache import cache
from rag_pg.cli.calibrate import calibrate
from rag_pg.cli.call import call
from rag_pg.cli.collections import adopt, describe, drop, index_field
from rag_pg.cli.db import db
from rag_pg.cli.demo import demo
from rag_pg.cli.documents import add, count, delete, documents, facets, show, sync
from rag_pg.cli.enrich import contexts, enrich, extract
from rag_pg.cli.eval import evaluation
from rag_pg.cli.history import answers, erase, feedback, keep, versions
from rag_pg.cli.jobs import doctor, jobs, status
from rag_pg.cli.mcp import mcp
from rag_pg.cli.search import ask, search
from rag_pg.cli.spaces import rechunk, reembed, spaces
from rag_pg.cli.structured import aggregate, fields, views
from rag_pg.cli.terminal import write, write_message
from rag_pg.cli.usage import usage
from rag_pg.cli.worker import worker
from rag_pg.errors import InvalidInput, RagError
from rag_pg.version import __version__

app = typer.Typer(
    name="rag-pg",
    help="RAG inside PostgreSQL: add documents, search them, ask them.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        write(f"rag-pg {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """RAG inside PostgreSQL: add documents, search them, ask them."""


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


def main() -> None:
    """Run the command line; a user's mistake ends in one line, not in a traceback."""
    sys.stdout = sys.stdout or _nowhere()  # None: it was closed, as by >&-
    sys.stderr = sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what the terminal's encoding has not
    try:
        app()
    except RagError as exc:
        write_message(("error:", "red"), f" {exc}")
        raise SystemExit(2 if isinstance(exc, InvalidInput) else 1) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except BrokenPipeError:
        sys.stderr.close()
        raise SystemExit(1) from None
    except OSError as exc:  # a disk that is full
        sys.stdout = _nowhere()  # what is left of the output could not be written at exit either
        write_message(("error:", "red"), f" {exc.strerror or exc}: {exc.filename or 'the output'}")
        raise SystemExit(1) from None


GROUPS = {
    "Documents": (
        add,
        sync,
        adopt,
        documents,
        show,
        delete,
        count,
        facets,
        fields,
        aggregate,
        describe,
        index_field,
        versions,
        keep,
        erase,
        drop,
    ),
    "Search": (search, ask, answers, feedback, mcp, demo),
    "Work": (
        worker,
        status,
        usage,
        jobs,
        doctor,
        audit,
        advise,
        reembed,
        rechunk,
        spaces,
        enrich,
        extract,
        contexts,
        calibrate,
    ),
}
for group, commands in GROUPS.items():
    for command in commands:
        app.command(command.__name__.replace("_", "-"), rich_help_panel=group)(command)
app.command("call", rich_help_panel="Database", add_help_option=False)(call)
app.add_typer(evaluation, name="eval", rich_help_panel="Evaluation")
app.add_typer(views, name="views", rich_help_panel="Documents")
app.add_typer(db, name="db", rich_help_panel="Database")
app.add_typer(cache, name="cache", rich_help_panel="Database")
