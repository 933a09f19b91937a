"""What a calibration makes of an answer: its zones, what is missing, how much a model is shown."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from fakes import HashEmbedder, ScriptedLLM
from passages import hit

from rag_pg.answer import AnswerContext, answer_question
from rag_pg.errors import ProviderUnavailable
from rag_pg.types import Answer, Calibration, Hits, Vectors

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
    strategy: str,
    calibration: Calibration,
    *,
    question: str = QUESTION,
    embedder: type[HashEmbedder] = HashEmbedder,
    helper: ScriptedLLM | None = None,
    min_support: float | None = None,
) -> tuple[Answer, ScriptedLLM]:
    llm = ScriptedLLM("In the warm sea [1].", name="main")

    def find(query: str, offset: int = 0, **options: Any) -> Hits:
        found = [hit(text, number=number) for number, text in enumerate(TEXTS, 1)]
        return Hits(found[2:] if offset else found[:2])

    context = AnswerContext(
        find=find,
        embedder=embedder,
        llm=llm,
        helper_llm=helper,
        calibration=lambda: calibration,
        min_support=min_support,
    )
    return answer_question(question, context, strategy=strategy), llm


@pytest.mark.parametrize("strategy", ["extractive", "single"])
def test_zones_say_whether_an_answer_is_sufficient_and_what_is_missing(strategy: str) -> None:
    sure, _ = run(strategy, CALIBRATED)
    assert (sure.found, sure.sufficient, sure.reason) == (True, True, "")
    assert sure.support == pytest.approx(0.5, abs=0.01)
    hedged, _ = run(strategy, HEDGED)
    assert (hedged.found, hedged.sufficient) == (True, False)
    assert hedged.reason == "the sources only touch on what is asked"
    lost, llm = run(strategy, CALIBRATED, question="Why is tax paid?", min_support=0.46)
    assert (lost.found, lost.sufficient, llm.calls) == (False, False, [])
    assert "no source has “tax”, “paid”; its support is 0.00, needed is 0.40" in lost.reason


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
        context = AnswerContext(
            find=lambda query, remaining=remaining, **_: remaining.pop(0) if remaining else Hits(),
            embedder=HashEmbedder,
            llm=llm,
            helper_llm=ScriptedLLM(reply, name="helper"),
            calibration=lambda: calibration,
            min_support=min_support,
        )
        answer = answer_question(QUESTION, context, strategy="iterative")
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
