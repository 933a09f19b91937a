"""The command line: data on stdout, messages and progress on stderr, exit 0 ok, 1 failed,
2 usage."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer
import typer.core

from rag_pg.cli.call import call
from rag_pg.cli.collections import adopt, drop, export, import_
from rag_pg.cli.db import db, scale_out
from rag_pg.cli.demo import demo
from rag_pg.cli.documents import add, delete, documents, show, sync
from rag_pg.cli.enrich import enrich
from rag_pg.cli.history import erase
from rag_pg.cli.jobs import doctor, jobs, status
from rag_pg.cli.key import key
from rag_pg.cli.mcp import mcp
from rag_pg.cli.search import ask, search
from rag_pg.cli.serve import serve
from rag_pg.cli.spaces import rechunk, reembed
from rag_pg.cli.web import api_schema, types
from rag_pg.cli.worker import worker
from rag_pg.console import write, write_message
from rag_pg.errors import InvalidInput, RagError
from rag_pg.evaluation.cli import advise, audit, calibrate, evaluation
from rag_pg.version import __version__

TOPICS: dict[str, tuple[str, ...]] = {
    "The first day": ("demo", "add", "sync", "search", "ask", "documents", "status", "doctor"),
    "Documents, and how they are cut, embedded and enriched": (
        *("show", "delete", "erase", "adopt", "export", "import", "drop"),
        *("rechunk", "reembed", "enrich"),
    ),
    "Quality": ("audit", "advise", "eval", "calibrate"),
    "Operation, and programs in other languages": (
        *("worker", "jobs", "db", "serve", "key", "mcp"),
        *("scale-out", "api-schema", "types", "call"),
    ),
}


class Commands(typer.core.TyperGroup):
    """All commands by topic, on one screen."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except Exception as exc:
            inner: Any = getattr(exc, "ctx", None)
            if "unexpected extra argument" in getattr(exc, "message", "") and any(
                "-c" in one.opts for one in inner.command.params
            ):
                exc.message += "; quote what has blanks, and name a collection by -c"  # type: ignore[attr-defined]
            raise

    def format_help(self, ctx: Any, formatter: Any) -> None:
        write(
            ("rag-pg COMMAND", "bold"),
            "   --help: how it is used; or --version, --install-completion",
        )
        write(f"{self.help}")
        for topic, names in TOPICS.items():
            write((topic, "bold"))
            for name in names:
                write(f"  {name:<10} {self.commands[name].get_short_help_str(66)}")


app = typer.Typer(
    name="rag-pg",
    cls=Commands,
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


for function in (
    add, adopt, advise, ask, audit, calibrate, delete, demo, doctor, documents, drop,
    enrich, erase, export, jobs, mcp, rechunk, reembed, search, serve, show, status, sync,
    worker,
):  # fmt: skip
    app.command(function.__name__)(function)
app.command("scale-out")(scale_out)
app.command("import")(import_)
app.command("api-schema")(api_schema)
app.command("types")(types)
app.command("call", add_help_option=False)(call)
app.add_typer(evaluation, name="eval")
app.add_typer(db, name="db")
app.add_typer(key, name="key")
