"""Embeddings over OpenAI's protocol: the real SDK against a server on loopback."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from fake_openai import FakeOpenAI
from fake_provider import GOOD_KEY

from rag_pg.errors import (
    InvalidInput,
    ProviderAuth,
    ProviderError,
    ProviderUnavailable,
    RateLimited,
    UnusableReply,
)
from rag_pg.protocols import Embedder
from rag_pg.providers.openai import BATCH, OpenAIEmbedder, open_embedder

pytestmark = pytest.mark.libraries


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        monkeypatch.setenv("RAG_PG_OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", GOOD_KEY)
        yield server


def test_documents_become_unit_vectors_in_their_order(fake: FakeOpenAI) -> None:
    embedder: Embedder = OpenAIEmbedder("text-embedding-3-small", dimensions=64)
    vectors = embedder.embed_documents(["red apple", "green pear", "red apple", ""])
    assert vectors.shape == (4, 64) and vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-6)
    assert np.array_equal(vectors[0], vectors[2]) and not np.array_equal(vectors[0], vectors[1])
    assert np.array_equal(embedder.embed_query("green pear"), vectors[1])
    assert fake.requests[0].body["dimensions"] == 64
    assert embedder.embed_documents([]).shape == (0, 64)
    assert (embedder.name, embedder.provider) == ("openai:text-embedding-3-small:64", "openai")


def test_many_texts_are_several_requests(fake: FakeOpenAI) -> None:
    embedder = OpenAIEmbedder("some", dimensions=8)
    texts = [f"text {n}" for n in range(BATCH + 1)]
    assert embedder.embed_documents(texts).shape == (BATCH + 1, 8)
    assert [len(request.body["input"]) for request in fake.requests] == [BATCH, 1]


def test_dimensions_are_known_or_asked_for_once(fake: FakeOpenAI) -> None:
    assert OpenAIEmbedder("text-embedding-3-large").dimensions == 3072
    assert not fake.requests
    fake.dimensions = 48
    embedder = OpenAIEmbedder("bge-m3:latest")
    assert (embedder.dimensions, embedder.fingerprint) == (
        48,
        "openai/bge-m3:latest/dimensions=48/l2",
    )
    embedder.embed_query("x")
    assert len(fake.requests) == 2 and "dimensions" not in fake.requests[0].body


def test_another_number_of_dimensions_is_refused(fake: FakeOpenAI) -> None:
    with pytest.raises(UnusableReply, match="gave 1536 dimensions, 3072 were asked for"):
        OpenAIEmbedder("text-embedding-3-large").embed_query("x")


@pytest.mark.parametrize(
    ("name", "model", "dimensions"),
    [
        ("openai:text-embedding-3-small", "text-embedding-3-small", None),
        ("openai:text-embedding-3-small:256", "text-embedding-3-small", 256),
        ("openai:bge-m3:latest", "bge-m3:latest", None),
        ("openai:bge-m3:latest:64", "bge-m3:latest", 64),
        ("openai:BAAI/bge-small-en", "BAAI/bge-small-en", None),
    ],
)
def test_names_hold_a_model_and_perhaps_dimensions(
    fake: FakeOpenAI, name: str, model: str, dimensions: int | None
) -> None:
    embedder = open_embedder(name)
    assert (embedder.name, embedder.dimensions) == (name, dimensions or 1536)
    embedder.embed_query("x")
    assert fake.requests[-1].body["model"] == model


@pytest.mark.parametrize("name", ["openai:", "openai:a b", "openai:x:0"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput):
        open_embedder(name)


def test_a_rate_limit_is_told_at_once_for_the_worker_to_wait(fake: FakeOpenAI) -> None:
    embedder = OpenAIEmbedder("some", dimensions=8)
    fake.fail(429, "slow down", headers={"Retry-After": "9"})
    with pytest.raises(RateLimited) as caught:
        embedder.embed_documents(["x"])
    assert caught.value.retry_after == 9 and len(fake.requests) == 1


def embedded(*rows: Any) -> str:
    return json.dumps({"data": [{"index": n, "embedding": row} for n, row in rows]})


UNUSABLE = [
    "<html>sign in</html>", "", "null", "[]", '"ok"', '{"error": {"message": "overloaded"}}',
    '{"data": null}', '{"data": {"a": 1}}', embedded(), embedded((0, None)),
    embedded((0, [1.0, 0.0])), embedded((0, [1.0, 0.0]), (0, [0.0, 1.0])),
    embedded((None, [1.0, 0.0]), (None, [0.0, 1.0])), embedded((0, [1.0, 0.0]), (1, None)),
    embedded((0, [1.0, 0.0]), (1, ["x", "y"])), embedded((0, [1.0, 0.0]), (1, "AAAAAAA=")),
    embedded((0, [1.0, 0.0]), (1, [0.0, math.nan])), embedded((0, [1.0, 0.0]), (1, [1e300, 1e300])),
    embedded((0, [1.0, 0.0]), (1, [1.0])), embedded((0, [1.0, 0.0]), (1, [[1.0], [0.0]])),
]  # fmt: skip


@pytest.mark.parametrize("media_type", ["application/json", "text/html"])
@pytest.mark.parametrize("body", UNUSABLE)
@pytest.mark.few(14)
def test_a_reply_that_is_no_vector_for_each_text_is_unusable(
    fake: FakeOpenAI, body: str, media_type: str
) -> None:
    embedder = OpenAIEmbedder("some", dimensions=2)
    fake.fail_raw(200, body, media_type)
    with pytest.raises(UnusableReply, match=r"^openai.* (gave|cannot be read)"):
        embedder.embed_documents(["a", "b"])


@pytest.mark.parametrize(
    ("body", "media_type", "shown"),
    [
        ("<html>\n<body>\nsign in </body></html>", "text/html",
         "text/html: <html> <body> sign in </body></html>"),
        ('{"error": {"message": "overloaded", "code": 503}}', "application/json",
         'application/json: {"error": {"message": "overloaded", "code": 503}}'),
        ("", "application/json", "application/json: nothing"),
        (f"<p>{GOOD_KEY}</p>" + "x" * 900, "text/html", "text/html: <p>***</p>xxx"),
    ],
)  # fmt: skip
def test_a_reply_that_cannot_be_read_is_shown_on_one_line_with_what_to_check(
    fake: FakeOpenAI, body: str, media_type: str, shown: str
) -> None:
    embedder = OpenAIEmbedder("some", dimensions=2)
    fake.fail_raw(200, body, media_type)
    with pytest.raises(UnusableReply) as error:
        embedder.embed_documents(["a"])
    told = f"openai at {fake.url}/v1 gave a reply that cannot be read ({shown}"
    assert str(error.value).startswith(told) and len(str(error.value)) < 250
    assert str(error.value).endswith("); check RAG_PG_OPENAI_BASE_URL")


def test_an_error_without_a_code_has_no_blank_before_its_colon(fake: FakeOpenAI) -> None:
    fake.fail_raw(400, '{"error": {"message": "x", "code": null}}')
    with pytest.raises(ProviderError, match="^openai answered 400: x$"):
        OpenAIEmbedder("some", dimensions=2).embed_documents(["a"])


def test_a_failure_that_may_pass_is_of_a_class_that_users_know(fake: FakeOpenAI) -> None:
    for _ in range(3):
        fake.fail(500, "down")
    with pytest.raises(ProviderUnavailable) as error:
        OpenAIEmbedder("some", dimensions=2, sleep=lambda _: None).embed_documents(["a"])
    assert type(error.value) is ProviderUnavailable


@pytest.mark.parametrize("body", UNUSABLE[:10])
def test_a_model_that_tells_no_dimensions_is_unusable(fake: FakeOpenAI, body: str) -> None:
    fake.fail_raw(200, body, "text/html")
    with pytest.raises(UnusableReply):
        OpenAIEmbedder("some")


def test_a_missing_key_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "RAG_PG_OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ProviderAuth, match="set OPENAI_API_KEY"):
        OpenAIEmbedder("some", dimensions=8).check()
