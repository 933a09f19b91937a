"""A model that was taken in, behind OpenAI's protocol: what it writes reaches nobody through SQL,
the command line, MCP or a stream."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import command_line
import psycopg
import pytest
from answering import answering
from fake_openai import FakeOpenAI
from fake_provider import Fault, Request
from fakes import HashEmbedder
from hostile_completions import CANARY, HOSTILE, SOURCE, K
from mcp_client import call, data
from prompts import keys_shown
from rota import tries

from rag_pg import Rag, Settings
from rag_pg.server.mcp import make_server

pytestmark = [pytest.mark.libraries, pytest.mark.longer]  # the openai SDK
QUESTION = "How does the pump run?"
COMPLETIONS = [text for text, _ in HOSTILE]
EVERY = tries(1, 3)  # in `make test` each reaches one of SQL, MCP and a stream


class HostileOpenAI(FakeOpenAI):
    """Answers `text` with the key of the best source for each ¤."""

    open_to_all = True
    text = ""

    def route(self, request: Request) -> Fault | tuple[int, Any]:
        contents = [str(m["content"]) for m in request.body.get("messages", ())]
        key = next(iter(keys_shown(contents)), "x")
        self.answers.append(self.text.replace("¤", f"[{key}]"))
        return super().route(request)


@pytest.fixture(scope="module")
def model() -> Iterator[HostileOpenAI]:
    with HostileOpenAI() as fake, pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAG_PG_OPENAI_BASE_URL", f"{fake.url}/v1")
        patch.setenv("OPENAI_API_KEY", fake.key)
        yield fake


@pytest.fixture(scope="module")
def pumps(
    new_database: Callable[..., str],
    template: str,
    model: HostileOpenAI,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Rag]:
    settings = Settings(home=tmp_path_factory.mktemp("home"), llm="openai:fake")
    embedders = {"hash": lambda name: HashEmbedder()}
    with Rag(new_database(template), settings=settings, embedders=embedders) as rag:
        rag.collection("docs", model="hash:32").add({"uri": "pumps", "content": SOURCE})
        yield rag


def assert_harmless(shown: str) -> None:
    assert "pump runs at 50 bar" in shown
    assert CANARY not in shown and K not in shown and "evil" not in shown
    assert not any(c in shown for c in "\x1b\x9b\u202e\u2066\u200b")


def test_sql_shows_none(pumps: Rag, model: HostileOpenAI) -> None:
    with answering(pumps), psycopg.connect(str(pumps.dsn), autocommit=True) as connection:
        for model.text in COMPLETIONS[::EVERY]:
            row = connection.execute("CALL rag.ask('docs', %s)", [QUESTION]).fetchone()
            assert row is not None and row[0]["notes"]
            assert_harmless(row[0]["text"])
            assert_harmless("pump runs at 50 bar" + str(row[0]["notes"]))


def test_mcp_shows_none(pumps: Rag, model: HostileOpenAI) -> None:
    server = make_server(pumps)
    for model.text in COMPLETIONS[1::EVERY]:
        answer = data(call(server, "ask", collection="docs", question=QUESTION))
        assert_harmless(answer["answer"])
        assert answer["notes"]


def test_a_stream_shows_none(pumps: Rag, model: HostileOpenAI) -> None:
    for model.text in COMPLETIONS[2::EVERY]:
        shown = ""
        for event in pumps.collection("docs").stream(QUESTION):
            shown += event.text if event.kind == "token" else ""
            assert CANARY not in shown and K not in shown and "evil" not in shown
        assert_harmless(shown)


def test_the_command_line_shows_none(
    new_database: Callable[..., str],
    template: str,
    model: HostileOpenAI,
    home: Path,
    tmp_path: Path,
) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("RAG_PG_")}
    environment |= {
        "RAG_PG_DSN": new_database(template),
        "RAG_PG_HOME": str(home),
        "RAG_PG_LLM": "openai:fake",
        "RAG_PG_OPENAI_BASE_URL": f"{model.url}/v1",
    }
    (tmp_path / "pumps.md").write_text(SOURCE)

    def run(*arguments: str) -> str:
        done = command_line.run(*arguments, environment=environment, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("add", "pumps.md")
    for model.text in COMPLETIONS[:: tries(6, 18)]:
        assert_harmless(json.loads(run("ask", QUESTION, "--json"))["text"])
