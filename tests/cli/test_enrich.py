"""rag-pg enrich: what it prints, what it asks, what it refuses."""

import json
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from typer.testing import CliRunner, Result

from rag_pg import InvalidInput, ModelUnavailable
from rag_pg.cli.app import app

Run = Callable[..., Result]

RULES = [
    {"field": "phase", "pattern": "^Phase (\\d+)", "type": "number"},
    {"field": "is_critical", "pattern": "CRITICAL", "value": True, "scope": "chunk"},
]


@pytest.fixture
def run(dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command line on a database whose collection docs has one document of one chunk."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SELECT rag.create_collection('docs', 'none', 3)")
        chunk = {"content": "Phase 2\nCRITICAL: wear a helmet.", "embedding": [1, 0, 0]}
        connection.execute("SELECT rag.put_chunks('docs', 'a', %s)", [json.dumps([chunk])])
    monkeypatch.setenv("RAG_PG_DSN", dsn)
    monkeypatch.setenv("RAG_PG_HOME", str(tmp_path / "home"))
    for name in ("RAG_PG_LLM", "RAG_PG_HELPER_LLM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return lambda *arguments, **options: CliRunner().invoke(app, arguments, **options)


def test_rules_are_tried_set_and_shown(run: Run, tmp_path: Path) -> None:
    (tmp_path / "rules.json").write_text(json.dumps(RULES))
    tried = run("enrich", "docs", "--rules", "rules.json", "--dry-run")
    assert tried.stdout.splitlines() == [
        "1\tphase\tdocument\t1\t\t0\t2",
        "2\tis_critical\tchunk\t1\t1\t0\ttrue",
    ]
    assert tried.stderr == "of 1 document; nothing was stored\n"
    assert run("enrich", "docs").stderr == "nothing is set; see rag-pg enrich --help\n"
    assert run("enrich", "docs", "--rules", "rules.json").stdout == "1 document done\n"
    again = run("enrich", "docs", "--rules", json.dumps(RULES))
    assert again.stdout == "it is set like this already\n"
    shown = run("enrich", "docs").stdout.splitlines()
    assert shown[0] == "enrich version 1: in step, 0 jobs waiting"
    assert json.loads(shown[1]) == RULES[0]
    (document,) = run("documents", "--json").stdout.splitlines()
    assert json.loads(document)["metadata"] == {"phase": 2}
    assert run("enrich", "docs", "--rules", "[]").stdout == "1 document done\n"


def test_a_dry_run_fits_80_columns(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    shown = run("enrich", "docs", "--rules", json.dumps(RULES), "--dry-run").stdout
    assert "is_critical" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_nothing_is_asked_of_a_model_before_its_cost_is_accepted(run: Run) -> None:
    fields = '{"author": {"type": "text"}}'
    extract = ("enrich", "docs", "--fields", fields, "--model", "openai:gpt-4.1-mini")
    refused = run(*extract, input="n\n")
    assert refused.exit_code == 1
    assert "openai:gpt-4.1-mini: 1 call, about" in refused.stderr
    assert "$0.00" in refused.stderr
    assert run("enrich", "docs").stdout == ""
    queued = run(*extract, "--yes", "--no-wait")
    assert queued.stdout == "1 document queued\n"
    assert max(map(len, queued.stderr.splitlines())) <= 100
    (shown,) = map(json.loads, run("enrich", "docs", "--json").stdout.splitlines())
    assert (shown["kind"], shown["settings"]["model"]) == ("extract", "openai:gpt-4.1-mini")


def test_without_a_model_or_sense_there_is_one_line(run: Run) -> None:
    for arguments, kind, text in (
        (("enrich", "docs", "--fields", '{"a": {"type": "text"}}'), ModelUnavailable, "HELPER"),
        (("enrich", "docs", "--fields", "none.json"), InvalidInput, "cannot read the fields"),
        (("enrich", "docs", "--fields", "[]"), InvalidInput, "not a JSON object"),
        (("enrich", "docs", "--rules", "[]", "--contexts"), InvalidInput, "use one of"),
        (("enrich", "docs", "--rules", "{}"), InvalidInput, "no JSON array"),
        (("enrich", "docs", "--rules", "[{}]"), InvalidInput, "names no metadata field"),
    ):
        error = run(*arguments).exception
        assert isinstance(error, kind), arguments
        assert text in str(error) and "\n" not in str(error)
