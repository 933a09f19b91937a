"""What of the hits a model is shown: as much as its context has room for, and no more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from contexts import context_of
from fakes import ScriptedLLM
from hypothesis import given
from hypothesis import strategies as st
from passages import hit

from rag_pg.answer import answer_question
from rag_pg.text import estimate_tokens
from rag_pg.types import Answer, Capabilities, Hit, Hits

SENTENCE = "The {} fish of pond number {} eats shrimps in the morning and in the evening. "


def passages(count: int, sentences: int) -> list[Hit]:
    return [
        hit("".join(SENTENCE.format(n, m) for m in range(sentences)), number=n)
        for n in range(1, count + 1)
    ]


class WordCounter(ScriptedLLM):
    """A model whose tokens are words."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]


def ask(llm: ScriptedLLM, hits: list[Hit], strategy: str = "single", **more: Any) -> Answer:
    context = context_of("What do they eat?", lambda query, **o: Hits(hits), llm=llm, **more)
    return answer_question(context, strategy)


def shown(answer: Answer) -> Any:
    return next(step.detail for step in answer.steps if step.kind == "context")


@given(st.integers(700, 8000), st.integers(1, 12), st.integers(1, 40))
def test_a_prompt_fills_three_quarters_of_the_context_at_most(
    reads: int, count: int, sentences: int
) -> None:
    llm = WordCounter("So [1].", capabilities=Capabilities(context_tokens=reads))
    answer = ask(llm, passages(count, sentences), answer_tokens=128, budget_tokens=10**6)
    (call,) = llm.calls
    tokens = sum(llm.count_tokens([message.content for message in call.messages]))
    assert tokens <= 0.75 * reads and tokens + 128 <= reads
    assert shown(answer)["counted_by"] == "tokenizer"
    assert len(shown(answer)["chunk_ids"]) + shown(answer)["left_out"] == count


def test_without_a_tokenizer_tokens_are_estimated_and_a_step_says_so() -> None:
    llm = ScriptedLLM("So [1].", capabilities=Capabilities(context_tokens=4000))
    answer = ask(llm, passages(20, 20), budget_tokens=10**6)
    assert shown(answer)["counted_by"] == "estimate" and not answer.notes
    assert sum(estimate_tokens([m.content for m in llm.calls[0].messages])) <= 3000
    assert 0 < shown(answer)["tokens"] <= 3000 and shown(answer)["left_out"] > 0


def test_the_budget_holds_where_the_context_is_larger() -> None:
    llm = ScriptedLLM("So [1].", capabilities=Capabilities(context_tokens=10**6))
    assert 2000 < shown(ask(llm, passages(20, 20), budget_tokens=2500))["tokens"] <= 2500


@pytest.mark.parametrize("strategy", ["single", "verify", "iterative", "self_ask", "evidence"])
def test_a_model_without_room_is_not_asked_and_the_answer_says_so(strategy: str) -> None:
    llm = ScriptedLLM("So [1].", capabilities=Capabilities(schema=True, context_tokens=600))
    answer = ask(llm, [hit("They eat shrimps, the fish eat.")], strategy, answer_tokens=64)
    assert answer.strategy == "extractive" and not llm.calls
    assert "scripted has no room for sources: its prompt may have 450 tokens" in answer.notes[0]


def test_the_helpers_prompts_fit_the_helper() -> None:
    helper = WordCounter(
        '{"sufficient": true, "missing": "", "query": ""}',
        capabilities=Capabilities(schema=True, context_tokens=900),
    )
    llm = ScriptedLLM("So [1].", capabilities=Capabilities(context_tokens=10**6))
    ask(llm, passages(9, 9), "iterative", helper_llm=helper, answer_tokens=64)
    counts = helper.count_tokens([message.content for message in helper.calls[0].messages])
    assert sum(counts) <= 675
    assert len(llm.prompts[0]) > 2 * len(helper.prompts[0])


def test_repeated_passages_are_told() -> None:
    one, other = passages(2, 9)
    near = hit(f"{one.content}indeed.", number=3)
    answer = ask(ScriptedLLM("So [1]."), [one, near, other])
    assert (shown(answer)["chunk_ids"], shown(answer)["repeated"]) == ([1, 2], 1)


def test_the_whole_collection_is_shown_where_it_fits_with_its_marks() -> None:
    hits = passages(60, 2)
    for reads, strategy in ((20_000, "full_context"), (8_000, "single")):
        llm = ScriptedLLM("So [1].", capabilities=Capabilities(context_tokens=reads))
        answer = ask(llm, hits, "full_context")
        assert answer.strategy == strategy
        assert (shown(answer)["left_out"] == 0) == (strategy == "full_context")
        tokens = estimate_tokens([message.content for message in llm.calls[0].messages])
        assert sum(tokens) <= 0.75 * reads
