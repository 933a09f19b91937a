"""The service's own routes: whether it lives; search and answers; collections and documents.

A document is named by the parameter `uri`: uris hold slashes, dots and URLs, which proxies rewrite
in paths.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, File, Form, UploadFile
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, Response

from rag_pg.errors import InvalidInput, RagError
from rag_pg.load import load_bytes
from rag_pg.metrics import CONTENT_TYPE
from rag_pg.server.http.problem import PROBLEMS, problem_of
from rag_pg.server.http.request import ONCE, Asked, answered, event, last_answer, needs, parsed
from rag_pg.server.http.shapes import (
    AskBody,
    CollectionBody,
    CollectionRow,
    DocumentBody,
    DocumentPage,
    DocumentRow,
    Health,
    SearchBody,
    SearchResult,
    row_of,
)
from rag_pg.types import AddReport, Answer, CollectionInfo, Event, LoadFailure, to_json
from rag_pg.version import __version__

routes = APIRouter(responses=PROBLEMS)
searching = APIRouter(tags=["search"], responses=PROBLEMS, dependencies=[ONCE, needs("read")])
storing = APIRouter(tags=["documents"], responses=PROBLEMS, dependencies=[ONCE])
READS, WRITES = [needs("read")], [needs("write")]
PAGE_LIMIT = 1000
# What a browser shows without running anything of it; all else is downloaded.
SHOWN = frozenset(
    ("application/pdf", "image/png", "image/jpeg", "image/gif", "image/webp", "text/plain")
)
FILE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The file",
        "content": {"*/*": {"schema": {"type": "string", "format": "binary"}}},
    }
}
STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The answer; with stream, events: search, step, tool_call, tool_result,"
        " token, citation, answer, error",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


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
        raise HTTPException(503, "the database cannot be asked now") from exc
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


@searching.post("/search", response_model=SearchResult)
async def search(call: Asked, body: SearchBody) -> Response:
    """The passages that best answer a query, best first."""
    hits = await call.search(body.collection, body.query, **call.options(body, "query"))
    told = {name: getattr(hits, name, None) for name in SearchResult.model_fields}
    return answered(told | {"hits": [*hits], "skipped": sorted(hits.skipped)})


@searching.post("/ask", response_model=Answer, responses=STREAM, dependencies=[needs("ask")])
async def ask(call: Asked, body: AskBody) -> Response:
    """An answer from the documents, with citations, or that they do not answer."""
    docs = await call.rag.get_collection(body.collection)
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


@storing.get("/collections", response_model=list[CollectionRow], dependencies=READS)
async def list_collections(call: Asked) -> Response:
    """Every collection's settings and counts, by name."""
    stats = {one.collection: one for one in await call.rag.admin.stats()}
    found = await call.rag.collections()
    return answered([CollectionRow(info=one, stats=stats.get(one.name)) for one in found])


@storing.post(
    "/collections",
    response_model=CollectionInfo,
    status_code=201,
    dependencies=[needs("operate")],
)
async def create_collection(call: Asked, body: CollectionBody) -> Response:
    """Make a collection; one that exists with these settings stays as it is."""
    made = await call.rag.collection(body.name, **body.options("name"))
    return answered(made.info, 201)


@storing.get("/documents", response_model=DocumentPage | DocumentRow, dependencies=READS)
async def documents(
    call: Asked,
    collection: str,
    uri: str | None = None,
    limit: int = 100,
    after: str = "",
    uri_prefix: str | None = None,
    filter: str | None = None,
    content: bool = False,
) -> Response:
    """With uri, that document with its content; else a page of documents by uri; filter is JSON."""
    docs = await call.rag.get_collection(collection)
    if uri is not None:
        return answered(row_of(await docs.get(uri)))
    if not 1 <= limit <= PAGE_LIMIT:
        raise InvalidInput(f"limit {limit} is out of range; use 1 to {PAGE_LIMIT}")
    wanted = parsed("filter", filter)
    found = docs.list(
        filter=wanted, limit=limit + 1, uri_prefix=uri_prefix, content=content, after=after
    )
    rows = [row_of(one) async for one in found]
    following = rows[limit - 1]["uri"] if len(rows) > limit else None
    return answered({"documents": rows[:limit], "next": following})


@storing.put("/documents", response_model=AddReport, dependencies=WRITES)
async def put_document(
    call: Asked, collection: str, uri: str, body: DocumentBody, wait: bool = False
) -> Response:
    """Store a document; wait: until it is searchable, else workers make it so."""
    docs = await call.rag.get_collection(collection)
    report = await docs.add({"uri": uri, **body.options()}, wait=wait)
    if report.failures:
        raise InvalidInput(report.failures[0].error)
    return answered(report)


@storing.get("/documents/original", response_class=Response, responses=FILE, dependencies=READS)
async def original(call: Asked, collection: str, uri: str) -> Response:
    """The file that a document was made from, where it is kept."""
    found = await (await call.rag.get_collection(collection)).original(uri)
    shown = found.media_type in SHOWN
    media_type = found.media_type if shown else "application/octet-stream"
    name = quote(found.file_name.rpartition("/")[2])
    headers = {
        "Content-Disposition": f"{'inline' if shown else 'attachment'}; filename*=UTF-8''{name}",
        "Content-Security-Policy": "frame-ancestors 'self'",
        "X-Frame-Options": "SAMEORIGIN",
    }
    return Response(found.data, headers=headers, media_type=media_type)


@storing.post("/uploads", response_model=AddReport, dependencies=WRITES)
async def upload(
    call: Asked,
    collection: Annotated[str, Form(min_length=1)],
    files: Annotated[list[UploadFile], File(min_length=1)],
    uri_prefix: Annotated[str, Form()] = "",
    metadata: Annotated[str, Form()] = "{}",
    keep_original: Annotated[Literal["", "true", "false"], Form()] = "",
    wait: Annotated[bool, Form()] = False,
) -> Response:
    """Store files: the suffix of a name tells its type, uri_prefix and the name are its uri."""
    known = {"collection", "files", "uri_prefix", "metadata", "keep_original", "wait"}
    given = [name for name, _ in (await call.request.form()).multi_items() if name != "files"]
    if unknown := sorted({*given} - known):
        raise InvalidInput(f"unknown field {unknown[0]!r:.80}; use {', '.join(sorted(known))}")
    if len({*given}) < len(given):
        raise InvalidInput("a field is given twice; only files may be")
    docs = await call.rag.get_collection(collection)
    fields = parsed("metadata", metadata)
    if not isinstance(fields, dict):
        raise InvalidInput("metadata is no object of JSON")
    failures, loaded = [], []
    for file in files:
        name, data = file.filename or "", await file.read()
        try:
            loaded.append(await call.rag.run(
                load_bytes, name, data, uri_prefix + name,
                max_bytes=call.rag.settings.max_file_bytes,
            ))  # fmt: skip
        except RagError as exc:
            failures.append(LoadFailure(uri=uri_prefix + name, error=str(exc)))
    kept = {"true": True, "false": False}.get(keep_original)
    report = await docs.add(*loaded, wait=wait, metadata=fields, keep_original=kept)
    return answered(replace(report, failures=[*failures, *report.failures]))


routes.routes += [*searching.routes, *storing.routes]
