"""Sweeps: what is varied, what is measured and compared, copies, what is reused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from fakes import ScriptedLLM, WordReranker

from rag_pg import InvalidInput, ModelUnavailable, NotFound, ProviderError, Rag
from rag_pg.client.collection import Collection
from rag_pg.evaluation.statements import EqualRun
from rag_pg.evaluation.sweep import find_equal, make_candidates, read_vary, settings_key
from rag_pg.evaluation.types import SweepRow

ANIMALS = ("ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen")
KNOWN = ("limit", "rerank", "rewrite", "vector_weight", "keyword_weight")


def grid(*texts: str, **given: Any) -> list[Any]:
    arguments: dict[str, Any] = {"kind": "search", "options": {}, "known": KNOWN, "most": 50,
                                 "current": {"chunking": {}, "model": "m"}, **given}  # fmt: skip
    return make_candidates(read_vary(texts), **arguments)


def test_every_combination_is_a_candidate_beside_the_baseline() -> None:
    found = grid("vector_weight=0,0.5", "rerank=none,cross-encoder:m", "rewrite=hyde+filters")
    assert [one.name for one in found][:2] == [
        "baseline", "vector_weight=0 rerank=none rewrite=hyde+filters"
    ]  # fmt: skip
    assert len(found) == 5
    assert found[-1].options == {
        "vector_weight": 0.5, "rerank": "cross-encoder:m", "rewrite": ["hyde", "filters"]
    }  # fmt: skip
    named = grid("rerank=none,llm", options={"limit": 5})
    assert [(one.name, one.options) for one in named] == [
        ("rerank=none", {"limit": 5}), ("rerank=llm", {"limit": 5, "rerank": "llm"})
    ]  # fmt: skip
    assert [one.name for one in grid("limit=10,20")] == ["limit=10", "limit=20"]
    assert [one.options for one in grid("mode=hybrid,keyword")] == [{}, {"vector_weight": 0.0}]


def test_settings_of_copies_are_told_apart_from_options() -> None:
    found = grid("chunking=sentence,markdown:128:0.1,current", "model=m,e5")
    assert [(one.chunking, one.model, one.is_copied) for one in found] == [
        (None, None, False),
        ({"method": "sentence"}, None, True),
        ({"method": "sentence"}, "e5", True),
        ({"method": "markdown", "max_tokens": 128, "overlap": 0.1}, None, True),
        ({"method": "markdown", "max_tokens": 128, "overlap": 0.1}, "e5", True),
        (None, "e5", True),
    ]
    (_, given) = grid('chunking=[{"max_tokens": 64}]')
    assert given.chunking == {"max_tokens": 64} and given.name == 'chunking={"max_tokens": 64}'


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (("limit",), "write a name and its values"),
        (("limits=3",), "did you mean 'limit'"),
        (("chunking=recursive:500",), "chunking method is 'recursive'; take auto"),
        (("chunking=markdown:many",), "cannot read the chunking"),
        (("chunking=[{]",), "not JSON"),
        (("mode=both",), "unknown mode 'both'"),
        (("mode=keyword", "vector_weight=0"), "vary one of them"),
        (("limit=1,2,3,4,5,6,7,8", "rerank=a,b,c,d,e,f,g"),
         "8 of limit × 7 of rerank are 56 candidates, and at most 50"),
    ],
)  # fmt: skip
def test_a_grid_that_cannot_be_measured_is_one_line(texts: tuple[str, ...], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        grid(*texts)


def begin(rag: Rag) -> None:
    docs = rag.collection("docs", model="hash:32", chunking={"max_tokens": 64})
    filler = [f"Sentence {n} of it tells nothing." for n in range(6)]
    docs.add(*(
        {"uri": animal, "content": f"The {animal} lives here. {' '.join(filler)} {place}"}
        for place, animal in enumerate(ANIMALS)
    ))  # fmt: skip
    docs.add_chunks([{"uri": "ready", "content": "A chunk that was made elsewhere."}])
    rag.evaluation.sets.put(
        "set",
        [{"id": animal, "question": f"Where does the {animal} live?", "relevant": [animal],
          "answers": [f"The {animal} lives here."]} for animal in ANIMALS],
    )  # fmt: skip


@pytest.fixture
def docs(rag: Rag) -> Collection:
    return rag.get_collection("docs")


def test_a_run_of_another_chunking_is_not_taken_for_one_of_the_collection_as_it_is() -> None:
    (candidate,) = grid("limit=10")
    settings = {"limit": 10, "cache": False}
    runs = [
        EqualRun(run_id=n, kind="search", settings=settings, model_fingerprint="m", chunking=cut)
        for n, cut in enumerate([{"max_tokens": 64}, {"max_tokens": 20}])
    ]
    found = find_equal([candidate], runs, lambda model: "m", {"max_tokens": 64.0})
    assert found == {settings_key(candidate): 0}
    assert find_equal([candidate], runs, lambda model: "m", {}) == {}


def by_name(rows: Any) -> dict[str, SweepRow]:
    return {row.name: row for row in rows}


def test_a_sweep_compares_runs_with_the_baseline_and_goes_on_past_a_failure(
    rag: Rag, docs: Collection
) -> None:
    def worst_first(query: str, texts: Any) -> Any:
        return [float("the " + query.split()[3] not in text.lower()) for text in texts]

    told: list[str] = []
    vary: dict[str, list[Any]] = {"rerank": [None, WordReranker(worst_first), "cross-encoder"]}
    estimate = docs.evaluation.estimate_sweep("set", vary, limit=3)
    assert (estimate.runs, estimate.reused, estimate.copies, estimate.calls) == (3, 0, 0, 0)
    done = docs.evaluation.sweep("set", vary, limit=3, k=3, tell=told.append)
    rows = by_name(done.rows)
    base, worse, broken = (
        rows["rerank=none"], rows["rerank=words"], rows["rerank=cross-encoder"]
    )  # fmt: skip
    assert base.baseline and base.value is not None and base.value > 0.9
    assert worse.value is not None and worse.difference == worse.value - base.value < 0
    (one,) = rag.evaluation.runs.compare(base.run_id or 0, worse.run_id or 0, metrics=["ndcg"], k=3)
    assert (worse.low, worse.high, worse.p_value) == (one.low, one.high, one.p_value)
    assert worse.adjusted_p_value == worse.p_value  # one comparison
    assert broken.run_id is None and "unknown reranker" in (broken.error or "")
    assert any(line.startswith("rerank=cross-encoder failed") for line in told)
    assert [run.name for run in rag.evaluation.runs.list("set")] == ["rerank=words", "rerank=none"]
    again = docs.evaluation.sweep("set", vary, limit=3, k=3, tell=told.append)
    assert by_name(again.rows)["rerank=words"].reused and again.run_ids == done.run_ids
    assert any("is reused" in line for line in told)
    docs.delete("hen")
    assert docs.evaluation.estimate_sweep("set", vary, limit=3).reused == 0


def test_p_values_are_corrected_for_how_many_are_compared(rag: Rag, docs: Collection) -> None:
    done = docs.evaluation.sweep(
        "set", {"limit": [10, 1, 2], "keyword_weight": [0]}, k=10, metric="recall"
    )
    tested = [row.p_value for row in done.rows if row.p_value is not None]
    assert len(tested) == 3
    corrected = [row.adjusted_p_value for row in done.rows if row.p_value is not None]
    assert corrected == (
        rag.database.optional(list, "_adjust_p_values", p_values=tested, correction="holm") or []
    )


@pytest.mark.minutes
def test_another_chunking_and_model_are_measured_on_a_copy_that_is_dropped(
    rag: Rag, docs: Collection
) -> None:
    told: list[str] = []
    vary: dict[str, list[Any]] = {"chunking": ["sentence"], "model": [None, "hash:64"]}
    estimate = docs.evaluation.estimate_sweep("set", vary)
    assert (estimate.runs, estimate.copies, estimate.documents) == (3, 2, 9)
    assert set(estimate.embedded_tokens) == {"hash:32", "hash:64"}
    before = docs.stats().chunks
    done = docs.evaluation.sweep("set", vary, tell=told.append)
    assert [row.error for row in done.rows] == [None, None, None]
    copies = [line.split()[0] for line in told if line.endswith("temporary copy of docs")]
    assert len(set(copies)) == 2 and all(f"{name} is dropped" in told for name in copies)
    assert [one.name for one in rag.collections()] == ["docs"] and docs.stats().chunks == before
    runs = rag.evaluation.runs.list("set")
    assert {run.collection for run in runs} == {"docs"}
    assert len({run.corpus_fingerprint for run in runs}) == 1
    assert {run.model for run in runs} == {"hash:32", "hash:64"}
    assert runs[0].settings["chunking"] == {"method": "sentence"}
    assert docs.evaluation.estimate_sweep("set", vary).runs == 0


def test_a_copy_is_dropped_after_an_error_and_an_interrupt(rag: Rag, docs: Collection) -> None:
    class Interrupts:
        name = "interrupts"

        def rerank(self, query: str, texts: Any) -> Any:
            raise KeyboardInterrupt

    told: list[str] = []

    def fail(texts: Sequence[str]) -> None:
        if any("nothing" in text for text in texts):
            raise ModelUnavailable("the weights are gone")

    rag.embedder("hash:64").fail = fail  # type: ignore[attr-defined]
    failed = docs.evaluation.sweep("set", {"model": ["hash:64"]}, tell=told.append)
    assert "the weights are gone" in (by_name(failed.rows)["model=hash:64"].error or "")
    rag.embedder("hash:64").fail = lambda texts: None  # type: ignore[attr-defined]
    with pytest.raises(KeyboardInterrupt):
        docs.evaluation.sweep("set", {"chunking": ["sentence"], "rerank": [Interrupts()],
                           "rerank_timeout": [None]}, tell=told.append)  # fmt: skip
    assert sum("is dropped" in line for line in told) == 2
    assert [one.name for one in rag.collections()] == ["docs"]
    assert {run.collection for run in rag.evaluation.runs.list("set")} == {"docs"}


def test_a_sweep_refuses_what_it_cannot_measure(rag: Rag, docs: Collection) -> None:
    for given, error, message in (
        ({"vary": {"strategy": ["single"]}}, InvalidInput, "take kind ask"),
        ({"vary": {"limits": [1]}}, InvalidInput, "did you mean 'limit'"),
        ({"vary": {}}, InvalidInput, "say what to vary"),
        ({"vary": {"limit": [1]}, "fusion": "none"}, InvalidInput, "fusion"),
        ({"set_name": "never", "vary": {"limit": [1]}}, NotFound, "no evaluation set"),
    ):
        arguments: dict[str, Any] = {"set_name": "set", **given}
        with pytest.raises(error, match=message):
            docs.evaluation.sweep(**arguments)
    assert rag.evaluation.runs.list() == []


@pytest.mark.minutes
def test_techniques_are_measured_and_those_that_cannot_be_say_why(
    rag: Rag, docs: Collection
) -> None:
    done = docs.evaluation.sweep("set", techniques=True, copies=False)
    rows = by_name(done.rows)
    measured = {row.name for row in done.rows if row.run_id is not None}
    assert {"hybrid", "keywords", "vectors", "fusion rrf", "diversity (MMR)", "filters (rules)",
            "answers: extractive", "answers: neighbours"} <= measured  # fmt: skip
    assert done.rows[0].name == "hybrid" and done.rows[0].baseline
    for name, reason in (
        ("hyde", "no language model"), ("answers: single", "no language model"),
        ("cross-encoder", "--with rerank"), ("small-to-big", "copy"),
    ):  # fmt: skip
        assert rows[name].unavailable and reason in (rows[name].error or ""), name
    assert {row.metric for row in done.rows if row.run_id} == {"ndcg", "answer_f1"}
    assert len(rows) == len(done.rows) == 34


def test_techniques_of_a_language_model_tell_their_cost_first(rag: Rag, docs: Collection) -> None:
    llm = ScriptedLLM('{"question": "animals"}')
    estimate = docs.evaluation.estimate_sweep("set", techniques=True, copies=False, llm=llm)
    names = {one.name for one in estimate.candidates}
    assert {"hyde", "llm rerank", "answers: agent"} <= names and llm.calls == []
    assert estimate.calls > 8 * 10 and estimate.usage.prompt_tokens > 0 and estimate.cost is None
    done = docs.evaluation.sweep("set", {"rewrite": [["step_back"]]}, helper_llm=llm)
    row = by_name(done.rows)["rewrite=step_back"]
    assert row.error is None and row.tokens == 8 * 12 and len(llm.calls) == 8
    (_, failed) = docs.evaluation.sweep("set", {"rewrite": [["hyde"]]}).rows
    assert "hyde needs a language model" in (failed.error or "")


def test_a_run_of_another_language_model_is_not_reused(rag: Rag, docs: Collection) -> None:
    def set_model(name: str) -> None:
        llm = ScriptedLLM('{"question": "animals"}')
        llm.name = name
        rag.models.llm = lambda name=None: llm  # type: ignore[method-assign]
        rag.models.helper_llm = lambda name=None: llm  # type: ignore[method-assign]
        rag.models._rerankers.clear()

    def left(**given: Any) -> int:
        return docs.evaluation.estimate_sweep("set", **given).runs

    rewritten: dict[str, Any] = {"vary": {"rewrite": [["step_back"]]}}
    set_model("old")
    docs.evaluation.sweep("set", **rewritten)
    assert left(**rewritten) == 0
    set_model("new")
    assert left(**rewritten) == 1  # the baseline asks none
    for one in docs.evaluation.estimate_sweep(
        "set", {"rerank": ["llm"], "contexts": [True]}, kind="search"
    ).candidates[1:]:
        key = settings_key(one)
        assert '"rerank": "llm:new"' in key and '"contexts": "new"' in key
    (asks,) = docs.evaluation.estimate_sweep("set", {"limit": [3]}, kind="ask").candidates[1:]
    assert '"helper_llm": "new"' in settings_key(asks) and '"llm": "new"' in settings_key(asks)


def test_a_model_that_cannot_be_opened_fails_in_its_row(rag: Rag, docs: Collection) -> None:
    vary: dict[str, list[Any]] = {"model": ["hash:64", None]}
    docs.evaluation.sweep("set", vary)
    rag.models.embedder = fail_for("hash:64", rag.models.embedder)  # type: ignore[method-assign]
    assert docs.evaluation.estimate_sweep("set", vary).runs == 1
    row = by_name(docs.evaluation.sweep("set", vary).rows)["model=hash:64"]
    assert "the weights are gone" in (row.error or "")


def fail_for(model: str, opened: Any) -> Any:
    def embedder(name: str) -> Any:
        if name == model:
            raise ModelUnavailable("the weights are gone")
        return opened(name)

    return embedder


def test_what_is_degraded_is_told_and_not_reused(rag: Rag, docs: Collection) -> None:
    def fails(query: str, texts: Any) -> Any:
        raise ValueError("no idea")

    vary: dict[str, list[Any]] = {"rerank": [WordReranker(fails)]}
    (_, row) = docs.evaluation.sweep("set", vary).rows
    assert "reranking was skipped" in (row.error or "")
    assert docs.evaluation.estimate_sweep("set", vary).runs == 1


@pytest.mark.parametrize("which", ["the baseline", "a candidate"])
def test_a_failure_of_the_provider_is_no_gain_of_a_candidate(docs: Collection, which: str) -> None:
    def fails(query: str, texts: Any) -> Any:
        if query.split()[3] in ("ant", "cat", "eel", "gnu"):
            raise ProviderError("503 the provider is down")

    broken = WordReranker(fails)
    fixed: Any = {"rerank": broken} if which == "the baseline" else {}
    other = None if which == "the baseline" else broken
    base, row = docs.evaluation.sweep("set", {"rerank": [other]}, **fixed).rows
    told = "4 of 8 questions failed, as ant: reranking was skipped: .*503 the provider is down"
    failed = base if which == "the baseline" else row
    assert re.match(told, failed.error or "")
    if which == "the baseline":
        assert (row.difference, row.p_value, row.error) == (None, None, None)
    else:
        assert base.error is None and row.difference is not None and row.difference < 0


def test_a_run_with_notes_on_typing_errors_is_reused(rag: Rag, docs: Collection) -> None:
    docs.add({"uri": "errors", "content": "Calibration of instruments"})
    rag.evaluation.sets.put("mistyped", [{"question": "calibraton", "relevant": ["errors"]}])
    (first,) = docs.evaluation.sweep("mistyped", {"limit": [3]}, limit=3).rows
    assert "searched for instead" in first.notes[0]
    (again,) = docs.evaluation.sweep("mistyped", {"limit": [3]}, limit=3).rows
    assert again.reused and again.run_id == first.run_id
