"""The page on other evaluation tools: what it collects of a run is what a data set holds."""

from __future__ import annotations

import re
from typing import Any

from paths import ROOT

from rag_pg import Rag

GUIDE = (ROOT / "docs" / "guides" / "evaluation-tools.md").read_text(encoding="utf-8")


def test_the_rows_of_a_data_set_are_collected_and_labels_come_back(rag: Rag) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    (code,) = (block for block in blocks if block.startswith("rows = []"))
    docs = rag.collection("docs", model="hash:32")
    docs.add({"uri": "backup", "content": "Copies of files are kept for thirty days."})
    question = {"id": "q1", "question": "How long are copies kept?", "answers": ["thirty days"]}
    rag.evaluation.sets.put("faq", [{**question, "relevant": ["backup"]}])
    run = docs.evaluation.run("faq", kind="ask", llm="extractive")
    names: dict[str, Any] = {"rag": rag, "run_id": run.run_id}
    exec(compile(code, "evaluation-tools.md", "exec"), names)
    [row] = names["rows"]
    assert row["user_input"] == question["question"] and row["reference"] == "thirty days"
    assert row["retrieved_contexts"] == ["Copies of files are kept for thirty days."]
    label = {"query_id": "q1", "score": 0.8}
    assert rag.evaluation.runs.label(run.run_id, [label], person="ragas").stored == 1
    [result] = rag.evaluation.runs.labelled(run.run_id, person="ragas")
    assert result.score == 0.8 and result.answer == row["response"] != ""
