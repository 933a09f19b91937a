"""Events as they come -> a response of server-sent events, until the client goes away."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncGenerator, Coroutine
from typing import Any, TypeVar

import anyio
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.requests import Request
from starlette.responses import Response

from rag_pg.server.http.problem import CLIENT_GONE, Refused

T = TypeVar("T")
SEND_SECONDS = 60.0  # that a client may leave what was sent unread


def event(data: object, kind: str | None = None) -> bytes:
    """Return an event whose data is JSON."""
    text = json.dumps(data, ensure_ascii=False).encode("utf-8", "replace").decode()
    return ServerSentEvent(text, event=kind, sep="\n").encode()


def events_of(
    pieces: AsyncGenerator[bytes, None], *, send_seconds: float = SEND_SECONDS
) -> Response:
    """Return the pieces of a generator as a response; it is closed when the client goes away, or
    does not read. What has begun goes on while the service stops."""
    return EventSourceResponse(
        pieces,
        sep="\n",
        ping_message_factory=lambda: ServerSentEvent(comment="ping", sep="\n"),
        send_timeout=send_seconds,
        shutdown_event=anyio.Event(),
        shutdown_grace_period=math.inf,
    )


async def until_gone(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Return what is awaited, or end it when the client goes away."""

    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        task.cancel()

    task, watching = asyncio.ensure_future(work), asyncio.ensure_future(gone())
    try:
        return await task
    except asyncio.CancelledError:
        if watching.done() and not watching.cancelled():
            raise Refused(CLIENT_GONE, "the client has gone") from None
        raise
    finally:
        watching.cancel()
