"""Spans and metrics as a collector of OpenTelemetry receives them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest
from fakes import ScriptedLLM, WordReranker
from http_service import running
from otlp import Receiver, receiving
from tool_calls import calling

from rag_pg import InvalidQuery, Rag
from rag_pg.otel import ENDPOINTS, traced
from rag_pg.tracing import current_traceparent, span

SECRET = "zebra"  # in every document, query and answer
CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
# What the conventions for generative AI require or recommend, of what there is.
ATTRIBUTES = {
    "chat": (
        {"gen_ai.provider.name", "gen_ai.request.model", "gen_ai.request.max_tokens",
         "gen_ai.response.finish_reasons", "gen_ai.usage.input_tokens",
         "gen_ai.usage.output_tokens"},
        "CLIENT",
    ),
    "embeddings": (
        {"gen_ai.provider.name", "gen_ai.request.model", "gen_ai.embeddings.dimension.count"},
        "CLIENT",
    ),
    "retrieval": (
        {"gen_ai.provider.name", "gen_ai.data_source.id", "gen_ai.request.top_k"}, "CLIENT",
    ),
    "invoke_agent": (
        {"gen_ai.provider.name", "gen_ai.agent.name", "gen_ai.request.model"}, "INTERNAL",
    ),
    "invoke_workflow": ({"gen_ai.workflow.name"}, "INTERNAL"),
    "execute_tool": (
        {"gen_ai.tool.name", "gen_ai.tool.type", "gen_ai.tool.call.id"}, "INTERNAL",
    ),
}  # fmt: skip


@contextmanager
def collected(**environment: str) -> Iterator[Receiver]:
    """Everything that the block sends, which is there when it has ended."""
    with receiving() as receiver, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
        for name, value in environment.items():
            patch.setenv(name, value)
        with traced():
            yield receiver


def use(rag: Rag) -> None:
    """Do everything that the conventions have a name for, and fail once."""
    docs = rag.collection("own", model="hash:32")
    docs.add({"uri": "a", "content": f"a {SECRET} in red"})
    agent = ScriptedLLM(
        calling(("calculate", {"expression": "1 + 1"}), ("search", {"query": SECRET})),
        f"The {SECRET} is red [1].",
        name="openai:agent",
    )
    docs.ask(SECRET, llm=agent, strategy="agent")
    docs.search(SECRET, rerank=WordReranker(), filter={"colour": {"$exists": False}})
    with pytest.raises(InvalidQuery):
        docs.search(SECRET, filter={"a": {"$regex": 1}})


@pytest.mark.minutes
def test_spans_and_metrics_are_those_of_the_conventions(rag: Rag) -> None:
    with collected(OTEL_SERVICE_NAME="mine") as receiver:
        use(rag)
    assert {one.service for one in receiver.spans} == {"mine"}
    seen = {}
    for one in receiver.spans:
        operation = one.attributes.get("gen_ai.operation.name")
        if operation is None:
            continue
        seen[operation] = one
        wanted, kind = ATTRIBUTES[operation]
        if not one.is_error:
            assert wanted - one.attributes.keys() == set(), one
        assert one.kind == kind and one.name.split()[0] == operation
    assert seen.keys() == ATTRIBUTES.keys()
    assert seen["chat"].attributes["gen_ai.provider.name"] == "openai"
    (failed,) = [one for one in receiver.named("retrieval") if one.is_error]
    assert failed.attributes["error.type"] == "InvalidQuery" and failed.events == 0
    assert SECRET not in repr(receiver.spans) + repr(receiver.metrics)
    assert receiver.metrics.keys() == {
        "gen_ai.client.operation.duration",
        "gen_ai.client.token.usage",
        "gen_ai.execute_tool.duration",
        "gen_ai.invoke_agent.duration",
        "gen_ai.workflow.duration",
    }
    durations = receiver.metrics["gen_ai.client.operation.duration"]
    assert all(point["gen_ai.provider.name"] for point in durations)
    assert {point["gen_ai.operation.name"] for point in durations} == {
        "chat", "embeddings", "retrieval",
    }  # fmt: skip
    assert "InvalidQuery" in {point.get("error.type") for point in durations}
    kinds = {point["gen_ai.token.type"] for point in receiver.metrics["gen_ai.client.token.usage"]}
    assert kinds == {"input", "output"}


def test_texts_are_told_where_the_variable_says_so(rag: Rag) -> None:
    with collected(**{CONTENT: "true"}) as receiver:
        use(rag)
    chat = receiver.named("chat")[-1].attributes
    asked = json.loads(chat["gen_ai.input.messages"])
    assert {message["role"] for message in asked} >= {"user"}
    assert SECRET in json.dumps(asked)
    assert json.loads(chat["gen_ai.system_instructions"])[0]["type"] == "text"
    (told,) = json.loads(chat["gen_ai.output.messages"])
    assert told["parts"][0]["content"].startswith(f"The {SECRET} is red [")
    found = [one.attributes for one in receiver.named("retrieval") if not one.is_error]
    assert {one["gen_ai.retrieval.query.text"] for one in found} == {SECRET}
    assert all(json.loads(one["gen_ai.retrieval.documents"])[0].keys() == {"id", "score"}
               for one in found)  # fmt: skip


def test_one_trace_holds_the_put_the_worker_and_what_is_searchable(rag: Rag) -> None:
    docs = rag.collection("own", model="hash:32")
    with collected() as receiver:
        traces = []
        for number in range(2):
            with span("request", {}):
                traces.append((current_traceparent() or "").split("-")[1])
                docs.add({"uri": f"{number}", "content": f"text {number}"}, wait=False)
        docs_of_nobody = rag.collection("other", model="hash:32")
        rag.database.put_documents("other", [{"uri": "x", "content": "put by nobody's trace"}])
        rag.worker().drain()
    assert docs_of_nobody.name == "other" and len(set(traces)) == 2
    batches = {one.span: one for one in receiver.named("process rag.jobs")}
    assert {one.kind for one in batches.values()} == {"CONSUMER"}
    assert not {one.trace for one in batches.values()} & {*traces}
    puts = {one.span: one for one in receiver.named("add own")}
    assert {one.kind for one in puts.values()} == {"PRODUCER"}
    assert {link for one in batches.values() for link in one.links} == puts.keys()
    stores = receiver.named("store own")
    assert sorted(one.trace for one in stores) == sorted(traces)
    for store in stores:
        (link,) = store.links
        assert store.kind == "CONSUMER" and store.parent in batches[link].links
        assert puts[store.parent].trace == store.trace
    (alone,) = receiver.named("store other")
    assert alone.parent == "" and {*alone.links} <= batches.keys()
    embedded = receiver.named("embeddings")
    assert {one.parent for one in embedded} <= batches.keys()


def test_a_setting_that_is_no_trace_is_left_out(rag: Rag) -> None:
    rag.collection("own", model="hash:32")
    wrong = ("", "x", PARENT.upper(), PARENT + "'", PARENT[:-1], "01" + PARENT[2:])
    for text in (PARENT, *wrong):
        database = rag.database.with_settings({"rag.traceparent": text})
        database.put_documents("own", [{"uri": text or "none", "content": text or "none"}])
    jobs = rag.database.take_jobs(limit=100, lease_seconds=60, collections=None, worker="w")
    assert sorted(job.traceparent or "" for job in jobs) == [*[""] * len(wrong), PARENT]


def environment_of(rag: Rag, receiver: Receiver) -> dict[str, str]:
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("RAG_PG_", "OTEL_"))}
    return plain | {
        "RAG_PG_DSN": rag.dsn or "",
        "RAG_PG_HOME": str(rag.settings.home),
        "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url,
        "OTEL_SERVICE_NAME": "ours",
    }


def run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "rag_pg", *arguments],
        env=environment, capture_output=True, text=True,
    )  # fmt: skip


@pytest.mark.minutes
def test_a_worker_is_traced_by_the_standard_variables(rag: Rag) -> None:
    rag.collection("texts", model="minilm")
    rag.database.with_settings({"rag.traceparent": PARENT}).put_documents(
        "texts", [{"uri": "a", "content": "red fish"}]
    )
    with receiving() as receiver:
        done = run(environment_of(rag, receiver), "worker", "--once")
    assert done.returncode == 0, done.stderr
    (stored,) = receiver.named("store texts")
    assert (stored.service, stored.trace) == ("ours", PARENT.split("-")[1])


@pytest.mark.minutes
def test_the_service_goes_on_with_the_trace_of_its_caller(rag: Rag) -> None:
    docs = rag.collection("own", model="own", dimensions=3)
    docs.add_chunks([{"uri": "a", "content": "red fish", "embedding": [1, 0, 0]}])
    body: dict[str, Any] = {"collection": "own", "query": "red", "vector_weight": 0}
    with receiving() as receiver:
        environment = environment_of(rag, receiver)
        with running(rag, **{k: v for k, v in environment.items() if k.startswith("OTEL_")}) as it:
            sent = httpx2.post(f"{it.url}/search", json=body, headers={"traceparent": PARENT})
        assert sent.status_code == 200, sent.text
    (request,) = receiver.named("POST /search")
    assert (request.kind, request.attributes["http.response.status_code"]) == ("SERVER", 200)
    assert f"00-{request.trace}-{request.parent}-01" == PARENT
    (search,) = receiver.named("retrieval own")
    above = {one.span: one.parent for one in receiver.spans}
    assert search.trace == request.trace and above[search.parent] == request.span


def test_what_cannot_be_followed_is_told_and_nothing_is_sent(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with receiving() as receiver:
        monkeypatch.setenv(ENDPOINTS[0], receiver.url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
        with traced(), span("x", {}):
            pass
        assert "set it to http/protobuf" in caplog.text
        monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
        with traced(), span("x", {}):
            pass
    assert receiver.spans == []
