"""What no source says is found in every answer: cited or not, by every strategy, verifier and
stream, whatever a helper says."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import product
from random import Random
from typing import Any

import pytest
from contexts import context_of
from fakes import Call, HashEmbedder, ScriptedLLM
from passages import hits
from rota import tries

from rag_pg.answer import AnswerContext, answer_question
from rag_pg.answer.extractive.answer import NOT_FOUND
from rag_pg.answer.strategies import BUILT_IN
from rag_pg.answer.strategies.single import single
from rag_pg.errors import ProviderUnavailable
from rag_pg.types import Answer, Completion, Event, Hits, ToolCall

PASSAGES = (
    "The UPS of the server room holds for 10 minutes. Its batteries are replaced every 4 years.",
    "The generator starts after 30 seconds. It burns diesel.",
)
TRUE = "The UPS holds for 10 minutes [1]."
ALSO = "The generator burns diesel."  # nobody cites it
LIE = "The UPS holds 90 years and is filled with cheese."
STRATEGIES = sorted({*BUILT_IN} - {"extractive"})


def own(question: str, context: AnswerContext) -> Answer:
    """A strategy of an application."""
    return single(question, context)


def alone(question: str, context: AnswerContext) -> Answer:
    """One that cites nothing, and has the model write as it likes."""
    context.search(question)
    got = context.asker.complete([], purpose="answer")
    return Answer(text=got.text, found=True)


def as_json(**value: Any) -> str:
    return json.dumps(value)


class Model(ScriptedLLM):
    """Answers whatever strategy asks it with one text, and verifies as it is told."""

    def __init__(self, text: str, verdict: Callable[[Call], Any] | None = None) -> None:
        super().__init__(self._act)
        self._text = text
        self._verdict = verdict

    def _act(self, call: Call) -> Any:
        if call.tools and not any(message.role == "tool" for message in call.messages):
            search = ToolCall(id="1", name="search", arguments={"query": "UPS"})
            return Completion(text="", tool_calls=[search])
        if call.schema is None:
            return self._text
        properties = call.schema["properties"]
        if "verdicts" in properties and self._verdict is not None:
            return self._verdict(call)
        summary = next((p for p in PASSAGES if p in call.prompt), "")
        known = {"final": self._text, "draft": self._text, "summary": summary, "score": 9,
                 "sufficient": True, "unsupported": [], "verdicts": []}  # fmt: skip
        return as_json(**{name: known.get(name, "") for name in properties})


def ask(
    text: str,
    *,
    strategy: Any = "single",
    verdict: Callable[[Call], Any] | None = None,
    events: list[Event] | None = None,
    dimensions: int = 32,
    passages: Sequence[str] = PASSAGES,
    **options: Any,
) -> Answer:
    context = context_of(
        "How long does the UPS hold?",
        lambda query, **options: Hits(hits(*passages)),
        embedder=lambda: HashEmbedder(f"hash:{dimensions}"),
        llm=Model(text, verdict),
        listener=None if events is None else events.append,
        **options,
    )
    return answer_question(context, strategy)


def streamed(events: Sequence[Event]) -> str:
    return "".join(event.text for event in events if event.kind == "token")


@pytest.mark.parametrize("strategy", [*STRATEGIES, own, alone])
@pytest.mark.parametrize("verify", [None, "once", "strict"])
@pytest.mark.parametrize("action", [None, "mark", "drop", "keep"])
def test_a_statement_that_cites_nothing_is_judged(
    strategy: Any, verify: str | None, action: str | None
) -> None:
    events: list[Event] = []
    text = f"{TRUE} {LIE} {ALSO}" if strategy is not alone else f"{LIE} {ALSO}"
    answer = ask(text, strategy=strategy, verify=verify, unsupported=action, events=events)
    assert answer.found and list(answer.unsupported) == [LIE]
    told = action or ("drop" if verify or strategy == "verify" else "mark")
    assert (f"{LIE} [unsupported]" in answer.text) == (told == "mark")
    assert ("cheese" in answer.text) == (told != "drop")
    assert ALSO in answer.text
    assert answer.sufficient is not True
    assert any("1 of " in note and "statements" in note for note in answer.notes)
    if strategy is not alone:
        assert streamed(events) == answer.text


@pytest.mark.parametrize("strategy", [*STRATEGIES, own, alone])
@pytest.mark.parametrize("verify", [None, "once", "strict"])
def test_an_answer_that_cites_nothing_at_all_is_caught(strategy: Any, verify: str | None) -> None:
    events: list[Event] = []
    dropped = ask(LIE, strategy=strategy, verify=verify, unsupported="drop", events=events)
    assert (dropped.found, dropped.text, list(dropped.unsupported)) == (False, NOT_FOUND, [LIE])
    assert "cheese" not in streamed(events)
    marked = ask(LIE, strategy=strategy, verify=verify, unsupported="mark")
    assert marked.text == f"{LIE} [unsupported]" and marked.sufficient is False


def yes(call: Call) -> str:
    return as_json(verdicts=[{"statement": n, "supported": True} for n in range(1, 9)])


def yes_with(quote: str) -> Callable[[Call], str]:
    return lambda call: as_json(
        verdicts=[{"statement": n, "supported": True, "quote": quote} for n in range(1, 9)]
    )


def fails(call: Call) -> Any:
    raise ProviderUnavailable("cannot be reached")


@pytest.mark.parametrize("verify", ["once", "strict"])
@pytest.mark.parametrize(
    "verdict",
    [
        yes,
        fails,
        lambda call: "no json",
        lambda call: as_json(verdicts=[]),
        lambda call: as_json(verdicts=[{"statement": 7, "supported": True}]),
        yes_with("The UPS holds 90 years and is filled with cheese."),
        yes_with("The UPS of the server room holds for 10 minutes."),  # another figure
        yes_with("Its batteries are replaced"),
        yes_with("UPS"),
    ],
)
def test_a_helper_that_fails_or_affirms_all_silences_nothing(verify: str, verdict: Any) -> None:
    answer = ask(f"{TRUE} {LIE}", verify=verify, verdict=verdict)
    assert (answer.text, list(answer.unsupported)) == (TRUE, [LIE])
    assert answer.sufficient is False


@pytest.mark.parametrize(
    "verdict", [fails, lambda call: "no json", lambda call: as_json(verdicts=[])]
)
def test_a_check_that_failed_is_noted(verdict: Any) -> None:
    answer = ask(TRUE, verify="once", verdict=verdict)
    assert (answer.text, answer.sufficient) == (TRUE, None)
    assert any("1 of 1 statements were not checked by the model" in note for note in answer.notes)


def test_a_quote_that_stands_there_lifts_a_doubt() -> None:
    text = "Fresh accumulators come into the UPS from time to time."

    def verified(quote: str) -> Answer:
        return ask(text, verify="once", verdict=yes_with(quote), dimensions=4096)

    assert list(ask(text, dimensions=4096).unsupported) == [text]
    lifted = verified("The UPS of the server room")
    assert (lifted.text, list(lifted.unsupported)) == (text, [])
    for false in ("The UPS of the kitchen", "the ups of the server rooms", "The generator starts"):
        assert verified(false).found is False


@pytest.mark.parametrize(
    ("source", "lie", "quote"),
    [("Spare impellers are sold by Norling Marine in Tromsø.",
      "Impellers for this pump can be had in Bergen.", "Spare impellers are sold by Norling"),
     ("The warranty lasts three years. It does not cover damage by frost.",
      "The warranty covers damage by frost.", "damage by frost"),
     ("The warranty lasts three years. It does not cover damage by frost.",
      "The warranty covers damage by frost.", "The warranty lasts three years"),
     ("Do not run the pump dry for more than ten seconds.",
      "You may run the pump dry for as long as you like.", "run the pump dry for more than")],
)  # fmt: skip
@pytest.mark.parametrize("dimensions", [4096, 32768])
def test_a_true_quotation_lifts_no_lie(source: str, lie: str, quote: str, dimensions: int) -> None:
    """Cut from its denial, or of something else beside a name that no source has."""
    given: dict[str, Any] = {"passages": [source], "dimensions": dimensions}
    assert list(ask(lie, **given).unsupported) == [lie]
    answer = ask(lie, verify="once", verdict=yes_with(quote), **given)
    assert not answer.found and list(answer.unsupported) == [lie]


def test_a_helpers_denial_takes_a_statement_away() -> None:
    no = as_json(verdicts=[{"statement": 1, "supported": False},
                           {"statement": 1, "supported": True, "quote": PASSAGES[0][:48]},
                           {"statement": 2, "supported": True}])  # fmt: skip
    answer = ask(f"{TRUE} {ALSO}", verify="once", verdict=lambda call: no)
    assert (answer.text, list(answer.unsupported)) == (ALSO, [TRUE])


@pytest.mark.parametrize("final", ["**The batteries are replaced every 4 years.** {}", "{}"])
def test_what_strategy_verify_took_back_is_not_delivered_uncited(final: str) -> None:
    denied = "Its batteries are replaced by the generator."  # in words of the sources
    text = final.format(denied)

    def act(call: Call) -> str:
        return as_json(draft=f"{TRUE} {denied} [2]", unsupported=[f"{denied} [2]"], final=text)

    context = context_of(
        "How long does the UPS hold?",
        lambda query, **options: Hits(hits(*PASSAGES)),
        embedder=HashEmbedder,
        llm=ScriptedLLM(act),
    )
    answer = answer_question(context, "verify")
    assert denied not in answer.text and denied in answer.unsupported


@pytest.mark.parametrize("action", ["drop", "mark", "keep"])
def test_an_answer_of_the_documents_own_words_is_left_alone(action: str) -> None:
    answer = ask("unused", strategy="extractive", unsupported=action)
    assert answer.found and "[unsupported]" not in answer.text and answer.unsupported == ()


def test_a_refusal_that_states_something_all_the_same_is_judged() -> None:
    text = f"NOT_IN_DOCUMENTS The sources do not say how long. {LIE}"
    answer = ask(text, unsupported="drop")
    assert (answer.found, answer.text) == (False, "The sources do not say how long.")
    assert list(answer.unsupported) == [LIE]


PARTS = (
    "Here is what the sources say:", "\n\n- " + TRUE, "\n- " + LIE, " " + TRUE, " " + LIE,
    " " + ALSO, "\n\n## Power\n\n", "\n\n| Part | Value |\n|---|---|\n| UPS | 10 minutes |\n"
    "| UPS | 95 minutes |\n\n", "\n\n```\nwait 7\n```\n\n", " Run this:\n\n```sh\nrun 9\n```\n",
    "\n\n1. " + LIE + "\n2. The UPS holds for 10 minutes.[1] It burns diesel.[2]\n",
    " **Generator:** it starts after 30 seconds [2].", " Is there more?", " Let me know.",
    " The sources do not say more.", "\n> " + LIE + "\n",
)  # fmt: skip


@pytest.mark.longer
@pytest.mark.parametrize("action", ["drop", "mark", "keep"])
@pytest.mark.few(2)
def test_a_stream_is_the_answer_and_never_shows_what_is_dropped(action: str) -> None:
    random = Random(11)
    longer = [tuple(random.choices(PARTS, k=5)) for _ in range(60)]
    for parts in [*product(PARTS, repeat=2), *longer][:: tries(1, 3)]:
        events: list[Event] = []
        text = " ".join(parts).strip()
        answer = ask(text, unsupported=action, events=events)
        if answer.found or streamed(events):
            assert streamed(events) == answer.text, text
        assert action != "drop" or "cheese" not in streamed(events)
        numbers = [event.citation.number for event in events if event.citation is not None]
        assert len(numbers) == len(set(numbers))


def test_a_stream_tells_a_statement_before_the_answer_is_whole() -> None:
    events: list[Event] = []
    ask(f"{TRUE} {LIE} {ALSO} {TRUE}", unsupported="drop", events=events)
    tokens = [event.text for event in events if event.kind == "token"]
    assert tokens[0] == TRUE and len(tokens) == 3


@pytest.mark.parametrize("verify", ["once", "strict"])
def test_a_stream_that_is_verified_shows_nothing_before_it_was_judged(verify: str) -> None:
    events: list[Event] = []
    no = as_json(verdicts=[{"statement": 1, "supported": False}])
    answer = ask(f"{TRUE} {ALSO}", verify=verify, verdict=lambda call: no, events=events)
    kinds = [event.kind for event in events]
    assert streamed(events) == answer.text and "10 minutes" not in answer.text
    assert kinds.index("token") > max(n for n, kind in enumerate(kinds) if kind == "step")
