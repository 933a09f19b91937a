"""multi_query, decomposition, step_back and hyde: a scripted model drives each branch."""

import json
from typing import Any

import pytest
from fakes import ScriptedLLM

from rag_pg import Completion, ProviderTimeout
from rag_pg.search.rewrite import Rewritten, Variant, rewrite_question

QUESTION = "Why do fish and birds migrate?"
GOOD: dict[str, dict[str, Any]] = {
    "multi_query": {"queries": ["migration of fish", "migration of birds"]},
    "decomposition": {"questions": ["Why do fish migrate?", "Why do birds migrate?"]},
    "step_back": {"question": "Why do animals move?"},
    "hyde": {"passage": "Fish and birds migrate to find food."},
}
NAMES = sorted(GOOD)


def rewritten(name: str | list[str], *replies: Any) -> Rewritten:
    llm = ScriptedLLM(*(json.dumps(r) if isinstance(r, dict) else r for r in replies))
    names = [name] if isinstance(name, str) else name
    return rewrite_question(QUESTION, names, helper_llm=llm)


@pytest.mark.parametrize("name", NAMES)
def test_a_good_answer_adds_its_wordings_behind_the_question(name: str) -> None:
    result = rewritten(name, GOOD[name])
    assert result.question == QUESTION
    assert result.variants[0] == Variant(query=QUESTION)
    (given,) = GOOD[name].values()
    if name == "hyde":
        assert result.variants[1:] == (Variant(query=QUESTION, passage=given),)
    else:
        assert [v.query for v in result.variants[1:]] == ([given] if name == "step_back" else given)
    assert result.notes == ()
    assert result.usage.prompt_tokens == 9
    assert [step.kind for step in result.steps] == ["llm", "rewrite"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("reply", "note"),
    [
        ("I would rather not say.", "failed: scripted answered twice"),
        ({"wrong": []}, "answered twice"),
        (Completion(text="", finish="blocked", reason="SAFETY"), "failed: scripted stopped"),
        (Completion(text="{", finish="length"), "cut at max_tokens"),
        (ProviderTimeout("no answer within 60 s"), "was skipped: no answer within 60 s"),
    ],
)
def test_a_failure_leaves_the_question_as_it_is_with_a_note(
    name: str, reply: Any, note: str
) -> None:
    result = rewritten(name, reply)
    assert result.variants == (Variant(query=QUESTION),)
    assert len(result.notes) == 1
    assert note in result.notes[0] and result.notes[0].startswith(f"{name} ")


@pytest.mark.parametrize("name", NAMES)
def test_without_a_model_the_question_is_searched_for_as_it_is(name: str) -> None:
    result = rewrite_question(QUESTION, [name])
    assert result.variants == (Variant(query=QUESTION),)
    assert "needs a language model" in result.notes[0]


@pytest.mark.parametrize("name", ["multi_query", "decomposition"])
def test_too_many_wordings_are_cut_with_a_note(name: str) -> None:
    (key,) = GOOD[name]
    result = rewritten(name, {key: [f"wording {n}" for n in range(40)]})
    assert len(result.variants) == 5
    assert "gave 40 wordings; 4 were searched for" in result.notes[0]


@pytest.mark.parametrize("name", ["multi_query", "step_back", "hyde"])
def test_an_empty_answer_is_noted(name: str) -> None:
    (key,) = GOOD[name]
    result = rewritten(name, {key: [" ", "", QUESTION.upper()] if name == "multi_query" else " "})
    assert result.variants == (Variant(query=QUESTION),)
    assert name in result.notes[0]


def test_a_simple_question_has_no_parts_and_that_is_no_failure() -> None:
    result = rewritten("decomposition", {"questions": []})
    assert result.variants == (Variant(query=QUESTION),)
    assert result.notes == ()


def test_wordings_are_one_line_each_of_bounded_length_and_distinct() -> None:
    odd = ["migration\n\0of   fish", "Migration of fish?", "word " * 5000]
    result = rewritten("multi_query", {"queries": odd})
    texts = [v.query for v in result.variants[1:]]
    assert texts[0] == "migration of fish"
    assert len(texts) == 2
    assert len(texts[1]) <= 500


def test_all_of_them_together_take_one_call_each() -> None:
    order = ["multi_query", "decomposition", "step_back", "hyde"]
    result = rewritten(order[::-1], *(GOOD[name] for name in order))
    assert len(result.variants) == 7
    assert [s.detail["purpose"] for s in result.steps if s.kind == "llm"] == order


def test_a_model_that_is_down_is_asked_once() -> None:
    llm = ScriptedLLM(ProviderTimeout("no answer within 60 s"))
    result = rewrite_question(QUESTION, NAMES, helper_llm=llm)
    assert len(llm.calls) == 1
    assert len(result.notes) == 4
    assert result.variants == (Variant(query=QUESTION),)


def test_a_model_that_answers_badly_once_is_asked_for_the_next_rewrite() -> None:
    result = rewritten(["multi_query", "hyde"], "bad", "bad", GOOD["hyde"])
    assert [v.passage for v in result.variants] == [None, GOOD["hyde"]["passage"]]
