"""Every strategy, driven through its branches by a scripted model over a scripted search."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import passages
import pytest
from contexts import context_of
from fakes import Call, HashEmbedder, ScriptedLLM
from passages import hits
from prompts import quoted

from rag_pg.answer import AnswerContext, answer_question, find_strategy, register_strategy
from rag_pg.answer.asker import Asker
from rag_pg.answer.extractive.answer import NOT_FOUND
from rag_pg.answer.question import Question, Verify, check_choice
from rag_pg.answer.tools import calculate, parse_calls
from rag_pg.answer.trace import Trace
from rag_pg.errors import (
    InvalidInput,
    ModelUnavailable,
    ProviderAuth,
    ProviderTimeout,
    ProviderUnavailable,
)
from rag_pg.providers import Account, Bounds
from rag_pg.types import (
    Answer,
    Capabilities,
    Citation,
    Completion,
    Document,
    Event,
    Hit,
    Hits,
    ToolCall,
    Vectors,
)

TEXTS = {
    1: ("fish.md", "The red fish swims in the sea. It eats 12 shrimps a day."),
    2: ("gulls.md", "The blue bird flies over the sea."),
    3: ("shrimps.md", "A shrimp lives for 6 years."),
    4: ("whales.md", "Whales sing at night."),
}
QUESTION = "What does the red fish eat?"
NOW = datetime(2026, 11, 22, tzinfo=UTC)
DOWN = ProviderUnavailable("cannot be reached")


def hit(number: int) -> Hit:
    uri, content = TEXTS[number]
    return passages.hit(content, number=number, uri=uri)


class Library:
    """A search that finds by the query's words; `queries` are what was searched for."""

    def __init__(self, *, without_vectors: bool = False) -> None:
        self.queries: list[str] = []
        self.options: list[Mapping[str, Any]] = []
        self._without_vectors = without_vectors

    def find(self, query: str, **options: Any) -> Hits:
        self.queries.append(query)
        self.options.append(options)
        words = {word.strip("?.").lower() for word in query.split()} - {"the", "a", "does"}
        found = [
            hit(number)
            for number, (_, text) in TEXTS.items()
            if options.get("limit") == 1000 or words & {w.strip(".").lower() for w in text.split()}
        ]
        if self._without_vectors:
            return Hits(found, ["vector search was skipped: down"], {"vector"}, method="keyword")
        return Hits(found)

    def read(self, uri: str) -> Document | None:
        for number, (name, text) in TEXTS.items():
            if name == uri:
                return Document(
                    document_id=UUID(int=number), uri=uri, title="", media_type="text/plain",
                    language="english", metadata={}, version=1, chunks=1, state="ready",
                    error=None, created_at=NOW, updated_at=NOW, content=text,
                )  # fmt: skip
        return None


def run(
    strategy: str,
    *replies: Any,
    question: str = QUESTION,
    library: Library | None = None,
    helper: ScriptedLLM | None = None,
    capabilities: Capabilities | None = None,
    bounds: Bounds | None = None,
    verify: Verify | None = None,
    listener: Any = None,
    price: Any = lambda model, usage: None,
    embedder: Any = HashEmbedder,
) -> tuple[Answer, ScriptedLLM]:
    library = library or Library()
    llm = ScriptedLLM(*(replies or ("unused",)), name="main", capabilities=capabilities)
    context = context_of(
        question,
        library.find,
        read=library.read,
        embedder=embedder,
        llm=llm,
        helper_llm=helper,
        account=Account(bounds or Bounds(), price=price),
        listener=listener,
        verify=verify,
    )
    return answer_question(context, strategy), llm


def kinds(answer: Answer) -> list[str]:
    return [step.kind for step in answer.steps]


def searched(answer: Answer) -> list[str]:
    return [step.detail["query"] for step in answer.steps if step.kind == "search"]


def as_json(**value: Any) -> str:
    return json.dumps(value)


# --- what all have in common ---------------------------------------------------------------------


@pytest.mark.parametrize("kind", [AnswerContext, Question, Trace, Asker])
def test_what_a_strategy_has_is_told_in_ten_fields(kind: Any) -> None:
    assert 0 < len(fields(kind)) <= 10


def test_an_answer_tells_what_was_done() -> None:
    answer, _ = run("single", "It eats shrimps [1].", price=lambda model, usage: 0.25)
    assert (answer.strategy, answer.model, answer.found) == ("single", "main", True)
    assert [c.uri for c in answer.citations] == ["fish.md"]
    search, shown, call = answer.steps
    assert search.kind == "search" and search.detail["query"] == QUESTION
    assert search.detail["hits"][0] == {"chunk_id": 1, "uri": "fish.md", "score": 1.0}
    assert shown.kind == "context" and shown.detail["chunk_ids"] == [1]
    assert (shown.detail["counted_by"], shown.detail["left_out"]) == ("estimate", 0)
    assert call.detail == {"purpose": "answer", "model": "main", "finish": "stop"}
    assert (answer.usage.prompt_tokens, answer.usage.answer_tokens) == (9, 3)
    assert answer.cost == 0.25 and answer.seconds > 0
    assert len(bytes.fromhex(answer.trace_id)) == 16


def test_the_cost_is_not_told_where_a_price_is_not_known() -> None:
    assert run("single", "So [1].")[0].cost is None


def test_markdown_names_the_sources() -> None:
    answer, _ = run("single", "It eats shrimps [1].")
    assert answer.markdown() == "It eats shrimps [1].\n\n## Sources\n\n- [1] fish.md"
    assert run("single", "NOT_IN_DOCUMENTS")[0].markdown() == NOT_FOUND


def test_a_source_in_markdown_is_titled_once_and_stays_readable() -> None:
    source = Citation(
        number=1, chunk_id=1, uri="a_b.md", title="Paths", heading="Paths > <T> types", quote="x"
    )
    answer = Answer(text="Yes [1].", found=True, citations=[source])
    assert answer.markdown().splitlines()[-1] == r"- [1] Paths > \<T> types · a_b.md"


# Replies with which a strategy comes to its end.
GOOD: dict[str, list[Any]] = {
    "single": ["Shrimps [1]."],
    "verify": [as_json(draft="Shrimps [1].", unsupported=[], final="Shrimps [1].")],
    "self_ask": [as_json(answer="shrimps", follow_up=""), "Shrimps [1]."],
    "iterative": [as_json(sufficient=True, missing="", query=""), "Shrimps [1]."],
    "evidence": [
        lambda call: as_json(summary="It eats shrimps.", score=8) if call.schema else "Shrimps [1]."
    ],
    "agent": [
        Completion(
            text="",
            tool_calls=[ToolCall(id="1", name="search", arguments={"query": "red fish"})],
            finish="tool_calls",
        ),
        "Shrimps [1].",
    ],
    "full_context": ["Shrimps [1]."],
    "auto": ["Shrimps [1]."],
}


@pytest.mark.parametrize("strategy", GOOD)
def test_every_strategy_cites(strategy: str) -> None:
    answer, _ = run(strategy, *GOOD[strategy])
    assert (answer.text, answer.found) == ("Shrimps [1].", True)
    assert [(c.number, c.uri) for c in answer.citations] == [(1, "fish.md")]
    assert answer.citations[0].quote in TEXTS[1][1]
    assert answer.notes == ()
    assert answer.strategy == ("single" if strategy == "auto" else strategy)


@pytest.mark.parametrize("strategy", GOOD)
@pytest.mark.parametrize("error", [DOWN, ProviderTimeout("no answer within 60 s")])
def test_a_model_that_is_down_leaves_the_documents_own_sentences(
    strategy: str, error: Exception
) -> None:
    answer, _ = run(strategy, error)
    assert (answer.strategy, answer.model) == ("extractive", "extractive")
    assert answer.found and [c.uri for c in answer.citations] == ["fish.md"]
    assert any(str(error) in note and "answered by extractive" in note for note in answer.notes)


@pytest.mark.parametrize("strategy", GOOD)
@pytest.mark.parametrize("error", [ProviderAuth("no key"), ModelUnavailable("no library")])
def test_a_mistake_in_the_set_up_is_an_error(strategy: str, error: Exception) -> None:
    with pytest.raises(type(error), match=str(error)):
        run(strategy, error)


def test_any_error_of_a_models_own_code_is_a_failure_of_the_model() -> None:
    answer, _ = run("single", KeyError("choices"))
    assert answer.strategy == "extractive"
    assert "single failed: main failed: KeyError: 'choices'" in answer.notes[0]


@pytest.mark.parametrize("strategy", GOOD)
def test_a_blocked_answer_leaves_the_documents_own_sentences(strategy: str) -> None:
    answer, _ = run(strategy, Completion(text="", finish="blocked", reason="SAFETY"))
    assert answer.strategy == "extractive" and answer.found
    assert any("SAFETY" in note for note in answer.notes)


@pytest.mark.parametrize("strategy", [*GOOD, "extractive"])
def test_keywords_answer_while_the_embedder_is_down(strategy: str) -> None:
    answer, _ = run(strategy, *GOOD.get(strategy, []), library=Library(without_vectors=True))
    assert answer.found and "vector search was skipped: down" in answer.notes


def test_what_is_checked_without_the_embedder_is_noted() -> None:
    class Down(HashEmbedder):
        def embed_documents(self, texts: Sequence[str]) -> Vectors:
            raise DOWN

    def gone() -> HashEmbedder:
        raise ModelUnavailable("cannot be reached")

    note = "sentences were compared by their words alone: cannot be reached"
    for embedder, is_noted in ((Down, True), (gone, True), (HashEmbedder, False)):
        answer, _ = run("single", "Tiny crustaceans feed it [1].", embedder=embedder)
        assert (note in answer.notes) == is_noted


@pytest.mark.parametrize("strategy", GOOD)
def test_a_refusal_is_no_answer(strategy: str) -> None:
    refusal = "NOT_IN_DOCUMENTS The documents do not say."
    replies = [*GOOD[strategy][:-1], refusal]
    if strategy == "verify":
        replies = [as_json(draft=refusal, unsupported=[], final=refusal)]
    if strategy == "evidence":
        replies = [lambda call: as_json(summary="It eats.", score=3) if call.schema else refusal]
    answer, _ = run(strategy, *replies)
    assert (answer.found, answer.text) == (False, "The documents do not say.")
    assert (answer.sufficient, list(answer.citations)) == (False, [])
    assert answer.reason == "the documents do not answer"


@pytest.mark.parametrize("strategy", [*GOOD, "extractive"])
def test_nothing_found_is_no_answer_and_costs_no_final_call(strategy: str) -> None:
    answer, llm = run(strategy, *GOOD.get(strategy, []), question="Quantum entanglement?")
    assert not answer.found or strategy in ("full_context", "agent")
    if strategy in ("single", "verify", "auto"):
        assert llm.calls == []


def test_a_strategy_needs_a_language_model_and_says_so() -> None:
    context = context_of(QUESTION, Library().find)
    with pytest.raises(InvalidInput, match="needs a language model.*RAG_PG_LLM"):
        answer_question(context, "single")
    assert answer_question(context).strategy == "extractive"


def test_an_unknown_strategy_is_told_what_there_is() -> None:
    with pytest.raises(InvalidInput, match="did you mean 'iterative'"):
        find_strategy("iteratve")
    with pytest.raises(InvalidInput, match="use agent, auto, evidence"):
        find_strategy("zzz")


def test_a_function_is_a_strategy_and_can_be_registered() -> None:
    def shout(question: str, context: AnswerContext) -> Answer:
        hits = context.search(question)
        return Answer(text=hits[0].content.upper(), found=True)

    context = context_of(QUESTION, Library().find)
    answer = answer_question(context, shout)
    assert answer.text.startswith("THE RED FISH") and answer.strategy == "shout"
    register_strategy("shouting", shout)
    register_strategy("shouting", shout)
    assert find_strategy("shouting") == ("shouting", shout)
    with pytest.raises(InvalidInput, match="there is a strategy 'single' already"):
        register_strategy("single", shout)
    with pytest.raises(InvalidInput, match="no name for a strategy"):
        register_strategy("os:system", shout)


@pytest.mark.parametrize(
    "bounds", [{"max_steps": 0}, {"max_steps": 51}, {"max_steps": True}, {"max_tokens": 0},
               {"max_tokens": "9"}, {"max_cost": -1.0}, {"max_cost": float("nan")},
               {"max_cost": float("inf")}, {"timeout": 0}, {"timeout": 90_000}]
)  # fmt: skip
def test_bounds_are_checked(bounds: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(bounds))):
        Bounds(**bounds)


# --- auto, full_context --------------------------------------------------------------------------


def test_full_context_shows_everything_in_the_documents_order() -> None:
    library = Library()
    answer, _ = run("full_context", "All [1][2][3].", library=library)
    assert library.options[0]["limit"] == 1000
    assert [c.uri for c in answer.citations] == ["fish.md", "gulls.md", "shrimps.md"]


def test_full_context_that_does_not_fit_is_answered_by_single() -> None:
    library = Library(without_vectors=True)
    answer, _ = run("full_context", "Shrimps [1].", library=library)
    assert answer.strategy == "single" and len(library.queries) == 2
    assert any(note.startswith("full_context: ") for note in answer.notes)


# --- verify --------------------------------------------------------------------------------------


def test_verify_drafts_checks_and_writes_in_one_call() -> None:
    reply = as_json(
        draft="Shrimps [1]. And cheese [1].", unsupported=["And cheese [1]."], final="Shrimps [1]."
    )
    answer, llm = run("verify", reply)
    assert (answer.text, len(llm.calls)) == ("Shrimps [1].", 1)
    assert answer.notes == ("1 statements of the draft were taken out: no source supports them",)
    assert next(s for s in answer.steps if s.kind == "check").detail["unsupported"] == [
        "And cheese [1]."
    ]


def test_verify_that_is_malformed_twice_is_answered_by_single() -> None:
    answer, llm = run("verify", "no json", "again none", "Shrimps [1].")
    assert (answer.strategy, answer.text, len(llm.calls)) == ("single", "Shrimps [1].", 3)
    assert answer.notes[0].startswith("verify failed:")


def verdicts(*supported: bool) -> str:
    found = [{"statement": n, "supported": yes} for n, yes in enumerate(supported, 1)]
    return as_json(verdicts=found)


def test_once_checks_all_statements_in_one_call_of_the_helper() -> None:
    helper = ScriptedLLM(verdicts(True, False), name="helper")
    answer, llm = run("single", "It eats shrimps [1]. It flies [2].", helper=helper, verify="once")
    assert (answer.text, len(llm.calls), len(helper.calls)) == ("It eats shrimps [1].", 1, 1)
    assert [c.number for c in answer.citations] == [1]
    assert answer.sufficient is False and "taken out" in answer.reason
    taken_out = "1 of 2 statements were taken out: no sentence of their sources was found"
    assert any(note.startswith(taken_out) for note in answer.notes)


def test_strict_asks_about_each_statement_with_the_sources_it_cites() -> None:
    def judge(call: Call) -> str:
        number = 1 if "1. It eats" in call.prompt else 2
        return as_json(verdicts=[{"statement": number, "supported": number == 1}])

    helper = ScriptedLLM(judge, name="helper")
    answer, _ = run("single", "It eats shrimps [1]. It flies [2].", helper=helper, verify="strict")
    assert (answer.text, len(helper.calls)) == ("It eats shrimps [1].", 2)
    assert all(prompt.count("--- source") == 1 for prompt in helper.prompts)


def test_an_answer_without_any_support_is_no_answer() -> None:
    answer, _ = run(
        "single", "It flies [2].", verdicts(False), question="What is in the sea?", verify="once"
    )
    assert (answer.found, answer.text, list(answer.citations)) == (False, NOT_FOUND, [])
    assert answer.reason == "no source supports the answer that was written"


def test_an_answer_that_cites_nothing_is_verified_by_all_that_was_shown() -> None:
    helper = ScriptedLLM(verdicts(False), name="helper")
    answer, _ = run("single", "It flies.", helper=helper, verify="once")
    assert "12 shrimps a day" in helper.prompts[0]
    assert (answer.found, list(answer.unsupported)) == (False, ["It flies."])


def test_a_supported_answer_stays_as_it_is() -> None:
    answer, _ = run("single", "It eats shrimps [1].", verdicts(True), verify="once")
    assert (answer.text, answer.sufficient, answer.notes) == ("It eats shrimps [1].", True, ())


@pytest.mark.parametrize("verify", ["once", "strict"])
def test_an_answer_that_nobody_could_check_says_so(verify: Verify) -> None:
    answer, _ = run("single", "It eats [1].", helper=ScriptedLLM(DOWN), verify=verify)
    assert (answer.text, answer.sufficient) == ("It eats [1].", None)
    assert "check was skipped: cannot be reached" in answer.notes
    assert any(note.startswith("1 of 1 statements were not checked by ") for note in answer.notes)


def test_strategy_verify_checked_strictly_drafts_first() -> None:
    answer, llm = run("verify", "It eats shrimps [1].", verdicts(True), verify="strict")
    assert (answer.strategy, len(llm.calls)) == ("verify", 2)


def test_the_documents_own_text_is_not_verified() -> None:
    answer, llm = run("extractive", verify="strict")
    assert "not verified: the answer is made of the documents' own text" in answer.notes
    assert llm.calls == []


def test_an_unknown_check_is_refused() -> None:
    with pytest.raises(InvalidInput, match="use once or strict"):
        check_choice("verify", "twice", Verify)


# --- self_ask ------------------------------------------------------------------------------------


def test_self_ask_searches_for_each_follow_up_question() -> None:
    helper = ScriptedLLM(
        as_json(answer="It eats shrimps.", follow_up="How long does a shrimp live?"),
        as_json(answer="6 years.", follow_up=""),
        name="helper",
    )
    answer, llm = run("self_ask", "Shrimps [1], for 6 years [2].", helper=helper)
    assert searched(answer) == [QUESTION, "How long does a shrimp live?"]
    assert "shrimps.md" in {c.uri for c in answer.citations}
    assert "How long does a shrimp live? 6 years." in llm.prompts[-1]
    assert [s.detail["follow_up"] for s in answer.steps if s.kind == "follow_up"] == [
        "How long does a shrimp live?", "",
    ]  # fmt: skip


def test_self_ask_stops_at_its_bound() -> None:
    numbers = iter(range(100))
    helper = ScriptedLLM(lambda call: as_json(answer="no", follow_up=f"fish {next(numbers)}?"))
    answer, _ = run("self_ask", "So [1].", helper=helper, bounds=Bounds(max_steps=2))
    assert len(searched(answer)) == 3
    assert "stopped after max_steps (2) follow-up questions" in answer.notes


def test_self_ask_stops_when_a_question_comes_again() -> None:
    helper = ScriptedLLM(as_json(answer="no", follow_up=QUESTION))
    answer, _ = run("self_ask", "So [1].", helper=helper)
    assert searched(answer) == [QUESTION] and answer.notes == ()


@pytest.mark.parametrize("strategy", ["self_ask", "iterative", "evidence"])
@pytest.mark.parametrize("reply", [DOWN, "no json", as_json(wrong=1)])
def test_a_helper_that_fails_leaves_what_was_found(strategy: str, reply: Any) -> None:
    answer, _ = run(strategy, "Shrimps [1].", helper=ScriptedLLM(reply, name="helper"))
    assert (answer.strategy, answer.text) == (strategy, "Shrimps [1].")
    left_out = " was skipped: " if reply is DOWN else " failed: "
    assert any(left_out in note for note in answer.notes)


# --- iterative -----------------------------------------------------------------------------------


def test_iterative_searches_for_what_is_missing_until_it_is_enough() -> None:
    helper = ScriptedLLM(
        as_json(sufficient=False, missing="how long shrimps live", query="shrimp years"),
        as_json(sufficient=True, missing="", query=""),
    )
    answer, _ = run("iterative", "Shrimps [1][2].", helper=helper)
    assert searched(answer) == [QUESTION, "shrimp years"]
    assert (answer.sufficient, answer.reason) == (True, "")
    assert "- shrimp years" in helper.prompts[1]


@pytest.mark.parametrize("query", ["", QUESTION, "zebra"])
def test_iterative_stops_where_nothing_new_is_found(query: str) -> None:
    helper = ScriptedLLM(as_json(sufficient=False, missing="the colour", query=query))
    answer, _ = run("iterative", "So [1].", helper=helper)
    assert len(helper.calls) == 1
    assert (answer.sufficient, answer.reason) == (False, "the colour")


def test_iterative_stops_at_its_bound() -> None:
    queries = iter(["bird", "shrimp", "sea", "blue"])
    helper = ScriptedLLM(lambda call: as_json(sufficient=False, missing="?", query=next(queries)))
    answer, _ = run("iterative", "So [1].", helper=helper, bounds=Bounds(max_steps=1))
    assert len(searched(answer)) == 2
    assert "stopped after max_steps (1) further searches" in answer.notes


# --- evidence ------------------------------------------------------------------------------------


def test_evidence_answers_from_the_best_summaries_and_cites_the_passages() -> None:
    def judge(call: Call) -> str:
        useful = "shrimps a day" in call.prompt
        return as_json(summary="Shrimps, 12 a day." if useful else "", score=9 if useful else 0)

    helper = ScriptedLLM(judge, name="helper")
    answer, llm = run("evidence", "Shrimps [1].", question="What swims in the sea?", helper=helper)
    assert len(helper.calls) == 2 and "Shrimps, 12 a day." in llm.prompts[0]
    assert "flies" not in llm.prompts[0]
    assert answer.citations[0].quote in TEXTS[1][1]
    scores = next(s for s in answer.steps if s.kind == "evidence").detail["passages"]
    assert scores == [{"chunk_id": 1, "score": 9}, {"chunk_id": 2, "score": 0}]


def test_evidence_refuses_without_asking_when_no_passage_helps() -> None:
    helper = ScriptedLLM(as_json(summary="", score=0), name="helper")
    answer, llm = run("evidence", "So [1].", helper=helper)
    assert (answer.found, answer.sufficient, llm.calls) == (False, False, [])
    assert answer.reason == "no passage helps to answer the question"


def test_evidence_asks_about_a_bounded_number_of_passages() -> None:
    helper = ScriptedLLM(as_json(summary="", score=0), name="helper")
    context = context_of(
        QUESTION,
        lambda query, **options: Hits(hits(*map(str, range(60)))),
        llm=ScriptedLLM("So [1].", name="main"),
        helper_llm=helper,
    )
    answer = answer_question(context, "evidence")
    assert len(helper.calls) == 50
    assert "the first 50 of 60 passages were judged" in answer.notes


# --- agent ---------------------------------------------------------------------------------------


def calls(name: str, **arguments: Any) -> Completion:
    call = ToolCall(id="1", name=name, arguments=arguments)
    return Completion(text="", tool_calls=[call], finish="tool_calls")


def test_agent_searches_reads_and_calculates() -> None:
    answer, llm = run(
        "agent",
        calls("search", query="red fish"),
        calls("get_document", uri="fish.md"),
        calls("calculate", expression="12 * 365"),
        "4,380 shrimps a year [1].",
    )
    assert answer.text == "4,380 shrimps a year [1]." and answer.citations[0].uri == "fish.md"
    results = [m.content for m in llm.calls[-1].messages if m.role == "tool"]
    assert (
        "--- source [" in results[0]
        and "12 shrimps" in results[1]
        and quoted(results[2]) == ["4380"]
    )
    assert kinds(answer).count("tool_call") == kinds(answer).count("tool_result") == 3


def test_agent_keeps_the_number_of_a_source_over_searches() -> None:
    answer, _ = run(
        "agent",
        calls("search", query="bird"),
        calls("search", query="sea"),
        "It flies [1], it swims [2].",
    )
    assert [(c.number, c.uri) for c in answer.citations] == [(1, "gulls.md"), (2, "fish.md")]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (calls("rm", path="/"), "error: there is no tool rm"),
        (calls("search", query=""), "error: $.query"),
        (
            calls("search", query="a", limit=1000),
            "error: search has no argument 'limit'; it has query",
        ),
        (
            calls("get_document", uri="/etc/passwd"),
            "error: there is no document with the uri '/etc/passwd'",
        ),
        (calls("calculate", expression="__import__('os')"), "error: cannot calculate"),
    ],
)
def test_agent_is_told_of_a_wrong_call(call: Completion, told: str) -> None:
    answer, llm = run("agent", call, calls("search", query="fish"), "So [1].")
    assert next(m.content for m in llm.calls[1].messages if m.role == "tool").startswith(told)
    assert answer.found


def test_agent_stops_at_its_bound_and_answers() -> None:
    answer, llm = run(
        "agent",
        lambda call: calls("search", query="fish") if call.tools else "So [1].",
        bounds=Bounds(max_steps=2),
    )
    assert (answer.text, len(llm.calls)) == ("So [1].", 3)
    assert "stopped after max_steps (2) calls of the model" in answer.notes


def test_agent_that_never_answers_or_never_searches_is_followed_by_single() -> None:
    for replies in (
        [lambda call: "So [1]." if len(call.messages) == 2 and "Sources" in call.prompt
         else calls("search", query="fish")],
        ["I know it.", "So [1]."],
    ):  # fmt: skip
        answer, _ = run("agent", *replies, bounds=Bounds(max_steps=1))
        assert (answer.strategy, answer.text) == ("single", "So [1].")
        assert answer.notes[-1].startswith("agent failed: ")


def test_agent_calls_tools_by_text_where_the_model_has_none() -> None:
    answer, llm = run(
        "agent",
        'TOOL_CALL: search({"query": "red fish"})',
        "TOOL_CALL: calculate([77])",
        'TOOL_CALL: calculate({"expression": "12*2"})',
        "24 shrimps in two days [1].",
        capabilities=Capabilities(),
    )
    assert answer.text == "24 shrimps in two days [1]." and answer.citations[0].uri == "fish.md"
    assert "TOOL_CALL: name" in llm.calls[0].messages[0].content and not llm.calls[0].tools
    assert llm.prompts[1].startswith("Result of search:\n--- source [")
    assert llm.prompts[2].startswith("error: the arguments of calculate are no JSON object")
    assert llm.prompts[3].startswith("Result of calculate:\n--- result [")
    assert quoted(llm.prompts[3]) == ["24"]


@pytest.mark.parametrize(
    "text",
    [
        'TOOL_CALL: search({"query": "a"}) and more',
        'TOOL_CALL: search({"query": "a"})\nTOOL_CALL: search',
        'TOOL_CALL: search({"query": "a", "query": "b"})',
        'TOOL_CALL: search({"limit": NaN})',
        "TOOL_CALL: search(query='a')",
        "TOOL_CALL: search",
        "TOOL_CALL: search([1])",
    ],
)
def test_half_a_call_by_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_calls(text)


def test_a_call_by_text_is_read() -> None:
    text = 'I look.\n  TOOL_CALL: search({"query": "a (b)"})\nTOOL_CALL: get-it()\n'
    found = [(call.name, call.arguments) for call in parse_calls(text)]
    assert found == [("search", {"query": "a (b)"}), ("get-it", {})]
    assert not parse_calls("The answer is in TOOL_CALL: no line.")


@pytest.mark.parametrize(
    ("expression", "value"),
    [("1 + 2 * 3", 7), ("-(4 - 1) ** 2", -9), ("7 // 2 + 7 % 2", 4), ("round(2.5 / 2, 1)", 1.2),
     ("max(1, 2) + abs(-3) + sqrt(16)", 9)],
)  # fmt: skip
def test_calculations(expression: str, value: float) -> None:
    assert calculate(expression) == value


@pytest.mark.parametrize(
    "expression",
    ["", "1 / 0", "9 ** 9 ** 9 ** 9", "'a' * 3", "().__class__", "open('x')", "1 if 1 else 2",
     "1" * 201, "(" * 201, "sqrt(-1)", "True", "round(1, 1e300)", "1e400"],
)  # fmt: skip
def test_what_is_no_calculation_is_refused(expression: str) -> None:
    with pytest.raises(InvalidInput):
        calculate(expression)


# --- events --------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", GOOD)
def test_events_tell_the_answer_in_pieces(strategy: str) -> None:
    events: list[Event] = []
    answer, _ = run(strategy, *GOOD[strategy], listener=events.append)
    assert "".join(event.text for event in events if event.kind == "token") == answer.text
    assert [e.citation.number for e in events if e.citation] == [c.number for c in answer.citations]
    told: Sequence[Any] = [event.step for event in events if event.step is not None]
    assert told == list(answer.steps)
    assert "search" in [event.kind for event in events]
    if strategy == "agent":
        assert {"tool_call", "tool_result"} <= {event.kind for event in events}
