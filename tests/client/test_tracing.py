"""Which spans a program's calls and a worker make, and what they do not tell."""

import json

import pytest
from fakes import HashEmbedder, ScriptedLLM, WordReranker
from tool_calls import calling
from tracer import Recorded, recording

from rag_pg import InvalidQuery, Rag

SECRET = "zebra"  # in every document, query and answer


def test_adding_searching_and_asking_are_traced(rag: Rag) -> None:
    docs = rag.collection("docs", model="hash:32")
    with recording() as tracer:
        docs.add({"uri": "a", "content": f"a {SECRET} in red"})
        added = _by_name(tracer.spans)
        docs.search(f"red {SECRET}", limit=3)
        docs.search(f"red {SECRET}", limit=3)
        searched = tracer.spans[sum(map(len, added.values())) :]
        docs.ask(f"Which {SECRET} is red?", llm=ScriptedLLM(f"The {SECRET} is red [1]."))
    assert added.keys() == {
        "add docs",
        "process rag.jobs",
        "embeddings hash:32",
        "store docs",
    }
    assert added["add docs"][0].attributes == {
        "gen_ai.data_source.id": "docs",
        "rag_pg.documents": 1,
        "rag_pg.failures": 0,
    }
    assert added["process rag.jobs"][0].attributes["messaging.batch.message_count"] == 1
    stored = dict(added["store docs"][0].attributes)
    assert int(stored.pop("messaging.message.id")) > 0
    assert stored == {
        "gen_ai.data_source.id": "docs",
        "rag_pg.job_kind": "ingest",
        "rag_pg.texts": 1,
    }
    assert added["embeddings hash:32"][0].attributes["rag_pg.texts"] == 1
    # The vector of the second search is remembered.
    retrieval = "retrieval docs"
    assert [s.name for s in searched] == ["embeddings hash:32", retrieval, retrieval]
    assert searched[-1].attributes == {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.data_source.id": "docs",
        "gen_ai.request.model": "hash:32",
        "gen_ai.request.top_k": 3,
        "rag_pg.hits": 1,
        "rag_pg.method": "hybrid",
        "rag_pg.skipped": [],
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
    docs = rag.collection("docs", model="hash:32")
    with recording() as tracer, pytest.raises(InvalidQuery):
        docs.search("red", filter={"a": {"$regex": 1}})
    assert _by_name(tracer.spans)["retrieval docs"][0].attributes["error.type"] == "InvalidQuery"


def test_reranking_rewriting_agents_tools_and_checks_are_traced(rag: Rag) -> None:
    docs = rag.collection("docs", model="hash:32")
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
    assert found["execute_tool calculate"][0].attributes == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "calculate",
    }
    assert found["verify answer"][0].attributes["rag_pg.verify"] == "once"
    assert SECRET not in repr([(s.name, s.attributes) for s in tracer.spans])


def _by_name(spans: list[Recorded]) -> dict[str, list[Recorded]]:
    found: dict[str, list[Recorded]] = {}
    for one in spans:
        found.setdefault(one.name, []).append(one)
    return found
