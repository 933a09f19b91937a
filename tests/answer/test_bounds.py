"""What a question may cost: no call of a model is made that might pass its bounds."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from contexts import context_of
from fakes import Call, ScriptedLLM
from hypothesis import given, settings
from hypothesis import strategies as st
from passages import hit
from patience import BOUND
from rota import tries

from rag_pg.answer import answer_question
from rag_pg.answer.question import Verify
from rag_pg.errors import BudgetExceeded, InvalidInput, ProviderTimeout, ProviderUnavailable
from rag_pg.providers import Account, Bounds, LLMReranker
from rag_pg.types import Answer, Capabilities, Completion, Hits, ToolCall, Usage

QUESTION = "What do the fish eat?"
SENTENCE = "The fish of pond number {} eat shrimps in the morning and in the evening. "
HITS = [hit(SENTENCE.format(n) * 4, number=n) for n in range(1, 9)]
STRATEGIES = ["single", "verify", "self_ask", "iterative", "evidence", "agent", "full_context"]


class CountingLLM(ScriptedLLM):
    """A model whose tokens are words, and whose usage is what it was sent and what it wrote.

    lengths: how many tokens it would write in each call, thoughts included; it keeps to max_tokens.
    """

    def __init__(self, lengths: Iterator[int], name: str = "main", **more: Any) -> None:
        super().__init__(self._reply, name=name, **more)
        self._lengths = lengths
        self._counting = threading.Lock()
        self.spent: list[Usage] = []

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def _reply(self, call: Call) -> Completion:
        texts = [m.content for m in call.messages]
        texts += [json.dumps(dict(c.arguments)) for m in call.messages for c in m.tool_calls]
        texts += [json.dumps(dict(t.parameters)) for t in call.tools]
        if call.schema is not None:
            texts.append(json.dumps(dict(call.schema)))
        with self._counting:
            wanted = next(self._lengths)
            answer = min(wanted, call.max_tokens) + self.capabilities.thought_tokens
            usage = Usage(prompt_tokens=sum(self.count_tokens(texts)), answer_tokens=answer)
            self.spent.append(usage)
        if wanted > call.max_tokens:
            return Completion(text="Shrimps [1]. And", finish="length", usage=usage)
        if call.schema is not None:
            return Completion(text=json.dumps(fill(call.schema, wanted)), usage=usage)
        if call.tools and wanted % 3:
            search = ToolCall(id="1", name="search", arguments={"query": f"fish {wanted}"})
            return Completion(text="", tool_calls=[search], finish="tool_calls", usage=usage)
        return Completion(text="They eat shrimps [1].", usage=usage)

    @property
    def tokens(self) -> int:
        return sum(u.prompt_tokens + u.answer_tokens for u in self.spent)


def fill(schema: Mapping[str, Any], number: int) -> dict[str, Any]:
    samples = {"string": f"shrimps {number}", "boolean": False, "integer": 7, "array": []}
    return {name: samples[kind["type"]] for name, kind in schema["properties"].items()}


def price(model: str, usage: Usage) -> float:
    prompt, answer = {"main": (2e-6, 9e-6), "helper": (5e-7, 1e-6)}[model]
    return usage.prompt_tokens * prompt + usage.answer_tokens * answer


def ask(
    strategy: str,
    bounds: Bounds,
    llm: ScriptedLLM,
    helper: ScriptedLLM | None = None,
    *,
    verify: Verify | None = None,
    listener: Any = None,
) -> Answer:
    searches = itertools.count()
    context = context_of(
        QUESTION,
        lambda query, **options: Hits(
            [replace(h, chunk_id=h.chunk_id + 10 * next(searches)) for h in HITS]
        ),
        llm=llm,
        helper_llm=helper,
        listener=listener,
        answer_tokens=200,
        account=Account(bounds, price=price),
        verify=verify,
    )
    return answer_question(context, strategy)


@pytest.mark.longer
@settings(max_examples=tries(300, 40), deadline=None)
@given(
    strategy=st.sampled_from(STRATEGIES),
    max_tokens=st.none() | st.integers(1, 20_000),
    max_cost=st.none() | st.floats(1e-6, 0.05),
    lengths=st.lists(st.integers(1, 400), min_size=1, max_size=20),
    thoughts=st.sampled_from([0, 0, 50]),
    with_helper=st.booleans(),
    verify=st.sampled_from([None, "once", "strict"]),
    tells=st.booleans(),
    schema=st.booleans(),
)
def test_what_is_spent_never_passes_the_bounds(
    strategy: str,
    max_tokens: int | None,
    max_cost: float | None,
    lengths: list[int],
    thoughts: int,
    with_helper: bool,
    verify: Verify | None,
    tells: bool,
    schema: bool,
) -> None:
    more = iter(lengths * 40)
    can = Capabilities(schema=schema, tools=schema, thought_tokens=thoughts)
    llm = CountingLLM(more, capabilities=can)
    helper = CountingLLM(more, name="helper", capabilities=can)
    answer = ask(
        strategy,
        Bounds(max_steps=9, max_tokens=max_tokens, max_cost=max_cost),
        llm,
        helper if with_helper else None,
        verify=verify,
        listener=(lambda event: None) if tells else None,
    )
    spent = [("main", u) for u in llm.spent] + [("helper", u) for u in helper.spent]
    assert llm.tokens + helper.tokens <= (max_tokens or 10**9)
    assert sum(price(name, usage) for name, usage in spent) <= (max_cost or 10**9)
    total = answer.usage.prompt_tokens + answer.usage.answer_tokens
    assert total == llm.tokens + helper.tokens
    assert answer.cost == pytest.approx(sum(price(name, usage) for name, usage in spent))
    if answer.strategy == "extractive":
        assert answer.notes and (answer.reason or llm.calls or helper.calls)


@pytest.mark.parametrize(
    ("strategy", "most"),
    [("self_ask", 5000), ("iterative", 5000), ("agent", 5000), ("evidence", 1500)],
)
def test_the_steps_before_an_answer_leave_room_for_it(strategy: str, most: int) -> None:
    llm = CountingLLM(n for n in itertools.count(1) if n % 3)
    answer = ask(strategy, Bounds(max_steps=50, max_tokens=most), llm)
    assert (answer.text, answer.strategy) == ("They eat shrimps [1].", strategy)
    assert 2 < len(llm.calls) < 20 and most / 2 < llm.tokens <= most
    assert f"by max_tokens ({most})" in " ".join(answer.notes)
    assert answer.reason


def test_a_bound_below_one_call_gives_the_answer_without_a_model() -> None:
    llm = CountingLLM(iter([5]))
    answer = ask("single", Bounds(max_tokens=100), llm)
    assert (answer.strategy, answer.found, llm.calls) == ("extractive", True, [])
    assert answer.reason == "stopped by max_tokens (100)"
    assert "max_tokens (100) leaves 100, and a call of main may take" in answer.notes[0]
    assert "raise max_tokens; answered by extractive" in answer.notes[0]


def test_sources_and_answer_shrink_to_what_is_left() -> None:
    free, bounded = CountingLLM(iter([150])), CountingLLM(iter([150]))
    ask("single", Bounds(), free)
    answer = ask("single", Bounds(max_tokens=700), bounded)
    assert (answer.strategy, len(free.calls), len(bounded.calls)) == ("single", 1, 1)
    assert free.tokens > 700 >= bounded.tokens
    assert any("of 8 passages: its bounds leave no more room" in n for n in answer.notes)


def test_a_cut_answer_names_the_bound_that_cut_it() -> None:
    class Long(CountingLLM):
        def _reply(self, call: Call) -> Completion:
            return replace(super()._reply(call), finish="length")

    answer = ask("single", Bounds(max_tokens=600), Long(iter([150])))
    assert any(n.startswith("the answer was cut at the ") for n in answer.notes)
    assert answer.reason == "the answer was cut short"


def test_max_cost_refuses_a_model_without_a_price() -> None:
    with pytest.raises(InvalidInput, match="max_cost cannot bound mine: its price is not known"):
        Account(Bounds(max_cost=1.0)).meter(ScriptedLLM("x", name="mine"), "answer")


def test_a_call_that_was_given_up_counts_as_its_worst() -> None:
    llm = ScriptedLLM(ProviderTimeout("late"), "So [1].", name="main")
    account = Account(Bounds(max_tokens=1500), price=price)
    metered = account.meter(llm, "answer")
    with pytest.raises(ProviderTimeout):
        metered.complete([], max_tokens=1000)
    metered.complete([], max_tokens=1000)
    assert [call.max_tokens for call in llm.calls] == [1000, 500]
    assert [(x.calls, x.failures, x.usage.answer_tokens) for x in account.lines] == [(2, 1, 3)]


def test_a_call_that_was_refused_at_once_costs_nothing() -> None:
    llm = ScriptedLLM(ProviderUnavailable("down"), "So.", name="main")
    account = Account(Bounds(max_tokens=1100), price=price)
    metered = account.meter(llm, "answer")
    with pytest.raises(ProviderUnavailable):
        metered.complete([], max_tokens=1000)
    metered.complete([], max_tokens=1000)
    assert [call.max_tokens for call in llm.calls] == [1000, 1000]
    (line,) = account.lines
    assert (line.calls, line.failures, line.usage.prompt_tokens) == (2, 1, 9)


def test_calls_side_by_side_reserve_what_they_may_use() -> None:
    begun, going = threading.Semaphore(0), threading.Event()

    def reply(call: Call) -> Completion:
        begun.release()
        going.wait(BOUND)
        return Completion(text="So.", usage=Usage(prompt_tokens=0, answer_tokens=10))

    account = Account(Bounds(max_tokens=1200), price=price)
    metered = account.meter(ScriptedLLM(reply, name="main"), "answer")
    thread = threading.Thread(target=lambda: metered.complete([], max_tokens=1000))
    thread.start()
    begun.acquire()
    assert account.refusal(metered, 300) is not None
    going.set()
    thread.join()
    assert account.refusal(metered, 300) is None


def test_reranking_by_a_language_model_counts() -> None:
    llm = ScriptedLLM("2, 1", name="main")
    account = Account(Bounds(max_tokens=600), price=price)
    reranker = LLMReranker(account.meter(llm, "rerank"))
    assert list(reranker.rerank("fish", ["a", "b"])) == [1, 2]
    assert account.lines[0].kind == "rerank" and account.usage.answer_tokens == 3
    with pytest.raises(BudgetExceeded):
        reranker.rerank("fish", ["long " * 900])


class SlowLLM(ScriptedLLM):
    """A model that answers, piece by piece, when it is let go."""

    def __init__(self) -> None:
        super().__init__("So [1].", name="main")
        self.going = threading.Event()

    def complete(self, *args: Any, **options: Any) -> Completion:
        self.going.wait(BOUND)
        return super().complete(*args, **options)


@pytest.mark.parametrize("listener", [None, lambda event: None])
@pytest.mark.parametrize("strategy", ["single", "iterative"])
def test_a_whole_answer_ends_in_time(strategy: str, listener: Any) -> None:
    llm = SlowLLM()
    for seconds in (0.2, 2, 20):  # a machine that finds nothing in the first is given the next
        answer = ask(strategy, Bounds(timeout=seconds), llm, listener=listener)
        assert answer.reason == f"stopped by timeout ({seconds} s)"
        if answer.found:
            break
    llm.going.set()
    assert (answer.strategy, answer.found) == ("extractive", True)
    assert (f"timeout ({seconds} s)" in answer.notes[0]) and len(answer.notes) <= 2


def test_an_answer_in_time_is_the_models() -> None:
    tokens: list[str] = []
    answer = ask(
        "single", Bounds(timeout=BOUND), ScriptedLLM("So [1].", name="main"),
        listener=lambda event: tokens.append(event.text) if event.kind == "token" else None,
    )  # fmt: skip
    assert (answer.text, "".join(tokens), answer.reason) == ("So [1].", "So [1].", "")
