"""Searches for several wordings: what is embedded, in how many batches, and what is found."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes import HashEmbedder, ScriptedLLM

from rag_pg import InvalidInput, InvalidQuery, Message, ModelUnavailable, Rag, Settings
from rag_pg.client.collection import Collection

TEXTS = {
    "whale": "whales sing under water",
    "crane": "cranes fly to the south in autumn",
    "salmon": "salmon swim up the river to spawn",
    "mole": "moles dig in the garden",
}


class BatchEmbedder(HashEmbedder):
    """Embeds several queries at once; `batches` are those of queries."""

    def __init__(self, name: str = "hash:32") -> None:
        super().__init__(name)
        self.batches: list[list[str]] = []

    def embed_query(self, text: str) -> Any:
        self.batches.append([text])
        return super().embed_query(text)

    def embed_queries(self, texts: Any) -> Any:
        self.batches.append(list(texts))
        return np.stack([HashEmbedder.embed_query(self, text) for text in texts])


@pytest.fixture
def embedder() -> BatchEmbedder:
    return BatchEmbedder()


def begin(rag: Rag) -> None:
    collection = rag.collection("docs", model="hash:32")
    collection.add_chunks({"uri": uri, "content": text} for uri, text in TEXTS.items())


@pytest.fixture
def docs(rag: Rag) -> Collection:
    return rag.get_collection("docs")


def queries(*texts: str) -> ScriptedLLM:
    return ScriptedLLM(json.dumps({"queries": texts}))


def test_wordings_are_embedded_in_one_batch_and_fused(
    docs: Collection, embedder: BatchEmbedder
) -> None:
    wordings = ["cranes fly", "salmon swim up the river", "to spawn salmon swim"]
    llm = queries(*wordings[1:])
    hits = docs.search("cranes fly", limit=2, rewrite=["multi_query"], helper_llm=llm)
    assert {hit.uri for hit in hits} == {"crane", "salmon"}
    assert embedder.batches == [wordings]
    assert hits.question == "cranes fly"
    assert hits.usage.prompt_tokens == 9
    assert hits.notes == ()
    again = docs.search("cranes fly", limit=2, rewrite=["multi_query"], helper_llm=llm)
    assert list(again) == list(hits)
    assert len(embedder.batches) == 1  # all of them are remembered


def test_an_embedder_without_batches_of_queries_embeds_them_one_by_one(
    dsn: str, tmp_path: Path
) -> None:
    plain = HashEmbedder()
    with Rag(dsn, settings=Settings(home=tmp_path), embedders={"hash": lambda _: plain}) as rag:
        docs = rag.collection("own", model="hash:32")
        docs.add_chunks([{"uri": "crane", "content": TEXTS["crane"]}])
        hits = docs.search("birds", rewrite=["multi_query"], helper_llm=queries("cranes", "fly"))
    assert [hit.uri for hit in hits] == ["crane"]


def test_hyde_embeds_the_passage_and_keeps_the_words_of_the_question(
    docs: Collection, embedder: BatchEmbedder
) -> None:
    passage = "whales sing under water"
    llm = ScriptedLLM(json.dumps({"passage": passage}))
    embedder.seen.clear()
    hits = docs.search("cranes", rewrite=["hyde"], helper_llm=llm)
    assert embedder.seen == [passage]  # as a document
    by_uri = {hit.uri: hit for hit in hits}
    assert by_uri["crane"].keyword_rank == 1
    assert by_uri["whale"].keyword_rank is None
    assert {hits[0].uri, hits[1].uri} == {"crane", "whale"}


def test_a_follow_up_is_searched_for_with_its_topic(docs: Collection) -> None:
    history = [Message(role="user", content="Where do cranes fly in autumn?")]
    hits = docs.search("Why do they?", limit=1, history=history)
    assert hits.question == "Why do they? (cranes fly in autumn)"
    assert hits[0].uri == "crane"
    assert [step.detail["by"] for step in hits.steps] == ["rules"]


def test_keywords_alone_answer_while_the_embedder_fails(
    docs: Collection, embedder: BatchEmbedder
) -> None:
    def fail(texts: object) -> None:
        raise ModelUnavailable("no model")

    embedder.fail = fail
    hits = docs.search("fish", rewrite=["multi_query"], helper_llm=queries("salmon", "river"))
    assert [hit.uri for hit in hits] == ["salmon"]
    assert hits.skipped == {"vector"}
    assert hits.method == "keyword"


def test_what_a_search_takes_a_rewritten_search_takes_too(docs: Collection) -> None:
    llm = queries("salmon river", "moles garden", "whales sing")
    for options in (
        {"filter": {"$uri": {"$in": ["crane", "mole"]}}},
        {"boosts": [{"filter": {"$uri": "mole"}, "multiply": 3}], "diversity": 0.5},
        {"per_document": 1, "fusion": "rrf", "rrf_k": 10, "duplicates": True, "ef_search": 50},
        {"vector_weight": 0.0},
        {"keyword_weight": 0.0},
        {"offset": 1, "limit": 2, "candidate_limit": 10},
        {"rerank": None, "filter": None, "boosts": None, "diversity": None},
    ):
        hits = docs.search("cranes", rewrite=["multi_query"], helper_llm=llm, **options)
        assert hits
        if options.get("filter"):
            assert {hit.uri for hit in hits} <= {"crane", "mole"}


def test_another_space_that_was_activated_meanwhile_is_searched(rag: Rag, docs: Collection) -> None:
    llm = queries("salmon river", "moles garden")
    docs.search("cranes", rewrite=["multi_query"], helper_llm=llm)
    rag.collection("docs").spaces.create("hash:16", activate=True)
    hits = docs.search("cranes", rewrite=["multi_query"], helper_llm=llm)
    assert hits.method == "hybrid"
    assert docs.info.model == "hash:16"


def test_a_rewrite_without_a_model_searches_as_asked_and_says_so(docs: Collection) -> None:
    hits = docs.search("cranes fly", rewrite=["multi_query"])
    assert hits[0].uri == "crane"
    assert "multi_query needs a language model" in hits.notes[0]


def test_a_bad_option_is_named(docs: Collection) -> None:
    with pytest.raises(InvalidInput, match="no rewrite"):
        docs.search("a", rewrite=["magic"])
    with pytest.raises(InvalidInput, match="history is a list"):
        docs.search("a", history="before")  # type: ignore[arg-type]
    with pytest.raises(InvalidQuery, match="empty"):
        docs.search(" ", rewrite=["multi_query"])
