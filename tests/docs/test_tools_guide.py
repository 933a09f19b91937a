"""docs/guides/tools.md is true: its program, its server and its commands run with a model."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import command_line
import pytest
from fake_openai import FakeOpenAI
from fake_provider import Fault, Reply, Request
from paths import ROOT, blocks

pytestmark = pytest.mark.libraries  # the SDKs of OpenAI and MCP
PAGE = (ROOT / "docs" / "guides" / "tools.md").read_text(encoding="utf-8")
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "total for each": (
        "aggregate",
        {"aggregates": {"total": {"sum": "amount"}}, "group_by": ["customer"]},
    ),
    "Swiss": ("view_customers", {"filter": {"country": "CH"}}),
    "euro": ("exchange_rate", {"currency": "EUR"}),
    "remind Ben": ("send_reminder", {"customer": "Ben"}),
    "discount": ("discount", {"customer": "Ada", "pieces": 10}),
    "lamps": ("pieces_in_stock", {"article": "lamp"}),
}


class CallingOpenAI(FakeOpenAI):
    """Calls the tool that a question is about, and answers with what it reads in the result."""

    open_to_all = True

    def route(self, request: Request) -> Fault | tuple[int, Any]:
        messages = request.body.get("messages", [])
        if messages and messages[-1]["role"] == "user":
            asked = messages[-1]["content"]
            call = next(call for words, call in CALLS.items() if words in asked)
            self.answers.append(Reply(finish="tool_calls", calls=[call]))
        elif messages:
            result = messages[-1]["content"].split("\n")
            key = re.findall(r"\[(\w{6})\]", result[0])[0]
            told = " / ".join(result[1:-1]).replace("\t", " ")
            self.answers.append(f"The tool says {told} [{key}].")
        return super().route(request)


def test_its_program_its_server_and_its_commands_run(dsn: str, home: Path, tmp_path: Path) -> None:
    (tmp_path / "page.py").write_text("\n".join(blocks(PAGE, "python")))
    (server,) = blocks(PAGE, "python server")
    (tmp_path / "stock_server.py").write_text(server)
    (commands,) = blocks(PAGE, "bash")
    folder = str(Path(sys.executable).parent)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("RAG_PG_")}
    with CallingOpenAI() as model:
        environment |= {
            "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
            "RAG_PG_DSN": dsn,
            "RAG_PG_HOME": str(home),
            "RAG_PG_LLM": "openai:fake",
            "RAG_PG_OPENAI_BASE_URL": f"{model.url}/v1",
            "OPENAI_API_KEY": model.key,
        }
        runs = [
            subprocess.run(
                [sys.executable, "-W", "error", "page.py"],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                timeout=240,
            )
        ]
        for line in commands.strip().splitlines():
            program, *arguments = shlex.split(line)
            assert program == "rag-pg"
            runs.append(command_line.run(*arguments, environment=environment, cwd=tmp_path))
    assert [done.stderr for done in runs if done.returncode != 0] == []
    told = "".join(done.stdout for done in runs)
    for expected in (
        "The tool says total customer / 1200 Ada / 1100 Ben [1].",
        '1 aggregate({"aggregates": {"total": {"sum": "amount"}}, "group_by": ["customer"]})',
        "The tool says name country / Ada CH [1].",
        "The tool says 0.94 [1].",
        "The tool says sent to Ben [1]. ['Ben']",
        "The tool says 0.1 [1].",
        "The tool says 12 [1].",
        '- [1] discount({"customer": "Ada", "pieces": 10})',
    ):
        assert expected in told, told


def test_it_names_every_tool_of_a_collection() -> None:
    from rag_pg.answer import BUILT_IN

    table = PAGE.split("| --- | --- |\n")[1].split("\n\n")[0]
    structured = ("count", "facets", "select", "aggregate", "dates")
    for name in (*BUILT_IN, *structured):
        assert f"`{name}`" in table, name
