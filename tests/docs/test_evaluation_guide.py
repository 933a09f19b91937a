"""The guide to evaluation: its examples run, and its tables name every metric and every field."""

from __future__ import annotations

import json
import re
from typing import Any

import psycopg
from fakes import ScriptedLLM
from paths import ROOT, blocks

from rag_pg import Rag
from rag_pg.evaluation.cli import evaluation
from rag_pg.evaluation.files import FIELDS

GUIDE = (ROOT / "docs" / "guides" / "evaluation.md").read_text(encoding="utf-8")


def test_the_examples_run_one_after_the_other(rag: Rag, dsn: str) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add(
        {"uri": "account", "content": "Reset a stolen password on the account page."},
        {"uri": "backup", "content": "Copies of files are kept for thirty days."},
    )
    statement = {"statements": [{"statement": "a", "supported": True}], "reason": "it stands there"}
    names: dict[str, Any] = {
        "rag": rag, "docs": docs, "llm": ScriptedLLM(json.dumps(statement)),
    }  # fmt: skip
    for block in blocks(GUIDE, "python"):
        exec(compile(block, "evaluation.md", "exec"), names)
    assert [run.run_id for run in rag.evaluation.runs.list("faq")] == [*range(10, 0, -1)]
    assert names["report"].judge_version == "1:scripted" and names["report"].failures == []
    with psycopg.connect(dsn, autocommit=True) as connection:
        for block in blocks(GUIDE, "sql"):
            for part in block.split(";\n"):
                if part.strip():
                    assert connection.execute(part.encode()).fetchall() != [], part
    found = {metric.metric: metric.advisory for metric in rag.evaluation.runs.metrics(3)}
    assert found["judge:faithfulness"] is True  # two labels are too few
    assert found["judge:mentions_days"] is True and found["judge:human"] is False
    assert {name for name in found if f"`{name}`" not in GUIDE} == {
        "judge:faithfulness", "judge:human", "judge:mentions_days",
    }  # fmt: skip


def test_every_field_of_a_question_is_described() -> None:
    for field in FIELDS:
        assert f"`{field}`" in GUIDE or field in ("question", "source"), field


def test_the_commands_of_the_guide_exist() -> None:
    named = set(re.findall(r"^rag-pg eval ([a-z-]+)", GUIDE, re.MULTILINE))
    commands = {command.name for command in evaluation.registered_commands}
    assert named <= commands
