"""Events as they come -> a response of server-sent events, until the client goes away.

A stream that has begun goes on while the service stops: sse-starlette, which MCP brings, would end
it there.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Coroutine
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rag_pg.server.http.problem import CLIENT_GONE, Refused

T = TypeVar("T")
PING_SECONDS = 15.0
PING = b": ping\n\n"


def event(data: object, kind: str = "") -> bytes:
    """Return an event whose data is JSON."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    named = f"event: {kind}\n" if kind else ""
    return f"{named}data: {text}\n\n".encode("utf-8", "replace")


class Events(Response):
    """Sends the pieces of a generator, which is closed when the client goes away. Nothing is sent
    for long: a comment, so that nobody between takes the connection for dead."""

    media_type = "text/event-stream"

    def __init__(self, pieces: AsyncGenerator[bytes, None]) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gone = asyncio.ensure_future(_gone(receive))
        following: asyncio.Future[bytes | None] | None = None
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            while True:
                following = following or asyncio.ensure_future(anext(self._pieces, None))
                waiting: set[asyncio.Future[Any]] = {following, gone}
                await asyncio.wait(
                    waiting, timeout=PING_SECONDS, return_when=asyncio.FIRST_COMPLETED
                )
                if gone.done():
                    return
                piece: bytes | None = PING
                if following.done():
                    piece, following = following.result(), None
                if piece is None:
                    break
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            await _end(gone, following)
            await self._pieces.aclose()


async def until_gone(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Return what is awaited, or end it when the client goes away."""
    gone, task = asyncio.ensure_future(_gone(request.receive)), asyncio.ensure_future(work)
    try:
        waiting: set[asyncio.Future[Any]] = {gone, task}
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise Refused(CLIENT_GONE, "the client has gone")
        return task.result()
    finally:
        await _end(gone, task)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _end(*tasks: asyncio.Future[Any] | None) -> None:
    for task in tasks:
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait({task})
