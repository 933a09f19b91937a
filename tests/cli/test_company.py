"""A folder with all that a company has in one is taken in one command."""

from __future__ import annotations

import json
from pathlib import Path

import psycopg
import pytest
from company import make_company
from typer.testing import CliRunner

from rag_pg import Settings
from rag_pg.cli.app import app


def test_a_folder_of_a_company_is_taken_in_one_command(
    dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SELECT rag.create_collection('docs', 'none', 3)")
    monkeypatch.setenv("RAG_PG_DSN", dsn)
    monkeypatch.setenv("RAG_PG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    made = make_company(tmp_path / "company", Settings().max_file_bytes)
    files = [path for path in (tmp_path / "company").rglob("*") if not path.is_dir()]
    assert len(files) >= 200 and len({path.suffix for path in files}) >= 30

    done = CliRunner().invoke(app, ["add", "company", "--no-wait"])
    lines = done.output.splitlines()
    assert done.exit_code == 1, done.output
    assert len(lines) <= 20 and max(map(len, lines)) <= 80, done.output
    result = f"{len(made.good)} documents queued, 0 unchanged, {len(made.bad)} failed"
    assert result in lines
    assert " is no file that can be read: " in done.output  # of several types
    with psycopg.connect(dsn) as connection:
        rows = connection.execute("SELECT uri, content FROM rag.documents").fetchall()
    stored: dict[str, str] = dict(rows)
    assert stored.keys() == made.good.keys()
    assert [uri for uri, word in made.good.items() if word not in stored[uri]] == []

    again = CliRunner().invoke(app, ["add", "company", "--no-wait", "--json"])
    (told,) = map(json.loads, again.stdout.splitlines())
    assert (told["added"], told["skipped"]) == (len(made.good), made.skipped)
    reasons = {one["uri"].rpartition("/")[2]: one["error"] for one in told["failures"]}
    assert {name: part for name, part in made.bad.items() if part not in reasons[name]} == {}
    assert reasons.keys() == made.bad.keys()
