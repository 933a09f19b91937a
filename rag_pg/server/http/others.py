"""What other programs ask: Jina's and Cohere's rerank, Dify's external knowledge, Open WebUI's
external search. Keys of a request that are not known are ignored."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.responses import Response

from rag_pg.errors import InvalidInput, NotFound
from rag_pg.providers import Account, LLMReranker
from rag_pg.server.http.openai import shown_score
from rag_pg.server.http.problem import PROBLEMS
from rag_pg.server.http.service import Asked, answered, needs
from rag_pg.text import estimate_tokens
from rag_pg.types import without_none

routes = APIRouter(tags=["other programs"], responses=PROBLEMS, dependencies=[needs("read")])
MOST_DOCUMENTS = 1000
PATTERN = re.compile(r"[\\%_]")
Condition = Callable[[Any], dict[str, Any]]


def _like(before: str, after: str) -> Condition:
    def condition(value: Any) -> dict[str, Any]:
        text = PATTERN.sub(r"\\\g<0>", str(value))
        return {"$ilike": f"{before}{text}{after}"}

    return condition


def _is(operator: str) -> Condition:
    return lambda value: {operator: value}


def _listed(operator: str) -> Condition:
    return lambda value: {operator: value if isinstance(value, list) else str(value).split(",")}


EMPTY: list[dict[str, Any]] = [{"$exists": False}, {"$eq": None}, {"$eq": ""}]
# Those of Dify, but for the two about empty values.
OPERATORS: dict[str, Condition] = {
    "contains": _like("%", "%"),
    "not contains": lambda value: {"$not": _like("%", "%")(value)},
    "start with": _like("", "%"),
    "end with": _like("%", ""),
    "is": _is("$eq"),
    "is not": _is("$ne"),
    "in": _listed("$in"),
    "not in": _listed("$nin"),
    "=": _is("$eq"),
    "≠": _is("$ne"),
    ">": _is("$gt"),
    "<": _is("$lt"),
    "≥": _is("$gte"),
    "≤": _is("$lte"),
    "before": _is("$lt"),
    "after": _is("$gt"),
}


class DifyCondition(BaseModel):
    name: list[str] | str
    comparison_operator: str
    value: Any = None


class DifyConditions(BaseModel):
    logical_operator: str | None = None
    conditions: list[DifyCondition] = []


class DifySetting(BaseModel):
    top_k: int
    score_threshold: float | None = None


class DifyBody(BaseModel):
    """knowledge_id: the name of a collection."""

    knowledge_id: str
    query: str
    retrieval_setting: DifySetting
    metadata_condition: DifyConditions | None = None


class RerankText(BaseModel):
    text: str


class RerankBody(BaseModel):
    query: str
    documents: list[str | RerankText] = Field(min_length=1, max_length=MOST_DOCUMENTS)
    top_n: int | None = Field(None, ge=1)
    return_documents: bool | None = None
    model: str | None = None


class WebSearchBody(BaseModel):
    query: str
    count: int = 10


@routes.post("/v1/rerank", response_model=dict[str, Any])
async def rerank(call: Asked, body: RerankBody) -> Response:
    """Texts in the order of their relevance, by the reranker that the service was started with."""
    name = call.service.options.rerank
    if name is None:
        raise NotFound("this service has no reranker; start it with --rerank")
    texts = [one if isinstance(one, str) else one.text for one in body.documents]
    reranker = await call.rag.reranker(name) if isinstance(name, str) else name
    account = Account()
    if isinstance(reranker, LLMReranker):
        reranker = LLMReranker(account.meter(reranker.llm, "rerank"))
    scores = await call.until_gone(call.rag.run(reranker.rerank, body.query, texts))
    # A cross-encoder reads the query with each text.
    used = account.usage.prompt_tokens + account.usage.answer_tokens
    tokens = used or sum(estimate_tokens([*texts, *[body.query] * len(texts)]))
    await call.spend(tokens, account.cost)
    best = sorted(enumerate(scores), key=lambda one: (-one[1], one[0]))[: body.top_n]
    results = [
        {"index": index, "relevance_score": float(score)}
        | ({"document": {"text": texts[index]}} if body.return_documents else {})
        for index, score in best
    ]
    return answered({"model": reranker.name, "results": results, "usage": {"total_tokens": tokens}})


@routes.post("/retrieval", response_model=dict[str, Any])
async def retrieval(call: Asked, body: DifyBody) -> Response:
    """Dify's external knowledge: the passages of a collection."""
    docs = await call.collection(body.knowledge_id)
    conditions = body.metadata_condition or DifyConditions()
    parts = [_condition(one) for one in conditions.conditions]
    joined = "$or" if conditions.logical_operator == "or" else "$and"
    setting = body.retrieval_setting
    options = without_none({"filter": {joined: parts} if parts else None})
    hits = await call.until_gone(docs.search(body.query, limit=setting.top_k, **options))
    records = [
        {
            "content": hit.content,
            "score": score,
            "title": hit.title or hit.uri,
            "metadata": {**hit.metadata, "path": hit.uri},
        }
        for hit in hits
        if (score := shown_score(hit.score)) >= (setting.score_threshold or 0.0)
    ]
    return answered({"records": records})


@routes.post("/web_search", response_model=list[dict[str, Any]])
async def web_search(call: Asked, collection: str, body: WebSearchBody) -> Response:
    """Open WebUI's external web search, over a collection."""
    docs = await call.collection(collection)
    hits = await call.until_gone(docs.search(body.query, limit=body.count, per_document=1))
    return answered(
        [
            {"link": hit.uri, "title": hit.title or hit.heading or hit.uri, "snippet": hit.content}
            for hit in hits
        ]
    )


def _condition(given: DifyCondition) -> dict[str, Any]:
    """Raises: InvalidInput."""
    names = given.name if isinstance(given.name, list) else [given.name]
    if given.comparison_operator in ("empty", "not empty"):
        parts = [{"$or": [{name: one} for one in EMPTY]} for name in names]
        return {"$or": parts} if given.comparison_operator == "empty" else {"$not": {"$or": parts}}
    make = OPERATORS.get(given.comparison_operator)
    if make is None:
        known = ", ".join(["empty", "not empty", *OPERATORS])
        raise InvalidInput(f"unknown operator {given.comparison_operator!r:.40}; use {known}")
    return {"$or": [{name: make(given.value)} for name in names]}
