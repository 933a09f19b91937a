"""Haystack's own suites, unmodified but for the hooks that they offer, and what they leave out."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from haystack import Document, Pipeline
from haystack.core.serialization import component_to_dict
from haystack.dataclasses import ByteStream, SparseEmbedding
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError
from haystack.testing import document_store as suites
from haystack.testing import document_store_async as asynchronous
from haystack.utils.filters import document_matches_filter

from rag_pg import Rag
from rag_pg.errors import InvalidInput
from rag_pg.frameworks import hit_metadata
from rag_pg.haystack import (
    RagPgDocumentStore,
    RagPgEmbeddingRetriever,
    RagPgHybridRetriever,
    RagPgKeywordRetriever,
    RagPgPassageRetriever,
    translate,
)


class Ours:
    """The hooks: the store; documents are compared by id, their vectors as halves hold them."""

    @pytest.fixture
    def document_store(self, rag: Rag) -> RagPgDocumentStore:
        return RagPgDocumentStore(rag=rag)

    @staticmethod
    def assert_documents_are_equal(received: list[Document], expected: list[Document]) -> None:
        pairs = zip(sorted(received, key=id_of), sorted(expected, key=id_of), strict=True)
        for found, wanted in pairs:
            assert (found.embedding is None) == (wanted.embedding is None)
            if found.embedding is not None:
                assert found.embedding == pytest.approx(wanted.embedding, rel=1e-3, abs=1e-7)
            assert replace(found, embedding=None) == replace(wanted, embedding=None)


def id_of(document: Document) -> str:
    return str(document.id)


NAMES = ("CountDocumentsByFilter", "CountUniqueMetadataByFilter", "GetMetadataFieldsInfo",
         "GetMetadataFieldMinMax", "GetMetadataFieldUniqueValues")  # fmt: skip
METADATA = [getattr(suites, f"{name}Test") for name in NAMES]
ASYNC = [
    found
    for name, found in vars(asynchronous).items()
    if name.endswith("AsyncTest") and found.__module__ == asynchronous.__name__
]


class TestStore(Ours, suites.DocumentStoreBaseExtendedTests, *METADATA):  # type: ignore[misc]
    def test_write_documents(self, document_store: RagPgDocumentStore) -> None:
        one = [Document(id="1", content="one")]
        assert document_store.write_documents(one) == 1
        with pytest.raises(DuplicateDocumentError):
            document_store.write_documents(one)

    def test_get_metadata_field_unique_values_distinct_types(
        self, document_store: RagPgDocumentStore
    ) -> None:
        with pytest.raises(AssertionError):
            super().test_get_metadata_field_unique_values_distinct_types(document_store)
        assert_equal_numbers_are_one(document_store)


def assert_equal_numbers_are_one(store: RagPgDocumentStore) -> None:
    """The one difference: jsonb, which holds the metadata, has 1 and 1.0 as one value."""
    values, total = store.get_metadata_field_unique_values("priority")
    assert total == 3 and [(type(value), value) for value in values] == [
        (bool, True),
        (int, 1),
        (str, "1"),
    ]


class TestAsync(Ours, *ASYNC):  # type: ignore[misc]
    async def test_write_documents_async(self, document_store: RagPgDocumentStore) -> None:
        assert await document_store.write_documents_async([Document(id="1", content="one")]) == 1

    async def test_get_metadata_field_unique_values_distinct_types_async(
        self, document_store: RagPgDocumentStore
    ) -> None:
        name = "test_get_metadata_field_unique_values_distinct_types_async"
        with pytest.raises(AssertionError):
            await getattr(super(), name)(document_store)
        assert_equal_numbers_are_one(document_store)


def test_all_suites_of_the_store_are_run() -> None:
    assert len(ASYNC) == 12


FOX, WHALE = [1.0, 0.1], [0.1, 1.0]


@pytest.fixture
def store(rag: Rag) -> RagPgDocumentStore:
    made = RagPgDocumentStore("small", dimensions=2, rag=rag)
    fox = Document(id="a", content="red fox", meta={"n": 1, "v1.0": True}, embedding=FOX)
    whale = Document(id="b", content="blue whale", meta={"n": 2}, embedding=WHALE)
    bare = Document(id="c", content="a fox alone", meta={"n": None})
    made.write_documents([fox, whale, bare])
    return made


def ids(found: dict[str, list[Document]]) -> list[str]:
    return [one.id for one in found["documents"]]


def test_everything_of_a_document_is_read_back(store: RagPgDocumentStore) -> None:
    sparse = SparseEmbedding([1, 7], [0.5, 0.25])
    blob = ByteStream(b"\x00\xff", meta={"k": 1}, mime_type="image/png")
    given = [
        Document(id="x", blob=blob, meta={"when": "2024-05-01"}),
        Document(id="w", content=" \n", embedding=[0.5, 0.5]),
        Document(id="y", content="", sparse_embedding=sparse, embedding=[0.5, 0.5]),
    ]
    assert store.write_documents(given) == 3
    condition = {"field": "id", "operator": "in", "value": ["w", "x", "y"]}
    assert store.filter_documents(condition) == sorted(given, key=lambda one: one.id)
    assert "_haystack" not in store.get_metadata_fields_info()


def test_the_retrievers_search_by_vector_by_words_and_by_both(store: RagPgDocumentStore) -> None:
    by_vector = RagPgEmbeddingRetriever(document_store=store)
    assert ids(by_vector.run(query_embedding=FOX)) == ["a", "b"]
    assert by_vector.run(query_embedding=FOX)["documents"][0].score == pytest.approx(1, abs=1e-3)
    words = RagPgKeywordRetriever(document_store=store, top_k=5)
    assert {*ids(words.run(query="fox"))} == {"a", "c"}
    only = {"field": "meta.n", "operator": "==", "value": None}
    assert ids(words.run(query="fox", filters=only)) == ["c"]
    both = RagPgHybridRetriever(document_store=store)
    assert {*ids(both.run(query="fox", query_embedding=WHALE))} == {"a", "b", "c"}
    found = asyncio.run(both.run_async(query="fox", query_embedding=FOX, top_k=1))
    assert ids(found) == ["a"]


def test_filters_of_a_retriever_are_merged_where_it_says_so(store: RagPgDocumentStore) -> None:
    own = {"field": "meta.n", "operator": ">=", "value": 1}
    given = {"field": "meta.n", "operator": "<", "value": 2}
    merged = RagPgEmbeddingRetriever(store, filters=own, filter_policy="merge")
    replaced = RagPgEmbeddingRetriever(store, filters=own)
    assert ids(merged.run(query_embedding=WHALE, filters=given)) == ["a"]
    assert {*ids(replaced.run(query_embedding=WHALE, filters=given))} == {"a"}
    assert {*ids(replaced.run(query_embedding=WHALE))} == {"a", "b"}


@pytest.mark.parametrize(
    ("condition", "name"),
    [
        ({"field": "content", "operator": "==", "value": "x"}, "content"),
        ({"field": "meta.n", "operator": "like", "value": "x"}, "like"),
        ({"operator": "XOR", "conditions": []}, "XOR"),
        ({"field": "meta.n", "operator": ">", "value": "tall"}, "tall"),
        ({"field": "meta.n", "value": 1}, "operator"),
        ({"field": "embedding", "operator": "==", "value": None}, "embedding"),
    ],
)
def test_a_filter_that_there_is_none_of_is_refused_by_name(
    condition: dict[str, Any], name: str
) -> None:
    with pytest.raises(FilterError, match=name):
        translate(condition)


VALUES: list[Any] = ["a", "ab", "", 2, None, [], ["a"], ["a", "b"], ["b", "a"], [["a"]],
                     ["a", ["a"]], [None], [[]], {}, {"k": "a"}, [{"k": "a"}], "%"]  # fmt: skip


@pytest.mark.parametrize("declared", [False, True])
def test_whole_values_are_compared_as_haystack_compares_them(rag: Rag, declared: bool) -> None:
    store = RagPgDocumentStore("values", dimensions=2, rag=rag)
    documents = [Document(id=f"{i}", content="x", meta={"f": v}) for i, v in enumerate(VALUES)]
    documents.append(Document(id="bare", content="x"))
    store.write_documents(documents)
    if declared:
        rag.get_collection("values").metadata.index("f", "text")
    lists = [[a, b] for a in VALUES for b in VALUES[::4]]
    asked = [(operator, value) for operator in ("==", "!=") for value in VALUES]
    asked += [(operator, value) for operator in ("in", "not in") for value in [[], *lists]]
    for operator, value in asked:
        filters = {"field": "meta.f", "operator": operator, "value": value}
        wanted = {one.id for one in documents if document_matches_filter(filters, one)}
        assert {one.id for one in store.filter_documents(filters)} == wanted, (operator, value)


def test_one_text_is_no_list_of_ids(store: RagPgDocumentStore) -> None:
    with pytest.raises(InvalidInput, match="ids are a list, not the text 'abc'"):
        store.delete_documents("abc")  # type: ignore[arg-type]
    assert store.count_documents() == 3


def test_an_id_is_always_there(store: RagPgDocumentStore) -> None:
    none = {"field": "id", "operator": "==", "value": None}
    assert store.filter_documents(none) == []
    assert len(store.filter_documents({**none, "operator": "!="})) == 3


def test_one_of_two_equal_ids_is_written_as_the_policy_says(store: RagPgDocumentStore) -> None:
    twice = [Document(id="t", content="one"), Document(id="t", content="two")]
    with pytest.raises(DuplicateDocumentError):
        store.write_documents(twice)
    assert store.count_documents() == 3
    assert store.write_documents(twice, DuplicatePolicy.SKIP) == 1
    condition = {"field": "id", "operator": "==", "value": "t"}
    assert store.filter_documents(condition)[0].content == "one"
    assert store.write_documents(twice, DuplicatePolicy.OVERWRITE) == 1
    assert store.filter_documents(condition)[0].content == "two"


def test_a_pipeline_is_serialised_without_the_address_of_the_database(
    rag: Rag, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = RagPgDocumentStore("kept", dimensions=2, rag=rag)
    store.write_documents([Document(id="a", content="red fox", embedding=FOX)])
    pipeline = Pipeline()
    condition = {"field": "meta.n", "operator": "==", "value": None}
    retriever = RagPgHybridRetriever(store, condition, 3, options={"fusion": "rrf"})
    pipeline.add_component("retriever", retriever)
    text = pipeline.dumps()
    assert "postgresql" not in text and "dsn" not in text
    again = Pipeline.loads(text, allowed_modules=["rag_pg.haystack"])
    made = again.get_component("retriever")
    assert component_to_dict(made, "") == component_to_dict(retriever, "")
    monkeypatch.setattr("rag_pg.frameworks.environment_client", lambda: rag)
    result = again.run({"retriever": {"query": "fox", "query_embedding": FOX}})
    assert ids(result["retriever"]) == ["a"]


def test_a_passage_of_a_cut_document_has_what_a_citation_needs(rag: Rag) -> None:
    docs = rag.collection("filled", model="hash:32")
    text = "# Backups\n\nRestore them.\n\n# Keys\n\nRotate them."
    docs.add({"uri": "ops.md", "content": text, "media_type": "text/markdown"})
    store = RagPgDocumentStore("filled", model="hash:32", dimensions=None, rag=rag)
    [found] = RagPgPassageRetriever(store, top_k=1).run("rotate keys")["documents"]
    [hit] = docs.search("rotate keys", limit=1)
    assert found.meta == hit_metadata(hit) and found.id == str(hit.chunk_id)


def test_values_beyond_a_thousand_are_counted_and_their_pages_refused(rag: Rag) -> None:
    store = RagPgDocumentStore("many", rag=rag)
    store.write_documents([Document(id=str(i), content="x", meta={"n": i}) for i in range(1001)])
    assert store.count_unique_metadata_by_filter({}, ["n", "meta.n"]) == {"n": 1001, "meta.n": 1001}
    with pytest.raises(ValueError, match="1001"):
        store.get_metadata_field_unique_values("n")
