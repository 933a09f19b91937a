"""docs/guides/mcp.md is true: its tools, options and configurations exist, its program runs."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import psycopg
import typer
from mcp_client import with_client
from paths import ROOT, blocks
from psycopg.conninfo import make_conninfo

from rag_pg import Rag, Settings
from rag_pg.cli.app import app
from rag_pg.server.mcp import make_server

PAGE = (ROOT / "docs" / "guides" / "mcp.md").read_text(encoding="utf-8")
COMMAND = typer.main.get_command(app).commands["mcp"]  # type: ignore[attr-defined]
OPTIONS = {name for parameter in COMMAND.params for name in parameter.opts}


def test_its_commands_and_configurations_have_options_that_exist() -> None:
    calls = [shlex.split(line) for block in blocks(PAGE, "bash") for line in block.splitlines()]
    for block in blocks(PAGE, "json"):
        (servers,) = json.loads(block).values()
        for server in servers.values():
            calls.append([server["command"], *server["args"]])
    served = [call for call in calls if call[:2] == ["rag-pg", "mcp"]]
    assert len(served) >= 5
    for call in served:
        assert {word for word in call if word.startswith("--")} <= OPTIONS
    assert set(re.findall(r"`(--[a-z-]+)", PAGE)) <= OPTIONS


def test_its_table_names_the_tools_and_its_program_and_role_work(
    dsn: str, home: Path, tmp_path: Path
) -> None:
    with Rag(dsn, settings=Settings(home=home)) as rag:
        rag.collection("handbook").add(
            {
                "uri": "https://wiki.example.com/passwords",
                "title": "Passwords",
                "content": "Open the account page and choose Reset password.",
                "metadata": {"lang": "en"},
            }
        )
        tools = with_client(make_server(rag), lambda client: client.list_tools()).tools
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == [tool.name for tool in tools]
    with psycopg.connect(dsn, autocommit=True) as connection:
        (recipe,) = blocks(PAGE, "sql")
        roles = f"guide_reader_{os.getpid()}", f"guide_mcp_{os.getpid()}"
        connection.execute(f"CREATE ROLE {roles[0]}".encode())
        connection.execute("SELECT rag.grant_access(%s, 'reader')", [roles[0]])
        recipe = recipe.replace("rag_reader", roles[0]).replace("rag_mcp", roles[1])
        connection.execute(recipe.encode())
        try:
            (program,) = blocks(PAGE, "python")
            (tmp_path / "page.py").write_text(program, encoding="utf-8")
            folder = Path(sys.executable).parent
            done = subprocess.run(
                [sys.executable, "page.py"],
                cwd=tmp_path,
                env={k: v for k, v in os.environ.items() if not k.startswith("RAG_PG_")}
                | {
                    "RAG_PG_DSN": make_conninfo(dsn, user=roles[1]),
                    "RAG_PG_HOME": str(home),
                    "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
                    "PYTHONPATH": str(ROOT),
                },
                capture_output=True,
                text=True,
                timeout=120,
            )
            assert done.returncode == 0, done.stderr
            assert done.stdout.splitlines() == [
                "Passwords https://wiki.example.com/passwords",
                "1",
            ]
        finally:
            connection.execute("SELECT rag.revoke_access(%s)", [roles[0]])
            for role in reversed(roles):
                connection.execute(f"DROP OWNED BY {role} CASCADE; DROP ROLE {role}".encode())
