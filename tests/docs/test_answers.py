"""docs/guides/answers.md is true: its program, its commands and its SQL run with a model."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import psycopg
import pytest
from answering import ANSWER, AnsweringOpenAI, answering
from paths import ROOT, blocks
from patience import wait_until

from rag_pg import Answer, Rag, Settings
from rag_pg.answer.strategies import BUILT_IN
from rag_pg.search.rewrite import REWRITES

pytestmark = pytest.mark.libraries  # the openai SDK
PAGE = (ROOT / "docs" / "guides" / "answers.md").read_text(encoding="utf-8")
HANDBOOK = {
    "passwords.md": "# Passwords\n\nTo reset your password, open the account page and choose"
    " Reset password.\n\n# Locked out\n\nSupport unlocks an account in office hours.\n",
    "backup.md": "# Backups\n\nBackups run every night at two and are kept for thirty days.\n",
}


def state_of(connection: psycopg.Connection[Any], request: Any) -> Any:
    (state,) = connection.execute("SELECT rag.answer_of(%s)", [request]).fetchone() or (None,)
    return state


def test_its_program_and_its_sql_run(
    dsn: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "handbook").mkdir()
    for name, text in HANDBOOK.items():
        (tmp_path / "handbook" / name).write_text(text)
    (tmp_path / "page.py").write_text("\n".join(blocks(PAGE, "python")))
    with AnsweringOpenAI() as model:
        settings = {"RAG_PG_OPENAI_BASE_URL": f"{model.url}/v1", "OPENAI_API_KEY": model.key}
        done = subprocess.run(
            [sys.executable, "-W", "error", "page.py"],
            cwd=tmp_path,
            env={k: v for k, v in os.environ.items() if not k.startswith("RAG_PG_")}
            | {"RAG_PG_DSN": dsn, "RAG_PG_HOME": str(home), "RAG_PG_LLM": "openai:fake"}
            | settings,
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert done.returncode == 0, done.stderr
        assert "## Sources" in done.stdout and done.stdout.count(ANSWER) >= 2
        titles = re.findall(r"^(?:Passwords|passwords\.md)\n.*$", done.stdout, re.MULTILINE)
        assert titles
        for variable, value in settings.items():
            monkeypatch.setenv(variable, value)
        with (
            Rag(dsn, settings=Settings(home=home, llm="openai:fake")) as rag,
            answering(rag),
            psycopg.connect(dsn, autocommit=True) as connection,
        ):
            check, statement, later = blocks(PAGE, "sql")
            chunk = "(SELECT min(chunk_id) FROM rag.chunks WHERE content LIKE '%thirty%')"
            call = check.replace("1", chunk, 1).rstrip(";\n")
            (proof,) = connection.execute(call.encode()).fetchall()
            assert proof[0] == "exact"
            row = connection.execute(statement.strip().rstrip(";").encode()).fetchone()
            (request,) = connection.execute(later.encode()).fetchone() or (None,)
            wait_until(lambda: state_of(connection, request)["state"] == "done")
            assert state_of(connection, request)["answer"]["found"]
            asked = {
                name: connection.execute(
                    "CALL rag.ask('docs', 'How do I reset my password?', options => %s::jsonb)",
                    [json.dumps({"strategy": name})],
                ).fetchone()
                for name in BUILT_IN
            }
    assert row is not None and (row[0]["text"], row[0]["strategy"]) == (ANSWER, "single")
    for name, found in asked.items():
        assert found is not None
        answer = found[0]
        assert set(answer) == {field.name for field in fields(Answer)}
        assert answer["found"] and answer["citations"][0]["uri"].startswith("handbook/"), name
        assert answer["strategy"] == name or name == "auto"
        assert answer["trace_id"] and {step["kind"] for step in answer["steps"]} >= {"search"}


def test_it_names_every_strategy_and_its_table_leads_to_examples() -> None:
    for name in BUILT_IN:
        assert f'strategy="{name}"' in PAGE, name
    table = PAGE.split("| --- | --- | --- | --- |\n")[1].split("\n\n")[0]
    sections = dict(re.findall(r"^### (.*?)\n\n(.*?)(?=^##)", PAGE, re.MULTILINE | re.DOTALL))
    for row in table.splitlines():
        _, problem, first, *_ = (cell.strip() for cell in row.split("|"))
        anchor = re.findall(r"\(#([\w-]+)\)", problem)
        titles = [t for t in sections if t.lower().replace(" ", "-") in anchor]
        assert titles, row
        called = re.findall(r"(strategy|rewrite|verify|history|stream|max_tokens|expand)", first)[0]
        assert "```python" in sections[titles[0]], row
        assert called in sections[titles[0]], row
    for name in re.findall(r'rewrite=\["(\w+)"\]', PAGE):
        assert name in REWRITES
