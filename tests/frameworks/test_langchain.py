"""LangChain's own suites, unmodified, and what they leave out."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.indexing import InMemoryRecordManager, index
from langchain_core.vectorstores import VectorStore
from langchain_tests.integration_tests import (
    RetrieversIntegrationTests,
    VectorStoreIntegrationTests,
)

from rag_pg import Rag
from rag_pg.errors import CollectionMismatch, InvalidInput, InvalidQuery
from rag_pg.frameworks import hit_metadata
from rag_pg.langchain import RagPgRetriever, RagPgVectorStore


class TestVectorStore(VectorStoreIntegrationTests):  # type: ignore[misc]
    @pytest.fixture
    def vectorstore(self, rag: Rag) -> VectorStore:
        return RagPgVectorStore(rag, "suite", self.get_embeddings())


class TestRetriever(RetrieversIntegrationTests):  # type: ignore[misc]
    @pytest.fixture(autouse=True)
    def filled(self, rag: Rag) -> None:
        docs = rag.collection("filled", model="hash:32")
        docs.add(*({"uri": f"{i}.md", "content": f"Restore backup {i}."} for i in range(5)))
        type(self).collection = docs

    @property
    def retriever_constructor(self) -> type[RagPgRetriever]:
        return RagPgRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"collection": self.collection}

    @property
    def retriever_query_example(self) -> str:
        return "how do I restore a backup"


TEXTS = ["red fox", "blue whale", "red kite", "red fox"]
IDS = ["a", "b", "c", "again"]


@pytest.fixture
def store(rag: Rag) -> Iterator[RagPgVectorStore]:
    metadatas = [{"n": n, "tags": ["x", f"t{n}"]} for n in range(1, 5)]
    embedding = DeterministicFakeEmbedding(size=6)
    yield RagPgVectorStore.from_texts(TEXTS, embedding, metadatas, ids=IDS, rag=rag)


def ids(found: list[Document]) -> list[str | None]:
    return [one.id for one in found]


def test_a_vector_finds_its_text_and_equal_texts_are_both_found(store: RagPgVectorStore) -> None:
    assert store.embeddings is not None
    whale = store.embeddings.embed_query("blue whale")
    assert ids(store.similarity_search_by_vector(whale, k=1)) == ["b"]
    assert {"a", "again"} <= {*ids(store.similarity_search("red fox", k=3))}
    (first, score), *_ = store.similarity_search_with_score("red fox", k=4)
    assert first.id in ("a", "again") and score > 0.9


@pytest.mark.parametrize(
    ("filter", "wanted"),
    [
        ({"n": {"$gte": 3}}, {"c", "again"}),
        ({"n": {"$between": [2, 3]}}, {"b", "c"}),
        ({"$or": [{"n": 1}, {"n": {"$between": [4, 9]}}]}, {"a", "again"}),
        ({"$not": {"n": {"$in": [1, 2, 3]}}}, {"again"}),
        ({"tags": "t2"}, {"b"}),
    ],
)
def test_filters_hold(store: RagPgVectorStore, filter: dict[str, Any], wanted: set[str]) -> None:
    assert {*ids(store.similarity_search("red", k=9, filter=filter))} == wanted
    found = store.max_marginal_relevance_search("red", k=9, filter=filter)
    assert {*ids(found)} == wanted


def test_what_there_is_none_of_is_refused_by_its_name(store: RagPgVectorStore) -> None:
    with pytest.raises(InvalidQuery, match="regex"):
        store.similarity_search("red", filter={"n": {"$regex": "x"}})
    with pytest.raises(InvalidQuery, match="two values, not 'ab'"):
        store.similarity_search("red", filter={"n": {"$between": "ab"}})
    with pytest.raises(InvalidQuery, match="beside \\$gte"):
        store.similarity_search("red", filter={"n": {"$between": [1, 3], "$gte": 2}})
    with pytest.raises(InvalidInput, match="namespace"):
        store.similarity_search("red", namespace="x")
    with pytest.raises(TypeError, match="bulk"):
        store.add_texts(["x"], bulk=True)


def test_relevance_is_between_0_and_1_and_larger_is_better(store: RagPgVectorStore) -> None:
    found = store.similarity_search_with_relevance_scores("red fox", k=4)
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=True) and all(0 <= score <= 1 for score in scores)
    threshold = {"score_threshold": 0.9}
    best = store.as_retriever(search_type="similarity_score_threshold", search_kwargs=threshold)
    assert {*ids(best.invoke("red fox"))} == {"a", "again"}


def test_marginal_relevance_prefers_what_is_unlike(store: RagPgVectorStore) -> None:
    assert store.embeddings is not None
    fox = store.embeddings.embed_query("red fox")
    alike = store.max_marginal_relevance_search_by_vector(fox, k=2, lambda_mult=1)
    unlike = store.max_marginal_relevance_search_by_vector(fox, k=2, lambda_mult=0.01)
    assert {*ids(alike)} == {"a", "again"} and len({*ids(unlike)} & {"a", "again"}) == 1
    retriever = store.as_retriever(search_type="mmr", search_kwargs={"k": 2, "fetch_k": 3})
    assert len(retriever.invoke("fox")) == 2


def test_an_empty_page_of_a_loader_is_stored_as_it_is(store: RagPgVectorStore) -> None:
    assert store.add_texts(["", " \n", "cellar"], ids=["e", "b", "f"]) == ["e", "b", "f"]
    given = store.add_texts(["old", "new"], ids=["f", "f"], existing="skip")
    found = store.get_by_ids(["e", "b", given[0]])
    assert [one.page_content for one in found] == ["", " \n", "cellar"]
    with pytest.raises(InvalidInput, match="1 texts, 2 ids and 1 metadatas"):
        store.add_texts(["cellar"], ids=["a", "b"])


def test_one_text_is_no_list(store: RagPgVectorStore) -> None:
    asked: list[Any] = [store.delete, store.get_by_ids, store.add_texts]
    asked.append(lambda text: store.add_texts(["x", "y", "z"], ids=text))
    for ask in asked:
        with pytest.raises(InvalidInput, match="are a list, not the text 'abc'"):
            ask("abc")
    assert store.collection.count() == 4


def test_it_is_a_store_that_langchain_indexes_into(store: RagPgVectorStore) -> None:
    records = InMemoryRecordManager("records")
    records.create_schema()
    made = [Document(page_content="page", metadata={"source": "a"})]
    options: dict[str, Any] = {"cleanup": "full", "key_encoder": "sha256"}
    assert index(made, records, store, **options)["num_added"] == 1
    assert index(made, records, store, **options)["num_skipped"] == 1
    assert index([], records, store, **options)["num_deleted"] == 1


def test_the_model_of_the_collection_embeds_where_no_embedding_is_given(rag: Rag) -> None:
    store = RagPgVectorStore(rag, "own", model="hash:32")
    store.add_texts(TEXTS, ids=IDS)
    assert ids(store.similarity_search("blue whale", k=1, keyword_weight=0)) == ["b"]
    assert asyncio.run(store.asimilarity_search("blue whale", k=1))[0].id == "b"


def test_other_embeddings_are_not_mixed_with_those_that_are_there(rag: Rag) -> None:
    RagPgVectorStore(rag, "one", DeterministicFakeEmbedding(size=6))
    with pytest.raises(CollectionMismatch, match="8 dimensions"):
        RagPgVectorStore(rag, "one", DeterministicFakeEmbedding(size=8))
    with pytest.raises(CollectionMismatch, match="another"):
        RagPgVectorStore(rag, "one", DeterministicFakeEmbedding(size=6), model="another")


def test_a_passage_of_a_cut_document_has_what_a_citation_needs(rag: Rag) -> None:
    docs = rag.collection("filled", model="hash:32")
    text = "# Backups\n\nRestore them.\n\n# Keys\n\nRotate them."
    docs.add(
        {
            "uri": "ops.md",
            "content": text,
            "title": "Operations",
            "media_type": "text/markdown",
            "year": 2024,
        }
    )
    retriever = RagPgRetriever(collection=docs, k=1, options={"filter": {"year": 2024}})
    [found] = retriever.invoke("rotate keys")
    [hit] = docs.search("rotate keys", limit=1)
    assert found.metadata == hit_metadata(hit) and found.id == str(hit.chunk_id)
    assert found.metadata["source"] == "ops.md" and found.metadata["title"] == "Operations"
    assert found.metadata["year"] == 2024 and found.metadata["heading"] == hit.heading
    assert asyncio.run(retriever.ainvoke("rotate keys")) == [found]
