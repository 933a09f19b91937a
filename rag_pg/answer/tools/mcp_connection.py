"""A connection to an MCP server, in a thread of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import Any

from rag_pg.threads import start_thread

CONNECT_SECONDS = 20.0


class Connection:
    """An open client in the event loop of a thread of its own, which no exit of the program waits
    for. Raises: what connecting raises."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._ready: Future[asyncio.AbstractEventLoop] = Future()
        self._stop: asyncio.Event | None = None
        self._thread = start_thread(lambda: asyncio.run(self._run()), "rag-pg-mcp")
        self._loop = self._ready.result()

    async def _run(self) -> None:
        self._stop = asyncio.Event()
        try:
            async with self._client:
                self._ready.set_result(asyncio.get_running_loop())
                await self._stop.wait()
        except Exception as exc:
            if not self._ready.done():
                self._ready.set_exception(exc)  # else it broke, which the next call meets

    def call(self, method: str, *args: Any, **options: Any) -> Any:
        """Return what a method of the client returns."""

        async def call() -> Any:
            return await getattr(self._client, method)(*args, **options)

        if not self._thread.is_alive():
            raise ConnectionError("the connection is closed")
        return asyncio.run_coroutine_threadsafe(call(), self._loop).result()

    def close(self) -> None:
        if self._stop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(CONNECT_SECONDS)


@asynccontextmanager
async def http_transport(url: str, headers: Mapping[str, str]) -> AsyncIterator[Any]:
    """Streamable HTTP whose requests have headers, such as Authorization."""
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async with (
        httpx2.AsyncClient(headers=headers, timeout=CONNECT_SECONDS) as client,
        streamable_http_client(url, http_client=client) as streams,
    ):
        yield streams
