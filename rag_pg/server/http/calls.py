"""Routes that give what one call of the client gives: its parameters, its result, its words."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from functools import partial, reduce
from operator import attrgetter
from typing import Annotated, Any, cast, get_args, get_origin, get_type_hints

from fastapi import APIRouter, Path, Query
from fastapi import Body as InBody
from pydantic import BaseModel, BeforeValidator, create_model
from starlette.responses import Response

from rag_pg.client import Collection, Rag
from rag_pg.evaluation import client as annexe
from rag_pg.server.http.service import Asked, answered, parsed
from rag_pg.server.http.shapes import Body, Count, options_of

SUMMARY = re.compile(r"^Return |\s*Raises.*", re.DOTALL)


def add_calls(routes: APIRouter, calls: Mapping[str, str], **options: Any) -> None:
    """Add a route for each call. GET takes the parameters in the address, POST as an object.

    Args:
        calls: by method and path the call as users write it, `rag.jobs.list` or `docs.chunks`, and
            after a minus each parameter that a request may not give.
    """
    for route, call in calls.items():
        _add(partial(routes.add_api_route, **options), *route.split(), *call.split(" -"))


def _add(add_route: Callable[..., None], method: str, path: str, call: str, *without: str) -> None:
    root, _, name = call.partition(".")
    start: Any = {"rag": Rag, "docs": Collection}[root]
    target = reduce(_member, name.split("."), start)
    kinds, in_path = get_type_hints(target), re.findall(r"\{(\w+)", path)
    result = kinds.pop("return")
    fields: dict[str, Any] = {"collection": (str, ...)} if root == "docs" else {}
    for one in [*inspect.signature(target).parameters.values()][1:]:
        if one.kind is one.VAR_KEYWORD:
            fields |= options_of(*get_args(kinds[one.name]))
        elif one.name not in (*without, *in_path):
            default = ... if one.default is one.empty else one.default
            fields[one.name] = (_read(kinds[one.name]), default)
    objects = [one for one in fields if method == "GET" and Mapping in _origins(kinds.get(one))]
    fields |= dict.fromkeys(objects, (str | None, None))
    base, source = (BaseModel, Query()) if method == "GET" else (Body, InBody())
    model = create_model(re.sub(r"\W|_", "", name.title()), __base__=base, **fields)

    async def answer(asked: Asked, given: Any, **more: Any) -> Response:
        values = more | {one: getattr(given, one) for one in given.model_fields_set}
        values |= {one: parsed(one, values[one]) for one in objects if one in values}
        owner: Any = (
            await asked.collection(values.pop("collection")) if root == "docs" else asked.rag
        )
        found = await asked.until_gone(attrgetter(name)(owner)(**values))
        return answered(Count(count=found) if result is int else found)

    taken = {"asked": Asked, "given": Annotated[model, source]}
    taken |= {one: Annotated[kinds[one], Path()] for one in in_path}
    parameter = partial(inspect.Parameter, kind=inspect.Parameter.KEYWORD_ONLY)
    parameters = [parameter(one, annotation=kind) for one, kind in taken.items()]
    cast(Any, answer).__signature__ = inspect.Signature(parameters)
    told = SUMMARY.sub("", (inspect.getdoc(target) or "").partition("\n\n")[0])
    add_route(
        path,
        answer,
        methods=[method],
        name=name.replace(".", "_"),
        description=told[0].upper() + told[1:],
        response_model=Count if result is int else result,
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
