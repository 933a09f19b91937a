"""What goes wrong -> a problem of RFC 9457, with the words that the client has.

Beside them stands the member `error` of OpenAI's protocol, so that its clients show them too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from rag_pg import errors
from rag_pg.errors import RagError
from rag_pg.tools import INTEGER, TEXT, describe_error, listed, row

MEDIA_TYPE = "application/problem+json"
SHOWN = 5  # faults of a body
CLIENT_GONE = 499  # as proxies log it; nobody reads the response
# That of the first kind that an error is of.
STATUS: dict[type[RagError], int] = {
    errors.InvalidInput: 400,
    errors.PermissionDenied: 403,
    errors.NotFound: 404,
    errors.AlreadyExists: 409,
    errors.CollectionMismatch: 409,
    errors.GateFailed: 409,
    errors.NotReady: 409,
    errors.LeaseLost: 409,
    errors.DatabaseUnavailable: 503,
    errors.SchemaMismatch: 503,
    errors.ModelUnavailable: 503,
    errors.RateLimited: 503,
    errors.StatementCanceled: 504,
    errors.NoAnswer: 504,
    errors.ProviderTimeout: 504,
    errors.LocationUnavailable: 502,
    errors.ProviderError: 502,
    RagError: 500,
}
REMEDIES = {  # of what the framework tells without one
    "Not Found": "Not Found: there is no such path; /openapi.json lists them",
    "Method Not Allowed": "Method Not Allowed: the header Allow names the methods of this path",
    "There was an error parsing the body": "the body cannot be read; send JSON in UTF-8",
    "Value error, Expected UploadFile, received: <class 'str'>": "send a file: -F files=@NAME",
}
NO_OBJECT = "the body is no JSON object; send one, with the header content-type: application/json"
HEADERS = {
    401: {"WWW-Authenticate": "Bearer"},
    408: {"Connection": "close"},
    413: {"Connection": "close"},  # the rest of the body is not read
    503: {"Retry-After": "5"},  # where nobody knows better
}
PROBLEM_SCHEMA = row(
    type=TEXT,
    title=TEXT,
    status=INTEGER,
    detail=TEXT,
    error=row(message=TEXT, type=TEXT, code=INTEGER, param={"type": ["string", "null"]}),
)
PROBLEM_SCHEMA["properties"]["errors"] = listed(row(pointer=TEXT, detail=TEXT))  # of a body
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": description,
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    for status, description in (
        ("4XX", "What was asked is wrong, or not allowed"),
        ("5XX", "It cannot be answered now"),
        (422, "The body or a parameter is not as described"),
    )
}


def problem_of(exc: Exception) -> dict[str, Any]:
    """Return an error as the object that a response, or the last event of a stream, holds."""
    if isinstance(exc, HTTPException):
        status = exc.status_code
        title = "Client Gone" if status == CLIENT_GONE else HTTPStatus(status).phrase
        return _problem(status, title, REMEDIES.get(exc.detail, exc.detail))
    if isinstance(exc, RequestValidationError):
        faults = [_fault(one) for one in exc.errors()[:SHOWN]]
        told = "; ".join(f"{one['pointer']}: {one['detail']}" for one in faults)
        return {**_problem(422, "Invalid request", told), "errors": faults}
    if isinstance(exc, RagError):
        status = next(status for kind, status in STATUS.items() if isinstance(exc, kind))
        return _problem(status, type(exc).__name__, describe_error(exc))
    return _problem(500, "Internal Server Error", "this failed; the log of the service says why")


def _fault(one: Mapping[str, Any]) -> dict[str, str]:
    """A fault of a body or a parameter, as the framework tells it."""
    _, *where = one["loc"]
    if one.get("type") == "json_invalid":  # where is a position
        told = f"the body is no JSON: {one['ctx']['error']} at character {where[0]}"
        return {"pointer": "#", "detail": told}
    told = REMEDIES.get(one["msg"], one["msg"].removeprefix("Value error, "))
    is_body = one["loc"] == ("body",)
    return {"pointer": "/".join(["#", *map(str, where)]), "detail": NO_OBJECT if is_body else told}


def response_of(exc: Exception) -> Response:
    """Return an error as a response."""
    found = problem_of(exc)
    headers = HEADERS.get(found["status"], {}) | dict(getattr(exc, "headers", None) or {})
    if (again := getattr(exc, "retry_after", None)) is not None:
        headers["Retry-After"] = str(math.ceil(again))
    return Response(json.dumps(found), found["status"], headers, MEDIA_TYPE)


async def _on_error(request: Request, exc: Exception) -> Response:
    response = response_of(exc)
    if response.status_code == 405:  # several routes may have one path
        paths = request.app.openapi()["paths"]
        path = getattr(request.scope.get("route"), "path_format", request.url.path)
        known = paths.get(request.url.path) or paths.get(path) or {}
        if known:
            methods = {method.upper() for method in known} | ({"HEAD"} if "get" in known else set())
            response.headers["Allow"] = ", ".join(sorted(methods))
    return response


def add_problems(app: FastAPI) -> None:
    """Let everything that goes wrong in an application be told as a problem."""
    for kind in (RagError, HTTPException, RequestValidationError, Exception):
        app.add_exception_handler(kind, _on_error)


def _problem(status: int, title: str, detail: str) -> dict[str, Any]:
    kind = title.lower().replace(" ", "_")
    return {
        "type": "about:blank",
        "title": title,
        "status": status,
        "detail": detail,
        "error": {"message": detail, "type": kind, "code": status, "param": None},
    }
