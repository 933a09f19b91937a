"""Searching and asking: POST /search, /why_not, /ask; GET /facets, /fields, /around."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from rag_pg.errors import InvalidInput
from rag_pg.server.http.events import event
from rag_pg.server.http.problem import PROBLEMS, problem_of
from rag_pg.server.http.service import Asked, answered, needs
from rag_pg.server.http.shapes import (
    AskBody,
    Count,
    FeedbackBody,
    SearchBody,
    SearchResult,
    WhyNotBody,
)
from rag_pg.types import Answer, Event, Facet, Hits, MetadataField, Passage, SearchCheck, to_json

routes = APIRouter(tags=["search"], responses=PROBLEMS, dependencies=[needs("read")])
STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The answer; with stream, events: search, step, tool_call, tool_result,"
        " token, citation, answer, error",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


def parsed(name: str, text: str | None) -> Any:
    """Return a parameter that is JSON. Raises: InvalidInput."""
    try:
        return None if text is None else json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise InvalidInput(f"{name} is no JSON: {exc}") from exc


@routes.post("/search", response_model=SearchResult)
async def search(call: Asked, body: SearchBody) -> Response:
    """The passages that best answer a query, best first."""
    docs = await call.collection(body.collection)
    hits: Hits = await call.until_gone(docs.search(body.query, **call.options(body, "query")))
    skipped = sorted(hits.skipped)
    result = SearchResult(hits=[*hits], skipped=skipped, **{
        name: getattr(hits, name)
        for name in ("notes", "method", "seconds", "question", "steps", "usage", "cost", "cached")
    })  # fmt: skip
    return answered(result)


@routes.post("/why_not", response_model=list[SearchCheck])
async def why_not(call: Asked, body: WhyNotBody) -> Response:
    """Why a search does not find a chunk, step by step."""
    docs = await call.collection(body.collection)
    options = body.options("query", "chunk_id")
    return answered(await call.until_gone(docs.why_not(body.chunk_id, body.query, **options)))


@routes.get("/around", response_model=list[Passage])
async def around(
    call: Asked,
    collection: str,
    chunk_id: Annotated[list[int], Query()],
    neighbours: int = 1,
    upto: str = "window",
) -> Response:
    """The passages around chunks: what stands before and after them, in the document's text."""
    docs = await call.collection(collection)
    return answered(await docs.around(chunk_id, neighbours=neighbours, upto=upto))


@routes.get("/facets", response_model=list[Facet])
async def facets(
    call: Asked, collection: str, field: str, filter: str | None = None, limit: int = 20
) -> Response:
    """The values of a metadata field and how many documents hold each; filter is JSON."""
    docs = await call.collection(collection)
    wanted = parsed("filter", filter)
    return answered(await docs.metadata.facets(field, filter=wanted, limit=limit))


@routes.get("/fields", response_model=list[MetadataField])
async def fields(
    call: Asked, collection: str, filter: str | None = None, examples: int = 5
) -> Response:
    """The metadata fields of the documents: types, ranges, examples; filter is JSON."""
    docs = await call.collection(collection)
    wanted = parsed("filter", filter)
    return answered(await docs.metadata.describe(filter=wanted, examples=examples))


@routes.post("/ask", response_model=Answer, responses=STREAM, dependencies=[needs("ask")])
async def ask(call: Asked, body: AskBody) -> Response:
    """An answer from the documents, with citations, or that they do not answer."""
    docs = await call.collection(body.collection)
    options = call.options(body, "question", "stream")
    if not body.stream:
        return answered(await call.in_turn(lambda: docs.ask(body.question, **options)))
    return await call.stream(_told(call.events(docs, body.question, options)), _failed)


async def _told(events: AsyncGenerator[Event, None]) -> AsyncGenerator[bytes, None]:
    parts = ("text", "step", "citation", "tool_result", "answer")
    async with aclosing(events):
        async for one in events:
            data = {part: to_json(value) for part in parts if (value := getattr(one, part))}
            yield event(data, one.kind)


def _failed(exc: Exception) -> bytes:
    return event(problem_of(exc), "error")


@routes.post("/feedback", response_model=Count, dependencies=[needs("ask")])
async def feedback(call: Asked, body: FeedbackBody) -> Response:
    """Note what somebody says of a logged answer; count is the number of the note."""
    docs = await call.collection(body.collection)
    noted = await docs.answers.feedback(
        body.answer_id, body.rating, comment=body.comment or "", citation=body.citation
    )
    return answered(Count(count=noted))
