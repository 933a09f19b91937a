"""Questions to a collection: options, conversations, events, and the same for asyncio."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Mapping
from typing import Any

import pytest
from fakes import Call, HashEmbedder, ScriptedLLM
from patience import BOUND

from rag_pg import Answer, AsyncRag, InvalidInput, InvalidQuery, ProviderUnavailable, Rag, Settings
from rag_pg.client.collection import Collection
from rag_pg.types import Event

QUESTION = "Where does the red fish swim?"
PAGES = [
    {"uri": "fish", "content": "The red fish swims in the warm sea."},
    {"uri": "bird", "content": "A blue bird flies over the tree."},
]


@pytest.fixture
def docs(rag: Rag) -> Collection:
    collection = rag.collection("docs", model="hash:32")
    collection.add(*PAGES)
    return collection


def cite(call: Call) -> str:
    """Answer from the source that stands in the prompt as the first."""
    return "In the sea [1]."


def test_a_follow_up_is_answered_as_the_question_that_it_stands_for(docs: Collection) -> None:
    helper = ScriptedLLM(json.dumps({"question": "Where does the red fish swim?"}), name="helper")
    llm = ScriptedLLM(cite, name="main")
    history = [
        {"role": "user", "content": "Tell me about the red fish."},
        {"role": "assistant", "content": "The red fish is a fish."},
    ]
    answer = docs.ask("And where does it swim?", history=history, llm=llm, helper_llm=helper)
    assert "Question: Where does the red fish swim?" in llm.prompts[0]
    assert [c.uri for c in answer.citations] == ["fish"]
    assert [step.kind for step in answer.steps] == [
        "llm",
        "rewrite",
        "route",
        "search",
        "context",
        "llm",
    ]
    assert answer.usage.prompt_tokens == 18


def test_rewrites_widen_the_first_search_alone(docs: Collection) -> None:
    helper = ScriptedLLM(json.dumps({"queries": ["fish in water", "swimming"]}), name="helper")
    answer = docs.ask(QUESTION, rewrite=["multi_query"], llm=ScriptedLLM(cite), helper_llm=helper)
    assert answer.found and "rewrite" in [step.kind for step in answer.steps]
    with pytest.raises(InvalidInput, match="did you mean 'multi_query'"):
        docs.ask(QUESTION, rewrite=["multiquery"])


def test_options_are_checked(docs: Collection) -> None:
    wrong: Mapping[str, Any] = {"stratgy": "single"}
    with pytest.raises(InvalidInput, match="ask has no option 'stratgy'; did you mean 'strategy'"):
        docs.ask(QUESTION, **wrong)
    with pytest.raises(InvalidInput, match="max_steps 0"):
        docs.ask(QUESTION, max_steps=0)
    with pytest.raises(InvalidQuery, match="the query is empty"):
        docs.ask(" ")


def test_events_end_with_the_answer_and_errors_reach_the_reader(docs: Collection) -> None:
    events = list(docs.stream(QUESTION, llm=ScriptedLLM(cite)))
    assert [event.kind for event in events if event.kind != "token"] == [
        "step", "search", "step", "step", "citation", "answer",
    ]  # fmt: skip
    answer = events[-1].answer
    assert answer is not None and "".join(event.text for event in events) == answer.text
    with pytest.raises(InvalidInput, match="there is no strategy"):
        list(docs.stream(QUESTION, strategy="none"))


def test_a_reader_who_leaves_ends_the_work(docs: Collection) -> None:
    asked, left = threading.Event(), threading.Event()

    def wait(call: Call) -> str:
        asked.set()
        left.wait(BOUND)
        return json.dumps({"answer": "?", "follow_up": "And why?"})

    llm = ScriptedLLM(wait)
    events = docs.stream(QUESTION, strategy="self_ask", helper_llm=llm, llm=ScriptedLLM(cite))
    assert next(events).kind == "search"
    assert asked.wait(BOUND)
    (thread,) = [t for t in threading.enumerate() if t.name == "rag-pg-ask"]
    events.close()
    left.set()
    thread.join(BOUND)
    assert not thread.is_alive() and len(llm.calls) == 1


def test_an_answer_changed_after_its_tokens_is_told_whole(docs: Collection) -> None:
    class Breaks(ScriptedLLM):
        def stream(self, messages: Any, **options: Any) -> Any:
            yield "They swim in the sea. "
            yield "And so on. "
            raise ProviderUnavailable("the connection was lost")

    events = list(docs.stream(QUESTION, llm=Breaks("")))
    assert "".join(event.text for event in events) == "They swim in the sea."
    answer = events[-1].answer
    assert answer is not None and answer.strategy == "extractive" and answer.found
    assert any("the connection was lost" in note for note in answer.notes)


def test_asyncio_has_the_same_questions_and_events(docs: Collection, dsn: str, rag: Rag) -> None:
    async def ask() -> tuple[Answer, list[Event]]:
        embedders = {"hash": lambda name: HashEmbedder(name)}
        settings = Settings(home=rag.settings.home)
        async with AsyncRag(dsn, settings=settings, embedders=embedders) as there:
            same = await there.collection("docs")
            answer = await same.ask(QUESTION, strategy="verify", llm=ScriptedLLM(checked))
            events = [e async for e in same.stream(QUESTION, llm=ScriptedLLM(cite))]
            async for _ in same.stream(QUESTION, llm=ScriptedLLM(cite)):
                break  # a reader may leave
            return answer, events

    checked = json.dumps({"draft": "x", "unsupported": [], "final": "In the sea [1]."})
    answer, events = asyncio.run(ask())
    assert (answer.strategy, answer.text) == ("verify", "In the sea [1].")
    assert events[-1].answer is not None and events[-1].answer.text == "In the sea [1]."
