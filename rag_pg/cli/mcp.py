"""`rag-pg mcp`: let programs ask, by the Model Context Protocol."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import typer

from rag_pg.cli.logs import Format, LogFormat, log_to_stderr
from rag_pg.console import Dsn, open_client, write_message
from rag_pg.errors import InvalidInput
from rag_pg.extras import extra
from rag_pg.otel import traced


def mcp(
    http: Annotated[
        str | None,
        typer.Option(help="Serve at HOST:PORT, path /mcp; without it on stdin and stdout."),
    ] = None,
    collections: Annotated[
        list[str] | None, typer.Option("--collection", "-c", help="Only these; repeatable.")
    ] = None,
    document_url: Annotated[
        str | None,
        typer.Option(help="Where people read a document: https://wiki.example/{+uri}."),
    ] = None,
    max_tokens: Annotated[int, typer.Option(help="Of an answer, at most.")] = 8000,
    timeout: Annotated[float, typer.Option(help="Seconds of an answer, at most.")] = 60.0,
    allowed_hosts: Annotated[
        list[str] | None,
        typer.Option("--allowed-host", help="A name that clients call it by; repeatable."),
    ] = None,
    key_file: Annotated[
        Path | None, typer.Option(help="Over HTTP only for who brings one of its keys.")
    ] = None,
    no_key: Annotated[
        bool, typer.Option("--no-key", help="For everybody who reaches it over the network.")
    ] = False,
    log_format: LogFormat = Format.text,
    dsn: Dsn = None,
) -> None:
    """Let AI clients search, ask and count: an MCP server. Read only."""
    # stdout is the protocol's
    log_to_stderr(log_format, logging.WARNING)
    logging.getLogger("mcp.server.mcpserver").setLevel(logging.WARNING)
    with extra("mcp", "the MCP server needs"):
        from rag_pg.server.mcp import (
            KeyVerifier,
            check_names,
            configured,
            http_app,
            is_local,
            listening,
            make_server,
            parse_address,
            read_keys,
        )

    address = None if http is None else parse_address(http)
    if address is None and (allowed_hosts or key_file or no_key):
        raise InvalidInput("--allowed-host, --key-file and --no-key are of --http")
    if address and not (is_local(address[0]) or key_file or no_key):
        raise InvalidInput(
            f"{address[0]} is reached from elsewhere: give --key-file FILE, or --no-key where"
            " something before it checks who asks"
        )
    if address:
        check_names(address[0], allowed_hosts)
    keys = None if key_file is None else KeyVerifier(read_keys(key_file))
    with traced(), open_client(dsn) as rag:
        for name in collections or ():
            rag.info(name)
        server = make_server(
            rag,
            collections=collections or None,
            document_url=document_url,
            max_tokens=max_tokens,
            timeout=timeout,
            verifier=keys,
        )
        if address is None:
            server.run("stdio")
            return
        import uvicorn

        app = http_app(server, allowed_hosts=allowed_hosts or ())
        with listening(*address) as (listener, url):
            write_message(f"serving at {url}mcp")
            uvicorn.Server(configured(app)).run(sockets=[listener])
