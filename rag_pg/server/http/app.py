"""The application: own routes, those that other programs speak, MCP, the page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.routing import Route
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from rag_pg.client import AsyncRag
from rag_pg.config import Settings
from rag_pg.server.http import calls, openai, others, routes
from rag_pg.server.http.guard import Guard
from rag_pg.server.http.mcp import PATH
from rag_pg.server.http.problem import PROBLEM_SCHEMA, add_problems
from rag_pg.server.http.service import Service, ServiceOptions
from rag_pg.version import __version__

PAGE = Path(__file__).parents[1] / "page"
PAGE_PATHS = {"/", *(f"/{one.relative_to(PAGE).as_posix()}" for one in PAGE.rglob("*.*"))}
OPEN = PAGE_PATHS | {"/health", "/ready", "/openapi.json"}
FORM_BYTES = 100_000  # of an upload beside its files


def make_app(options: ServiceOptions, open_rag: Callable[[], AsyncRag] | None = None) -> FastAPI:
    """Make the application of a service, which opens its client when it is started.

    Args:
        open_rag: makes another client than that of `options.dsn`.
    Raises: InvalidInput (a wrong setting of the environment).
    """
    service = Service(options=options, open_rag=open_rag or (lambda: AsyncRag(options.dsn)))

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with service.opened():
            yield

    app = Documented(
        title="rag_pg",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,  # its page loads from elsewhere
        redoc_url=None,
    )
    app.state.service = service
    for part in (routes, calls, openai, others):
        app.router.routes += part.routes.routes  # included, each would be made anew
    app.router.routes.append(Route(PATH, service.mcp, methods=["POST"]))
    page = _Page(directory=PAGE, html=True)
    for path in sorted(PAGE_PATHS):  # not a mount at /, which would take other methods from routes
        app.router.routes.append(Route(path, page, methods=["GET"]))
    add_problems(app)
    most = Settings.from_environment().max_file_bytes + FORM_BYTES
    app.add_middleware(Guard, service=service, max_upload=most, open_paths=OPEN)
    return app


class _Page(StaticFiles):
    """The files of the page, each whole: what a range asks for in vain would be no problem+json."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [header for header in scope["headers"] if header[0] != b"range"]
        await super().__call__({**scope, "headers": headers}, receive, send)


class Documented(FastAPI):
    """An application whose OpenAPI has the problems that its routes answer with."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            schemas = super().openapi()["components"]["schemas"]
            schemas["Problem"] = PROBLEM_SCHEMA
            for unused in ("HTTPValidationError", "ValidationError"):
                schemas.pop(unused, None)
        assert self.openapi_schema is not None
        return self.openapi_schema
