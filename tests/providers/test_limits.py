"""Limits, prices and budgets of language models."""

from __future__ import annotations

import re
import tomllib
from datetime import date

import pytest
from fakes import ScriptedLLM

from rag_pg.errors import InvalidInput
from rag_pg.providers import cost, prompt_budget, token_counter
from rag_pg.providers.limits import FILE, find_model, known_models
from rag_pg.providers.registry import open_llm
from rag_pg.types import Capabilities, Usage


def test_the_file_is_dated_and_each_of_its_models_can_be_opened() -> None:
    as_of = tomllib.loads(FILE.read_text())["as_of"]
    assert date(2026, 1, 1) <= date.fromisoformat(as_of)
    for name, facts in known_models().items():
        llm = open_llm(name)
        assert llm is not None and llm.name == name
        assert llm.capabilities.context_tokens == facts.context_tokens
        assert (facts.long_prompt is None) == (facts.long_prices is None)


def test_cost_is_that_of_prompt_and_answer() -> None:
    usage = Usage(prompt_tokens=100_000, answer_tokens=1000)
    assert cost("openai:gpt-4.1", usage) == pytest.approx(0.1 * 2 + 0.001 * 8)
    assert cost("openai:gpt-4.1-2025-04-14", usage) == cost("openai:gpt-4.1", usage)
    assert cost("local:smollm2", usage) == 0


def test_a_long_prompt_has_its_own_price() -> None:
    at = Usage(prompt_tokens=200_000, answer_tokens=0)
    beyond = Usage(prompt_tokens=200_001, answer_tokens=1_000_000)
    assert cost("gemini:gemini-2.5-pro", at) == pytest.approx(0.25)
    assert cost("gemini:gemini-2.5-pro", beyond) == pytest.approx(0.2 * 2.5 + 15, abs=1e-5)


@pytest.mark.parametrize(
    "name",
    ["openai:gpt-4.1-audio", "openai:gpt-9", "openai:llama3.2:3b", "extractive", "gpt-4.1", ""],
)
def test_a_model_that_is_not_known_has_no_cost(name: str) -> None:
    assert find_model(name) is None
    assert cost(name, Usage(prompt_tokens=9)) is None


def test_a_prompt_may_fill_three_quarters_of_the_context_and_leaves_room_for_the_answer() -> None:
    llm = ScriptedLLM("", capabilities=Capabilities(context_tokens=8000))
    assert prompt_budget(llm) == 6000
    assert prompt_budget(llm, max_tokens=3000) == 5000
    assert prompt_budget(llm, max_tokens=9000) == 0
    assert prompt_budget(llm, share=0.5) == 4000
    assert prompt_budget(ScriptedLLM("")) is None
    with pytest.raises(InvalidInput, match="share is 1.5"):
        prompt_budget(llm, share=1.5)


def test_tokens_are_counted_by_the_models_own_tokenizer_or_estimated() -> None:
    class Counts(ScriptedLLM):
        def count_tokens(self, texts: list[str]) -> list[int]:
            return [len(re.findall(r"\w", text)) for text in texts]

    exact, estimate = token_counter(Counts("")), token_counter(ScriptedLLM(""))
    assert exact.exact and list(exact.count(["ab c"])) == [3]
    assert not estimate.exact and next(iter(estimate.count(["ab c"]))) > 0
