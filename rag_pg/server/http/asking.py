"""Searching and asking: POST /search and /ask."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from rag_pg.server.http.events import event
from rag_pg.server.http.problem import PROBLEMS, problem_of
from rag_pg.server.http.service import Asked, answered, last_answer, needs
from rag_pg.server.http.shapes import AskBody, SearchBody, SearchResult
from rag_pg.types import Answer, Event, to_json

routes = APIRouter(tags=["search"], responses=PROBLEMS, dependencies=[needs("read")])
STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The answer; with stream, events: search, step, tool_call, tool_result,"
        " token, citation, answer, error",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


@routes.post("/search", response_model=SearchResult)
async def search(call: Asked, body: SearchBody) -> Response:
    """The passages that best answer a query, best first."""
    hits = await call.search(body.collection, body.query, **call.options(body, "query"))
    told = {name: getattr(hits, name, None) for name in SearchResult.model_fields}
    return answered(told | {"hits": [*hits], "skipped": sorted(hits.skipped)})


@routes.post("/ask", response_model=Answer, responses=STREAM, dependencies=[needs("ask")])
async def ask(call: Asked, body: AskBody) -> Response:
    """An answer from the documents, with citations, or that they do not answer."""
    docs = await call.collection(body.collection)
    options = call.options(body, "question", "stream")
    events = call.events(docs, body.question, options)
    if body.stream:
        return await call.stream(_told(events), _failed)
    return answered(await call.until_gone(last_answer(events)))


async def _told(events: AsyncGenerator[Event, None]) -> AsyncGenerator[bytes, None]:
    parts = ("text", "step", "citation", "tool_result", "answer")
    async with aclosing(events):
        async for one in events:
            data = {part: to_json(value) for part in parts if (value := getattr(one, part))}
            yield event(data, one.kind)


def _failed(exc: Exception) -> bytes:
    return event(problem_of(exc), "error")
