"""Answers and what they cost: bounded, recorded by day, within the budgets of providers."""

from __future__ import annotations

import os
import threading
from typing import Any

import psycopg
import pytest
from fakes import ScriptedLLM
from patience import BOUND
from psycopg.conninfo import make_conninfo

from rag_pg import InvalidInput, Rag
from rag_pg.client.collection import Collection
from rag_pg.errors import BudgetExceeded, ProviderAuth
from rag_pg.providers import LLMReranker
from rag_pg.types import Completion, Usage
from rag_pg.worker import take_budgets

Connection = psycopg.Connection[Any]
QUESTION = "Where does the red fish swim?"
PRICED = "openai:gpt-4.1"  # 2 and 8 US dollars for a million tokens


def begin(rag: Rag) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add(
        {"uri": "fish", "content": "The red fish swims in the warm sea."},
        {"uri": "bird", "content": "A blue bird flies over the tree."},
    )


@pytest.fixture
def docs(rag: Rag) -> Collection:
    return rag.get_collection("docs")


def answering(text: str = "In the sea [1].", name: str = PRICED, **usage: int) -> ScriptedLLM:
    return ScriptedLLM(Completion(text=text, usage=Usage(**usage)), name=name)


def test_an_answer_is_counted_with_all_its_calls(rag: Rag, docs: Collection) -> None:
    llm = answering(prompt_tokens=1000, answer_tokens=100)
    helper = ScriptedLLM('{"queries": ["a warm sea"]}', name="openai:gpt-4.1-nano")
    answer = docs.ask(
        QUESTION, strategy="single", llm=llm, helper_llm=helper, rewrite=["multi_query"],
        rerank=None,
    )  # fmt: skip
    docs.ask(QUESTION, strategy="extractive")
    lines = {(x.strategy, x.kind): x for x in rag.admin.usage(by=["strategy", "kind", "model"])}
    assert set(lines) == {("single", "answer"), ("single", "rewrite"), ("extractive", "answer")}
    single = lines["single", "answer"]
    assert (single.model, single.answers, single.calls) == (PRICED, 1, 1)
    assert single.cost == pytest.approx(1000 * 2e-6 + 100 * 8e-6)
    assert lines["single", "rewrite"].prompt_tokens == 9
    assert sum(x.cost for x in lines.values()) == pytest.approx(answer.cost)
    (whole,) = rag.admin.usage(by=[])
    assert (whole.answers, whole.calls) == (2, 2)


def test_reranking_by_the_model_counts_too(rag: Rag, docs: Collection) -> None:
    llm = ScriptedLLM("1, 2", "In the sea [1].", name=PRICED)
    answer = docs.ask(QUESTION, strategy="single", llm=llm, rerank="llm")
    assert answer.usage == Usage(prompt_tokens=18, answer_tokens=6)
    assert {x.kind for x in rag.admin.usage(by=["kind"])} == {"answer", "rerank"}


def test_calls_before_an_error_are_counted(rag: Rag, docs: Collection) -> None:
    llm = ScriptedLLM(ProviderAuth("refused"), name=PRICED)
    helper = ScriptedLLM('{"queries": ["sea"]}', name="helper")
    with pytest.raises(ProviderAuth):
        docs.ask(QUESTION, strategy="single", llm=llm, helper_llm=helper, rewrite=["multi_query"])
    found = {(x.strategy, x.kind): x for x in rag.admin.usage(by=["strategy", "kind"])}
    assert found["none", "rewrite"].unpriced_calls == 1
    assert (found["none", "answer"].failures, found["none", "answer"].answers) == (1, 0)


def test_an_answer_is_given_where_usage_cannot_be_written(
    rag: Rag, docs: Collection, connection: Connection
) -> None:
    with connection.transaction():
        connection.execute("LOCK TABLE rag.usage")
        assert docs.ask(QUESTION, llm=answering(), strategy="single").text == "In the sea [1]."
    assert rag.admin.usage() == []
    connection.execute("ALTER TABLE rag.usage RENAME TO gone")
    try:
        assert docs.ask(QUESTION, llm=answering(), strategy="single").found
    finally:
        connection.execute("ALTER TABLE rag.gone RENAME TO usage")


def test_a_role_that_may_not_write_answers_without_a_further_try(
    rag: Rag, docs: Collection, connection: Connection
) -> None:
    assert rag.dsn is not None
    role = f"usage_reader_{os.getpid()}"
    connection.execute(
        f"""CREATE ROLE {role} LOGIN;
            GRANT USAGE ON SCHEMA rag TO {role};
            GRANT EXECUTE ON ALL ROUTINES IN SCHEMA rag TO {role};
            GRANT SELECT ON ALL TABLES IN SCHEMA rag TO {role}""".encode()
    )
    try:
        with Rag(make_conninfo(rag.dsn, user=role), settings=rag.settings,
                 embedders=rag.models._extra) as reader:  # fmt: skip
            collection = reader.collection("docs")
            assert collection.ask(QUESTION, strategy="extractive").found
            assert not collection._opened.searcher.usage.may_write
    finally:
        connection.execute(f"DROP OWNED BY {role}; DROP ROLE {role}".encode())


def test_a_question_that_cannot_be_paid_spends_nothing(docs: Collection) -> None:
    llm, helper = answering(), ScriptedLLM("{}", name="openai:gpt-4.1-nano")
    answer = docs.ask(
        QUESTION, strategy="self_ask", llm=llm, helper_llm=helper, rewrite=["hyde"], rerank="llm",
        max_cost=0.0001,
    )  # fmt: skip
    assert (answer.strategy, answer.found, answer.cost) == ("extractive", True, 0)
    assert llm.calls == helper.calls == []
    assert answer.reason == "stopped by max_cost (0.0001)"
    assert answer.notes[0].startswith(
        "answered without a model: max_cost (0.0001) leaves 0.0001, and a call of openai:gpt-4.1"
        " may take 0.00"
    )
    assert answer.notes[0].endswith("US dollars; raise max_cost")


def test_max_cost_wants_a_price(docs: Collection) -> None:
    with pytest.raises(InvalidInput, match="its price is not known; use max_tokens"):
        docs.ask(QUESTION, llm=answering(name="mine"), max_cost=1.0)


def test_a_whole_answer_has_a_time(docs: Collection) -> None:
    going = threading.Event()

    def late(call: Any) -> str:
        going.wait(BOUND)
        return "In the sea [1]."

    for seconds in (1, 8, 64):  # a machine that finds nothing in the first is given the next
        answer = docs.ask(QUESTION, llm=ScriptedLLM(late), strategy="single", timeout=seconds)
        assert answer.reason == f"stopped by timeout ({seconds} s)"
        if answer.strategy != "none":
            break
    going.set()
    assert answer.strategy == "extractive"


@pytest.fixture
def asked(rag: Rag, docs: Collection) -> Any:
    """Ask as a worker does for rag.ask."""
    arguments = {"question": QUESTION, "limit": 8, "filter": {}, "timeout": 60}

    def ask(llm: ScriptedLLM, **options: Any) -> dict[str, Any]:
        rag.models._llms[rag.settings.llm] = llm
        return rag._answer_ask("docs", {**arguments, "options": options})

    return ask


def test_callers_of_workers_spend_within_the_budget(
    rag: Rag, connection: Connection, asked: Any
) -> None:
    connection.execute("SELECT rag.set_budget('openai', spend_cap => 5000, token_price => 1e6)")
    llm = answering(prompt_tokens=500, answer_tokens=50)
    answers = [asked(llm, strategy="single") for _ in range(9)]
    made = [a for a in answers if a["strategy"] == "single"]
    assert 1 <= len(made) == len(llm.calls) < 5
    refused = answers[-1]
    assert refused["found"] and refused["reason"] == "stopped by the budget of openai"
    assert len(refused["notes"]) == 1 and "\n" not in refused["notes"][0]
    assert "single was stopped: the spend cap of openai is reached: " in refused["notes"][0]
    assert "rag.set_budget raises it; answered by extractive" in refused["notes"][0]
    row = connection.execute("SELECT spent FROM rag.budgets").fetchone()
    assert row is not None and row[0] < 5000 + 3000  # the call under way when it was reached


def test_a_provider_without_a_budget_answers(asked: Any) -> None:
    assert asked(answering(), strategy="single")["text"] == "In the sea [1]."


def test_a_short_wait_is_sat_out() -> None:
    waits = [0.5, 0.2, 0.0]
    slept: list[float] = []

    class Budgets:
        def take_budget(self, provider: str, requests: int, tokens: int) -> float:
            assert (provider, requests, tokens) == ("openai", 1, 700)
            return waits.pop(0)

        def budget_reason(self, provider: str) -> str:
            return "openai has had its requests"

    admit = take_budgets(Budgets(), sleep=slept.append)  # type: ignore[arg-type]
    admit(answering(), 700)
    assert slept == [0.5, 0.2]
    waits.append(30.0)
    with pytest.raises(BudgetExceeded, match="openai has had its requests; rag.set_budget"):
        admit(answering(), 700)


def purposes(rag: Rag) -> dict[tuple[str | None, str | None], tuple[int, int]]:
    """Calls and answers by strategy and kind."""
    lines = rag.admin.usage(by=["strategy", "kind"])
    return {(x.strategy, x.kind): (x.calls, x.answers) for x in lines}


def test_the_models_of_a_search_are_counted_and_bounded(rag: Rag, docs: Collection) -> None:
    helper = ScriptedLLM('{"queries": ["a warm sea"]}', name="openai:gpt-4.1-nano")
    docs.search(QUESTION)
    docs.search(QUESTION, rewrite=["multi_query"], helper_llm=helper)
    reranker = ScriptedLLM("1, 2", name=PRICED)
    hits = docs.search(QUESTION, rerank=LLMReranker(reranker))
    assert hits[0].rerank_score is not None
    assert purposes(rag) == {("search", "rewrite"): (1, 0), ("search", "rerank"): (1, 0)}
    for bound in ({"max_tokens": 10}, {"max_cost": 1e-9}):
        hits = docs.search(
            QUESTION, rewrite=["multi_query"], helper_llm=helper, rerank=LLMReranker(reranker),
            **bound,
        )  # fmt: skip
        assert hits and sum("was stopped by" in note for note in hits.notes) == 2
    assert (len(helper.calls), len(reranker.calls)) == (1, 1)


def test_judges_and_questions_that_a_model_writes_are_counted_and_bounded(
    rag: Rag, docs: Collection
) -> None:
    rag.evaluation.sets.put(
        "set", [{"question": QUESTION, "relevant": ["fish"], "answers": ["sea"]}]
    )
    run = docs.evaluation.run("set", kind="ask", llm="extractive")
    judge = ScriptedLLM('{"grade": 2, "reason": "it does"}', name=PRICED)
    bounded = rag.evaluation.runs.judge(run.run_id, "correctness", llm=judge, max_tokens=10)
    assert bounded.scored == 0 and "max_tokens" in bounded.failures[0] and not judge.calls
    assert rag.evaluation.runs.judge(run.run_id, "correctness", llm=judge).scored == 1
    docs.add({"uri": "long", "content": "The engine weaves patterns of many threads. " * 20})
    writer = ScriptedLLM("no JSON", name=PRICED)
    counts, _ = docs.evaluation.generate_queries("made", count=2, llm=writer, max_tokens=10)
    assert not writer.calls and any("max_tokens" in reason for reason in counts)
    docs.evaluation.generate_queries("made", count=2, llm=writer)
    found = purposes(rag)
    assert found["evaluation", "judge"] == (1, 0)
    assert found["evaluation", "questions"] == (len(writer.calls), 0)
