"""`rag-pg serve`: the HTTP service, and the page."""

from __future__ import annotations

import logging
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from rag_pg.cli.logs import Format, LogFormat, log_to_stderr
from rag_pg.console import Dsn, open_client, write_message
from rag_pg.extras import extra

if TYPE_CHECKING:
    from fastapi import FastAPI

    from rag_pg.server.http import ServiceOptions

HEALTH_SECONDS = 120  # until a process that does not answer is replaced


def serve(
    address: Annotated[str, typer.Argument(help="HOST:PORT; port 0 takes a free one.")] = (
        "127.0.0.1:8000"
    ),
    allowed_hosts: Annotated[
        list[str] | None,
        typer.Option("--allowed-host", help="A name that clients call it by; repeatable."),
    ] = None,
    keys: Annotated[
        bool, typer.Option("--keys", help="Only for who brings a key; always, beyond loopback.")
    ] = False,
    processes: Annotated[int, typer.Option(min=1, max=64, help="How many serve.")] = 1,
    answers: Annotated[
        int | None,
        typer.Option(min=1, max=64, help="Made at once; default: by processors, or 32 for models."),
    ] = None,
    waiting: Annotated[int, typer.Option(min=0, help="Answers that may wait, at most.")] = 100,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds until a response begins.")] = 120.0,
    max_body: Annotated[int, typer.Option(min=1, help="Bytes of a request, but for files.")] = (
        2_000_000
    ),
    rerank: Annotated[
        str | None, typer.Option(help="What reranks where asked to, as of search --rerank.")
    ] = None,
    sources: Annotated[
        bool, typer.Option("--sources/--no-sources", help="List sources under a chat's answer.")
    ] = True,
    log_format: LogFormat = Format.text,
    open_page: Annotated[bool, typer.Option("--open", help="Show the page in a browser.")] = False,
    dsn: Dsn = None,
) -> None:
    """Serve search, answers and documents over HTTP, and a page."""
    with extra("serve", "the HTTP service needs"):
        import uvicorn

        from rag_pg.server.http import ServiceOptions
        from rag_pg.server.mcp import (
            check_names,
            configured,
            is_local,
            listening,
            parse_address,
        )

    host, port = parse_address(address)
    check_names(host, allowed_hosts)
    with open_client(dsn) as rag:  # which starts the embedded server, and upgrades it
        options = ServiceOptions(
            dsn=rag.dsn,
            allowed_hosts=allowed_hosts or (),
            answers_at_once=answers,
            most_waiting=waiting,
            timeout=timeout,
            max_body=max_body,
            rerank=rerank,
            sources=sources,
            keys=keys or not is_local(host),
        )
        if rerank is not None:
            rag.reranker(rerank)  # said now, where it is wrong
    with (
        TemporaryDirectory(prefix="rag-pg-") as figures,
        listening(host, port) as (listener, url),
    ):
        if processes > 1:
            options = replace(options, figures=Path(figures))
        write_message(f"serving at {url}")
        config = configured(
            partial(_start, options, log_format),
            factory=True,
            workers=processes,
            timeout_worker_healthcheck=HEALTH_SECONDS,
        )
        if open_page:
            typer.launch(url)
        if processes > 1:
            from uvicorn.supervisors import Multiprocess

            Multiprocess(config, sockets=[listener]).run()
        else:
            uvicorn.Server(config).run(sockets=[listener])


def _start(options: ServiceOptions, log_format: Format) -> FastAPI:
    """Make the application, in each process that serves."""
    from rag_pg.server.http import make_app

    log_to_stderr(log_format, logging.WARNING)
    access = logging.getLogger("rag_pg.access")
    access.setLevel(logging.INFO)
    access.propagate = False
    lines = logging.StreamHandler(sys.stderr)
    lines.setFormatter(logging.Formatter("%(message)s"))
    access.addHandler(lines)
    return make_app(options)
