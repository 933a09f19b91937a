"""Which spans a program's calls and a worker make, and what they do not tell."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from fakes import Call, HashEmbedder, ScriptedLLM, WordReranker
from tool_calls import calling
from tracer import Recorded, Tracer, recording

from rag_pg import Collection, InvalidQuery, Rag, Settings
from rag_pg.answer.strategies import BUILT_IN
from rag_pg.providers import LLMReranker
from rag_pg.tracing import LEG, span, trace_id_of
from rag_pg.types import Vectors

SECRET = "zebra"  # in every document, query and answer


def test_adding_searching_and_asking_are_traced(rag: Rag) -> None:
    docs = rag.collection("own", model="hash:32")
    with recording() as tracer:
        docs.add({"uri": "a", "content": f"a {SECRET} in red"})
        added = _by_name(tracer.spans)
        docs.search(f"red {SECRET}", limit=3)
        docs.search(f"red {SECRET}", limit=3)
        searched = tracer.spans[sum(map(len, added.values())) :]
        docs.ask(f"Which {SECRET} is red?", llm=ScriptedLLM(f"The {SECRET} is red [1]."))
    assert added.keys() == {
        "add own",
        "process rag.jobs",
        "embeddings hash:32",
        "store own",
    }
    queue = {"messaging.system": "postgresql", "messaging.destination.name": "rag.jobs"}
    process = {"messaging.operation.name": "process", "messaging.operation.type": "process"}
    assert added["add own"][0].attributes == {
        **queue,
        "messaging.operation.name": "add",
        "messaging.operation.type": "send",
        "gen_ai.data_source.id": "own",
        "rag_pg.documents": 1,
        "rag_pg.failures": 0,
    }
    assert added["process rag.jobs"][0].attributes["messaging.batch.message_count"] == 1
    stored = dict(added["store own"][0].attributes)
    assert int(stored.pop("messaging.message.id")) > 0
    assert stored == {
        **queue,
        **process,
        "gen_ai.data_source.id": "own",
        "rag_pg.job_kind": "ingest",
        "rag_pg.texts": 1,
    }
    assert added["embeddings hash:32"][0].attributes["rag_pg.texts"] == 1
    # The vector of the second search is remembered.
    retrieval = "retrieval own"
    assert [s.name for s in searched] == ["embeddings hash:32", retrieval, retrieval]
    legs = {name for name in searched[-1].attributes if name.startswith(LEG)}
    assert legs == {f"{LEG}embed", f"{LEG}statement"}
    assert {name: told for name, told in searched[-1].attributes.items() if name not in legs} == {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.provider.name": "rag_pg",
        "gen_ai.data_source.id": "own",
        "gen_ai.request.model": "hash:32",
        "gen_ai.request.top_k": 3,
        "rag_pg.hits": 1,
        "rag_pg.method": "hybrid",
        "rag_pg.skipped": [],
        "rag_pg.cached": False,
    }
    asked = _by_name(tracer.spans)
    (chat,) = [spans[0] for name, spans in asked.items() if name.startswith("chat ")]
    assert chat.attributes["gen_ai.response.finish_reasons"] == ["stop"]
    whole = asked["invoke_workflow ask"][0].attributes
    assert whole["gen_ai.usage.input_tokens"] == chat.attributes["gen_ai.usage.input_tokens"] > 0
    assert whole["rag_pg.strategy"] and whole["rag_pg.found"] is True
    assert [s.name for s in tracer.spans][-4:] == [
        chat.name,
        "strategy auto",
        "ground answer",
        "invoke_workflow ask",
    ]
    assert SECRET not in repr([(s.name, s.attributes) for s in tracer.spans])


def test_what_fails_names_its_error(rag: Rag, embedder: HashEmbedder) -> None:
    docs = rag.collection("own", model="hash:32")
    with recording() as tracer, pytest.raises(InvalidQuery):
        docs.search("red", filter={"a": {"$regex": 1}})
    assert _by_name(tracer.spans)["retrieval own"][0].attributes["error.type"] == "InvalidQuery"


def test_reranking_rewriting_agents_tools_and_checks_are_traced(rag: Rag) -> None:
    docs = rag.collection("own", model="hash:32")
    docs.add({"uri": "a", "content": f"a {SECRET} in red"})
    rewriter = ScriptedLLM(json.dumps({"queries": [f"red {SECRET}"]}), name="rewriter")
    judge = ScriptedLLM(json.dumps({"supported": True}), name="judge")
    agent = ScriptedLLM(
        calling(("calculate", {"expression": "1 + 1"}), ("search", {"query": SECRET})),
        f"The {SECRET} is red [1].",
        name="agent",
    )
    with recording() as tracer:
        docs.search(SECRET, rerank=WordReranker(), rewrite=["multi_query"], helper_llm=rewriter)
        docs.ask(SECRET, llm=agent, helper_llm=judge, strategy="agent", verify="once")
    found = _by_name(tracer.spans)
    reranked = found[f"rerank {WordReranker().name}"][0].attributes
    assert reranked["rag_pg.texts"] == 1
    assert found["chat rewriter"][0].attributes["gen_ai.usage.input_tokens"] > 0
    assert found["invoke_agent agent"][0].attributes["gen_ai.operation.name"] == "invoke_agent"
    tool = dict(found["execute_tool calculate"][0].attributes)
    assert tool.pop("gen_ai.tool.call.id")
    assert tool == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "calculate",
        "gen_ai.tool.type": "function",
    }
    assert found["verify answer"][0].attributes["rag_pg.verify"] == "once"
    assert SECRET not in repr([(s.name, s.attributes) for s in tracer.spans])


def _by_name(spans: list[Recorded]) -> dict[str, list[Recorded]]:
    found: dict[str, list[Recorded]] = {}
    for one in spans:
        found.setdefault(one.name, []).append(one)
    return found


class CountingEmbedder(HashEmbedder):
    """`calls`: how often it was asked."""

    calls = 0

    def embed_query(self, text: str) -> Vectors:
        self.calls += 1
        return super().embed_query(text)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.calls += 1
        return super().embed_documents(texts)


def filled_in(schema: Mapping[str, Any]) -> Any:
    """A value that fits a schema."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        return {name: filled_in(one) for name, one in schema["properties"].items()}
    if kind == "array":
        return [filled_in(schema["items"])]
    values = {"string": "red fish", "boolean": True, "integer": 1, "number": 1.0}
    return values[kind if isinstance(kind, str) else "string"]


def reply(call: Call) -> Any:
    """What a model says that does all that it is asked for, and calls tools once."""
    if call.schema is not None:
        return json.dumps(filled_in(call.schema))
    if call.messages[0].content.startswith("You put passages in order"):
        return "2, 1"
    if call.tools and not any(message.role == "tool" for message in call.messages):
        return calling(("search", {"query": "red"}), ("calculate", {"expression": "1 + 1"}))
    return "The fish are red [1]. They have never been counted by anybody [2]."


@pytest.fixture
def counted(embedder: HashEmbedder) -> CountingEmbedder:
    return CountingEmbedder("hash:32")


def begin(rag: Rag) -> None:
    rag.collection("docs", model="hash:32", chunking={"max_tokens": 64}).add(
        {"uri": "a", "content": "The fish are red and eat shrimps."},
        {"uri": "b", "content": "Nobody has counted the red fish."},
    )


@pytest.fixture
def docs(dsn: str, rag: Rag, counted: CountingEmbedder) -> Iterator[Collection]:
    settings = Settings(home=rag.settings.home)
    with Rag(dsn, settings=settings, embedders={"hash": lambda name: counted}) as opened:
        yield opened.get_collection("docs")


def check_tree(tracer: Tracer, root: str, calls: int, embedded: int) -> None:
    """One trace whose every span but its root is within another; a span for each call."""
    roots = [one.name for one in tracer.spans if one.parent is None]
    assert roots == [root], tracer.paths
    assert all(one.parent in tracer.spans for one in tracer.spans if one.parent is not None)
    assert sum(one.name.startswith("chat ") for one in tracer.spans) == calls
    assert sum(one.name.startswith("embeddings ") for one in tracer.spans) == embedded


@pytest.mark.parametrize(
    ("streams", "timeout"),
    [
        pytest.param(False, None, id="ask"),
        pytest.param(True, 600, id="stream in time"),
        pytest.param(False, 600, id="ask in time", marks=pytest.mark.minutes),
        pytest.param(True, None, id="stream", marks=pytest.mark.minutes),
    ],
)
@pytest.mark.parametrize("strategy", BUILT_IN)
@pytest.mark.few(6)
def test_the_spans_of_every_strategy_are_one_tree(
    docs: Collection, counted: CountingEmbedder, strategy: str, streams: bool, timeout: int | None
) -> None:
    llm, helper = ScriptedLLM(reply, name="writer"), ScriptedLLM(reply, name="helper")
    options: dict[str, Any] = {
        "strategy": strategy,
        "llm": llm,
        "helper_llm": helper,
        "verify": "strict",
        "rewrite": ["multi_query", "hyde"],
        "rerank": WordReranker(),
        "timeout": timeout,
    }
    before = counted.calls
    with recording() as tracer:
        if streams:
            answer = list(docs.stream("Which fish are red?", **options))[-1].answer
        else:
            answer = docs.ask("Which fish are red?", **options)
    calls = len(llm.calls) + len(helper.calls)
    assert calls >= 2 and counted.calls > before
    check_tree(tracer, "invoke_workflow ask", calls, counted.calls - before)
    assert answer is not None
    assert answer.trace_id == f"{tracer.spans[-1].trace_id:032x}"
    reranked = [one.parent for one in tracer.spans if one.name == "rerank words"]
    # an extractive answer is chosen by the reranker, too, after the search
    within = {"retrieval docs", *(["strategy extractive"] if strategy == "extractive" else [])}
    assert {one.name for one in reranked if one is not None} <= within
    assert None not in reranked
    assert reranked or strategy == "full_context"  # which does not search


def test_the_spans_of_evaluations_and_judges_are_one_tree(
    docs: Collection, counted: CountingEmbedder
) -> None:
    rag = docs.rag
    assert isinstance(rag, Rag)
    llm, judge = ScriptedLLM(reply, name="writer"), ScriptedLLM(reply, name="judge")
    rag.evaluation.sets.put(
        "set", [{"id": f"q{n}", "question": f"Which {n} fish?"} for n in range(4)]
    )
    before = counted.calls
    with recording() as tracer, span("program", {}):
        run = docs.evaluation.run("set", kind="ask", strategy="single", llm=llm, at_once=2)
        docs.evaluation.generate_queries("made", count=2, llm=llm)
        rag.evaluation.runs.judge(run.run_id, "faithfulness", llm=judge)
        docs.rewrite("Which fish?", ["multi_query"], helper_llm=llm)
    assert judge.calls and llm.calls
    check_tree(tracer, "program", len(judge.calls) + len(llm.calls), counted.calls - before)


def test_every_kind_of_call_of_a_model_has_its_span(
    docs: Collection, counted: CountingEmbedder
) -> None:
    rag = docs.rag
    assert isinstance(rag, Rag)
    llm = ScriptedLLM(reply, name="writer")
    docs.add({"uri": "c", "content": "The fish of the pond are red, and they eat shrimps. " * 2})
    rag.evaluation.sets.put("set", [{"id": "q", "question": "Which fish are red?"}])
    docs.enrichment.set_extraction({"author": {"type": "text"}}, wait=False)
    docs.enrichment.set_contexts(wait=False)
    before = counted.calls
    with recording() as tracer, span("program", {}):
        rag.worker(llm_of=lambda name: llm).drain()
        asked: dict[str, Any] = {"llm": llm, "rerank": "llm", "verify": "once"}
        docs.ask("List all the red fish that eat shrimps.", llm=llm)
        docs.ask("Which fish are red?", strategy="self_ask", rewrite=["hyde"], **asked)
        docs.search("red fish", rerank=LLMReranker(llm))
        docs.evaluation.generate_queries("made", count=3, llm=llm)
        run = docs.evaluation.run("set", kind="ask", strategy="single", llm=llm)
        rag.evaluation.runs.judge(run.run_id, "faithfulness", llm=llm)
    check_tree(tracer, "program", len(llm.calls), counted.calls - before)
    chats = [one for one in tracer.spans if one.name == "chat writer"]
    kinds = {one.attributes["rag_pg.kind"] for one in chats}
    assert kinds == {
        "answer", "helper", "route", "rewrite", "rerank", "verify", "questions", "judge", "context",
        "extract",
    }  # fmt: skip


def test_the_spans_of_a_worker_are_one_tree(docs: Collection, counted: CountingEmbedder) -> None:
    rag = docs.rag
    llm = ScriptedLLM(reply, name="reader")
    fields = {"author": {"type": "text", "description": "who wrote it"}}
    docs.enrichment.set_extraction(fields, wait=False)
    docs.enrichment.set_contexts(wait=False)
    before = counted.calls
    with recording() as tracer, span("program", {}):
        rag.worker(llm_of=lambda name: llm).drain()
    assert len(llm.calls) >= 4
    check_tree(tracer, "program", len(llm.calls), counted.calls - before)
    assert any(one.name == "store docs" for one in tracer.spans)


def test_an_answer_has_the_id_of_its_trace_in_the_log_too(docs: Collection) -> None:
    docs.alter(keep_answers=timedelta(days=1))
    with recording() as tracer, span("request", {}) as request:
        first = docs.ask("Which fish are red?")
        second = docs.ask("Which fish are counted?")
    alone = docs.ask("Which fish are red?")
    assert {one.trace_id for one in tracer.spans} == {1}
    assert first.trace_id == second.trace_id == trace_id_of(request)
    assert alone.trace_id != first.trace_id and len(alone.trace_id) == 32
    logged = {answer.answer_id: answer.question for answer in docs.answers.list()}
    assert len(logged) == 3 and logged[UUID(first.trace_id)] == "Which fish are red?"
    (note,) = [n for n in second.notes if n.startswith("the trace has another answer")]
    assert logged[UUID(note.split()[-1])] == "Which fish are counted?"


def test_an_answer_that_is_given_again_has_the_trace_of_now(docs: Collection) -> None:
    before = docs.ask("Which fish are red?", cache=True)
    with recording() as tracer:
        again = docs.ask("Which fish are red?", cache=True)
    assert again.cached and again.trace_id == f"{tracer.spans[-1].trace_id:032x}"
    assert before.trace_id != again.trace_id
