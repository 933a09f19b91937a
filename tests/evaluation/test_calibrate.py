"""Calibration: what is fitted, measured on questions left out, and what answers make of it."""

from __future__ import annotations

import random
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from rag_pg import Rag
from rag_pg.answer import FEATURES
from rag_pg.client.calibration import STORED
from rag_pg.client.collection import Collection
from rag_pg.errors import InvalidInput
from rag_pg.evaluation import Observation, calibrate, fit
from rag_pg.evaluation.calibrate import auroc

WORDS = """amber basalt cedar delta ember falcon garnet harbor indigo jasper kelp lagoon maple
    nectar onyx pepper quartz raven saffron tundra umber velvet walnut xenon yarrow zephyr
""".split()  # noqa: SIM905


def observation(chance: random.Random, answerable: bool) -> Observation:
    """One whose similarity tells whether it is right, and all else nothing."""
    similarity = chance.random()
    features = dict.fromkeys(FEATURES, 0.0) | {
        "similarity": similarity,
        "negation": float(chance.random() < 0.3),
        "words": chance.random(),
    }
    right = answerable and chance.random() < similarity
    standings = [1.0, 0.9, 0.5, 0.2]
    return Observation(
        answerable=answerable,
        off_corpus=False,
        right=right,
        features=features,
        strength=1 + chance.random(),
        relevant=[chance.choice([1.0] * 12 + [0.9] * 7 + [0.5])],
        standings=standings,
        tokens=[100] * 4,
    )


@pytest.fixture
def observations() -> list[Observation]:
    chance = random.Random(3)
    return [observation(chance, number % 3 > 0) for number in range(900)]


def test_probabilities_are_as_often_right_as_they_say(observations: list[Observation]) -> None:
    model = fit(observations[:600])
    rest = [o for o in observations[600:] if o.answerable]
    _, right = model.probabilities(rest)
    for low, high in ((0.0, 0.4), (0.4, 0.6), (0.6, 1.0)):
        inside = (right >= low) & (right < high)
        share = np.array([o.right for o in rest])[inside].mean()
        assert right[inside].mean() == pytest.approx(share, abs=0.12)


def test_weights_have_the_sign_of_their_feature(observations: list[Observation]) -> None:
    model = fit(observations)
    for weights in (model.answerable, model.right):
        assert all(
            weight * FEATURES[name] >= 0
            for name, weight in zip(model.names, weights[1:], strict=True)
        )
    assert model.right[1 + model.names.index("similarity")] > 1


def test_evidence_below_the_floor_counts_against_an_answer(
    observations: list[Observation],
) -> None:
    model = fit(observations)
    near, far = observations[1], observations[1]
    near.strength = model.floor
    before = model.probabilities([near])[0][0]
    far.strength = model.floor - 0.5
    assert model.probabilities([far])[0][0] < before / 10


def test_the_curve_counts_what_was_left_out(observations: list[Observation]) -> None:
    found = calibrate(observations, set_name="s", settings={})
    assert (found.question_count, found.answerable_count) == (900, 600)
    assert found.answered[0] == 900
    assert list(found.answered) == sorted(found.answered, reverse=True)
    assert found.correct[0] == sum(o.right for o in observations)
    shares = [c / a for c, a in zip(found.correct, found.answered, strict=True)]
    assert shares[-1] > shares[0] + 0.2
    assert found.figures["auroc_off_corpus"] is None


def test_context_keeps_the_share_of_relevant_passages(observations: list[Observation]) -> None:
    found = calibrate(observations, set_name="s", settings={})
    assert found.context_ratio == 0.9  # 19 of 20 relevant passages stand there or higher
    assert found.figures["context_kept"] == pytest.approx(0.95, abs=0.03)
    assert found.figures["context_tokens_saved"] == 0.5


def test_auroc_is_the_share_of_pairs_in_order() -> None:
    assert auroc(np.array([2.0, 1.0]), np.array([1.0, 0.0])) == 0.875
    assert auroc(np.array([]), np.array([1.0])) is None


def test_too_few_questions_are_refused(observations: list[Observation]) -> None:
    with pytest.raises(InvalidInput, match="too few to calibrate on"):
        calibrate(observations[:30], set_name="s", settings={})


# --- with a database ------------------------------------------------------------------------------


@pytest.fixture
def docs(rag: Rag) -> Collection:
    """Twenty-six documents, a question to each, and as many that none answers."""
    docs = rag.collection("docs", model="hash:32")
    docs.add_chunks(
        {
            "uri": word,
            "content": f"The {word} stands in room {n}. It is {9 + n} years old.",
        }
        for n, word in enumerate(WORDS)
    )
    queries: list[dict[str, Any]] = [
        {"question": f"Where does the {word} stand?", "answers": [f"room {n}"], "relevant": [word]}
        for n, word in enumerate(WORDS)
    ]
    queries += [
        {"question": f"Who never painted the {word[::-1]}x?", "unanswerable": True}
        for word in WORDS
    ]
    rag.put_eval_queries("faq", queries)
    return docs


def test_a_calibrated_collection_tells_how_sure_its_answers_are(rag: Rag, docs: Collection) -> None:
    assert docs.ask("Where does the kelp stand?").support is None
    rag.put_eval_queries("others", [{"question": "How is tax paid?", "unanswerable": True}])
    found = docs.calibrate("faq", off_corpus="others", accuracy=0.8)
    assert (found.set_name, found.question_count, found.answerable_count) == ("faq", 52, 26)
    assert found.stale is None and found.figures["auroc_near_misses"] > 0.95
    assert found.figures["off_corpus_questions"] == 1

    sure = docs.ask("Where does the kelp stand?")
    assert (sure.found, sure.sufficient) == (True, True)
    assert sure.support is not None and sure.support > 0.5
    lost = docs.ask("Who never painted the plekx?", min_support=0.8)
    assert (lost.found, lost.sufficient) == (False, False)
    assert "no source has" in lost.reason and "“plekx”" in lost.reason
    assert lost.support is not None and lost.support < sure.support
    assert docs.drop_calibration()
    assert docs.ask("Where does the kelp stand?").support is None


def test_without_calibration_nothing_is_refused_for_lack_of_it(docs: Collection) -> None:
    answer = docs.ask("Where does the kelp stand?", min_support=0.99)
    assert answer.found
    assert any("min_support was not applied" in note for note in answer.notes)


def test_more_than_was_measured_is_no_min_support(docs: Collection) -> None:
    docs.calibrate("faq")
    with pytest.raises(InvalidInput, match="no answer was measured to be right that often"):
        docs.ask("Where does the kelp stand?", min_support=0.999)
    with pytest.raises(InvalidInput, match=r"min_support is 1\.5"):
        docs.ask("Where does the kelp stand?", min_support=1.5)


def test_a_calibration_with_features_of_another_release_is_told_and_not_used(
    rag: Rag, docs: Collection
) -> None:
    values = asdict(docs.calibrate("faq")) | {"features": ["moon_phase"]}
    values |= {"answerable_weights": [0, 1], "right_weights": [0, 1]}
    rag.database.put_calibration("docs", {name: values[name] for name in STORED})
    answer = docs.ask("Where does the kelp stand?")
    assert answer.found and answer.support is None
    told = "the calibration holds no more, as this release does not measure moon_phase"
    assert told in answer.notes
