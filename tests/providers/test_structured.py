"""complete_json: a schema that the model is held to, by its provider or by us."""

from __future__ import annotations

import json

import pytest
from fakes import ScriptedLLM

from rag_pg.errors import AnswerBlocked, InvalidInput, ProviderError, RateLimited, UnusableReply
from rag_pg.providers import complete_json
from rag_pg.providers.chat import parse_json
from rag_pg.types import Capabilities, Completion, Message, Usage

SCHEMA = {
    "type": "object",
    "properties": {"queries": {"type": "array", "items": {"type": "string"}, "maxItems": 3}},
    "required": ["queries"],
    "additionalProperties": False,
}
GOOD = '{"queries": ["red fish"]}'
ASKED = [Message(role="system", content="Be brief."), Message(role="user", content="Fish?")]


def test_capable_model_gets_the_schema_and_the_messages_as_they_are() -> None:
    llm = ScriptedLLM(GOOD)
    got = complete_json(llm, ASKED, SCHEMA, max_tokens=77)
    assert got.parsed == {"queries": ["red fish"]}
    (call,) = llm.calls
    assert (call.schema, call.messages, call.max_tokens) == (SCHEMA, ASKED, 77)


@pytest.mark.parametrize("messages", [ASKED, ASKED[1:]])
def test_other_model_finds_the_schema_in_its_system_message(messages: list[Message]) -> None:
    llm = ScriptedLLM(f"Here it is:\n```json\n{GOOD}\n```\n", capabilities=Capabilities())
    assert complete_json(llm, messages, SCHEMA).parsed == {"queries": ["red fish"]}
    (call,) = llm.calls
    assert call.schema is None
    assert call.messages[0].role == "system" and json.dumps(SCHEMA) in call.messages[0].content
    assert call.messages[1:] == ASKED[1:]


@pytest.mark.parametrize("capable", [True, False])
@pytest.mark.parametrize(
    ("bad", "wrong", "rule"),
    [
        ("I would search for fish.", "it is not JSON", "it is not JSON"),
        (
            '{"queries": ["a", 2]}',
            "$.queries[1]: 2 is not of type 'string'",
            "properties.queries.items.type",
        ),
        ("{}", "'queries' is a required property", "required"),
        ('{"queries": ["a", "b", "c", "d"]}', "is too long", "properties.queries.maxItems"),
        ('{"queries": [], "more": 1}', "Additional properties", "additionalProperties"),
    ],
)
def test_answer_that_does_not_fit_is_sent_back_once_with_what_is_wrong(
    bad: str, wrong: str, rule: str, capable: bool
) -> None:
    """The error has no word of the model's, which an answer's notes would show to others."""
    llm = ScriptedLLM(bad, GOOD, capabilities=Capabilities(schema=capable))
    got = complete_json(llm, ASKED, SCHEMA)
    assert got.parsed == {"queries": ["red fish"]}
    assert got.usage == Usage(prompt_tokens=18, answer_tokens=6)
    second = llm.calls[1]
    assert second.messages[-2] == Message(role="assistant", content=bad)
    assert wrong in second.messages[-1].content
    with pytest.raises(UnusableReply, match=rf"scripted answered twice [^:]+: {rule}\Z"):
        complete_json(ScriptedLLM(bad, bad, capabilities=llm.capabilities), ASKED, SCHEMA)


def test_blocked_and_cut_answers_are_errors_that_are_not_repaired() -> None:
    blocked = ScriptedLLM(Completion(text="", finish="blocked", reason="SAFETY"))
    with pytest.raises(AnswerBlocked, match="SAFETY"):
        complete_json(blocked, ASKED, SCHEMA)
    cut = ScriptedLLM(Completion(text='{"queries": ["re', finish="length"))
    with pytest.raises(ProviderError, match=r"cut at max_tokens \(9\)"):
        complete_json(cut, ASKED, SCHEMA, max_tokens=9)
    assert len(blocked.calls) == len(cut.calls) == 1


def test_the_tokens_of_answers_that_cannot_be_read_are_counted() -> None:
    spent = Usage(prompt_tokens=7, answer_tokens=2)
    llm = ScriptedLLM(Completion(text="no", usage=spent), Completion(text="no", usage=spent))
    with pytest.raises(UnusableReply) as caught:
        complete_json(llm, ASKED, SCHEMA)
    assert caught.value.usage == Usage(prompt_tokens=14, answer_tokens=4)
    one = ScriptedLLM(Completion(text="no", usage=spent), RateLimited("later"))
    with pytest.raises(RateLimited) as late:
        complete_json(one, ASKED, SCHEMA)
    assert late.value.usage == spent


def test_errors_of_the_provider_reach_the_caller() -> None:
    with pytest.raises(RateLimited):
        complete_json(ScriptedLLM(RateLimited("later")), ASKED, SCHEMA)


def test_what_is_no_schema_is_refused_before_the_model_is_asked() -> None:
    llm = ScriptedLLM(GOOD)
    with pytest.raises(InvalidInput, match="not a JSON schema"):
        complete_json(llm, ASKED, {"type": "objekt"})
    assert not llm.calls


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[1, 2]", [1, 2]),
        ('```\n{"a": 1}\n```', {"a": 1}),
        ('Sure! {"a": {"b": "}"}} Anything else?', {"a": {"b": "}"}}),
        ("none", None),
        ('{"a": 1', None),
        ("7", 7),
        ("[" * 100_000, None),
    ],
)
def test_json_is_found_in_a_text(text: str, value: object) -> None:
    assert parse_json(text) == value
