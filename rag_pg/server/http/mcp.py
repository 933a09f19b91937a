"""MCP at /mcp, beside the routes: a server for each role that asks."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Sequence

from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from rag_pg.client import Rag
from rag_pg.server.mcp import http_app, make_server

PATH = "/mcp"
MOST_SERVERS = 100


class McpServers:
    """Servers of MCP by who they read for. Each lives in a task of its own until `close`."""

    def __init__(self, allowed_hosts: Sequence[str], timeout: float) -> None:
        self._allowed_hosts, self._timeout = allowed_hosts, timeout
        self._apps: dict[Hashable, tuple[Starlette, asyncio.Event, asyncio.Task[None]]] = {}

    async def of(self, caller: Hashable, rag: Rag) -> Starlette:
        """Return the server of a caller, which reads with the rights of that client."""
        if caller not in self._apps:
            server = make_server(rag, timeout=self._timeout)
            app = http_app(server, "127.0.0.1", allowed_hosts=self._allowed_hosts)
            ready, ended = asyncio.Event(), asyncio.Event()

            async def live() -> None:
                async with app.router.lifespan_context(app):
                    ready.set()
                    await ended.wait()

            if len(self._apps) >= MOST_SERVERS:
                self._apps.pop(next(iter(self._apps)))[1].set()
            self._apps[caller] = app, ended, asyncio.create_task(live())
            await ready.wait()
        return self._apps[caller][0]

    async def close(self) -> None:
        apps, self._apps = self._apps, {}
        for _, ended, task in apps.values():
            ended.set()
            await task


class McpDoor:
    """The endpoint: hands a request to the server of who asks."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        service = scope["app"].state.service
        key = scope["state"].get("key")
        if key is not None:
            key.check_scope("ask")
        caller = None if key is None else key.identity
        app = await service.mcp.of(caller, service.rag_of(key).sync)
        await app(scope, receive, send)
