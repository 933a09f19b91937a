"""A request: the client with the rights of who asks, and its response, whole or as events."""

from __future__ import annotations

import asyncio
import json
import logging
import math
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Sequence
from contextlib import aclosing
from functools import partial
from typing import Annotated, Any, TypeVar

import anyio
import pydantic_core
from fastapi import Depends
from fastapi.exceptions import RequestValidationError
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from rag_pg.client import AsyncCollection
from rag_pg.errors import InvalidInput, RagError
from rag_pg.providers import LEFT_OUT
from rag_pg.server.http.keys import Key, check_again
from rag_pg.server.http.problem import CLIENT_GONE
from rag_pg.server.http.service import Service
from rag_pg.server.http.shapes import Body
from rag_pg.text import unique_object
from rag_pg.types import Answer, Event, Hits, to_json

T = TypeVar("T")
log = logging.getLogger(__name__)
SEND_SECONDS = 60.0  # that a client may leave what was sent unread


class Call:
    """A request: the service, and the client with the rights of who asks. key: what the guard
    found."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.service: Service = request.app.state.service
        self.key: Key | None = request.scope["state"].get("key")
        self.rag = self.service.rag_of(self.key)

    async def search(self, collection: str, query: str, **options: Any) -> Hits:
        """Return what a collection has, unless the client goes away."""
        docs = await self.rag.get_collection(collection)
        hits: Hits = await self.until_gone(docs.search(query, **options))
        warn_of_models(hits.notes)
        return hits

    async def until_gone(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what is awaited, or end it when the client goes away."""

        async def gone() -> None:
            while (await self.request.receive())["type"] != "http.disconnect":
                pass
            task.cancel()

        task, watching = asyncio.ensure_future(work), asyncio.ensure_future(gone())
        try:
            return await task
        except asyncio.CancelledError:
            if watching.done() and not watching.cancelled():
                raise HTTPException(CLIENT_GONE, "the client has gone") from None
            raise
        finally:
            watching.cancel()

    async def check_again(self) -> None:
        """Raises: HTTPException, where the key has ended or reached a limit since it asked."""
        if self.key is not None:
            await check_again(self.service.rag, self.key)

    async def spend(self, tokens: int, cost: float | None = None) -> None:
        """Count for the limits of the key what a model was given and is not counted elsewhere.
        cost: US dollars, where they are known."""
        if self.key is not None:
            use = self.service.rag.sync.database.use_service_key
            await self.rag.run(partial(use, self.key.digest, tokens=tokens, cost=cost))

    def options(self, body: Body, *without: str) -> dict[str, Any]:
        """Return the options of a body as those of a call. Raises: InvalidInput."""
        given = body.options(*without)
        if given.pop("rerank", False):
            given["rerank"] = self.service.options.rerank
            if given["rerank"] is None:
                raise InvalidInput("this service has no reranker; start it with --rerank")
        return given

    async def events(
        self, docs: AsyncCollection, question: str, options: dict[str, Any]
    ) -> AsyncGenerator[Event, None]:
        """Yield the events of an answer, when it is its turn; closed, the work ends."""
        async with self.service.gate.turn():
            await self.check_again()
            stream = docs.stream(question, **options)
            try:
                async for event in stream:
                    if event.answer is not None:
                        warn_of_models(event.answer.notes)
                    yield event
            finally:
                stream.cancel()

    async def stream(
        self, pieces: AsyncGenerator[bytes, None], failed: Callable[[Exception], bytes]
    ) -> Response:
        """Return pieces as a stream, when the first is there: what fails before it has a status of
        its own. failed: the last piece, of what fails later."""

        async def whole() -> AsyncGenerator[bytes, None]:
            async with aclosing(pieces):
                yield first
                try:
                    async for piece in pieces:
                        yield piece
                except Exception as exc:
                    if not isinstance(exc, RagError):
                        log.exception("a stream failed")
                    yield failed(exc)

        first = await self.until_gone(anext(pieces))
        return events_of(whole())


async def _call(request: Request) -> Call:
    return Call(request)


Asked = Annotated[Call, Depends(_call)]


def needs(scope: str) -> Any:
    """Return what lets a route be called only by keys of a scope."""

    async def check(call: Asked) -> None:
        if call.key is not None:
            call.key.check_scope(scope)
            if scope == "write":  # its body may have come slowly
                await call.check_again()

    return Depends(check)


async def _check_parameters(request: Request) -> None:
    """Raises: RequestValidationError: of two the last would be taken, an unknown one passed over,
    but for other programs, which have their own."""
    route, method = request.scope["route"].path_format, request.method.lower()
    told = request.app.openapi()["paths"][route][method]
    kinds = {one["name"]: json.dumps(one["schema"]) for one in told.get("parameters", ())}
    is_own = "other programs" not in told["tags"]
    for name, times in Counter(name for name, _ in request.query_params.multi_items()).items():
        if times > 1 and '"array"' not in kinds.get(name, '"array"'):
            raise RequestValidationError([{"loc": ("query", name), "msg": "is given twice"}])
        if is_own and name not in kinds:
            known = f"use {', '.join(kinds)}" if kinds else "there is none here"
            fault = {"loc": ("query", name[:100]), "msg": f"is no parameter; {known}"}
            raise RequestValidationError([fault])


ONCE = Depends(_check_parameters)


def warn_of_models(notes: Sequence[str]) -> None:
    """Log that a model did not answer, where something else did."""
    for note in filter(LEFT_OUT.match, notes):
        log.warning("%s", note)


async def last_answer(events: AsyncIterator[Event]) -> Answer:
    """Return the answer at the end of its events."""
    answers = [one.answer async for one in events if one.answer is not None]
    return answers[-1]


def answered(value: Any, status: int = 200) -> Response:
    """Return a value of this package as a response of JSON."""
    try:
        text = pydantic_core.to_json(value, inf_nan_mode="null", fallback=to_json)
    except pydantic_core.PydanticSerializationError:  # half a character, that a request brought
        text = json.dumps(to_json(value), ensure_ascii=False).encode("utf-8", "replace")
    return Response(text, status, media_type="application/json")


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


def parsed(name: str, text: str | None) -> Any:
    """Return a parameter that is JSON. Raises: InvalidInput."""
    try:
        return None if text is None else json.loads(text, object_pairs_hook=unique_object)
    except InvalidInput as exc:
        raise InvalidInput(f"{name}: {exc}") from exc
    except (ValueError, RecursionError) as exc:
        raise InvalidInput(f"{name} is no JSON: {exc}") from exc
