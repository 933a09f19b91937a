"""Routes that give what one call of the client gives: its parameters, its result, its words."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from functools import partial, reduce
from operator import attrgetter
from types import GenericAlias
from typing import Annotated, Any, cast, get_args, get_origin, get_type_hints

from fastapi import APIRouter, Path, Query
from fastapi import Body as InBody
from pydantic import BaseModel, BeforeValidator, create_model
from starlette.responses import Response

from rag_pg.client import Collection, Rag
from rag_pg.evaluation import client as annexe
from rag_pg.server.http.problem import PROBLEMS
from rag_pg.server.http.request import ONCE, Asked, answered, needs, parsed
from rag_pg.server.http.shapes import Body, Count, options_of

routes = APIRouter(responses=PROBLEMS, dependencies=[ONCE])
SUMMARY = re.compile(r"^Return |\s*Raises.*", re.DOTALL)


# By tag and scope. The call as users write it, and after a minus each parameter that a request may
# not give. GET and DELETE take the parameters in the address, POST as an object.
CALLS: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("search", "read"): {
        "POST /why_not": "docs.chunks.why_not",
        "GET /around": "docs.chunks.around",
        "GET /facets": "docs.metadata.facets",
        "GET /fields": "docs.metadata.describe -sample_size",
    },
    ("search", "ask"): {"POST /feedback": "docs.answers.feedback"},
    ("documents", "read"): {
        "GET /documents/chunks": "docs.chunks.list",
        "GET /documents/versions": "docs.versions.list",
        "GET /documents/difference": "docs.versions.diff",
    },
    ("documents", "write"): {"DELETE /documents": "docs.delete -filter -everything"},
    ("operation", "operate"): {
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
    },
    ("quality", "operate"): {
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
    },
}


def _add(route: str, call: str, **options: Any) -> None:
    (method, path), (call, *without) = route.split(), call.split(" -")
    root, _, name = call.partition(".")
    start: Any = {"rag": Rag, "docs": Collection}[root]
    target = reduce(_member, name.split("."), start)
    kinds, in_path = get_type_hints(target), re.findall(r"\{(\w+)", path)
    result = kinds.pop("return")
    fields: dict[str, Any] = {"collection": (str, ...)} if root == "docs" else {}
    several = ""
    for one in [*inspect.signature(target).parameters.values()][1:]:
        if one.kind is one.VAR_POSITIONAL:  # a request repeats the parameter
            several = one.name.removesuffix("s")
            fields[several] = (GenericAlias(list, kinds[one.name]), ...)
        elif one.kind is one.VAR_KEYWORD:
            fields |= options_of(*get_args(kinds[one.name]))
        elif one.name not in (*without, *in_path):
            default = ... if one.default is one.empty else one.default
            fields[one.name] = (_read(kinds[one.name]), default)
    in_address = method != "POST"
    objects = [one for one in fields if in_address and Mapping in _origins(kinds.get(one))]
    fields |= dict.fromkeys(objects, (str | None, None))
    base, source = (BaseModel, Query()) if in_address else (Body, InBody())
    model = create_model(re.sub(r"\W|_", "", name.title()), __base__=base, **fields)

    async def answer(asked: Asked, given: Any, **more: Any) -> Response:
        values = more | {one: getattr(given, one) for one in given.model_fields_set}
        values |= {one: parsed(one, values[one]) for one in objects if one in values}
        owner: Any = (
            await asked.rag.get_collection(values.pop("collection"))
            if root == "docs"
            else asked.rag
        )
        positional = values.pop(several) if several else []
        found = await asked.until_gone(attrgetter(name)(owner)(*positional, **values))
        return answered(Count(count=found) if result is int else found)

    taken = {"asked": Asked, "given": Annotated[model, source]}
    taken |= {one: Annotated[kinds[one], Path()] for one in in_path}
    parameter = partial(inspect.Parameter, kind=inspect.Parameter.KEYWORD_ONLY)
    parameters = [parameter(one, annotation=kind) for one, kind in taken.items()]
    cast(Any, answer).__signature__ = inspect.Signature(parameters)
    told = SUMMARY.sub("", (inspect.getdoc(target) or "").partition("\n\n")[0])
    routes.add_api_route(
        path,
        answer,
        methods=[method],
        name=name.replace(".", "_"),
        description=told[0].upper() + told[1:],
        response_model=Count if result is int else result,
        **options,
    )


def _read(kind: Any) -> Any:
    """The kind of a parameter as it is read: pydantic takes numbers for moments, too."""
    if get_origin(kind) is Iterable:
        return list[get_args(kind)]  # type: ignore[misc]
    for moment in (date, datetime):
        if moment in get_args(kind):
            return Annotated[kind, BeforeValidator(moment.fromisoformat)]
    return kind


def _member(kind: Any, name: str) -> Any:
    found = getattr(kind, name)
    is_namespace = isinstance(found, property)
    return get_type_hints(found.fget, localns=vars(annexe))["return"] if is_namespace else found


def _origins(kind: Any) -> set[Any]:
    """The kinds of a union, without their parameters."""
    return {get_origin(one) or one for one in (get_args(kind) or (kind,))} | {get_origin(kind)}


for (_tag, _scope), _table in CALLS.items():
    for _route, _call in _table.items():
        _add(_route, _call, tags=[_tag], dependencies=[needs(_scope)])
