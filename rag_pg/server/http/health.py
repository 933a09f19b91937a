"""Whether the service lives and can answer; its figures."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import PlainTextResponse, Response

from rag_pg.errors import RagError
from rag_pg.metrics import CONTENT_TYPE
from rag_pg.server.http.problem import PROBLEMS, Refused
from rag_pg.server.http.service import Asked, answered, needs
from rag_pg.server.http.shapes import Health
from rag_pg.version import __version__

routes = APIRouter(responses=PROBLEMS)


@routes.head("/health", include_in_schema=False)
@routes.get("/health", response_model=Health, tags=["health"])
async def health() -> Response:
    """That the service lives; the database is not asked."""
    return answered(Health(ok=True, version=__version__))


@routes.head("/ready", include_in_schema=False)
@routes.get("/ready", response_model=Health, tags=["health"])
async def ready(call: Asked) -> Response:
    """That the database answers and serves this release."""
    try:
        await call.service.rag.admin.status(["release"])
    except RagError as exc:
        raise Refused(503, "the database cannot be asked now") from exc
    return await health()


@routes.get(
    "/metrics",
    response_class=PlainTextResponse,
    tags=["operation"],
    dependencies=[needs("operate")],
)
async def metrics(call: Asked) -> Response:
    """Figures for Prometheus: of the database, and of what this service has timed."""
    text = call.service.figures.render(await call.rag.admin.metrics())
    return Response(text, media_type=CONTENT_TYPE)
