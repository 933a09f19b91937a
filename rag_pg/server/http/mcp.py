"""MCP at /mcp, beside the routes: a server for each key that asks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from rag_pg.client import Rag
from rag_pg.server.http.keys import Key
from rag_pg.server.mcp import http_app, make_server

PATH = "/mcp"
MOST_SERVERS = 100


class McpDoor:
    """The endpoint: hands a request to the server of who asks. Servers live in tasks of their own
    until `close`."""

    def __init__(self, allowed_hosts: Sequence[str], timeout: float) -> None:
        self._allowed_hosts, self._timeout = allowed_hosts, timeout
        self._servers: dict[
            Key | None, tuple[Starlette, asyncio.Event, asyncio.Event, asyncio.Task[None]]
        ] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        key: Key | None = scope["state"].get("key")
        if key is not None:
            key.check_scope("ask")
        if key not in self._servers:
            self._open(key, scope["app"].state.service.rag_of(key).sync)
        app, ready, *_ = self._servers[key]
        await ready.wait()
        await app(scope, receive, send)

    def _open(self, key: Key | None, rag: Rag) -> None:
        """Make the server of a key, which reads with the rights of that client."""
        server = make_server(rag, timeout=self._timeout)
        app = http_app(server, allowed_hosts=self._allowed_hosts)
        ready, ended = asyncio.Event(), asyncio.Event()

        async def live() -> None:
            async with app.router.lifespan_context(app):
                ready.set()
                await ended.wait()

        if len(self._servers) >= MOST_SERVERS:
            self._servers.pop(next(iter(self._servers)))[2].set()
        self._servers[key] = app, ready, ended, asyncio.create_task(live())

    async def close(self) -> None:
        servers, self._servers = self._servers, {}
        for _, _, ended, task in servers.values():
            ended.set()
            await task
