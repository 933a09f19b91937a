"""Strategy auto over a real collection: the way it takes, what it tells, what it falls back to."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import Call, ScriptedLLM

from rag_pg import Answer, Capabilities, ProviderUnavailable, Rag
from rag_pg.client.collection import Collection

PAGES = [
    {
        "uri": "lease",
        "content": "The rent of the hall is paid on the first day.",
        "kind": "contract",
    },
    {"uri": "roof", "content": "The roof is let for ten years.", "kind": "contract"},
    {
        "uri": "rules",
        "content": "Error VPN-4711 says that a certificate expired.",
        "kind": "policy",
    },
]


def begin(rag: Rag) -> None:
    collection = rag.collection("docs", model="hash:32")
    collection.add(*PAGES)
    collection.metadata.index("kind", "text")


@pytest.fixture
def docs(rag: Rag) -> Collection:
    return rag.get_collection("docs")


def route(answer: Answer) -> dict[str, Any]:
    (step,) = [step for step in answer.steps if step.kind == "route"]
    return dict(step.detail)


def cite(call: Call) -> str:
    return "On the first day [1]."


def test_a_count_is_answered_from_the_metadata_without_a_model(docs: Collection) -> None:
    llm = ScriptedLLM(cite)
    answer = docs.ask("How many contracts are there?", llm=llm)
    assert answer.text == "There are 2 documents with kind contract."
    assert (answer.found, answer.strategy, answer.citations) == (True, "metadata", ())
    assert route(answer)["route"] == "metadata"
    assert route(answer)["by"] == "rules"
    assert llm.calls == []


def test_a_list_names_documents_and_keeps_the_callers_filter(docs: Collection) -> None:
    answer = docs.ask("Which contracts are there?", filter={"$uri": {"$like": "r%"}})
    assert answer.text == "There is 1 document with kind contract.\n\n- roof"
    answer = docs.ask("What is the latest document?")  # no field says of when they are
    assert ", the latest by when they were stored first.\n\n- " in answer.text


def test_values_of_a_field_are_listed(docs: Collection) -> None:
    answer = docs.ask("Which kinds are there?")
    assert "- contract (2)" in answer.text
    assert "- policy (1)" in answer.text


def test_small_talk_is_answered_without_documents(docs: Collection) -> None:
    answer = docs.ask("Hello!")
    assert "Ask a question about the documents" in answer.text
    assert (answer.found, answer.strategy) == (False, "none")
    assert [step.kind for step in answer.steps] == ["route"]
    llm = ScriptedLLM("Hello. Ask me about the documents.")
    answered = docs.ask("Hello!", llm=llm)
    assert answered.text == "Hello. Ask me about the documents."
    assert len(llm.calls) == 1


def test_a_look_up_costs_no_call(docs: Collection) -> None:
    llm = ScriptedLLM(cite)
    answer = docs.ask("error VPN-4711", llm=llm)
    assert answer.citations[0].uri == "rules"
    assert (answer.strategy, route(answer)["route"]) == ("extractive", "search")
    assert llm.calls == []


def test_a_small_collection_is_shown_whole_where_the_model_can_read_it(docs: Collection) -> None:
    reads = Capabilities(schema=True, context_tokens=100_000)
    llm = ScriptedLLM(cite, capabilities=reads)
    answer = docs.ask("When is the rent of the hall paid?", llm=llm)
    assert (answer.strategy, route(answer)["route"]) == ("full_context", "full_context")
    assert "ten years" in llm.prompts[0]
    assert docs.ask("When is the rent of the hall paid?", llm=llm, limit=2).strategy == "single"
    small = ScriptedLLM(cite, capabilities=Capabilities(context_tokens=900))
    cramped = docs.ask("When is the rent of the hall paid?", llm=small)
    assert (cramped.strategy, route(cramped)["route"]) == ("extractive", "retrieval")
    assert any("has no room for sources" in note for note in cramped.notes)


def test_other_questions_are_answered_from_passages(docs: Collection) -> None:
    answer = docs.ask("When is the rent of the hall paid?", llm=ScriptedLLM(cite))
    assert (answer.strategy, route(answer)["route"]) == ("single", "retrieval")
    assert docs.ask("When is the rent of the hall paid?").strategy == "extractive"


def test_a_model_that_is_down_leaves_small_talk_and_questions_to_the_extractive_answer(
    docs: Collection,
) -> None:
    llm = ScriptedLLM(ProviderUnavailable("cannot be reached"))
    for question in ("Hello!", "When is the rent of the hall paid?"):
        answer = docs.ask(question, llm=llm)
        assert answer.strategy == "extractive"
        assert any("cannot be reached" in note for note in answer.notes)


def test_what_needs_no_proof_is_not_verified(docs: Collection) -> None:
    llm = ScriptedLLM(cite)
    answer = docs.ask("How many contracts are there?", llm=llm, verify="once")
    assert answer.text == "There are 2 documents with kind contract."
    assert any("not verified" in note for note in answer.notes)
    assert llm.calls == []


def test_the_filter_of_a_question_holds_for_its_answer(docs: Collection) -> None:
    answer = docs.ask("kind policy: which error says a certificate expired?", rewrite=["filters"])
    assert {citation.uri for citation in answer.citations} == {"rules"}
    assert any("filter from the question" in note for note in answer.notes)


def test_words_that_became_a_filter_are_not_sought_in_the_passages(rag: Rag) -> None:
    docs = rag.collection("memos", model="hash:32")
    docs.add(
        {
            "uri": "rules",
            "content": "The rent is due on Monday.",
            "metadata": {"department": "ferntal zweigstelle"},
        },
        *({"uri": f"{n}", "content": f"The rent of hall {n}, Monday."} for n in range(30)),
    )
    docs.metadata.index("department", "text")
    question = "department ferntal zweigstelle: the rent is due when?"
    assert not docs.ask(question, strategy="extractive").found
    answer = docs.ask(question, strategy="extractive", rewrite=["filters"])
    assert answer.found and [citation.uri for citation in answer.citations] == ["rules"]
    other = "department ferntal zweigstelle: which llamas graze?"
    assert not docs.ask(other, strategy="extractive", rewrite=["filters"]).found
