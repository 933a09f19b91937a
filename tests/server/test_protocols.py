"""What other programs ask the service: Dify, Open WebUI, Jina's and Cohere's rerank."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import httpx2
import numpy as np
import pytest
from http_service import app_over, request, with_service

from rag_pg import Rag
from rag_pg.server.http.openai import task_reply
from rag_pg.server.http.others import OPERATORS
from rag_pg.types import Scores


class WordReranker:
    """The more words of the query a text has, the better."""

    name = "words"

    def rerank(self, query: str, texts: Sequence[str]) -> Scores:
        words = set(query.split())
        return np.array([len(words & set(text.split())) for text in texts], np.float32)


def uris(records: list[dict[str, Any]]) -> set[str]:
    return {one["metadata"]["path"] for one in records}


@pytest.mark.minutes
def test_dify_retrieves_with_each_of_its_operators(filled: Rag) -> None:
    cases: dict[str, tuple[str, Any, int]] = {
        "contains": ("kind", "IR", 15),
        "not contains": ("kind", "ir", 15),
        "start with": ("kind", "b", 15),
        "end with": ("kind", "sh", 15),
        "is": ("kind", "bird", 15),
        "is not": ("kind", "bird", 15),
        "in": ("kind", "bird,cat", 15),
        "not in": ("kind", ["bird", "fish"], 0),
        "=": ("years", 3, 2),
        "≠": ("years", 3, 28),
        ">": ("years", 3, 24),
        "<": ("years", 3, 4),
        "≥": ("years", 3, 26),
        "≤": ("years", 3, 6),
        "before": ("$updated_at", "2000-01-01", 0),
        "after": ("$updated_at", "2000-01-01", 30),
        "empty": ("kind", None, 0),
        "not empty": ("kind", None, 30),
    }
    assert cases.keys() - {"empty", "not empty"} == OPERATORS.keys()

    async def ask(client: httpx2.AsyncClient) -> dict[str, int]:
        found = {}
        for operator, (name, value, _) in cases.items():
            condition = {"name": [name], "comparison_operator": operator, "value": value}
            body = {
                "knowledge_id": "animals",
                "query": "lives years",
                "retrieval_setting": {"top_k": 100, "score_threshold": 0.0},
                "metadata_condition": {"logical_operator": "and", "conditions": [condition]},
                "more": "is ignored",
            }
            told = await client.post("/retrieval", json=body)
            assert told.status_code == 200, told.text
            assert all(0 <= one["score"] <= 1 for one in told.json()["records"])
            found[operator] = len(uris(told.json()["records"]))
        return found

    assert with_service(app_over(filled), ask) == {name: case[2] for name, case in cases.items()}


def test_a_pattern_of_dify_is_no_pattern_of_ours(filled: Rag) -> None:
    condition = {"name": "kind", "comparison_operator": "contains", "value": "%"}

    async def ask(client: httpx2.AsyncClient) -> Any:
        body = {
            "knowledge_id": "animals",
            "query": "lives",
            "retrieval_setting": {"top_k": 5},
            "metadata_condition": {"conditions": [condition]},
        }
        return (await client.post("/retrieval", json=body)).json()

    assert with_service(app_over(filled), ask) == {"records": []}


def test_open_webui_searches_a_collection_as_the_web(filled: Rag) -> None:
    async def ask(client: httpx2.AsyncClient) -> Any:
        path = "/web_search?collection=machines&more=is_ignored"
        return (await client.post(path, json={"query": "valve", "count": 1})).json()

    twice = "/web_search?collection=machines&collection=others&more=1"
    assert request(app_over(filled), "POST", twice, json={"query": "valve"}).status_code == 422
    (found,) = with_service(app_over(filled), ask)
    assert found["link"] == "https://example.com/valve" and "three bar" in found["snippet"]


def test_texts_are_reranked_where_the_service_has_a_reranker(filled: Rag) -> None:
    texts = ["a pump", {"text": "birds live in a tree"}, "fish"]
    body = {"model": "any", "query": "where do birds live", "documents": texts, "top_n": 2}

    async def ask(client: httpx2.AsyncClient) -> Any:
        return await client.post("/v1/rerank", json=body)

    refused = with_service(app_over(filled), ask)
    assert refused.status_code == 404 and "--rerank" in refused.json()["detail"]
    app = app_over(filled, rerank=WordReranker())
    found = with_service(app, ask).json()["results"]
    assert len(found) == 2 and found[0]["index"] == 1
    whole = with_service(app, lambda client: client.post(
        "/v1/rerank", json=body | {"top_n": None, "return_documents": True}
    )).json()["results"]  # fmt: skip
    assert {one["index"] for one in whole} == {0, 1, 2}
    assert whole[0]["document"] == {"text": "birds live in a tree"}


@pytest.mark.one_database
@pytest.mark.parametrize("limit", [0, 1001, -5, 2**40])
@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("/retrieval", "top_k"),
        ("/web_search?collection=animals", "count"),
        ("/v1/vector_stores/animals/search", "max_num_results"),
    ],
)
def test_a_limit_out_of_range_is_told_by_the_name_that_the_client_gave(
    filled: Rag, path: str, key: str, limit: int
) -> None:
    given: dict[str, Any] = {"query": "birds", key: limit}
    if key == "top_k":
        given |= {"knowledge_id": "animals", "retrieval_setting": {key: limit}}
    told = request(app_over(filled), "POST", path, json=given)
    assert told.status_code == 422 and f"{key}: Input should be" in told.json()["detail"]


def test_a_blank_query_reaches_no_reranker(filled: Rag) -> None:
    app = app_over(filled, rerank=object())
    told = request(app, "POST", "/v1/rerank", json={"query": " \n", "documents": ["a pump"]})
    assert told.status_code == 400 and "the query is empty" in told.json()["detail"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/embeddings", {"model": "rag:animals", "input": ["birds live", "in trees"]}),
        ("/v1/rerank", {"query": "where do birds live", "documents": ["birds live in a tree"]}),
    ],
)
def test_what_a_model_reads_for_a_client_counts_for_the_limits_of_its_key(
    filled: Rag, path: str, body: dict[str, Any]
) -> None:
    name = path.rpartition("/")[2]
    key = filled.database.make_service_key(
        name, scopes=["read"], settings={}, limits={"tokens_per_day": 1}
    )

    async def ask(client: httpx2.AsyncClient) -> list[httpx2.Response]:
        return [await client.post(path, json=body) for _ in range(2)]

    app = app_over(filled, keys=True, rerank=WordReranker())
    first, beyond = with_service(app, ask, authorization=f"Bearer {key}")
    assert (first.status_code, beyond.status_code) == (200, 429), first.text
    assert "tokens_per_day" in beyond.json()["detail"]
    (used,) = [one for one in filled.database.list_service_keys() if one.key_name == name]
    assert used.tokens == first.json()["usage"]["total_tokens"] > 1


@pytest.mark.parametrize(
    "piece", ["### Task:", "{", "{ ", ' {"', "<chat_history>", "USER:", "\t", "### Task: { "]
)
def test_a_long_question_is_no_task_and_takes_no_longer(piece: str) -> None:
    assert task_reply(piece * (100_000 // len(piece))) is None


def test_a_task_is_told_from_a_question_about_tasks() -> None:
    assert task_reply("What does ### Task: mean?") is None
    assert task_reply('### Task: what is { "title": 1 }?') is not None
    told = task_reply('### Task:\n{ "title": "x" }\n### Chat History:\nUSER: ' + "x" * 100_000)
    assert told is not None and len(json.loads(told)["title"]) == 60


def test_a_filter_of_openai_that_is_none_is_told(filled: Rag) -> None:
    async def ask(client: httpx2.AsyncClient) -> list[int]:
        deep: dict[str, Any] = {"type": "eq", "key": "kind", "value": "bird"}
        for _ in range(30):
            deep = {"type": "and", "filters": [deep]}
        given: list[Any] = [
            deep, {}, {"type": "and"}, {"type": "or", "filters": [1]}, {"type": "like", "key": "x"},
            {"type": "eq", "key": 1, "value": 1},
        ]  # fmt: skip
        path = "/v1/vector_stores/animals/search"
        told = [await client.post(path, json={"query": "x", "filters": one}) for one in given]
        return [one.status_code for one in told]

    assert with_service(app_over(filled), ask) == [400] * 6
