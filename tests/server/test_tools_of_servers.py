"""Tools of other MCP servers: called in memory, as a program and over HTTP; none is trusted."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp_server import EVIL, make_server
from patience import wait_until
from tool_calls import ask_with_tools, calling

from rag_pg.answer.tools import AgentTool, McpTools
from rag_pg.answer.tools.mcp import mcp_tools
from rag_pg.errors import InvalidInput, RagError
from rag_pg.text import estimate_tokens

pytestmark = pytest.mark.libraries
PROGRAM = Path(__file__).parents[1] / "support" / "mcp_server.py"


def tools_of(server: McpTools) -> dict[str, AgentTool]:
    return {tool.name: tool for tool in server.tools()}


@pytest.fixture
def server() -> Iterator[McpTools]:
    with McpTools(make_server(), name="far", timeout=60) as opened:
        yield opened


@pytest.fixture(scope="module")
def program() -> Iterator[McpTools]:
    os.environ["RAG_PG_SECRET_OF_THIS_TEST"] = "secret"
    command = shlex.join([sys.executable, str(PROGRAM)])
    with McpTools(f"stdio:{command}", environment={"GIVEN": "yes"}) as opened:
        yield opened
    del os.environ["RAG_PG_SECRET_OF_THIS_TEST"]


def test_a_servers_tools_are_listed_and_called(server: McpTools) -> None:
    tools = tools_of(server)
    assert tools["add"].run(a=2, b=3) == 5
    assert tools["search"].run(query="fish")["results"][1]["title"] == "fish 1"
    assert [tools[name].read_only for name in ("add", "fail")] == [True, False]
    assert not any(tool.trusted for tool in tools.values())


def test_what_a_server_says_is_bounded(server: McpTools) -> None:
    tool = tools_of(server)["add"]
    assert len(tool.description) <= 500
    assert tool.parameters == {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    }


def test_an_error_of_a_tool_is_told(server: McpTools) -> None:
    with pytest.raises(RagError, match="fail"):
        tools_of(server)["fail"].run()
    assert tools_of(server)["add"].run(a=1, b=1) == 2


def test_a_call_that_takes_too_long_is_given_up() -> None:
    with McpTools(make_server(), timeout=0.1) as server, pytest.raises(RagError, match="Timed out"):
        tools_of(server)["sleep"].run(seconds=60)


def test_a_name_that_is_taken_gets_the_servers(server: McpTools) -> None:
    taken = {"search", "add"}
    tools, notes = mcp_tools(server, taken)
    assert {"far_search", "far_add", "flood"} <= {tool.name for tool in tools} and not notes
    again, notes = mcp_tools(server, taken | {"far_flood"})
    assert "flood" not in {tool.name for tool in again}
    assert "tool far_flood of an MCP server is left out: its name is taken" in notes


def test_only_the_tools_that_are_wanted(server: McpTools) -> None:
    with McpTools(make_server(), only=["add", "rm"]) as few:
        assert list(tools_of(few)) == ["add"]


def test_a_program_is_a_server_and_gets_no_secrets(program: McpTools) -> None:
    tools = tools_of(program)
    assert tools["add"].run(a=2, b=3) == 5
    found = [tools["key"].run(name=n) for n in ("GIVEN", "RAG_PG_SECRET_OF_THIS_TEST")]
    assert found == ["yes", "not set"]


@pytest.mark.minutes
def test_a_connection_that_broke_is_made_anew(program: McpTools) -> None:
    tools = tools_of(program)
    first = tools["process"].run()
    os.kill(first, signal.SIGKILL)
    assert tools["process"].run() != first
    second = tools["process"].run()
    os.kill(second, signal.SIGKILL)
    with pytest.raises(RagError):  # what may have changed something is not done twice
        tools["fail"].run()
    assert tools["add"].run(a=1, b=1) == 2


def is_up(port: int) -> bool:
    with McpTools(f"http://127.0.0.1:{port}/mcp", headers={"X-Key": "k"}) as server:
        return not mcp_tools(server, set())[1]


@pytest.mark.minutes
def test_a_server_over_http_is_called() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    code = (
        "from mcp_server import make_server; "
        f"make_server().run(transport='streamable-http', port={port})"
    )
    environment = {**os.environ, "PYTHONPATH": str(PROGRAM.parent)}
    process = subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stderr=subprocess.DEVNULL
    )
    try:
        wait_until(lambda: process.poll() is not None or is_up(port))
        with McpTools(f"http://127.0.0.1:{port}/mcp", headers={"X-Key": "k"}) as server:
            assert tools_of(server)["add"].run(a=20, b=22) == 42
        with McpTools(f"http://127.0.0.1:{port}/mcp") as server:
            assert tools_of(server)["add"].run(a=20, b=22) == 42
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    "address", ["stdio:/no/such/program", "http://127.0.0.1:9/mcp", "stdio:false"]
)
def test_a_server_that_cannot_be_reached_leaves_a_note(address: str) -> None:
    with McpTools(address) as server:
        tools, (note,) = mcp_tools(server, set())
    assert tools == [] and note.startswith(f"tools of {address} are left out: cannot connect")


@pytest.mark.parametrize("address", ["ftp://a/mcp", "stdio:", "npx server", "stdio:'a"])
def test_what_is_no_server_is_refused(address: str) -> None:
    with pytest.raises(InvalidInput):
        McpTools(address)


def test_results_of_a_stranger_are_quoted_and_bounded(server: McpTools) -> None:
    tools = list(tools_of(server).values())
    tools = [tool for tool in tools if tool.name in ("flood", "fail")]
    asked = calling(("flood", {}), ("fail", {}))
    answer, llm = ask_with_tools(asked, "It floods [1].", tools=tools)
    results = [m.content for m in llm.calls[-1].messages if m.role == "tool"]
    assert estimate_tokens(results)[0] < 1700
    for text in [
        *results,
        *(tool.description for tool in llm.calls[0].tools if "flood" in tool.name),
    ]:
        lines = text.strip().splitlines()
        assert lines[0].startswith("--- ") and lines[-1].startswith("--- end of ")
    assert EVIL in results[0] and answer.tool_results[0].name == "flood"


def test_hostile_schemas_lose_what_may_hang_or_lead_away() -> None:
    class Hostile:
        name = "far"
        shown_server = "far"

        def tools(self) -> list[Any]:
            from mcp_types import Tool

            parameters = {
                "type": "object",
                "$ref": "https://example.com/schema.json",
                "description": EVIL,
                "properties": {
                    "a": {"type": "string", "pattern": "(a+)+$", "description": EVIL},
                    "title": {"$ref": "#/$defs/b"},
                },
                "patternProperties": {"(a+)+$": {}},
                "$defs": {"b": {"type": "integer", "title": EVIL}},
            }
            made = McpTools("stdio:x")
            return [
                made._tool(Tool(name="rm -rf /", input_schema=parameters)),
                made._tool(
                    Tool(name="big", input_schema={"type": "object", "enum": ["x" * 30000]})
                ),
            ]

    hostile: Any = Hostile()
    (tool,), notes = mcp_tools(hostile, set())
    assert tool.name == "rm_-rf_" and tool.parameters == {
        "type": "object",
        "properties": {"a": {"type": "string"}, "title": {"$ref": "#/$defs/b"}},
        "$defs": {"b": {"type": "integer"}},
    }
    assert len(notes) == 1 and notes[0].startswith("tool big of far is left out: ")
