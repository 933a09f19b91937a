"""Models that cite by themselves are shown sources beside the question."""

from __future__ import annotations

import gc
import warnings

import passages
import pytest
from contexts import context_of
from fake_anthropic import FakeAnthropic
from fake_provider import GOOD_KEY, Reply
from fakes import Call, ScriptedLLM

from rag_pg.answer import answer_question
from rag_pg.protocols import LLM
from rag_pg.providers.anthropic import AnthropicLLM
from rag_pg.types import Answer, Capabilities, Event, Hit, Hits


def hit(number: int, content: str) -> Hit:
    return passages.hit(content, number=number, title=f"Title {number}", heading="Part")


FOUND = [hit(1, "The red fish swims\u200b below."), hit(2, "The blue bird flies above.")]


def ask(llm: LLM, events: list[Event] | None = None) -> Answer:
    context = context_of(
        "Where is the bird?",
        lambda query, **options: Hits(FOUND),
        llm=llm,
        listener=None if events is None else events.append,
    )
    return answer_question(context, "single")


def test_sources_stand_beside_the_question_and_their_keys_become_numbers() -> None:
    def reply(call: Call) -> str:
        return f"Above [{call.messages[-1].sources[1].key}]."

    llm = ScriptedLLM(reply, capabilities=Capabilities(citations=True))
    answer = ask(llm)
    assert answer.text == "Above [2]."
    assert [citation.uri for citation in answer.citations] == ["doc2.md"]
    system, user = llm.calls[0].messages
    assert user.content == "Question: Where is the bird?\n"
    assert "square brackets" not in system.content and "NOT_IN_DOCUMENTS" in system.content
    assert [source.title for source in user.sources] == ["Title 1 > Part", "Title 2 > Part"]
    assert user.sources[0].text == "The red fish swims below."


def test_other_models_find_the_sources_in_the_text() -> None:
    llm = ScriptedLLM("Above.")
    ask(llm)
    system, user = llm.calls[0].messages
    assert "square brackets" in system.content
    assert not user.sources and "The blue bird flies above." in user.content


@pytest.mark.libraries
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.few(1)
def test_anthropics_citations_become_those_of_the_answer(streamed: bool) -> None:
    events: list[Event] | None = [] if streamed else None
    with FakeAnthropic() as fake:
        fake.answers.append(
            Reply(text="It ", cites=[("flies above", [1]), (", not below", [0, 1])])
        )
        answer = ask(AnthropicLLM("some", api_key=GOOD_KEY, base_url=fake.url), events)
        blocks = fake.requests[0].body["messages"][0]["content"]
    with warnings.catch_warnings():  # the client's connection is kept until it is collected
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
    assert answer.text == "It flies above [2], not below [1][2]" and answer.found
    assert [citation.number for citation in answer.citations] == [1, 2]
    assert [block["type"] for block in blocks] == ["search_result", "search_result", "text"]
    if events is not None:
        assert "".join(event.text or "" for event in events if event.kind == "token") == answer.text
