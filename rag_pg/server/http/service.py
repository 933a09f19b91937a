"""What the routes share: the client, the gate of answers, who asks."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Hashable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import anyio
import pydantic_core
from fastapi import Depends
from starlette.requests import Request
from starlette.responses import Response

from rag_pg.client import AsyncCollection, AsyncRag
from rag_pg.errors import InvalidInput, RagError
from rag_pg.metrics import Figures
from rag_pg.otel import traced
from rag_pg.protocols import Reranker
from rag_pg.server.http.events import events_of, until_gone
from rag_pg.server.http.keys import Key
from rag_pg.server.http.mcp import McpServers
from rag_pg.server.http.problem import Refused
from rag_pg.server.http.shapes import Body
from rag_pg.tracing import add_meter, remove_meter
from rag_pg.types import Answer, Event, Hits, to_json

T = TypeVar("T")
log = logging.getLogger(__name__)
AGAIN_SECONDS = 5.0
SAVE_SECONDS = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ServiceOptions:
    """What a service is told when it is started.

    dsn: as of `Rag`. allowed_hosts: names by which clients may call it beside those of this
    machine. answers_at_once: others wait, most_waiting of them. timeout: seconds until a response
    begins. max_body: bytes of a request, but for uploads. rerank: what reranks where a request
    wants it. sources: whether the sources stand under the text of a chat's answer. keys: whether
    only who brings a key may ask. figures: a folder where processes of one service leave each other
    what they have counted.
    """

    dsn: str | None = None
    allowed_hosts: Sequence[str] = ()
    answers_at_once: int | None = None
    most_waiting: int = 100
    timeout: float = 120.0
    max_body: int = 2_000_000
    rerank: str | Reranker | None = None
    sources: bool = True
    keys: bool = False
    figures: Path | None = None


class Gate:
    """Lets so many in at once; the others wait their turn, up to a number, beyond which they are
    refused."""

    def __init__(self, at_once: int, most_waiting: int) -> None:
        self._free, self._most_waiting = anyio.Semaphore(at_once), most_waiting

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Raises: Refused."""
        waiting = self._free.statistics().tasks_waiting
        if not self._free.value and waiting >= self._most_waiting:
            told = f"{waiting} answers wait already; ask again later"
            raise Refused(503, told, again=AGAIN_SECONDS)
        async with self._free:
            yield


@dataclass(kw_only=True)
class Service:
    """A service: what it was told, and while it is open its client and gate."""

    options: ServiceOptions
    open_rag: Callable[[], AsyncRag]
    figures: Figures = field(init=False)
    rag: AsyncRag = field(init=False)
    gate: Gate = field(init=False)
    mcp: McpServers = field(init=False)
    _clients: dict[Hashable, AsyncRag] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.figures = Figures(self.options.figures)

    def rag_of(self, key: Key | None) -> AsyncRag:
        """Return the client with the rights of a key; one for each, so that it keeps what it has
        read of collections."""
        if key is None:
            return self.rag
        if key.identity not in self._clients:
            self._clients[key.identity] = self.rag.with_settings(key.settings)
        return self._clients[key.identity]

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            stack.enter_context(traced())
            self.rag = await stack.enter_async_context(self.open_rag())
            cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
            # Who quotes needs a processor, who asks a model waits for it.
            usual = 2 * cores if self.rag.settings.llm == "extractive" else 32
            self.gate = Gate(self.options.answers_at_once or usual, self.options.most_waiting)
            self.mcp = McpServers(self.options.allowed_hosts, self.options.timeout)
            saving = asyncio.create_task(self._save_figures())
            add_meter(self.figures)
            try:
                yield
            finally:
                remove_meter(self.figures)
                saving.cancel()
                await self.mcp.close()

    async def _save_figures(self) -> None:
        while True:
            self.figures.save()
            await asyncio.sleep(SAVE_SECONDS)


@dataclass(frozen=True, kw_only=True)
class Call:
    """A request: the service, and the client with the rights of who asks."""

    request: Request
    service: Service
    rag: AsyncRag

    async def collection(self, name: str) -> AsyncCollection:
        return await self.rag.get_collection(name)

    async def search(self, collection: str, query: str, **options: Any) -> Hits:
        """Return what a collection has, unless the client goes away."""
        docs = await self.collection(collection)
        return await self.until_gone(docs.search(query, **options))

    async def until_gone(self, work: Coroutine[Any, Any, T]) -> T:
        return await until_gone(self.request, work)

    async def spend(self, tokens: int, cost: float | None = None) -> None:
        """Count for the limits of the key what a model was given and is not counted elsewhere.
        cost: US dollars, where they are known."""
        if (key := key_of(self.request)) is not None:
            use = self.service.rag.sync.database.use_service_key
            await self.rag.run(partial(use, key.digest, tokens=tokens, cost=cost))

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
            stream = docs.stream(question, **options)
            try:
                async for event in stream:
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


async def last_answer(events: AsyncIterator[Event]) -> Answer:
    """Return the answer at the end of its events."""
    answers = [one.answer async for one in events if one.answer is not None]
    return answers[-1]


def key_of(request: Request) -> Key | None:
    """Return the key that the guard found."""
    key: Key | None = request.scope["state"].get("key")
    return key


def needs(scope: str) -> Any:
    """Return what lets a route be called only by keys of a scope."""

    async def check(request: Request) -> None:
        key = key_of(request)
        if key is not None:
            key.check_scope(scope)

    return Depends(check)


async def _call(request: Request) -> Call:
    service: Service = request.app.state.service
    return Call(request=request, service=service, rag=service.rag_of(key_of(request)))


Asked = Annotated[Call, Depends(_call)]


def answered(value: Any, status: int = 200) -> Response:
    """Return a value of this package as a response of JSON."""
    try:
        text = pydantic_core.to_json(value, inf_nan_mode="null", fallback=to_json)
    except pydantic_core.PydanticSerializationError:  # half a character, that a request brought
        text = json.dumps(to_json(value), ensure_ascii=False).encode("utf-8", "replace")
    return Response(text, status, media_type="application/json")


def parsed(name: str, text: str | None) -> Any:
    """Return a parameter that is JSON. Raises: InvalidInput."""
    try:
        return None if text is None else json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise InvalidInput(f"{name} is no JSON: {exc}") from exc
