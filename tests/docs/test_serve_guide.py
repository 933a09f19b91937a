"""docs/guides/serve.md is true: its routes and its OpenAPI are those of the service, its commands
run."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import typer
from http_service import running
from paths import ROOT, blocks, script
from patience import BOUND

from rag_pg import Rag, Settings
from rag_pg.cli.app import app

PAGE = (ROOT / "docs" / "guides" / "serve.md").read_text(encoding="utf-8")
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]
OPTIONS = {
    name
    for parameter in (*COMMANDS["serve"].params, *COMMANDS["key"].commands["make"].params)
    for name in (*parameter.opts, *parameter.secondary_opts)
}


def test_its_routes_and_the_openapi_are_those_of_the_service() -> None:
    made = script("generate_openapi")
    assert len(made.TABLE.findall(PAGE)) == 1
    for path, text in made.files().items():
        assert path.read_text(encoding="utf-8") == text, "run: make docs"


def test_its_options_exist() -> None:
    named = set(re.findall(r"`(--[a-z-]+)", PAGE))
    assert len(named) > 4 and named <= OPTIONS


@pytest.mark.skipif(shutil.which("curl") is None, reason="no engine: curl is not on the PATH")
def test_its_commands_run(dsn: str, tmp_path: Path) -> None:
    (tmp_path / "manual.pdf").write_bytes(b"no pdf")
    with Rag(dsn, settings=Settings(home=tmp_path / "home")) as rag:
        text = "# Passwords\n\nOpen the account page and choose Reset password."
        rag.collection("handbook").add({"uri": "passwords", "content": text})
        calls = [
            line for line in "".join(blocks(PAGE, "bash")).splitlines() if line.startswith("curl")
        ]
        told = []
        with running(rag) as service:
            for call in calls:
                command = shlex.split(call.replace("localhost:8000", service.url))
                done = subprocess.run(
                    command, cwd=tmp_path, capture_output=True, text=True, timeout=BOUND
                )
                told.append(json.loads(done.stdout))
        found, answer, put, upload = told
    assert found["hits"][0]["uri"] == "passwords"
    assert "Reset password" in answer["text"]
    assert put["uris"] == ["notes/1.md"] and put["added"] == 1
    assert upload["failures"][0]["uri"] == "manual.pdf"
    lines = [json.loads(line) for line in service.log if line.startswith("{")]
    assert [one["status"] for one in lines] == [200] * 4
    assert [one["path"] for one in lines] == ["/search", "/ask", "/documents", "/uploads"]
    assert "Reset" not in "".join(service.log) and "handbook" not in "".join(service.log)
