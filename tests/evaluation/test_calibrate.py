"""Calibration: what is fitted, measured on questions left out, and what answers make of it."""

from __future__ import annotations

import json
import random
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
from fakes import Call, ScriptedLLM, WordReranker
from paths import ROOT

from rag_pg import Rag
from rag_pg.answer import FEATURES, JUDGEMENT, RERANKED
from rag_pg.client.collection import Collection
from rag_pg.errors import InvalidInput, ProviderUnavailable
from rag_pg.evaluation.calibrate import (
    LEAST,
    Observation,
    auroc,
    calibrate,
    distinct_questions,
    fit,
    measure_context,
)
from rag_pg.evaluation.client.calibration import STORED, observe_questions
from rag_pg.types import Calibration, EvalQuery, Loaded

WORDS = """amber basalt cedar delta ember falcon garnet harbor indigo jasper kelp lagoon maple
    nectar onyx pepper quartz raven saffron tundra umber velvet walnut xenon yarrow zephyr
""".split()  # noqa: SIM905


WHERE = (
    "Where does the {} stand?",
    "In which room does the {} stand?",
    "The {} stands in what room?",
    "Where is the room of the {}?",
)


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


def judged(items: list[Observation], share: float) -> list[Observation]:
    """With a judgement that is right of about `share` of them."""
    chance = random.Random(7)
    return [
        replace(
            o, features={**o.features, JUDGEMENT: float(o.answerable == (chance.random() < share))}
        )
        for o in items
    ]


def test_a_judgement_that_knows_tells_near_misses_and_a_random_one_spoils_nothing(
    observations: list[Observation],
) -> None:
    near, right, weight = {}, {}, {}
    for share in (None, 0.5, 0.85, 1.0):
        items = observations if share is None else judged(observations, share)
        found = calibrate(items, set_name="s", settings={})
        near[share] = found.figures["auroc_near_misses"]
        right[share] = found.figures["accuracy_at_80"]
        weight[share] = dict(zip(found.features, found.answerable_weights[1:], strict=True))
    assert near[None] + 0.1 < near[0.85] < near[1.0] and near[1.0] > 0.99
    assert near[0.5] == pytest.approx(near[None], abs=0.03)  # 600 x 300 pairs: noise is 0.02
    assert right[0.5] == pytest.approx(right[None], abs=0.02)
    assert weight[0.5][JUDGEMENT] < 0.3 < weight[0.85][JUDGEMENT]
    assert JUDGEMENT not in weight[None]


def test_equal_questions_count_once() -> None:
    texts = ["Where is it?", "Who is it?", "where  is it?"]
    queries = [EvalQuery(query_id=str(n), question=text) for n, text in enumerate(texts)]
    assert [query.query_id for query in distinct_questions(queries)] == ["0", "1"]


@pytest.mark.parametrize(
    ("answerable", "right", "without", "told"),
    [
        (1, 1, 100, "1 questions with an answer.* add about 99 more that the documents answer$"),
        (0, 0, 100, "0 questions with an answer, 0 .* add about 100 more that the documents"),
        (300, 0, 100, "300 questions with an answer, 0 .* add about 100 more that the documents"),
        (80, 40, 100, "80 questions with an answer, 40 .* add about 120 more that the documents"),
        (300, 99, 100, "99 of them answered right, .* add about 4 more that the documents answer$"),
        (300, 100, 99, "and 99 without .* add 1 more that come near and that they do not answer$"),
        (40, 40, 10, "add about 60 more that the documents answer and 90 more that come near"),
        (300, 100, 100, ""),
    ],
)
def test_too_few_questions_are_refused_with_how_many_more_are_needed(
    observations: list[Observation], answerable: int, right: int, without: int, told: str
) -> None:
    items = [
        replace(o, answerable=n < answerable, right=n < right)
        for n, o in enumerate(observations[: answerable + without])
    ]
    if told:
        with pytest.raises(InvalidInput, match=told):
            calibrate(items, set_name="s", settings={})
    else:
        assert calibrate(items, set_name="s", settings={}).question_count == 400


def test_all_that_are_answered_right_refuse_no_more_than_their_share(
    observations: list[Observation],
) -> None:
    items = [
        replace(o, answerable=n < 100, right=n < 100) for n, o in enumerate(observations[:200])
    ]
    found = calibrate(items, set_name="s", settings={})
    assert found.figures["auroc_right"] is None
    answerable, _ = fit(items).probabilities(items[:100])
    refused = (answerable < found.refuse_below).mean()
    assert refused <= 0.1 and found.correct[0] == 100


def test_the_database_has_the_same_least_number_of_questions() -> None:
    source = (ROOT / "sql" / "calibration" / "calibration.sql").read_text(encoding="utf-8")
    assert f"unanswerable) < {LEAST} THEN" in source


# --- with a database ------------------------------------------------------------------------------


def begin(rag: Rag) -> None:
    """Twenty-six documents, four questions to each, as many that none
    answers, and the collection calibrated on them."""
    queries: list[dict[str, Any]] = [
        {"question": asked.format(word), "answers": [f"room {n}"], "relevant": [word]}
        for asked in WHERE
        for n, word in enumerate(WORDS)
    ]
    queries += [
        {"question": f"Who never painted the {word[::-1]}{end}?", "unanswerable": True}
        for end in "xyzq"
        for word in WORDS
    ]
    docs = rag.collection("docs", model="hash:32")
    docs.add_chunks(
        {
            "uri": word,
            "content": f"The {word} stands in room {n}. It is {9 + n} years old.",
        }
        for n, word in enumerate(WORDS)
    )
    rag.evaluation.sets.put("faq", queries)
    rag.evaluation.sets.put("others", [{"question": "How is tax paid?", "unanswerable": True}])
    found = docs.evaluation.calibrate("faq", off_corpus="others", accuracy=0.8)
    assert found == docs.evaluation.calibration()


@pytest.fixture
def docs(rag: Rag) -> Collection:
    return rag.collection("docs")


def stored(docs: Collection) -> Calibration:
    found = docs.evaluation.calibration()
    assert found is not None
    return found


@pytest.mark.minutes
def test_a_calibrated_collection_tells_how_sure_its_answers_are(docs: Collection) -> None:
    found = stored(docs)
    assert (found.set_name, found.question_count, found.answerable_count) == ("faq", 208, 104)
    assert found.stale is None and found.figures["auroc_near_misses"] > 0.95
    assert found.figures["off_corpus_questions"] == 1

    sure = docs.ask("Where does the kelp stand?")
    assert (sure.found, sure.sufficient) == (True, True)
    assert sure.support is not None and sure.support > 0.5
    lost = docs.ask("Who never painted the plekx?", min_support=0.8)
    assert (lost.found, lost.sufficient) == (False, False)
    assert "no source has" in lost.reason and "“plekx”" in lost.reason
    assert lost.support is not None and lost.support < sure.support
    assert docs.evaluation.drop_calibration()
    assert docs.ask("Where does the kelp stand?").support is None


def test_without_calibration_nothing_is_refused_for_lack_of_it(docs: Collection) -> None:
    assert docs.evaluation.drop_calibration()
    answer = docs.ask("Where does the kelp stand?", min_support=0.99)
    assert answer.found
    assert any("min_support was not applied" in note for note in answer.notes)


def test_more_than_was_measured_is_no_min_support(docs: Collection) -> None:
    with pytest.raises(InvalidInput, match="no answer was measured to be right that often"):
        docs.ask("Where does the kelp stand?", min_support=0.999)
    with pytest.raises(InvalidInput, match=r"min_support is 1\.5"):
        docs.ask("Where does the kelp stand?", min_support=1.5)


def test_a_calibration_with_features_of_another_release_is_told_and_not_used(
    rag: Rag, docs: Collection
) -> None:
    values = asdict(stored(docs)) | {"features": ["moon_phase"]}
    values |= {"answerable_weights": [0, 1], "right_weights": [0, 1]}
    rag.database.put_calibration("docs", {name: values[name] for name in STORED})
    answer = docs.ask("Where does the kelp stand?")
    assert answer.found and answer.support is None
    told = "the calibration is not applied, as this release does not measure moon_phase"
    assert told in answer.notes


# --- with a reranker ------------------------------------------------------------------------------


@pytest.mark.minutes
def test_a_calibration_with_a_reranker_is_applied_where_the_same_one_is_asked(
    docs: Collection,
) -> None:
    before = stored(docs)
    reranker = WordReranker(
        lambda q, texts: [5.0 * (q.split()[-1].strip("?") in t) - 9 for t in texts]
    )
    found = docs.evaluation.calibrate("faq", off_corpus="others", accuracy=0.8, rerank=reranker)
    assert {*RERANKED} <= {*found.features} and not {*RERANKED} & {*before.features}
    assert found.settings["rerank"] == "words" and found.figures["auroc_near_misses"] > 0.95
    weights = dict(zip(found.features, found.answerable_weights[1:], strict=True))
    assert weights["rerank_margin"] > 0

    question = "Where does the kelp stand?"
    sure = docs.ask(question, strategy="extractive", rerank=reranker)
    assert sure.found and sure.support is not None and not sure.notes
    plain = docs.ask(question, strategy="extractive")
    assert plain.found and plain.support is None
    assert "the calibration was not applied, as it was measured with words" in plain.notes
    docs.evaluation.calibrate("faq", off_corpus="others", accuracy=0.8)
    other = docs.ask(question, strategy="extractive", rerank=reranker)
    told = "the calibration was not applied, as it was measured with no reranker"
    assert other.found and told in other.notes


def test_no_calibration_is_stored_with_a_reranker_that_fails_or_costs(docs: Collection) -> None:
    before = stored(docs)
    with pytest.raises(InvalidInput, match="words failed.* calibrate when the reranker answers"):
        docs.evaluation.calibrate("faq", rerank=WordReranker(lambda q, t: 1 / 0))
    with pytest.raises(InvalidInput, match="name a cross-encoder"):
        docs.evaluation.calibrate("faq", rerank="llm")
    assert stored(docs) == before


# --- with a model's judgement ---------------------------------------------------------------------


def judge_of() -> ScriptedLLM:
    """A model that knows which questions have an answer."""

    def reply(call: Call) -> str:
        return json.dumps({"missing": "", "grade": 0 if "never painted" in call.prompt else 2})

    return ScriptedLLM(reply, name="judge")


@pytest.mark.minutes
def test_a_judged_calibration_keeps_both_fits_and_asks_each_question_once(
    rag: Rag, docs: Collection
) -> None:
    judge = judge_of()
    estimate = docs.evaluation.estimate_calibration("faq", llm=judge)
    assert (estimate.calls, judge.calls) == (208, [])
    found = docs.evaluation.calibrate("faq", llm=judge)
    assert len(judge.calls) == 208
    (line,) = rag.admin.usage(by=["kind", "model"])
    assert (line.kind, line.model, line.calls) == ("judge", "judge", 208)
    assert estimate.usage.prompt_tokens > 208 * 100
    assert found.judge_model is None and JUDGEMENT not in found.features
    assert found.judged is not None and found.judged.features[-1] == JUDGEMENT
    assert found.judged.judge_model == "judge"
    assert found.judged.figures["auroc_near_misses"] > found.figures["auroc_near_misses"] - 0.01
    assert found.question_count == found.judged.question_count == 208

    question = "Where does the kelp stand?"
    answer = docs.ask(question, strategy="extractive", llm=judge)
    assert (len(judge.calls), answer.notes) == (209, ())
    plain = docs.ask(question, strategy="extractive")
    assert any("is of judge, not of no model" in note for note in plain.notes)
    assert answer.support is not None and plain.support is not None
    assert answer.support != plain.support


@pytest.mark.minutes
def test_a_judge_that_fails_often_stores_nothing_and_seldom_leaves_questions_out(
    docs: Collection,
) -> None:
    """In `make test` the next one tells that nothing is stored where nothing can be judged."""
    knows, before = judge_of(), stored(docs)

    def failing(count: int) -> ScriptedLLM:
        def reply(call: Call) -> Any:
            fails = len(judge.calls) <= count
            return ProviderUnavailable("is down") if fails else knows.complete(call.messages).text

        judge = ScriptedLLM(reply, name="judge")
        return judge

    with pytest.raises(InvalidInput, match=r"judged 0 of 208.*max_tokens"):
        docs.evaluation.calibrate("faq", llm=knows, max_tokens=10)
    assert knows.calls == []
    with pytest.raises(InvalidInput, match="judged 10[45] of 208 questions, too few.*is down"):
        docs.evaluation.calibrate("faq", llm=failing(104))
    assert docs.evaluation.calibration() == before
    found = docs.evaluation.calibrate("faq", llm=failing(4)).judged
    assert found is not None and found.figures["unjudged_questions"] == 4
    assert found.question_count == 204
    assert len(knows.calls) == 204  # what was judged is kept: 104 at first, 100 of the others
    assert docs.evaluation.calibrate("faq").judged is None  # all that was stored is replaced


def test_a_judge_costs_nothing_where_nothing_can_come_of_it(rag: Rag, docs: Collection) -> None:
    judge, before = judge_of(), docs.evaluation.calibration()
    rag.evaluation.sets.put(
        "few", [{"question": "Where does the kelp stand?", "relevant": ["kelp"]}]
    )
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("few", {"llm": judge}, "too few to calibrate on"),
        ("faq", {"judge": True}, "judged by a language model: name one"),
    ]
    for set_name, options, told in cases:
        with pytest.raises(InvalidInput, match=told):
            docs.evaluation.calibrate(set_name, **options)
    assert judge.calls == [] and docs.evaluation.calibration() == before


def test_relevant_passages_are_known_by_quote_and_else_by_document(rag: Rag) -> None:
    docs = rag.collection("long", model="hash:32")
    docs.add_chunks(
        chunk
        for n, word in enumerate(WORDS)
        for chunk in ({"uri": f"{n // 2}", "content": f"The {word} stands in room {n}."},)
    )
    queries = [
        {
            "question": f"Where does the {word} stand?",
            "relevant": [{"uri": f"{n // 2}", "quote": f"stands in room {n}."}],
        }
        for n, word in enumerate(WORDS)
    ]
    by_document = [{**query, "relevant": [f"{n // 2}"]} for n, query in enumerate(queries)]
    for name, entries in (("quotes", queries), ("documents", by_document)):
        rag.evaluation.sets.put(name, entries)
        asked = rag.evaluation.sets.queries(name)
        found = [o for o in observe_questions(docs._opened, name, asked) if o is not None]
        kept = {len(o.relevant) for o in found}
        assert max(kept) == (1 if name == "quotes" else 2)
        _, figures = measure_context(found)
        told = (figures["context_questions_by_passage"], figures["context_questions_by_document"])
        assert told == ((26, 0) if name == "quotes" else (0, 26))


def test_rows_are_observed_below_the_head_of_their_table_as_they_are_answered(rag: Rag) -> None:
    rows = "".join(f"| K-{n} | {n} m | {'quay ' * 40}|\n" for n in range(40))
    docs = rag.collection("berths", model="hash:32")
    docs.add(
        Loaded(uri="b.md", title="", content=f"| Berth | Length | Place |\n|---|---|---|\n{rows}",
               media_type="text/markdown")
    )  # fmt: skip
    asked = [EvalQuery(query_id="1", question="What is the length of berth K-33?")]
    (found,) = [o for o in observe_questions(docs._opened, "berths", asked) if o is not None]
    told = [hit.content for hit in found.passages if "| K-33 |" in hit.content]
    assert told[0].startswith("| Berth | Length | Place |") and len(told[0]) < len(rows)


def test_documents_that_were_changed_since_are_told(docs: Collection) -> None:
    assert stored(docs).corpus_changed is False
    docs.delete("kelp")
    found = docs.evaluation.calibration()
    assert found is not None and found.corpus_changed and found.stale is None
