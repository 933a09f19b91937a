"""What a calibration makes of an answer: its zones, what is missing, how much a model is shown."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from contexts import context_of
from fakes import HashEmbedder, ScriptedLLM
from passages import hit

from rag_pg.answer import JUDGEMENT_VERSION, AnswerContext, Strategy, answer_question
from rag_pg.errors import ProviderUnavailable
from rag_pg.providers import Account, Bounds
from rag_pg.types import Answer, Calibration, Completion, Hits, ToolCall, Vectors

QUESTION = "Where does the red fish swim?"
TEXTS = ("The red fish swims in the warm sea.", "A gull flies over it.", "Whales sing at night.")
# The share of the question's words in the answering sentence, 0.5 where all are there.
CALIBRATED = Calibration(
    set_name="faq",
    settings={},
    features=["words"],
    answerable_weights=[-100.0, 100.0],
    right_weights=[100.0, 0.0],
    evidence_floor=-10.0,
    thresholds=[0.2, 0.4],
    answered=[10, 5],
    correct=[8, 5],
    lower_bounds=[0.44, 0.48],
    question_count=10,
    answerable_count=8,
    refuse_below=0.3,
    answer_from=0.4,
    context_ratio=None,
    figures={},
)
HEDGED = replace(CALIBRATED, answer_from=0.9)
ENOUGH = '{"sufficient": true, "missing": "", "query": ""}'


class Down(HashEmbedder):
    """An embedder that answered the search, and no more."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        raise ProviderUnavailable("cannot be reached")


def run(
    strategy: str | Strategy,
    calibration: Calibration,
    *,
    question: str = QUESTION,
    embedder: type[HashEmbedder] = HashEmbedder,
    helper: ScriptedLLM | None = None,
    min_support: float | None = None,
    replies: Sequence[Any] = ("In the warm sea [1].",),
    account: Account | None = None,
) -> tuple[Answer, ScriptedLLM]:
    if strategy == "verify":
        text = replies[0]
        replies = (json.dumps({"draft": text, "unsupported": [], "final": text}),)
    llm = ScriptedLLM(*replies, name="main")

    def find(query: str, offset: int = 0, **options: Any) -> Hits:
        found = [hit(text, number=number) for number, text in enumerate(TEXTS, 1)]
        return Hits(found[2:] if offset else found[:2])

    context = context_of(
        question,
        find,
        embedder=embedder,
        llm=llm,
        helper_llm=helper,
        calibration=calibration,
        min_support=min_support,
        account=account,
    )
    return answer_question(context, strategy), llm


@pytest.mark.parametrize("strategy", ["extractive", "single"])
def test_zones_say_whether_an_answer_is_sufficient_and_what_is_missing(strategy: str) -> None:
    sure, _ = run(strategy, CALIBRATED)
    assert (sure.found, sure.sufficient, sure.reason) == (True, True, "")
    assert sure.support == pytest.approx(0.5, abs=0.01)
    hedged, _ = run(strategy, HEDGED)
    assert (hedged.found, hedged.sufficient) == (True, False)
    assert hedged.reason == "answers with such evidence were not measured to be right often enough"
    lost, llm = run(strategy, CALIBRATED, question="Why is tax paid?", min_support=0.46)
    assert (lost.found, lost.sufficient, llm.calls) == (False, False, [])
    assert "no source has “tax”, “paid”; its support is 0.00, needed is 0.40" in lost.reason


@pytest.mark.parametrize(
    ("usual", "told"),
    [
        (
            {"words": 1.0, "negation": 0.2},
            "the answering sentence has fewer of the question's words",
        ),
        ({"words": 0.1, "negation": -0.2}, "the question says “not”, or the like, and"),
        ({"words": 0.1, "negation": 0.2}, ""),
    ],
)
def test_what_is_unsure_names_what_lowered_it(usual: dict[str, float], told: str) -> None:
    """The answering sentence has some of the question's words, and no negation is missed."""
    calibration = replace(
        HEDGED,
        features=["words", "negation"],
        answerable_weights=[-1.0, 2.0, -1.0],
        right_weights=[9.0, 0.0, 0.0],
        refuse_below=0.0,
        figures={"usual": usual},
    )
    answer, _ = run("extractive", calibration, question="Where does the red fish rest?")
    assert (answer.found, answer.sufficient) == (True, False)
    assert "no source has “rest”" in answer.reason
    assert told in answer.reason and "only touch" not in answer.reason
    assert ("compared with right answers" in answer.reason) == bool(told)


def test_iterative_searches_once_more_in_the_hedge_zone_alone() -> None:
    for calibration, searches in ((CALIBRATED, 1), (HEDGED, 2)):
        answer, _ = run("iterative", calibration, helper=ScriptedLLM(ENOUGH, name="helper"))
        kinds = [step.kind for step in answer.steps]
        assert (kinds.count("search"), kinds.count("assessment")) == (searches, searches)


@pytest.mark.parametrize("reply", [ENOUGH, ProviderUnavailable("is down")])
@pytest.mark.parametrize("min_support", [None, 0.46])
def test_what_iterative_finds_further_decides(reply: Any, min_support: float | None) -> None:
    calibration = replace(CALIBRATED, refuse_below=-1.0)  # the first hits hedge
    pages = ([hit(TEXTS[1], number=2), hit(TEXTS[2], number=3)], [hit(TEXTS[0], number=1)])
    for found, support in ((pages, 0.5), (pages[:1], 0.0), (pages[::-1], 0.5)):
        llm = ScriptedLLM("In the warm sea [1].", name="main")
        remaining = [Hits(page) for page in found]
        context = context_of(
            QUESTION,
            lambda query, remaining=remaining, **_: remaining.pop(0) if remaining else Hits(),
            embedder=HashEmbedder,
            llm=llm,
            helper_llm=ScriptedLLM(reply, name="helper"),
            calibration=calibration,
            min_support=min_support,
        )
        answer = answer_question(context, "iterative")
        is_enough = support == 0.5
        assert answer.support == pytest.approx(support, abs=0.01)
        assert answer.sufficient == is_enough
        assert (answer.reason == "") == is_enough
        assert answer.found == (is_enough or min_support is None)


@pytest.mark.parametrize("strategy", ["extractive", "single", "iterative"])
def test_a_calibration_is_not_applied_to_what_was_not_embedded(strategy: str) -> None:
    answer, _ = run(strategy, CALIBRATED, embedder=Down, helper=ScriptedLLM(ENOUGH, name="helper"))
    assert answer.found and answer.support is None
    assert "the calibration was not applied, as nothing could be embedded" in answer.notes


def test_a_model_is_shown_what_stands_high_enough_and_the_tokens_saved_are_told() -> None:
    for ratio, shown in ((None, [1, 2]), (0.6, [1])):  # the second hit has half the score
        answer, llm = run("single", replace(CALIBRATED, context_ratio=ratio))
        step = next(step for step in answer.steps if step.kind == "context")
        assert step.detail["chunk_ids"] == shown
        assert (step.detail["tokens_saved"] > 0) == (ratio is not None)
        assert ("A gull flies" in llm.prompts[0]) == (ratio is None)


@pytest.mark.parametrize("question", [QUESTION, "Why is tax paid?"])
def test_evidence_is_assessed_by_the_passages_and_not_by_their_summaries(question: str) -> None:
    words = question if question != QUESTION else "It helps."  # the summary says otherwise
    helper = ScriptedLLM(json.dumps({"summary": words, "score": 9}), name="helper")
    answer, _ = run("evidence", CALIBRATED, question=question, helper=helper)
    assert answer.sufficient == (question == QUESTION)
    assert answer.support == pytest.approx(0.5 if question == QUESTION else 0.0, abs=0.01)


# --- with a model's judgement ---------------------------------------------------------------------

# The judgement alone decides: 1 -> 0.88, 0.5 -> 0.5, 0 -> 0.12.
BY_MODEL = replace(
    CALIBRATED,
    features=["judgement"],
    answerable_weights=[-2.0, 4.0],
    right_weights=[100.0, 0.0],
    judge_model="judge",
    judge_version=JUDGEMENT_VERSION,
)
JUDGED = replace(CALIBRATED, judged=BY_MODEL)


def verdict(grade: int, missing: str = "") -> str:
    return json.dumps({"missing": missing, "grade": grade})


@pytest.mark.parametrize("strategy", ["extractive", "single", "verify", "full_context"])
def test_the_model_of_the_calibration_judges_the_passages_once(strategy: str) -> None:
    judge = ScriptedLLM(verdict(0, "the sea is not named"), name="judge")
    answer, _ = run(strategy, JUDGED, helper=judge)
    assert answer.support == pytest.approx(0.12, abs=0.01)
    assert (answer.sufficient, answer.reason) == (False, "the sea is not named")
    (prompt,) = judge.prompts
    assert QUESTION in prompt and all(text in prompt for text in TEXTS[:2])
    step = next(step for step in answer.steps if step.detail.get("model") == "judge")
    assert (step.detail["purpose"], step.usage.prompt_tokens) == ("the judgement", 9)
    assert answer.usage.prompt_tokens == 9 * (1 if strategy == "extractive" else 2)
    assert answer.notes == ()


def test_the_answering_model_judges_where_the_calibration_is_of_it() -> None:
    calibration = replace(JUDGED, judged=replace(BY_MODEL, judge_model="main"))
    helper = ScriptedLLM("{}", name="helper")
    answer, llm = run("extractive", calibration, helper=helper, replies=(verdict(2),))
    assert answer.support == pytest.approx(0.88, abs=0.01)
    assert (len(llm.calls), helper.calls) == (1, [])


@pytest.mark.parametrize("strategy", ["extractive", "single"])
@pytest.mark.parametrize(
    ("helper", "version", "told"),
    [
        (None, JUDGEMENT_VERSION, "the calibration's judgement is of judge, not of main"),
        ("other", JUDGEMENT_VERSION, "of judge, not of other and main"),
        ("judge", "0", "is of prompt 0, and this release asks prompt"),
        (ProviderUnavailable("is down"), JUDGEMENT_VERSION, "the judgement was skipped: is down"),
        (verdict(7), JUDGEMENT_VERSION, "the judgement failed: judge answered twice"),
    ],
)
def test_without_a_judgement_the_fit_without_one_is_used_and_it_is_noted(
    strategy: str, helper: Any, version: str, told: str
) -> None:
    calibration = replace(JUDGED, judged=replace(BY_MODEL, judge_version=version))
    plain, _ = run(strategy, CALIBRATED)
    model = None
    if helper is not None:
        named = helper in ("other", "judge")
        model = ScriptedLLM("{}" if named else helper, name=helper if named else "judge")
    answer, _ = run(strategy, calibration, helper=model)
    assert (answer.support, answer.sufficient) == (plain.support, plain.sufficient)
    assert any(told in note for note in answer.notes), answer.notes
    assert "support was measured without a model's judgement" in answer.notes


def test_a_judgement_is_not_asked_again_by_what_a_strategy_falls_back_to() -> None:
    judge = ScriptedLLM(verdict(2), name="judge")
    answer, _ = run("single", JUDGED, helper=judge, replies=(ProviderUnavailable("is down"),))
    assert (answer.strategy, len(judge.calls)) == ("extractive", 1)
    assert answer.support == pytest.approx(0.88, abs=0.01)


def test_a_bound_that_has_no_room_for_the_judgement_leaves_it_out() -> None:
    judge = ScriptedLLM(verdict(0), name="judge")
    account = Account(Bounds(max_tokens=1200))
    answer, llm = run("single", JUDGED, helper=judge, account=account)
    assert judge.calls == [] and len(llm.calls) == 1
    assert any("the judgement was stopped by max_tokens" in note for note in answer.notes)


# --- strategies that assess nothing ---------------------------------------------------------------


def own(question: str, context: AnswerContext) -> Answer:
    return Answer(text="It swims.", found=bool(context.search(question)))


def own_assessing(question: str, context: AnswerContext) -> Answer:
    context.assessor.assess(question, context.search(question))
    return Answer(text="It swims.", found=True)


@pytest.mark.parametrize("strategy", [own, "agent"])
def test_min_support_that_nobody_applied_is_noted(strategy: Any) -> None:
    name = strategy if isinstance(strategy, str) else "own"
    calls = (ToolCall(id="1", name="search", arguments={"query": QUESTION}),)
    replies = (Completion(text="", tool_calls=calls), "In the warm sea [1].")
    for min_support in (0.46, None):
        answer, _ = run(strategy, CALIBRATED, min_support=min_support, replies=replies)
        assert answer.found and answer.support is None
        told = f"min_support was not applied: nobody assessed what strategy {name} answers from"
        assert (told in answer.notes) == (min_support is not None)


def test_what_a_strategy_of_ones_own_assessed_is_refused_by_min_support() -> None:
    for min_support, found in ((0.46, False), (None, True)):
        answer, _ = run(
            own_assessing, CALIBRATED, question="Why is tax paid?", min_support=min_support
        )
        assert answer.found == found and answer.sufficient is False
        assert "“tax”" in answer.reason and answer.support == pytest.approx(0.0, abs=0.01)
