"""What other programs ask: Jina's and Cohere's rerank, Dify's external knowledge, Open WebUI's
external search. Keys of a request that are not known are ignored."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from rag_pg.errors import InvalidInput, NotFound
from rag_pg.providers import Account, LLMReranker
from rag_pg.search import check_query
from rag_pg.server.http.openai import Limit, scored
from rag_pg.server.http.problem import PROBLEMS
from rag_pg.server.http.request import ONCE, Asked, answered, needs
from rag_pg.server.http.shapes import Given
from rag_pg.text import estimate_tokens

routes = APIRouter(tags=["other programs"], responses=PROBLEMS, dependencies=[needs("read")])
MOST_DOCUMENTS = 1000
SPECIAL = re.compile(r"[\\%_]")  # of a pattern
LIKE = {"contains": "%{}%", "not contains": "%{}%", "start with": "{}%", "end with": "%{}"}
# Those of Dify, but for the two about empty values.
OPERATORS = {
    **dict.fromkeys(LIKE, "$ilike"),
    "is": "$eq",
    "is not": "$ne",
    "in": "$in",
    "not in": "$nin",
    "=": "$eq",
    "≠": "$ne",
    ">": "$gt",
    "<": "$lt",
    "≥": "$gte",
    "≤": "$lte",
    "before": "$lt",
    "after": "$gt",
}
EMPTY: list[dict[str, Any]] = [{"$exists": False}, {"$eq": None}, {"$eq": ""}]


class DifyCondition(Given):
    name: list[str] | str
    comparison_operator: str
    value: Any = None

    def filter(self) -> dict[str, Any]:
        """Return the condition as a filter. Raises: InvalidInput."""
        told, value = self.comparison_operator, self.value
        names = self.name if isinstance(self.name, list) else [self.name]
        if told in ("empty", "not empty"):
            empty = {"$or": [{name: one} for one in EMPTY for name in names]}
            return empty if told == "empty" else {"$not": empty}
        if told not in OPERATORS:
            known = ", ".join(["empty", "not empty", *OPERATORS])
            raise InvalidInput(f"unknown operator {told!r:.40}; use {known}")
        if told in LIKE:
            value = LIKE[told].format(SPECIAL.sub(r"\\\g<0>", str(value)))
        elif told in ("in", "not in") and not isinstance(value, list):
            value = str(value).split(",")
        test: dict[str, Any] = {OPERATORS[told]: value}
        return {
            "$or": [{name: {"$not": test} if told == "not contains" else test} for name in names]
        }


class DifyConditions(Given):
    logical_operator: str | None = None
    conditions: Sequence[DifyCondition] = ()


class DifySetting(Given):
    top_k: Limit
    score_threshold: float | None = None


class DifyBody(Given):
    """knowledge_id: the name of a collection."""

    knowledge_id: str
    query: str
    retrieval_setting: DifySetting
    metadata_condition: DifyConditions | None = None


class RerankText(Given):
    text: str


class RerankBody(Given):
    query: str = Field(min_length=1)
    documents: list[str | RerankText] = Field(min_length=1, max_length=MOST_DOCUMENTS)
    top_n: int | None = Field(None, ge=1)
    return_documents: bool | None = None
    model: str | None = None


class WebSearchBody(Given):
    query: str
    count: Limit = 10


@routes.post("/v1/rerank", response_model=dict[str, Any])
async def rerank(call: Asked, body: RerankBody) -> Response:
    """Texts in the order of their relevance, by the reranker that the service was started with."""
    name = call.service.options.rerank
    if name is None:
        raise NotFound("this service has no reranker; start it with --rerank")
    query = check_query(body.query)
    texts = [one if isinstance(one, str) else one.text for one in body.documents]
    reranker = await call.rag.reranker(name) if isinstance(name, str) else name
    account = Account()
    if isinstance(reranker, LLMReranker):
        reranker = LLMReranker(account.meter(reranker.llm, "rerank"))
    try:
        scores = await call.until_gone(call.rag.run(reranker.rerank, query, texts))
    finally:  # a model whose answer is of no use has its price
        if used := account.usage.prompt_tokens + account.usage.answer_tokens:
            await call.spend(used, account.cost)
    # A cross-encoder reads the query with each text.
    tokens = used or sum(estimate_tokens([*texts, *[query] * len(texts)]))
    if not used:
        await call.spend(tokens)
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
    given, setting = body.metadata_condition or DifyConditions(), body.retrieval_setting
    parts = [one.filter() for one in given.conditions]
    wanted = {"$or" if given.logical_operator == "or" else "$and": parts} if parts else None
    hits = await call.search(body.knowledge_id, body.query, limit=setting.top_k, filter=wanted)
    records = [
        {
            "content": hit.content,
            "score": score,
            "title": hit.title or hit.uri,
            "metadata": {**hit.metadata, "path": hit.uri},
        }
        for hit, score in scored(hits, setting.score_threshold)
    ]
    return answered({"records": records})


@routes.post("/web_search", response_model=list[dict[str, Any]], dependencies=[ONCE])
async def web_search(call: Asked, collection: str, body: WebSearchBody) -> Response:
    """Open WebUI's external web search, over a collection."""
    hits = await call.search(collection, body.query, limit=body.count, per_document=1)
    named = [(hit, hit.title or hit.heading or hit.uri) for hit in hits]
    return answered(
        [{"link": hit.uri, "title": name, "snippet": hit.content} for hit, name in named]
    )
