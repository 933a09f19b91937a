"""The HTTP service in this process, over the ASGI protocol: no socket."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, TypeVar

import httpx2
from fakes import HashEmbedder
from fastapi import FastAPI
from patience import BOUND

from rag_pg import AsyncRag, Rag
from rag_pg.server.http import ServiceOptions, make_app
from rag_pg.threads import start_thread

T = TypeVar("T")
BASE = "http://127.0.0.1:8000"


def app_over(rag: Rag, **options: Any) -> FastAPI:
    """Make a service over the database of a client, with its settings."""
    app = make_app(
        ServiceOptions(**options),
        lambda: AsyncRag(
            rag.dsn, settings=rag.settings, embedders={"hash": lambda name: HashEmbedder()}
        ),
    )
    app.openapi_schema = described()
    return app


@cache
def described() -> dict[str, Any]:
    """The OpenAPI of any service; its first request makes it, which takes longer than the rest."""
    return make_app(ServiceOptions()).openapi()


def with_service(
    app: FastAPI, use: Callable[[httpx2.AsyncClient], Awaitable[T]], **headers: str
) -> T:
    """Start a service, let a client use it, stop it."""

    async def used() -> T:
        async with (
            app.router.lifespan_context(app),
            httpx2.AsyncClient(
                transport=httpx2.ASGITransport(app=app, raise_app_exceptions=False),
                base_url=BASE,
                headers=headers,
                timeout=BOUND,
            ) as client,
        ):
            return await use(client)

    return asyncio.run(used())


def request(
    app: FastAPI, method: str, path: str, *, headers: dict[str, str] | None = None, **more: Any
) -> httpx2.Response:
    """Ask a service that is started for it."""
    return with_service(app, lambda client: client.request(method, path, headers=headers, **more))


@dataclass
class Running:
    """A service in a process of its own. log: what it wrote on stderr, once it is stopped."""

    url: str
    process: subprocess.Popen[str]
    log: list[str] = field(default_factory=list)


@contextmanager
def running(rag: Rag, *options: str, **environment: str) -> Iterator[Running]:
    """Run `rag-pg serve` on a free port until the block ends."""
    plain = {k: v for k, v in os.environ.items() if not k.startswith("RAG_PG_")}
    plain |= {"RAG_PG_DSN": rag.dsn or "", "RAG_PG_HOME": str(rag.settings.home)}
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "rag_pg", "serve", "127.0.0.1:0", *options],
        env=plain | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None and process.stdout is not None
    lines = list[str]()
    reading = None
    try:
        line = process.stderr.readline()
        found = re.search(r"serving at (http://\S+:\d+)/", line)
        assert found, line + process.stderr.read()
        service = Running(found[1], process)
        # A pipe that nobody reads is full after 64 kB, and who writes to it waits.
        reading = start_thread(partial(lines.extend, process.stderr), "log of the service")
        yield service
    finally:
        process.terminate()
        process.wait(BOUND)
        out = process.stdout.read()
        if reading is not None:
            reading.join()
            process.stderr.close()
        process.stdout.close()
    service.log += [line.rstrip("\n") for line in lines]
    errors = "".join(lines)
    assert out == "" and "Traceback" not in errors and process.returncode in (0, -15), errors
