"""A service: what it was told, its client and clients for keys, the gate of answers."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
from starlette.exceptions import HTTPException

from rag_pg.client import AsyncRag
from rag_pg.metrics import Figures
from rag_pg.otel import traced
from rag_pg.protocols import Reranker
from rag_pg.server.http.keys import Key
from rag_pg.server.http.mcp import McpDoor
from rag_pg.tracing import add_meter, remove_meter

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
        """Raises: HTTPException."""
        waiting = self._free.statistics().tasks_waiting
        if not self._free.value and waiting >= self._most_waiting:
            raise HTTPException(503, f"{waiting} answers wait already; ask again later")
        async with self._free:
            yield


class Service:
    """A service: what it was told, and while it is open its client and gate."""

    rag: AsyncRag
    gate: Gate

    def __init__(self, options: ServiceOptions, open_rag: Callable[[], AsyncRag]) -> None:
        self.options, self._open_rag = options, open_rag
        self.figures = Figures(options.figures)
        self.mcp = McpDoor(options.allowed_hosts, options.timeout)
        self._clients: dict[Key, AsyncRag] = {}

    def rag_of(self, key: Key | None) -> AsyncRag:
        """Return the client with the rights of a key; one for each, so that it keeps what it has
        read of collections."""
        if key is None:
            return self.rag
        if key not in self._clients:
            self._clients[key] = self.rag.with_settings(dict(key.settings))
        return self._clients[key]

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            stack.enter_context(traced())
            self.rag = await stack.enter_async_context(self._open_rag())
            cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
            # Who quotes needs a processor, who asks a model waits for it.
            usual = 2 * cores if self.rag.settings.llm == "extractive" else 32
            self.gate = Gate(self.options.answers_at_once or usual, self.options.most_waiting)
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
