"""The SDK's own client in memory, over stdio and over HTTP, in the old and the new era."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import command_line
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_client import data, text_of, with_client
from mcp_types import TextResourceContents
from patience import BOUND

from rag_pg import Rag, Settings
from rag_pg.server.mcp import make_server

KEY = "0123456789abcdef0123"
JSON = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
MODES = ("auto", "legacy")
NOTES: list[dict[str, Any]] = [
    {"uri": "pump", "content": "The pump runs at two bar.", "metadata": {"kind": "machine"}},
    {"uri": "a/b c.md", "title": "Valve", "content": "# Valve\n\nThe valve opens at three bar."},
]


@pytest.fixture(scope="module")
def notes(new_database: Callable[..., str], template: str, tmp_path_factory: Any) -> Iterator[Rag]:
    """A collection with a model that another process can open."""
    home = tmp_path_factory.mktemp("home")
    with Rag(new_database(template), settings=Settings(home=home)) as rag:
        rag.collection("notes").add(*NOTES)
        rag.collection("other").add(*NOTES)
        yield rag


def environment(rag: Rag, **more: str) -> dict[str, str]:
    plain = {k: v for k, v in os.environ.items() if not k.startswith("RAG_PG_")}
    return plain | {"RAG_PG_DSN": rag.dsn or "", "RAG_PG_HOME": str(rag.settings.home)} | more


def arguments(*options: str) -> list[str]:
    return ["-W", "error", "-m", "rag_pg", "mcp", "-c", "notes", *options]


def refused(rag: Rag, folder: Path, *options: str) -> str:
    """Return what `rag-pg mcp` tells that does not begin."""
    done = command_line.run("mcp", *options, environment=environment(rag), cwd=folder)
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.count("\n") == 1
    return done.stderr


@contextmanager
def http_server(rag: Rag, *options: str) -> Iterator[str]:
    """Run `rag-pg mcp --http` on a free port; yields its URL on this machine."""
    process = subprocess.Popen(
        [sys.executable, *arguments(*options)],
        env=environment(rag),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        found = re.search(r"serving at http://\S+:(\d+)/mcp", line)
        assert found, line + process.stderr.read()
        yield f"http://127.0.0.1:{found[1]}/mcp"
    finally:
        process.terminate()
        out, errors = process.communicate(timeout=BOUND)
    assert out == "" and "Traceback" not in errors


async def everything(client: Client) -> dict[str, Any]:
    """Return what a client sees of each part of the server."""
    tools = await client.list_tools()
    templates = await client.list_resource_templates()
    prompts = await client.list_prompts()
    found = json.loads(text_of(await client.call_tool("search", {"query": "when does it open?"})))
    id = found["results"][0]["id"]
    fetched = json.loads(text_of(await client.call_tool("fetch", {"id": id})))
    resource = await client.read_resource("rag://notes/a%2Fb%20c.md")
    wrong = await client.call_tool("count", {"collection": "other"})
    (content,) = resource.contents
    assert isinstance(content, TextResourceContents)
    lines = content.text.splitlines()[1:]
    return {
        "tools": [tool.name for tool in tools.tools],
        "templates": [t.uri_template for t in templates.resource_templates],
        "prompts": [p.name for p in prompts.prompts],
        "found": [r["id"] for r in found["results"]],
        "fetched": {key: fetched[key] for key in ("id", "title", "url", "metadata")},
        "resource": [line for line in lines if not line.startswith("---")],
        "count": data(await client.call_tool("count", {"filter": {"kind": "machine"}})),
        "facets": data(await client.call_tool("facets", {"field": "kind"})),
        "answer": data(await client.call_tool("ask", {"question": "When does the valve open?"})),
        "wrong": (wrong.is_error, text_of(wrong)),
    }


@pytest.mark.minutes
def test_stdio_and_http_show_what_memory_shows_in_both_eras(notes: Rag, tmp_path: Path) -> None:
    server = make_server(notes, collections=["notes"])
    wanted = {mode: with_client(server, everything, mode=mode) for mode in MODES}
    assert wanted["auto"] == wanted["legacy"]
    seen = wanted["auto"]
    assert seen["count"] == {"documents": 1} and seen["answer"]["found"]
    assert seen["fetched"]["title"] == "Valve" and "opens at three bar." in seen["resource"][-1]
    assert seen["wrong"] == (True, "there is no collection 'other'; there are: notes")
    log = tmp_path / "stderr"
    for mode in MODES:
        with log.open("w") as stderr:
            command = StdioServerParameters(
                command=sys.executable, args=arguments(), env=environment(notes)
            )
            transport = stdio_client(command, errlog=stderr)
            assert with_client(transport, everything, mode=mode) == seen
        assert "Traceback" not in log.read_text()
    with http_server(notes, "--http", "127.0.0.1:0") as url:
        for mode in MODES:
            assert with_client(url, everything, mode=mode) == seen


def initialize(url: str, **headers: str) -> httpx2.Response:
    """Post the first message of an old client."""
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    return httpx2.post(url, json=message, headers=JSON | headers, timeout=BOUND)


async def with_key(url: str, mode: str) -> dict[str, Any]:
    """Return what a client with the key sees."""
    async with (
        httpx2.AsyncClient(headers={"authorization": f"Bearer {KEY}"}, timeout=BOUND) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        return await everything(client)


def test_only_hosts_and_origins_that_are_allowed_are_served(notes: Rag) -> None:
    with http_server(
        notes, "--http", "0.0.0.0:0", "--allowed-host", "rag.example.com", "--no-key"
    ) as url:
        for host in ("rag.example.com", "rag.example.com:443", "127.0.0.1:1", "localhost"):
            assert initialize(url, host=host).status_code == 200
        for host in ("evil.example.com", "rag.example.com.evil.com", "localhost.evil.com", "x"):
            assert initialize(url, host=host).status_code == 421
        assert initialize(url, origin="https://rag.example.com").status_code == 200
        assert initialize(url, origin="https://evil.example.com").status_code == 403
        assert httpx2.get(url, timeout=BOUND).status_code == 405  # no stream without sessions
        other = {"connection": "Upgrade, HTTP2-Settings", "upgrade": "h2c", "http2-settings": "AA"}
        assert initialize(url, **other).status_code == 200  # its body is not lost
        for body, told in (
            (b'{"id": 1, "id": 2}', "the key 'id' twice"),
            (b" " * 2_000_001, "more"),
        ):
            found = httpx2.post(url, content=body, headers=JSON, timeout=BOUND)
            assert found.status_code == 400 and told in found.json()["error"]["message"]


def test_over_http_a_key_is_asked_for(notes: Rag, tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text(f"# of the agents\n{KEY}\n\nanother-key-of-the-agents\n")
    with http_server(notes, "--http", "127.0.0.1:0", "--key-file", str(keys)) as url:
        for header in ({}, {"authorization": "Bearer wrong"}, {"authorization": KEY}):
            answer = initialize(url, **header)
            assert answer.status_code == 401
            assert "resource_metadata" not in answer.headers["www-authenticate"]
        assert initialize(url, authorization=f"Bearer {KEY}").status_code == 200
        for mode in MODES:
            assert asyncio.run(with_key(url, mode))["found"]


def test_what_a_server_may_not_be_is_told_in_one_line(notes: Rag, tmp_path: Path) -> None:
    short = tmp_path / "short"
    short.write_text("x\n")
    for options, told in (
        (["--http", "0.0.0.0:0"], "0.0.0.0 is reached from elsewhere: give --key-file FILE"),
        (["--http", "0.0.0.0:0", "--no-key"], "say by which name, e.g. --allowed-host"),
        (["--http", "8000"], "'8000' is no address; write it like 127.0.0.1:8000"),
        (["--http", "127.0.0.1:99999"], "is no address"),
        (["--http", "127.0.0.1:0", "--key-file", str(short)], "holds a key that is too short"),
        (["--http", "127.0.0.1:0", "--key-file", str(tmp_path / "no")], "cannot read the keys"),
        (["--allowed-host", "x"], "--allowed-host, --key-file and --no-key are of --http"),
        (["--document-url", "x"], "document URL 'x' names no variable"),
        (["--max-tokens", "1"], "max_tokens 1 is out of range"),
    ):
        assert told in refused(notes, tmp_path, *options)


def test_nothing_but_the_protocol_is_on_stdout(notes: Rag) -> None:
    """Also where a library prints, and where a line is no message."""
    lines = [
        "no json",
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}}}),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "search", "arguments": {"query": "valve"}}}),
    ]  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, *arguments()],
        env=environment(notes),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("\n".join(lines) + "\n")
    process.stdin.flush()
    answers: list[dict[str, Any]] = []
    while not answers or answers[-1].get("id") != 2:
        answers.append(json.loads(process.stdout.readline()))
    rest, errors = process.communicate(timeout=BOUND)
    assert process.returncode == 0 and rest == "" and "Traceback" not in errors
    assert "valve" in json.dumps(answers[-1])


def test_a_collection_that_is_not_there_is_told_before_anything_is_served(
    notes: Rag, tmp_path: Path
) -> None:
    done = command_line.run(
        "mcp", "-c", "nots", environment=environment(notes), cwd=tmp_path, input=""
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: there is no collection 'nots'; collections here: notes")


def test_without_the_library_the_extra_is_named(tmp_path: Path, notes: Rag) -> None:
    program = (
        "import sys; sys.modules['mcp'] = None; sys.argv = ['rag-pg', 'mcp'];"
        " from rag_pg.cli.app import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(notes),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=BOUND,
    )
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert done.stderr.endswith('pip install "rag-pg[mcp]"\n')
