"""Operation and quality: jobs, workers, cost, health; runs of evaluation sets, calibration."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import PlainTextResponse, Response

from rag_pg.errors import InvalidInput, RagError
from rag_pg.evaluation.types import (
    EvalImport,
    EvalMetric,
    EvalRun,
    EvalSet,
    QueryComparison,
    RunComparison,
)
from rag_pg.metrics import CONTENT_TYPE
from rag_pg.server.http.problem import PROBLEMS, Refused
from rag_pg.server.http.service import Asked, answered, needs
from rag_pg.server.http.shapes import Count, Health, QueriesBody, RetryBody
from rag_pg.types import (
    Budget,
    Calibration,
    Finding,
    Gate,
    GateCheck,
    JobCounts,
    LoggedAnswer,
    StatusLine,
    UsageLine,
    WorkerInfo,
)
from rag_pg.version import __version__

routes = APIRouter(tags=["operation"], responses=PROBLEMS, dependencies=[needs("operate")])
quality = APIRouter(tags=["quality"], responses=PROBLEMS, dependencies=[needs("operate")])
Day = Annotated[str | None, Query(json_schema_extra={"format": "date"})]
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


@routes.get("/status", response_model=list[StatusLine])
async def status(call: Asked, topic: Annotated[list[str] | None, Query()] = None) -> Response:
    """The installation on one screen: release, collection, queue, worker, finding."""
    return answered(await call.rag.admin.status(topic))


@routes.get("/doctor", response_model=list[Finding])
async def doctor(call: Asked) -> Response:
    """Each check of the installation's health, and what mends it."""
    return answered(await call.rag.admin.doctor())


@routes.get("/metrics", response_class=PlainTextResponse)
async def metrics(call: Asked) -> Response:
    """Figures for Prometheus: of the database, and of what this service has timed."""
    text = call.service.figures.render(await call.rag.admin.metrics())
    return Response(text, media_type=CONTENT_TYPE)


@routes.get("/jobs", response_model=list[dict[str, Any]])
async def list_jobs(
    call: Asked, collection: str | None = None, state: str | None = None, limit: int = 50
) -> Response:
    """Jobs that are not done: waiting, running or dead."""
    return answered(await call.rag.jobs.list(collection, state=state, limit=limit))


@routes.get("/jobs/counts", response_model=list[JobCounts])
async def job_counts(call: Asked, collection: str | None = None) -> Response:
    """How many jobs wait, run and failed, by collection, with lag and time left."""
    return answered(await call.rag.jobs.counts(collection))


@routes.get("/jobs/{job_id:int}", response_model=dict[str, Any])
async def explain_job(call: Asked, job_id: int) -> Response:
    """A job's state, why it is in it, and its history."""
    return answered(await call.rag.jobs.explain(job_id))


@routes.post("/jobs/retry", response_model=Count)
async def retry_jobs(call: Asked, body: RetryBody) -> Response:
    """Queue dead jobs again; count is how many there were."""
    options = body.options()
    return answered(Count(count=await call.rag.jobs.retry(body.collection, **options)))


@routes.get("/workers", response_model=list[WorkerInfo])
async def workers(call: Asked) -> Response:
    """The workers that reported within the last minute."""
    return answered(await call.rag.admin.workers())


@routes.get("/budgets", response_model=list[Budget])
async def budgets(call: Asked) -> Response:
    """Every provider's budget, what is used of it, and whether it may be asked."""
    return answered(await call.rag.admin.budgets())


@routes.get("/usage", response_model=list[UsageLine])
async def usage(
    call: Asked,
    since: Day = None,
    until: Day = None,
    by: Annotated[Sequence[str], Query()] = ("day",),
) -> Response:
    """What models were asked, and what it cost: by day, role, collection, strategy, kind, model."""
    return answered(await call.rag.admin.usage(_day(since), _day(until), by))


@routes.get("/answers", response_model=list[LoggedAnswer])
async def list_answers(
    call: Asked, collection: str, only_open: bool = False, limit: int = 100
) -> Response:
    """Logged answers, the latest first."""
    docs = await call.collection(collection)
    return answered(await docs.answers.list(only_open=only_open, limit=limit))


@quality.get("/eval/sets", response_model=list[EvalSet])
async def eval_sets(call: Asked) -> Response:
    """Every set of questions, and how large it is."""
    return answered(await call.rag.evaluation.sets.list())


@quality.post("/eval/queries", response_model=EvalImport)
async def put_queries(call: Asked, body: QueriesBody) -> Response:
    """Store questions in a set, as one that somebody's thumb down came from."""
    source = body.source or "feedback"
    return answered(await call.rag.evaluation.sets.put(body.set_name, body.queries, source=source))


@quality.get("/eval/runs", response_model=list[EvalRun])
async def eval_runs(call: Asked, set_name: str | None = None, limit: int = 100) -> Response:
    """The latest runs, of one set or of all."""
    return answered(await call.rag.evaluation.runs.list(set_name, limit=limit))


@quality.get("/eval/runs/{run_id:int}", response_model=EvalRun)
async def eval_run(call: Asked, run_id: int) -> Response:
    """One run."""
    return answered(await call.rag.evaluation.runs.get(run_id))


@quality.get("/eval/runs/{run_id:int}/metrics", response_model=list[EvalMetric])
async def eval_metrics(call: Asked, run_id: int, k: int = 10) -> Response:
    """The metrics of a run, for all questions and by category."""
    return answered(await call.rag.evaluation.runs.metrics(run_id, k=k))


@quality.get("/eval/runs/{run_id:int}/results", response_model=list[dict[str, Any]])
async def eval_results(call: Asked, run_id: int, k: int = 10) -> Response:
    """What each question got."""
    return answered(await call.rag.evaluation.runs.results(run_id, k=k))


@quality.get("/eval/comparison", response_model=list[RunComparison])
async def compare_runs(
    call: Asked,
    run_a: int,
    run_b: int,
    metric: Annotated[Sequence[str], Query()] = ("ndcg", "recall", "mrr"),
    k: int = 10,
) -> Response:
    """Two runs of one set: differences, intervals, p values, wins."""
    runs = call.rag.evaluation.runs
    return answered(await call.until_gone(runs.compare(run_a, run_b, metrics=metric, k=k)))


@quality.get("/eval/comparison/queries", response_model=list[QueryComparison])
async def compare_queries(
    call: Asked, run_a: int, run_b: int, metric: str = "ndcg", k: int = 10
) -> Response:
    """A metric of two runs question by question, what lost most first."""
    runs = call.rag.evaluation.runs
    return answered(await runs.compare_queries(run_a, run_b, metric=metric, k=k))


@quality.get("/eval/gates", response_model=list[Gate])
async def gates(call: Asked, collection: str) -> Response:
    """What a collection demands of its changes."""
    return answered(await (await call.collection(collection)).evaluation.gates.list())


@quality.get("/eval/gates/checks", response_model=list[GateCheck])
async def gate_checks(call: Asked, collection: str) -> Response:
    """What the gates of a collection decided, the latest first."""
    return answered(await (await call.collection(collection)).evaluation.gates.checks())


@quality.get("/eval/calibration", response_model=Calibration | None)
async def calibration(call: Asked, collection: str) -> Response:
    """When answers of a collection are right, and how often; null where nobody measured it."""
    return answered(await (await call.collection(collection)).evaluation.calibration())


def _day(text: str | None) -> date | None:
    """Raises: InvalidInput."""
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError as exc:
        raise InvalidInput(f"{text!r:.40} is no day; write it as 2026-01-31") from exc
