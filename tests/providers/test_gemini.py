"""Both Google SDKs, for real, against a Gemini API on loopback: one contract for both."""

from __future__ import annotations

import logging
import subprocess
import sys
import warnings
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import numpy as np
import pytest
from fake_gemini import GOOD_KEY, FakeGemini

from rag_pg.errors import (
    InvalidInput,
    ModelUnavailable,
    ProviderAuth,
    ProviderError,
    ProviderTimeout,
    RateLimited,
)
from rag_pg.protocols import LLM, Embedder
from rag_pg.providers.gemini import GEMINI
from rag_pg.providers.gemini.embedder import GeminiEmbedder, open_embedder
from rag_pg.providers.gemini.llm import GeminiLLM
from rag_pg.providers.gemini.sdk import THOUGHTS, SdkChoice, choose_sdk
from rag_pg.types import Completion, Message

SDKS: list[SdkChoice] = ["genai", "generativeai"]


@pytest.fixture(params=[pytest.param(sdk, marks=pytest.mark.libraries) for sdk in SDKS])
def sdk(request: pytest.FixtureRequest) -> SdkChoice:
    choice: SdkChoice = request.param
    return choice


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*GEMINI.key_settings, GEMINI.url_setting):
        monkeypatch.delenv(name, raising=False)


def no_pause(seconds: float) -> None:
    """Stands in for the pauses between repetitions."""


@pytest.fixture
def embedder(fake_gemini: FakeGemini, sdk: SdkChoice) -> GeminiEmbedder:
    return GeminiEmbedder(api_key=GOOD_KEY, base_url=fake_gemini.url, sdk=sdk, sleep=no_pause)


@pytest.fixture
def llm(fake_gemini: FakeGemini, sdk: SdkChoice) -> GeminiLLM:
    return GeminiLLM(api_key=GOOD_KEY, base_url=fake_gemini.url, sdk=sdk, sleep=no_pause)


def ask(llm: LLM, max_tokens: int = 50) -> Completion:
    messages = [
        Message(role="system", content="Be brief."),
        Message(role="user", content="Why?"),
    ]
    return llm.complete(messages, max_tokens=max_tokens)


# --- embeddings ------------------------------------------------------------------------------


def test_documents_become_unit_vectors_in_order(
    embedder: GeminiEmbedder, fake_gemini: FakeGemini
) -> None:
    same: Embedder = embedder  # it is one
    vectors = same.embed_documents(["red apple", "green pear", "red apple"])
    assert vectors.shape == (3, 768) and vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-6)
    assert np.array_equal(vectors[0], vectors[2]) and not np.array_equal(vectors[0], vectors[1])
    asked = fake_gemini.requests[0].body["requests"][0]
    assert asked["model"] == "models/gemini-embedding-001"
    assert asked["taskType"] in ("RETRIEVAL_DOCUMENT", 2)
    assert asked["outputDimensionality"] == 768


def test_query_is_asked_as_a_query(embedder: GeminiEmbedder, fake_gemini: FakeGemini) -> None:
    vector = embedder.embed_query("red apple")
    assert vector.shape == (768,) and vector.dtype == np.float32
    assert fake_gemini.requests[0].body["requests"][0]["taskType"] in ("RETRIEVAL_QUERY", 1)


def test_no_texts_make_no_request(embedder: GeminiEmbedder, fake_gemini: FakeGemini) -> None:
    assert embedder.embed_documents([]).shape == (0, 768)
    assert fake_gemini.requests == []


@pytest.mark.few(1)
def test_250_texts_go_in_three_batches_and_come_back_in_order(
    embedder: GeminiEmbedder, fake_gemini: FakeGemini
) -> None:
    texts = [f"text number {n}" for n in range(250)]
    vectors = embedder.embed_documents(texts)
    assert [len(r.body["requests"]) for r in fake_gemini.requests] == [100, 100, 50]
    assert vectors[[0, 99, 100, 249]] == pytest.approx(
        embedder.embed_documents([texts[n] for n in (0, 99, 100, 249)])
    )


def test_dimensions_are_asked_for(fake_gemini: FakeGemini, sdk: SdkChoice) -> None:
    small = GeminiEmbedder(dimensions=64, api_key=GOOD_KEY, base_url=fake_gemini.url, sdk=sdk)
    assert small.embed_query("pear").shape == (64,)


def test_other_dimensions_than_asked_for_are_an_error(
    embedder: GeminiEmbedder, fake_gemini: FakeGemini
) -> None:
    fake_gemini.fail_raw(200, '{"embeddings": [{"values": [1, 2, 3]}]}')
    with pytest.raises(ProviderError, match="gave 3 dimensions, 768 were asked for"):
        embedder.embed_query("pear")


def test_fewer_vectors_than_texts_are_an_error(
    embedder: GeminiEmbedder, fake_gemini: FakeGemini
) -> None:
    fake_gemini.fail_raw(200, '{"embeddings": [{"values": [1]}]}')
    with pytest.raises(ProviderError, match="gave 1 vectors for 2 texts"):
        embedder.embed_documents(["pear", "apple"])


def test_zero_vector_is_an_error(fake_gemini: FakeGemini, sdk: SdkChoice) -> None:
    fake_gemini.fail_raw(200, '{"embeddings": [{"values": [0, 0]}]}')
    two = GeminiEmbedder(dimensions=2, api_key=GOOD_KEY, base_url=fake_gemini.url, sdk=sdk)
    with pytest.raises(ProviderError, match="zero or not a number"):
        two.embed_query("pear")


@pytest.mark.libraries
def test_both_sdks_give_equal_vectors_and_fingerprints(fake_gemini: FakeGemini) -> None:
    new, old = (GeminiEmbedder(api_key=GOOD_KEY, base_url=fake_gemini.url, sdk=sdk) for sdk in SDKS)
    assert np.array_equal(new.embed_query("red apple"), old.embed_query("red apple"))
    assert (new.fingerprint, new.name) == (old.fingerprint, old.name)


def test_fingerprint_differs_by_model_and_dimensions() -> None:
    embedders = [GeminiEmbedder(), GeminiEmbedder("other"), GeminiEmbedder(dimensions=64)]
    assert len({embedder.fingerprint for embedder in embedders}) == 3


@pytest.mark.parametrize(
    ("name", "dimensions"),
    [
        ("gemini:gemini-embedding-001", 768),
        ("gemini:gemini-embedding-001:1536", 1536),
        ("gemini:text-embedding-004", 768),
    ],
)
def test_embedder_is_opened_by_its_name(name: str, dimensions: int) -> None:
    embedder = open_embedder(name)
    assert (embedder.name, embedder.dimensions) == (name, dimensions)


@pytest.mark.parametrize("name", ["gemini", "gemini:", "gemini:a:b", "openai:x", "gemini:x:0"])
def test_malformed_embedder_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput):
        open_embedder(name)


def test_token_estimate_needs_no_network_and_grows_with_the_script() -> None:
    english, chinese, code = (
        "The quick brown fox jumps. " * 4,
        "快速的棕色狐狸跳过懒狗" * 4,
        "a[1]+=2;" * 4,
    )
    counts = GeminiEmbedder().count_tokens(["", english, chinese, code])
    assert counts[0] == 2
    assert len(english) / 4 < counts[1] < len(english)
    assert counts[2] == len(chinese) + 2
    assert counts[3] >= 4 * 6


# --- answers -----------------------------------------------------------------------------------


def test_answer_comes_with_usage(llm: GeminiLLM, fake_gemini: FakeGemini) -> None:
    fake_gemini.answers.append("Because [1].")
    answer = ask(llm)
    assert answer.text == "Because [1]."
    assert (answer.usage.prompt_tokens, answer.usage.answer_tokens) == (7, 5)
    assert llm.name == "gemini:gemini-2.5-flash"
    body = fake_gemini.requests[0].body
    assert fake_gemini.requests[0].path.endswith("/models/gemini-2.5-flash:generateContent")
    assert body["contents"][0]["parts"][0]["text"] == "Why?"
    assert body["systemInstruction"]["parts"][0]["text"] == "Be brief."
    assert body["generationConfig"]["temperature"] == pytest.approx(0.2)


def test_thinking_is_turned_off_or_given_room(
    llm: GeminiLLM, fake_gemini: FakeGemini, sdk: SdkChoice
) -> None:
    ask(llm, max_tokens=50)
    config = fake_gemini.requests[0].body["generationConfig"]
    if sdk == "genai":
        assert next(iter(config["thinkingConfig"].values())) == 0
        assert config["maxOutputTokens"] == 50
    else:  # this SDK has no such setting
        assert config["maxOutputTokens"] == 50 + THOUGHTS


def test_model_that_does_not_think_gets_the_plain_limit(
    fake_gemini: FakeGemini, sdk: SdkChoice
) -> None:
    ask(GeminiLLM("gemini-2.0-flash", api_key=GOOD_KEY, base_url=fake_gemini.url, sdk=sdk))
    assert fake_gemini.requests[0].body["generationConfig"]["maxOutputTokens"] == 50


def test_blocked_prompt_names_the_reason(llm: GeminiLLM, fake_gemini: FakeGemini) -> None:
    fake_gemini.block_prompt("PROHIBITED_CONTENT")
    got = ask(llm)
    assert (got.text, got.finish, got.reason) == ("", "blocked", "PROHIBITED_CONTENT")


@pytest.mark.parametrize("reason", ["SAFETY", "RECITATION", "SPII"])
def test_blocked_answer_names_the_reason(
    llm: GeminiLLM, fake_gemini: FakeGemini, reason: str
) -> None:
    fake_gemini.finish(reason, "Well,")
    got = ask(llm)
    assert (got.text, got.finish, got.reason) == ("Well,", "blocked", reason)


@pytest.mark.parametrize("reply", ["{}", '{"candidates": [{"finishReason": "STOP"}]}'])
def test_empty_answer_is_an_error(llm: GeminiLLM, fake_gemini: FakeGemini, reply: str) -> None:
    fake_gemini.fail_raw(200, reply)
    with pytest.raises(ProviderError, match="empty answer"):
        ask(llm)


def test_two_keys_in_one_process_do_not_mix(sdk: SdkChoice) -> None:
    with FakeGemini(key="key-a") as first, FakeGemini(key="key-b") as second:
        llms = [GeminiLLM(api_key=f.key, base_url=f.url, sdk=sdk) for f in (first, second)]
        for llm in (*llms, *reversed(llms)):
            ask(llm)
        assert len(first.requests) == len(second.requests) == 2


# --- keys ------------------------------------------------------------------------------------


def test_key_and_address_come_from_the_environment(
    fake_gemini: FakeGemini, sdk: SdkChoice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_PG_GEMINI_BASE_URL", fake_gemini.url + "/")
    monkeypatch.setenv("GOOGLE_API_KEY", f" {GOOD_KEY}\n")
    ask(GeminiLLM(sdk=sdk))
    monkeypatch.setenv("GEMINI_API_KEY", "another-key")
    with pytest.raises(ProviderAuth):
        ask(GeminiLLM(sdk=sdk))
    assert [r.headers["x-goog-api-key"] for r in fake_gemini.requests] == [GOOD_KEY, "another-key"]


@pytest.mark.parametrize("status", [401, 403])
def test_forbidden_is_an_auth_error(llm: GeminiLLM, fake_gemini: FakeGemini, status: int) -> None:
    fake_gemini.fail(status, "not yours", code="PERMISSION_DENIED", times=5)
    with pytest.raises(ProviderAuth, match=f"{status} PERMISSION_DENIED: not yours"):
        ask(llm)


# --- failures --------------------------------------------------------------------------------


def wait_asked_by(call: Callable[[], object], fake: FakeGemini, **fault: Any) -> float | None:
    fake.fail(429, "slow down", code="RESOURCE_EXHAUSTED", **fault)
    with pytest.raises(RateLimited, match="429 RESOURCE_EXHAUSTED: slow down") as caught:
        call()
    return caught.value.retry_after


def test_rate_limit_of_an_embedder_carries_the_wait_and_is_not_repeated(
    embedder: GeminiEmbedder, fake_gemini: FakeGemini
) -> None:
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "17s"}
    quota = {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []}
    query = lambda: embedder.embed_query("x")  # noqa: E731
    assert wait_asked_by(query, fake_gemini, details=[quota, info]) == 17
    info["retryDelay"] = "1.25s"
    assert wait_asked_by(query, fake_gemini, details=[info]) == 1.25
    assert wait_asked_by(query, fake_gemini, headers={"Retry-After": "9"}) == 9
    assert wait_asked_by(query, fake_gemini) is None
    assert len(fake_gemini.requests) == 4


def test_retry_after_may_be_a_date(embedder: GeminiEmbedder, fake_gemini: FakeGemini) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    wait = wait_asked_by(
        lambda: embedder.embed_query("x"), fake_gemini, headers={"Retry-After": date}
    )
    assert wait is not None and 50 < wait <= 60


def test_unavailable_for_long_is_an_error(
    embedder: GeminiEmbedder, fake_gemini: FakeGemini
) -> None:
    fake_gemini.fail(503, "overloaded", code="UNAVAILABLE", times=9)
    with pytest.raises(ProviderError, match="gemini answered 503 UNAVAILABLE: overloaded"):
        embedder.embed_query("x")
    assert len(fake_gemini.requests) == 3


def test_providers_own_time_out_is_a_time_out(llm: GeminiLLM, fake_gemini: FakeGemini) -> None:
    fake_gemini.fail(504, "too long", code="DEADLINE_EXCEEDED")
    with pytest.raises(ProviderTimeout, match="504 DEADLINE_EXCEEDED"):
        ask(llm)
    assert len(fake_gemini.requests) == 1


def test_address_without_a_scheme_is_told(sdk: SdkChoice) -> None:
    with pytest.raises(ProviderError, match="RAG_PG_GEMINI_BASE_URL"):
        ask(GeminiLLM(api_key=GOOD_KEY, base_url="foo://nowhere", sdk=sdk))


# --- which SDK -------------------------------------------------------------------------------


def test_auto_prefers_the_maintained_sdk() -> None:
    assert choose_sdk("auto", lambda package: True) == "genai"
    assert choose_sdk("auto", lambda package: package == "google.generativeai") == "generativeai"
    assert choose_sdk("generativeai", lambda package: True) == "generativeai"


@pytest.mark.parametrize(
    ("choice", "extra"),
    [("auto", "gemini"), ("genai", "gemini"), ("generativeai", "gemini-legacy")],
)
def test_missing_sdk_is_told_with_the_remedy(choice: str, extra: str) -> None:
    with pytest.raises(ModelUnavailable, match=rf"pip install 'rag-pg\[{extra}\]'"):
        choose_sdk(choice, lambda package: False)


def test_unknown_sdk_is_refused() -> None:
    with pytest.raises(InvalidInput, match="auto, genai or generativeai"):
        choose_sdk("vertex")


def test_construction_imports_no_sdk() -> None:
    code = (
        "import sys; from rag_pg.providers.gemini.llm import GeminiLLM; from"
        " rag_pg.providers.gemini.embedder import GeminiEmbedder; GeminiLLM(); GeminiEmbedder();"
        " print([m for m in sys.modules if m.startswith('google.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"


@pytest.mark.libraries
def test_legacy_sdk_gives_one_log_line_and_no_warning(
    fake_gemini: FakeGemini,
    caplog: pytest.LogCaptureFixture,
    logged: Callable[[], list[logging.LogRecord]],
) -> None:
    from rag_pg.providers.gemini import sdk as gemini_sdk

    gemini_sdk._import_generativeai.cache_clear()
    with warnings.catch_warnings(record=True) as seen, caplog.at_level(logging.INFO, "rag_pg"):
        for _ in range(2):
            ask(GeminiLLM(api_key=GOOD_KEY, base_url=fake_gemini.url, sdk="generativeai"))
    assert [str(warning.message) for warning in seen] == []
    assert [record.message for record in logged()] == [
        "gemini through google-generativeai, which is no longer maintained; "
        "pip install 'rag-pg[gemini]' for google-genai"
    ]
