"""Operation and quality: jobs, workers, cost, health; runs of evaluation sets, calibration."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import PlainTextResponse, Response

from rag_pg.errors import RagError
from rag_pg.metrics import CONTENT_TYPE
from rag_pg.server.http.calls import add_calls
from rag_pg.server.http.problem import PROBLEMS, Refused
from rag_pg.server.http.service import Asked, answered, needs
from rag_pg.server.http.shapes import Health
from rag_pg.version import __version__

routes = APIRouter(tags=["operation"], responses=PROBLEMS, dependencies=[needs("operate")])
quality = APIRouter(tags=["quality"], responses=PROBLEMS, dependencies=[needs("operate")])
probes = APIRouter(tags=["health"], responses=PROBLEMS)


@probes.get("/health", response_model=Health)
async def health() -> Response:
    """That the service lives; the database is not asked."""
    return answered(Health(ok=True, version=__version__))


@probes.get("/ready", response_model=Health)
async def ready(call: Asked) -> Response:
    """That the database answers and serves this release."""
    try:
        await call.service.rag.admin.status(["release"])
    except RagError as exc:
        raise Refused(503, "the database cannot be asked now") from exc
    return answered(Health(ok=True, version=__version__))


@routes.get("/metrics", response_class=PlainTextResponse)
async def metrics(call: Asked) -> Response:
    """Figures for Prometheus: of the database, and of what this service has timed."""
    text = call.service.figures.render(await call.rag.admin.metrics())
    return Response(text, media_type=CONTENT_TYPE)


add_calls(routes, {
    "GET /status": "rag.admin.status",
    "GET /doctor": "rag.admin.doctor",
    "GET /jobs": "rag.jobs.list",
    "GET /jobs/counts": "rag.jobs.counts",
    "GET /jobs/{job_id:int}": "rag.jobs.explain",
    "POST /jobs/retry": "rag.jobs.retry",
    "GET /workers": "rag.admin.workers",
    "GET /budgets": "rag.admin.budgets",
    "GET /usage": "rag.admin.usage",
    "GET /answers": "docs.answers.list",
})  # fmt: skip
add_calls(quality, {
    "GET /eval/sets": "rag.evaluation.sets.list",
    "POST /eval/queries": "rag.evaluation.sets.put",
    "GET /eval/runs": "rag.evaluation.runs.list",
    "GET /eval/runs/{run_id:int}": "rag.evaluation.runs.get",
    "GET /eval/runs/{run_id:int}/metrics": "rag.evaluation.runs.metrics",
    "GET /eval/runs/{run_id:int}/results": "rag.evaluation.runs.results",
    "GET /eval/comparison": "rag.evaluation.runs.compare -permutations -seed -correction",
    "GET /eval/comparison/queries": "rag.evaluation.runs.compare_queries",
    "GET /eval/gates": "docs.evaluation.gates.list",
    "GET /eval/gates/checks": "docs.evaluation.gates.checks",
    "GET /eval/calibration": "docs.evaluation.calibration",
})  # fmt: skip
