"""OpenAI's protocol: a collection as a model, as a vector store; its embedder. Open WebUI's events.

Keys of a request that are not known are ignored: clients send temperature, tools, user and others.
"""

from __future__ import annotations

import base64
import json
import re
import time
import uuid
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, Literal
from urllib.parse import urlencode

import numpy as np
from fastapi import APIRouter
from pydantic import BaseModel
from starlette.responses import Response

from rag_pg.client import AsyncCollection
from rag_pg.errors import InvalidInput, NotFound
from rag_pg.providers import embed_documents, embed_queries
from rag_pg.search import accounted
from rag_pg.server.http.events import event
from rag_pg.server.http.problem import PROBLEMS, problem_of
from rag_pg.server.http.service import Asked, Call, answered, needs
from rag_pg.types import Answer, Message

routes = APIRouter(prefix="/v1", tags=["openai"], responses=PROBLEMS, dependencies=[needs("read")])
PREFIX = "rag:"
MOST_INPUTS = 2048
TITLE_LENGTH = 60
# What Open WebUI asks the same model for beside the answer, by what it is to give back.
TASK = re.compile(r'\s*### Task:.*\{\s*"(title|tags|follow_ups|queries|text)"', re.DOTALL)
FIRST_TURN = re.compile(r"(?:### Chat History:|<chat_history>)\s*USER:([^\n]*)", re.IGNORECASE)
DONE = b"data: [DONE]\n\n"


class Part(BaseModel):
    type: str
    text: str = ""


class ChatMessage(BaseModel):
    role: str
    content: str | list[Part] | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content if part.type == "text")
        return self.content or ""


class StreamOptions(BaseModel):
    include_usage: bool = False


class ChatBody(BaseModel):
    """model: rag:COLLECTION or rag:COLLECTION:STRATEGY. messages: the last is the question, those
    before it the conversation; those of the system are not passed on."""

    model: str
    messages: list[ChatMessage]
    stream: bool | None = None
    stream_options: StreamOptions | None = None


class EmbeddingsBody(BaseModel):
    """model: that of a collection, or rag:COLLECTION. input_type: query, for a question."""

    model: str
    input: str | list[str]
    encoding_format: Literal["float", "base64"] | None = None
    input_type: str | None = None


class Ranking(BaseModel):
    score_threshold: float | None = None


class StoreSearchBody(BaseModel):
    query: str | list[str]
    max_num_results: int | None = None
    filters: dict[str, Any] | None = None
    ranking_options: Ranking | None = None


@routes.get("/models", response_model=dict[str, Any])
async def list_models(call: Asked) -> Response:
    """Every collection as a model."""
    names = [PREFIX + one.name for one in await call.rag.collections()]
    data = [{"id": n, "object": "model", "created": 0, "owned_by": "rag_pg"} for n in names]
    return answered({"object": "list", "data": data})


@routes.post("/chat/completions", response_model=dict[str, Any], dependencies=[needs("ask")])
async def chat_completions(call: Asked, body: ChatBody) -> Response:
    """An answer in OpenAI's protocol, with its sources as annotations; with stream, in chunks."""
    turns = [one for one in body.messages if one.role in ("user", "assistant")]
    if not turns or turns[-1].role != "user":
        raise InvalidInput("the last message has to be that of the user")
    question = turns[-1].text
    head = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": body.model}
    with_usage = body.stream_options is not None and body.stream_options.include_usage
    opened, options = await _model(call, body.model)
    options["history"] = [{"role": one.role, "content": one.text} for one in turns[:-1]]
    answer = await _task(call, opened, question)
    docs = opened if answer is None else None
    if body.stream:
        pieces = _chunks(call, docs, question, options, answer, head, with_usage)
        return await call.stream(pieces, _failed)
    if docs is not None:
        answer = await call.in_turn(partial(docs.ask, question, **options))
    assert answer is not None
    message = {
        "role": "assistant",
        "content": _whole(call, answer),
        "refusal": None,
        "annotations": _annotations(call, docs, answer),
    }
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    whole = {"object": "chat.completion", "choices": [choice], "usage": _usage(answer)}
    return answered(head | whole)


@routes.post("/embeddings", response_model=dict[str, Any])
async def embeddings(call: Asked, body: EmbeddingsBody) -> Response:
    """Vectors of texts, by the model of a collection."""
    texts = [body.input] if isinstance(body.input, str) else body.input
    if not 1 <= len(texts) <= MOST_INPUTS:
        raise InvalidInput(f"{len(texts)} inputs are out of range; send 1 to {MOST_INPUTS}")
    known = await call.rag.collections()
    names = [one.name for one in known if body.model in (one.model, PREFIX + one.name)]
    if not names:
        raise NotFound(f"no collection has the model {body.model!r:.100}; see /collections")
    embedder = await call.rag.embedder_of(names[0])
    embed = embed_queries if body.input_type == "query" else embed_documents
    vectors = await call.until_gone(call.rag.run(embed, embedder, texts))
    tokens = sum(await call.rag.run(embedder.count_tokens, texts))
    data = []
    for index, vector in enumerate(np.asarray(vectors, "<f4")):
        as_text = body.encoding_format == "base64"
        shown = base64.b64encode(vector.tobytes()).decode() if as_text else vector.tolist()
        data.append({"object": "embedding", "index": index, "embedding": shown})
    await call.spend(tokens)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return answered({"object": "list", "model": body.model, "data": data, "usage": usage})


@routes.post("/vector_stores/{collection}/search", response_model=dict[str, Any])
async def search_vector_store(call: Asked, collection: str, body: StoreSearchBody) -> Response:
    """A search in OpenAI's protocol for vector stores."""
    docs = await call.collection(collection)
    query = body.query if isinstance(body.query, str) else " ".join(body.query)
    limit = 10 if body.max_num_results is None else body.max_num_results
    wanted = None if body.filters is None else _filter(body.filters)
    hits = await call.until_gone(docs.search(query, limit=limit, filter=wanted))
    least = (body.ranking_options or Ranking()).score_threshold or 0.0
    data = [
        {
            "file_id": str(hit.document_id),
            "filename": hit.uri,
            "score": score,
            "attributes": dict(hit.metadata),
            "content": [{"type": "text", "text": hit.content}],
        }
        for hit in hits
        if (score := shown_score(hit.score)) >= least
    ]
    page = {"object": "vector_store.search_results.page", "search_query": [query]}
    return answered({**page, "data": data, "has_more": False, "next_page": None})


def shown_score(score: float) -> float:
    """Return a score as protocols want it: 0 to 1."""
    return max(0.0, min(1.0, score))


async def _task(call: Call, docs: AsyncCollection, question: str) -> Answer | None:
    """Return what answers a task of Open WebUI: the helper model's words where one is set."""
    reply, helper = task_reply(question), call.rag.sync.models.helper_llm()
    if reply is None or helper is None:
        return None if reply is None else Answer(text=reply, found=True)

    def complete() -> Answer:
        with accounted(call.rag.sync.database, docs.name, "task") as account:
            asked = [Message(role="user", content=question)]
            text = account.meter(helper, "helper").complete(asked).text
        return Answer(text=text, found=True, usage=account.usage, cost=account.cost)

    return await call.in_turn(lambda: call.rag.run(complete))


def task_reply(question: str) -> str | None:
    """Return what answers a task of Open WebUI without a search and without a model; None: it is a
    question. A title is the beginning of the conversation."""
    found = TASK.match(question)
    if not found:
        return None
    first = FIRST_TURN.search(question)
    title = " ".join(first[1].split())[:TITLE_LENGTH] if first else ""
    empty: dict[str, Any] = {"title": title or "Chat", "text": ""}
    return json.dumps({found[1]: empty.get(found[1], [])}, ensure_ascii=False)


async def _model(call: Call, model: str) -> tuple[AsyncCollection, dict[str, Any]]:
    """Open the collection of a model, and return its strategy. Raises: NotFound."""
    name = model.removeprefix(PREFIX)
    try:
        return await call.collection(name), {}
    except NotFound:
        short, colon, strategy = name.rpartition(":")
        if not colon:
            raise
        return await call.collection(short), {"strategy": strategy}


async def _chunks(
    call: Call,
    docs: AsyncCollection | None,
    question: str,
    options: dict[str, Any],
    answer: Answer | None,
    head: dict[str, Any],
    with_usage: bool,
) -> AsyncGenerator[bytes, None]:
    def chunk(delta: dict[str, Any] | None, finish: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        choices = [] if delta is None else [choice]
        return event({**head, "object": "chat.completion.chunk", "choices": choices, **more})

    def status(told: str, done: bool) -> bytes:
        data = {"description": told, "done": done}
        return chunk(None, event={"type": "status", "data": data})

    told = ""
    if docs is not None:
        async with aclosing(call.events(docs, question, options)) as events:
            begun = False
            async for one in events:
                if not begun:
                    begun = True
                    yield chunk({"role": "assistant", "content": ""})
                if one.kind == "search":
                    yield status("searching the documents", False)
                elif one.kind == "token":
                    told += one.text
                    yield chunk({"content": one.text})
                answer = one.answer or answer
        assert answer is not None
        yield status(f"answered from {len(answer.sources)} sources", True)
    else:
        yield chunk({"role": "assistant", "content": ""})
    assert answer is not None
    whole = _whole(call, answer)
    # What was sent cannot be taken back: the rest, or the whole again where it was changed.
    rest = whole[len(told) :] if whole.startswith(told) else f"\n\n---\n\n{whole}"
    if rest:
        yield chunk({"content": rest})
    annotations = _annotations(call, docs, answer)
    for citation, noted in zip(answer.sources, annotations, strict=True):
        cited = noted["url_citation"]
        source = {"name": cited["title"], "url": cited["url"]}
        metadata = [{"source": citation.uri, "name": cited["title"]}]
        data = {"source": source, "document": [citation.quote], "metadata": metadata}
        yield chunk(None, event={"type": "source", "data": data})
    yield chunk({"annotations": annotations}, "stop")
    if with_usage:
        yield chunk(None, usage=_usage(answer))
    yield DONE


def _failed(exc: Exception) -> bytes:
    return event({"error": problem_of(exc)["error"]}) + DONE


def _whole(call: Call, answer: Answer) -> str:
    return answer.markdown() if call.service.options.sources else answer.text


def _annotations(
    call: Call, docs: AsyncCollection | None, answer: Answer
) -> Sequence[dict[str, Any]]:
    """Return the sources of an answer, in the order of their numbers. Offsets are of the first
    statement that cites each, in characters of the content."""

    def url(uri: str) -> str:
        if uri.startswith(("http://", "https://")):
            return uri
        named = urlencode({"collection": docs.name if docs else "", "uri": uri})
        return f"{call.request.base_url}documents?{named}"

    return [
        {
            "type": "url_citation",
            "url_citation": {
                "url": url(one.uri),
                "title": one.heading or one.title or one.uri,
                "start_index": one.start or 0,
                "end_index": one.stop or 0,
            },
        }
        for one in answer.sources
    ]


def _usage(answer: Answer) -> dict[str, int]:
    asked, written = answer.usage.prompt_tokens, answer.usage.answer_tokens
    both = {"prompt_tokens": asked, "completion_tokens": written}
    return {**both, "total_tokens": asked + written}


def _filter(given: dict[str, Any], depth: int = 0) -> dict[str, Any]:
    """Return a filter of OpenAI's as ours. Raises: InvalidInput."""
    kind = given.get("type")
    if kind in ("and", "or") and isinstance(given.get("filters"), list) and depth < 20:
        parts = [_filter(one, depth + 1) for one in given["filters"] if isinstance(one, dict)]
        if len(parts) == len(given["filters"]):
            return {f"${kind}": parts}
    known = ("eq", "ne", "gt", "gte", "lt", "lte", "in", "nin")
    if kind in known and isinstance(given.get("key"), str) and "value" in given:
        return {given["key"]: {f"${kind}": given["value"]}}
    raise InvalidInput(
        "a filter is {type, key, value} with type eq, ne, gt, gte, lt, lte, in or nin, or {type,"
        " filters} with type and or or, at most 20 deep"
    )
