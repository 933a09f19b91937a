"""Labels of people: given as rows or as a file, stored one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rag_pg import InvalidInput, NotFound, Rag


@pytest.fixture
def run_id(rag: Rag) -> int:
    docs = rag.collection("docs", model="hash:32")
    docs.add_chunks({"uri": f"d{n}", "content": f"word{n}"} for n in range(12))
    rag.evaluation.sets.put("faq", [{"id": f"q{n}", "question": f"word{n}"} for n in range(12)])
    return docs.evaluation.run("faq", vector_weight=0).run_id


def test_labels_that_cannot_be_stored_are_named_and_the_rest_is_stored(
    rag: Rag, run_id: int, tmp_path: Path
) -> None:
    given = [{"query_id": one, "score": score} for one, score in
             (("q0", "yes"), ("q1", 0.25), ("zz", 1), ("q2", "maybe"))]  # fmt: skip
    report = rag.evaluation.runs.label(run_id, given)
    assert report.stored == 2
    assert sorted(one.reason for one in report.rejected) == [
        "the label of 'q2' is 'maybe'; use 0 to 1, yes or no", "the run has no question 'zz'",
    ]  # fmt: skip
    (tmp_path / "labels.csv").write_text("query_id,score,reason\nq3,1,\nq4,no,it is not\nq5,2,\n")
    report = rag.evaluation.runs.label(run_id, tmp_path / "labels.csv")
    assert report.stored == 2
    assert [str(one).partition("labels.csv")[2] for one in report.rejected] == [
        ":4: the label of 'q5' is '2'; use 0 to 1, yes or no"
    ]
    (tmp_path / "labels.jsonl").write_text('{"query_id": "q0", "score": false}\n[1]\n{"query')
    report = rag.evaluation.runs.label(run_id, tmp_path / "labels.jsonl", person="ann")
    assert (report.stored, len(report.rejected)) == (0, 3)
    found = {one.query_id: one for one in rag.evaluation.runs.labelled(run_id, person="")}
    assert {name: one.score for name, one in found.items() if one.score is not None} == {
        "q0": 1, "q1": 0.25, "q3": 1, "q4": 0,
    }  # fmt: skip
    assert found["q4"].reason == "it is not" and len(found) == 12


def test_what_is_no_label_is_refused(rag: Rag, run_id: int, tmp_path: Path) -> None:
    label = [{"query_id": "q", "score": 1}]
    with pytest.raises(NotFound, match="no evaluation run 9"):
        rag.evaluation.runs.label(9, label)
    with pytest.raises(InvalidInput, match="cannot read"):
        rag.evaluation.runs.label(run_id, tmp_path / "none.csv")
    with pytest.raises(InvalidInput, match="use one without spaces"):
        rag.evaluation.runs.label(run_id, label, person="two words")


def test_a_label_that_is_no_object_is_named(rag: Rag, run_id: int) -> None:
    given: list[Any] = [5, "text"]
    report = rag.evaluation.runs.label(run_id, given)
    assert [(one.line, one.reason.split(";")[0]) for one in report.rejected] == [
        (1, "it is 5"), (2, "it is 'text'")
    ]  # fmt: skip
