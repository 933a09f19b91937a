"""The guide to rewriting a question: its examples run, and its table names every rewrite."""

import json
from typing import Any

import psycopg
from fakes import ScriptedLLM
from paths import ROOT, blocks

from rag_pg import Rag
from rag_pg.search.rewrite import REWRITES

GUIDE = (ROOT / "docs" / "guides" / "questions.md").read_text(encoding="utf-8")


def answer(call: Any) -> str:
    """What a good model says, whatever it is asked."""
    (name,) = call.schema["required"]
    return json.dumps({name: ["copies of files"] if name.endswith("s") else "copies are kept"})


def test_the_examples_run_one_after_the_other(rag: Rag) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add(
        {"uri": "a", "content": "Reset a stolen password on the account page.", "topic": "account"},
        {"uri": "b", "content": "Copies of files are kept for thirty days.", "topic": "backup"},
    )
    names: dict[str, Any] = {"docs": docs, "llm": ScriptedLLM(answer)}
    for block in blocks(GUIDE, "python"):
        exec(compile(block, "questions.md", "exec"), names)
        if "filter from the question: topic" in block:
            assert names["hits"].notes[0].startswith('filter from the question: topic "backup"')
            assert [hit.uri for hit in names["hits"]] == ["b"]
    assert names["rewritten"].question == "And if it was stolen? (reset my password)"
    assert names["hits"].question == "what was changed yesterday?"


def test_the_statement_runs(rag: Rag, dsn: str) -> None:
    rag.collection("docs", model="hash:32").add({"uri": "a", "content": "reset a password"})
    (statement,) = blocks(GUIDE, "sql")
    with psycopg.connect(dsn) as connection:
        assert connection.execute(statement.encode()).fetchall()


def test_the_table_names_every_rewrite() -> None:
    for name in REWRITES:
        assert f"`{name}`" in GUIDE
