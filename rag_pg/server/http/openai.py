"""OpenAI's protocol: a collection as a model, as a vector store; its embedder. Open WebUI's events.

Keys of a request that are not known are ignored: clients send temperature, tools, user and others.
"""

from __future__ import annotations

import base64
import json
import re
import time
import uuid
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

import numpy as np
from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from rag_pg.client import AsyncCollection
from rag_pg.errors import InvalidInput, NotFound
from rag_pg.providers import embed_documents, embed_queries
from rag_pg.search import LIMIT_MAX, accounted
from rag_pg.server.http.problem import PROBLEMS, problem_of
from rag_pg.server.http.request import Asked, Call, answered, event, last_answer, needs
from rag_pg.server.http.shapes import Given
from rag_pg.types import Answer, Event, Hit, Message

routes = APIRouter(prefix="/v1", tags=["openai"], responses=PROBLEMS, dependencies=[needs("read")])
PREFIX = "rag:"
MOST_INPUTS = 2048
TITLE_LENGTH = 60
# What Open WebUI asks the same model for beside the answer, by what it is to give back.
TASK = re.compile(r'\s*### Task:.*\{\s*"(title|tags|follow_ups|queries|text)"', re.DOTALL)
FIRST_TURN = re.compile(r"(?:### Chat History:|<chat_history>)\s*USER:([^\n]*)", re.IGNORECASE)
DONE = b"data: [DONE]\n\n"
COMPARISONS = ("eq", "ne", "gt", "gte", "lt", "lte", "in", "nin")


# Of hits, checked by the name that a client has for it.
Limit = Annotated[int, Field(ge=1, le=LIMIT_MAX)]


class Part(Given):
    type: str
    text: str = ""


class ChatMessage(Given):
    role: str
    content: str | list[Part] | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content if part.type == "text")
        return self.content or ""


class StreamOptions(Given):
    include_usage: bool = False


class ChatBody(Given):
    """model: rag:COLLECTION or rag:COLLECTION:STRATEGY. messages: the last is the question, those
    before it the conversation; those of the system are not passed on."""

    model: str
    messages: list[ChatMessage]
    stream: bool | None = None
    stream_options: StreamOptions | None = None


class EmbeddingsBody(Given):
    """model: that of a collection, or rag:COLLECTION. input_type: query, for a question."""

    model: str
    input: str | list[str] | list[int] | list[list[int]]
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: int | None = None
    input_type: str | None = None


class Ranking(Given):
    score_threshold: float | None = None


class StoreSearchBody(Given):
    query: str | list[str]
    max_num_results: Limit | None = None
    filters: dict[str, Any] | None = None
    ranking_options: Ranking | None = None


@routes.get("/models", response_model=dict[str, Any])
async def list_models(call: Asked) -> Response:
    """Every collection as a model."""
    data = [_shown(PREFIX + one.name) for one in await call.rag.collections()]
    return answered({"object": "list", "data": data})


@routes.get("/models/{model}", response_model=dict[str, Any])
async def get_model(call: Asked, model: str) -> Response:
    """A collection as a model, if there is one."""
    await _model(call, model)
    return answered(_shown(model))


def _shown(model: str) -> dict[str, Any]:
    return {"id": model, "object": "model", "created": 0, "owned_by": "rag_pg"}


@routes.post("/chat/completions", response_model=dict[str, Any], dependencies=[needs("ask")])
async def chat_completions(call: Asked, body: ChatBody) -> Response:
    """An answer in OpenAI's protocol, with its sources as annotations; with stream, in chunks."""
    turns = [one for one in body.messages if one.role in ("user", "assistant")]
    if not turns or turns[-1].role != "user":
        raise InvalidInput("the last message has to be that of the user")
    question = turns[-1].text
    docs, options = await _model(call, body.model)
    options["history"] = [{"role": one.role, "content": one.text} for one in turns[:-1]]
    reply = task_reply(question)
    events = (
        call.events(docs, question, options)
        if reply is None
        else _task(call, docs, question, reply)
    )
    completion = Completion(call, docs.name, body)
    if body.stream:
        return await call.stream(completion.chunks(events), _failed)
    answer = await call.until_gone(last_answer(events))
    shown = {"role": "assistant", "content": completion.text(answer), "refusal": None}
    message = shown | {"annotations": completion.annotations(answer)}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    whole = {"object": "chat.completion", "choices": [choice], "usage": _usage(answer)}
    return answered(completion.head | whole)


@routes.post("/embeddings", response_model=dict[str, Any])
async def embeddings(call: Asked, body: EmbeddingsBody) -> Response:
    """Vectors of texts, by the model of a collection."""
    texts = [body.input] if isinstance(body.input, str) else body.input
    if not all(isinstance(one, str) for one in texts):
        raise InvalidInput(
            "input holds token ids, which only the models of OpenAI have; send texts (in LangChain"
            " check_embedding_ctx_length=False)"
        )
    if not 1 <= len(texts) <= MOST_INPUTS:
        raise InvalidInput(f"{len(texts)} inputs are out of range; send 1 to {MOST_INPUTS}")
    known = await call.rag.collections()
    named = [one for one in known if body.model in (one.model, PREFIX + one.name)]
    if not named:
        raise NotFound(f"no collection has the model {body.model!r:.100}; see /collections")
    if body.dimensions not in (None, named[0].dimensions):
        raise InvalidInput(
            f"dimensions {body.dimensions} are not those of the model; use {named[0].dimensions}"
        )
    embedder = await call.rag.embedder_of(named[0].name)
    embed = embed_queries if body.input_type == "query" else embed_documents
    vectors = await call.until_gone(call.rag.run(embed, embedder, texts))
    tokens = sum(await call.rag.run(embedder.count_tokens, texts))
    await call.spend(tokens)
    as_text = body.encoding_format == "base64"
    shown = [
        base64.b64encode(one.tobytes()).decode() if as_text else one.tolist()
        for one in np.asarray(vectors, "<f4")
    ]
    data = [{"object": "embedding", "index": n, "embedding": one} for n, one in enumerate(shown)]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return answered({"object": "list", "model": body.model, "data": data, "usage": usage})


@routes.post("/vector_stores/{collection}/search", response_model=dict[str, Any])
async def search_vector_store(call: Asked, collection: str, body: StoreSearchBody) -> Response:
    """A search in OpenAI's protocol for vector stores."""
    query = body.query if isinstance(body.query, str) else " ".join(body.query)
    wanted = None if body.filters is None else _filter(body.filters)
    hits = await call.search(collection, query, limit=body.max_num_results or 10, filter=wanted)
    data = [
        {
            "file_id": str(hit.document_id),
            "filename": hit.uri,
            "score": score,
            "attributes": dict(hit.metadata),
            "content": [{"type": "text", "text": hit.content}],
        }
        for hit, score in scored(hits, (body.ranking_options or Ranking()).score_threshold)
    ]
    page = {"object": "vector_store.search_results.page", "search_query": [query]}
    return answered({**page, "data": data, "has_more": False, "next_page": None})


def scored(hits: Sequence[Hit], least: float | None) -> Iterator[tuple[Hit, float]]:
    """Yield hits with their scores as protocols want them, 0 to 1, and no less than this."""
    for hit in hits:
        score = max(0.0, min(1.0, hit.score))
        if score >= (least or 0.0):
            yield hit, score


async def _model(call: Call, model: str) -> tuple[AsyncCollection, dict[str, Any]]:
    """Open the collection of a model, and return its strategy. Raises: NotFound."""
    name = model.removeprefix(PREFIX)
    try:
        return await call.rag.get_collection(name), {}
    except NotFound:
        short, colon, strategy = name.rpartition(":")
        if not colon:
            raise
        return await call.rag.get_collection(short), {"strategy": strategy}


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


async def _task(
    call: Call, docs: AsyncCollection, question: str, reply: str
) -> AsyncGenerator[Event, None]:
    """Yield what answers a task: the helper model's words where one is set, else the reply."""
    helper, database = call.rag.sync.models.helper_llm(), call.rag.sync.database

    def complete() -> Answer:
        if helper is None:
            return Answer(text=reply, found=True)
        with accounted(database, docs.name, "task") as account:
            asked = [Message(role="user", content=question)]
            text = account.meter(helper, "helper").complete(asked).text
        return Answer(text=text, found=True, usage=account.usage, cost=account.cost)

    async with call.service.gate.turn():
        yield Event(kind="answer", answer=await call.rag.run(complete))


class Completion:
    """What the parts of a chat's answer have in common."""

    def __init__(self, call: Call, collection: str, body: ChatBody) -> None:
        self._call, self._collection, self._body = call, collection, body
        made = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time())}
        self.head: dict[str, Any] = made | {"model": body.model}

    def text(self, answer: Answer) -> str:
        return answer.markdown() if self._call.service.options.sources else answer.text

    def annotations(self, answer: Answer) -> list[dict[str, Any]]:
        """Return the sources of an answer, in the order of their numbers. Offsets are of the first
        statement that cites each, in characters of the content."""
        noted = [
            {
                "url": self._url(one.uri),
                "title": one.heading or one.title or one.uri,
                "start_index": one.start or 0,
                "end_index": one.stop or 0,
            }
            for one in answer.sources
        ]
        return [{"type": "url_citation", "url_citation": one} for one in noted]

    def _url(self, uri: str) -> str:
        if uri.startswith(("http://", "https://")):
            return uri
        named = urlencode({"collection": self._collection, "uri": uri})
        return f"{self._call.request.base_url}documents?{named}"

    def _chunk(
        self, delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any
    ) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        chunk = {"object": "chat.completion.chunk", "choices": [choice] if delta else []}
        return event({**self.head, **chunk, **more})

    def _event(self, kind: str, **data: Any) -> bytes:
        """What Open WebUI shows beside the text."""
        return self._chunk(event={"type": kind, "data": data})

    async def chunks(self, events: AsyncGenerator[Event, None]) -> AsyncGenerator[bytes, None]:
        """Yield the events of an answer as they come."""
        told, answer, opening = "", None, [self._chunk({"role": "assistant", "content": ""})]
        async with aclosing(events):
            async for one in events:
                if opening:  # not before: what fails then has a status of its own
                    yield opening.pop()
                if one.kind == "search":
                    yield self._event("status", description="searching the documents", done=False)
                elif one.kind == "token":
                    told += one.text
                    yield self._chunk({"content": one.text})
                answer = one.answer or answer
        assert answer is not None
        count = f"answered from {len(answer.sources)} sources"
        yield self._event("status", description=count, done=True)
        whole = self.text(answer)
        # What was sent cannot be taken back: the rest, or the whole again where it was changed.
        rest = whole[len(told) :] if whole.startswith(told) else f"\n\n---\n\n{whole}"
        if rest:
            yield self._chunk({"content": rest})
        annotations = self.annotations(answer)
        for citation, noted in zip(answer.sources, annotations, strict=True):
            name, url = noted["url_citation"]["title"], noted["url_citation"]["url"]
            yield self._event(
                "source",
                source={"name": name, "url": url},
                document=[citation.quote],
                metadata=[{"source": citation.uri, "name": name}],
            )
        yield self._chunk({"annotations": annotations}, "stop")
        if self._body.stream_options and self._body.stream_options.include_usage:
            yield self._chunk(usage=_usage(answer))
        yield DONE


def _failed(exc: Exception) -> bytes:
    return event({"error": problem_of(exc)["error"]}) + DONE


def _usage(answer: Answer) -> dict[str, int]:
    asked, written = answer.usage.prompt_tokens, answer.usage.answer_tokens
    both = {"prompt_tokens": asked, "completion_tokens": written}
    return {**both, "total_tokens": asked + written}


def _filter(given: dict[str, Any], depth: int = 0) -> dict[str, Any]:
    """Return a filter of OpenAI's as ours. Raises: InvalidInput."""
    match given:
        case {"type": "and" | "or" as kind, "filters": list(parts)} if depth < 20:
            if all(isinstance(one, dict) for one in parts):
                return {f"${kind}": [_filter(one, depth + 1) for one in parts]}
        case {"type": str(kind), "key": str(key), "value": value} if kind in COMPARISONS:
            return {key: {f"${kind}": value}}
    raise InvalidInput(
        "a filter is {type, key, value} with type eq, ne, gt, gte, lt, lte, in or nin, or {type,"
        " filters} with type and or or, at most 20 deep"
    )
