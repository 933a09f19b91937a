"""Reranked searches and answers on a real database, and what they say when reranking fails."""

import asyncio
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import command_line
import pytest
from fake_gemini import GOOD_KEY, FakeGemini
from fakes import Call, HashEmbedder, ScriptedLLM, WordReranker

from rag_pg import AsyncRag, InvalidInput, InvalidQuery, ProviderError, Rag, Settings
from rag_pg.client.collection import Collection

BIRDS = [f"A blue bird flies over tree number {n}." for n in range(60)]
FISH = "# Sea\n\n## Animals\n\nA red fish swims with a blue bird above."


def begin(rag: Rag) -> None:
    """The documents."""
    rag.collection("docs", model="hash:32").add(
        *({"uri": f"bird{n}", "content": text} for n, text in enumerate(BIRDS)),
        {"uri": "fish", "content": FISH, "media_type": "text/markdown"},
    )


@pytest.fixture
def docs(rag: Rag) -> Collection:
    return rag.collection("docs")


def prefer_fish(query: str, texts: Sequence[str]) -> list[float]:
    return [float("red fish" in text) for text in texts]


def test_candidates_are_put_in_the_rerankers_order(docs: Collection) -> None:
    fused = docs.search("blue bird tree", limit=61)
    assert fused[0].uri != "fish" and fused[0].rerank_score is None
    hits = docs.search(
        "blue bird tree", limit=3, candidate_limit=61, rerank=WordReranker(prefer_fish)
    )
    assert [hit.uri for hit in hits] == ["fish", fused[0].uri, fused[1].uri]  # equal ones as before
    assert [hit.rerank_score for hit in hits] == [1.0, 0.0, 0.0]
    by_uri = {hit.uri: hit for hit in fused}
    assert hits[0].score == by_uri["fish"].score and hits.notes == ()


def test_the_reranker_reads_title_heading_and_content(docs: Collection) -> None:
    reranker = WordReranker()
    docs.search("red fish", limit=1, rerank=reranker)
    ((query, texts),) = reranker.seen
    assert query == "red fish"
    assert any("Sea > Animals\n" in text and "A red fish" in text for text in texts)


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("limit", "candidates", "read"), [(1, None, 40), (12, None, 48), (5, 5, 5), (5, 61, 61)]
)
def test_as_many_candidates_are_read_as_were_asked_for(
    docs: Collection, limit: int, candidates: int | None, read: int
) -> None:
    reranker = WordReranker()
    hits = docs.search("blue bird", limit=limit, candidate_limit=candidates, rerank=reranker)
    assert len(reranker.seen[0][1]) == read and len(hits) == limit


def test_one_statement_is_sent_and_an_empty_result_is_not_reranked(
    docs: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs.search("red fish")  # before it opens its model, a collection has its arguments checked
    sent: list[Any] = []
    plain = docs.rag.database.search

    def counted(*arguments: Any, **options: Any) -> Any:
        sent.append(arguments)
        return plain(*arguments, **options)

    monkeypatch.setattr(docs.rag.database, "search", counted)
    reranker = WordReranker()
    assert docs.search("red fish", rerank=reranker) and len(sent) == 1
    assert docs.search("zebra", vector_weight=0, rerank=reranker) == []
    assert len(reranker.seen) == 1


@pytest.mark.parametrize(
    ("act", "note"),
    [
        (lambda q, t: [1.0], r"words gave scores of shape \(1,\) for 40 texts"),
        (lambda q, t: [float("nan")] * len(t), "words gave a score that is NaN or infinite"),
        (lambda q, t: 1 / 0, "words failed: ZeroDivisionError: division by zero"),
    ],
)
def test_a_reranker_that_fails_leaves_the_fused_order_and_a_note(
    docs: Collection, act: Any, note: str
) -> None:
    fused = docs.search("blue bird tree", limit=5, candidate_limit=40)
    hits = docs.search("blue bird tree", limit=5, rerank=WordReranker(act))
    assert [hit.uri for hit in hits] == [hit.uri for hit in fused]
    assert {hit.rerank_score for hit in hits} == {None}
    (said,) = hits.notes
    assert said.startswith("reranking was skipped: ")
    assert re.search(note, said)


def test_a_late_reranker_leaves_the_fused_order_and_a_note(docs: Collection) -> None:
    gate = threading.Event()
    late = WordReranker(lambda query, texts: gate.wait() and None)
    try:
        hits = docs.search("blue bird", limit=5, rerank=late, rerank_timeout=0.05)
    finally:
        gate.set()
    assert len(hits) == 5
    assert hits.notes == ("reranking was skipped: words did not answer within 0.05 s",)


def test_both_legs_fallbacks_are_told(docs: Collection, embedder: HashEmbedder) -> None:
    def down(texts: Any) -> None:
        raise ProviderError("the provider is down")

    embedder.fail = down
    hits = docs.search("blue bird", rerank=WordReranker(lambda q, t: []))
    assert [note.partition(":")[0] for note in hits.notes] == [
        "vector search was skipped",
        "reranking was skipped",
    ]


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limit": 0}, "limit 0 is out of range; use 1 to 1000"),
        ({"limit": 1001}, "limit 1001 is out of range"),
        ({"limit": 10, "candidate_limit": 9}, r"candidate_limit 9 .* use 10 \(the limit\) to 1000"),
        ({"candidate_limit": 1001}, "candidate_limit 1001 is out of range"),
        ({"rerank_timeout": 0}, "rerank_timeout is 0; use seconds above 0"),
        ({"rerank_timeout": float("nan")}, "rerank_timeout is nan"),
    ],
)
def test_numbers_out_of_range_are_refused(
    docs: Collection, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidQuery, match=message):
        docs.search("blue bird", rerank=WordReranker(), **options)


def test_an_unknown_reranker_is_refused_even_where_nothing_is_found(docs: Collection) -> None:
    with pytest.raises(InvalidInput, match="unknown reranker 'best'; use onnx:"):
        docs.search("zebra", vector_weight=0, rerank="best")
    with pytest.raises(InvalidInput, match="extractive is none; use llm:gemini, or set RAG_PG_LLM"):
        docs.search("blue bird", rerank="llm")


def test_a_cross_encoder_that_is_not_there_is_noted(
    docs: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    hits = docs.search("blue bird", limit=2, rerank="cross-encoder:any")
    assert len(hits) == 2
    assert hits.notes[0].startswith("reranking was skipped: cross-encoder:any needs a library")


# --- answers


def order_or_answer(call: Call) -> str:
    """Orders when it is shown passages, answers when it is shown sources."""
    return "40, 39" if call.prompt.startswith("Passages.") else "So it is [1]."


def test_an_answer_is_made_of_the_reranked_hits(docs: Collection) -> None:
    answer = docs.ask("Which blue bird is above?", limit=1, rerank=WordReranker(prefer_fish))
    assert [citation.uri for citation in answer.citations] == ["fish"]
    assert not answer.notes


def test_the_model_that_answers_also_orders(docs: Collection) -> None:
    model = ScriptedLLM(order_or_answer)
    answer = docs.ask("Which blue bird?", limit=2, llm=model, rerank="llm")
    assert [prompt.split()[0] for prompt in model.prompts] == ["Passages.", "Sources."]
    assert answer.found and not answer.notes


def test_an_answer_says_that_reranking_failed_and_loses_nothing_else(
    docs: Collection, embedder: HashEmbedder
) -> None:
    embedder.seen.clear()
    answer = docs.ask("Where does the red fish swim?", rerank=WordReranker(lambda q, t: []))
    assert answer.found and "red fish" in answer.text
    assert answer.notes == ("reranking was skipped: words gave scores of shape (0,) for 40 texts",)
    assert embedder.seen  # the sentences were still compared by meaning


def test_the_asynchronous_client_reranks(docs: Collection, dsn: str, tmp_path: Path) -> None:
    async def life() -> list[str]:
        embedders = {"hash": lambda name: HashEmbedder("hash:32")}
        async with AsyncRag(dsn, settings=Settings(home=tmp_path), embedders=embedders) as rag:
            there = await rag.collection("docs")
            reranker = WordReranker(prefer_fish)
            found = await asyncio.gather(
                *(there.search("red fish", limit=1, rerank=reranker) for _ in range(8))
            )
            await there.ask("red fish?", rerank=reranker)
            return [hits[0].uri for hits in found]

    assert asyncio.run(life()) == ["fish"] * 8


# --- the command line


def test_the_command_line_reranks_and_says_when_it_could_not(dsn: str, tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        clean = {k: v for k, v in os.environ.items() if not k.startswith("RAG_PG_")}
        settings = {
            "RAG_PG_DSN": dsn,
            "RAG_PG_HOME": str(tmp_path / "home"),
            "RAG_PG_LLM": "gemini",
            "RAG_PG_GEMINI_BASE_URL": fake.url,
            "GEMINI_API_KEY": GOOD_KEY,
            "COLUMNS": "200",
        }
        return command_line.run(*arguments, environment=clean | settings, cwd=tmp_path)

    with Rag(dsn, settings=Settings(home=tmp_path)) as rag:
        rag.database.create_collection(
            "brought", model="gemini:fake:8", dimensions=8, distance="cosine", language="english",
            chunking={}, index_options={},
        )  # fmt: skip
        brought = rag.collection("brought")
        brought.add_chunks(
            {"uri": uri, "content": f"blue bird {uri}", "embedding": [1] + [0] * 7} for uri in "abc"
        )
    with FakeGemini() as fake:
        search = ("search", "blue bird", "-c", "brought", "--mode", "keyword")
        fake.answers.append("3, 2")
        done = run(*search, "--rerank", "llm", "--json")
        assert done.returncode == 0, done.stderr
        hits = [json.loads(line) for line in done.stdout.splitlines()]
        assert [(hit["uri"], hit["rerank_score"]) for hit in hits] == [("c", 3), ("b", 2), ("a", 1)]

        done = run(*search, "--rerank", "llm:gemini", "-n", "1")
        assert done.returncode == 0 and "reranked" not in done.stdout
        assert "note: reranking failed: gemini:" in done.stderr

        fake.answers.extend(["2", "It is blue [1]."])
        done = run("ask", "Is a bird blue?", "-c", "brought", "--rerank", "llm", "-n", "1")
        assert done.returncode == 0 and "[1] b" in done.stdout, done.stderr

        done = run(*search, "--rerank", "magic")
        assert done.returncode == 2 and "unknown reranker 'magic'" in done.stderr
        assert "Traceback" not in done.stderr
