"""LlamaIndex, which has no suite to inherit: the cases of its own Postgres store's tests, by their
names, and what they leave out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from llama_index.core import MockEmbedding, StorageContext, VectorStoreIndex
from llama_index.core.schema import (
    BaseNode,
    ImageNode,
    IndexNode,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.vector_stores.types import BasePydanticVectorStore, VectorStoreQuery
from llama_index.core.vector_stores.types import FilterCondition as Condition
from llama_index.core.vector_stores.types import FilterOperator as Op
from llama_index.core.vector_stores.types import MetadataFilter as One
from llama_index.core.vector_stores.types import MetadataFilters as Filters
from llama_index.core.vector_stores.types import VectorStoreQueryMode as Mode

from rag_pg import Rag
from rag_pg.errors import InvalidInput
from rag_pg.frameworks import hit_metadata
from rag_pg.llama_index import RagPgRetriever, RagPgVectorStore

A, B, C = [1.0, 0.1], [0.1, 1.0], [0.7, 0.7]
Both = pytest.mark.parametrize("use_async", [True, False])


def node(key: str, text: str, vector: list[float], source: str | None = None, **meta: Any) -> Any:
    related = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=source)} if source else {}
    return TextNode(id_=key, text=text, embedding=vector, metadata=meta, relationships=related)


NODES = [
    node("aaa", "lorem ipsum", A, "doc-a", kind="x", year=2020, tags=["red", "blue"]),
    node("bbb", "dolor sit amet", B, "doc-b", kind="y", year=2022, tags=["red"]),
    node(
        "ccc",
        "the quick brown fox jumped",
        C,
        "doc-a",
        kind="y",
        year=2024,
        title="A Fox",
        more=[None, ""],
    ),
    node("ddd", "the fox and the hound", B, "doc-d", **{"a.b": "50%_\\", "$x": 1, "part": None}),
]


@pytest.fixture
def store(rag: Rag) -> RagPgVectorStore:
    made = RagPgVectorStore("nodes", rag=rag, dimensions=2)
    assert made.add(NODES) == ["aaa", "bbb", "ccc", "ddd"]
    return made


@pytest.fixture
def empty(rag: Rag) -> RagPgVectorStore:
    return RagPgVectorStore("empty", rag=rag, dimensions=2)


def call(method: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """The result of a call, sync or async."""
    found = method(*arguments, **options)
    return asyncio.run(found) if asyncio.iscoroutine(found) else found


def ids(nodes: Sequence[BaseNode] | None) -> list[str]:
    assert nodes is not None
    return [one.node_id for one in nodes]


def where(key: str, operator: Op, value: Any = None) -> Filters:
    return Filters(filters=[One(key=key, operator=operator, value=value)])


def found(store: RagPgVectorStore, **query: Any) -> list[str]:
    return ids(store.query(VectorStoreQuery(**{"similarity_top_k": 9, **query})).nodes)


def test_instance_creation(store: RagPgVectorStore) -> None:
    assert isinstance(store, BasePydanticVectorStore) and store.stores_text
    assert store.client.name == "nodes" and store.class_name() == "RagPgVectorStore"


@Both
def test_add_to_db_and_query(empty: RagPgVectorStore, use_async: bool) -> None:
    assert call(empty.async_add if use_async else empty.add, NODES) == ids(NODES)
    query = VectorStoreQuery(query_embedding=A, similarity_top_k=2)
    result = call(empty.aquery if use_async else empty.query, query)
    assert result.ids == ids(result.nodes) == ["aaa", "ccc"]
    assert result.similarities[0] == pytest.approx(1, abs=1e-3)
    assert 0 < result.similarities[1] < result.similarities[0]
    assert result.nodes[0].metadata == NODES[0].metadata and result.nodes[0].ref_doc_id == "doc-a"
    assert result.nodes[0].text == "lorem ipsum"


CASES = [
    (where("kind", Op.EQ, "y"), {"bbb", "ccc"}),
    (where("kind", Op.NE, "y"), {"aaa", "ddd"}),
    (where("year", Op.GT, 2020), {"bbb", "ccc"}),
    (where("year", Op.GTE, 2022), {"bbb", "ccc"}),
    (where("year", Op.LT, 2022), {"aaa"}),
    (where("year", Op.LTE, 2022), {"aaa", "bbb"}),
    (where("kind", Op.IN, ["x", "z"]), {"aaa"}),
    (where("kind", Op.IN, ["x"]), {"aaa"}),
    (where("kind", Op.NIN, ["x"]), {"bbb", "ccc", "ddd"}),
    (where("tags", Op.EQ, "blue"), set()),  # a list is no text
    (where("tags", Op.NE, "blue"), {"aaa", "bbb", "ccc", "ddd"}),
    (where("tags", Op.IN, ["blue", "red"]), set()),
    (where("tags", Op.NIN, ["blue", "red"]), {"aaa", "bbb", "ccc", "ddd"}),
    (where("tags", Op.CONTAINS, "blue"), {"aaa"}),
    (where("tags", Op.ANY, ["blue", "red"]), {"aaa", "bbb"}),
    (where("tags", Op.ALL, ["blue", "red"]), {"aaa"}),
    (where("title", Op.TEXT_MATCH, "Fox"), {"ccc"}),
    (where("title", Op.TEXT_MATCH, "fox"), set()),
    (where("title", Op.TEXT_MATCH_INSENSITIVE, "fox"), {"ccc"}),
    (where("tags", Op.IS_EMPTY), {"ccc", "ddd"}),
    (where("part", Op.IS_EMPTY), {"aaa", "bbb", "ccc", "ddd"}),
    (where("more", Op.IS_EMPTY), {"aaa", "bbb", "ddd"}),
    (where("a.b", Op.TEXT_MATCH, "%_\\"), {"ddd"}),
    (where("a.b", Op.TEXT_MATCH, "_0"), set()),
    (where("$x", Op.EQ, 1), {"ddd"}),
    (Filters(condition=Condition.NOT, filters=[One(key="kind", value="x")]), {"bbb", "ccc", "ddd"}),
    (
        Filters(condition=Condition.NOT,
                filters=[One(key="kind", value="x"), One(key="year", operator=Op.GTE, value=2024)]),
        {"bbb", "ddd"},
    ),
    (
        Filters(
            condition=Condition.OR,
            filters=[One(key="kind", value="x"),
                     Filters(filters=[One(key="year", operator=Op.GTE, value=2024),
                                      One(key="kind", value="y")])],
        ),
        {"aaa", "ccc"},
    ),
]  # fmt: skip


@pytest.mark.one_database
@pytest.mark.parametrize(("filters", "wanted"), CASES)
@pytest.mark.parametrize("mode", [Mode.DEFAULT, Mode.HYBRID, Mode.MMR])
def test_add_to_db_and_query_with_metadata_filters(
    rag: Rag, filters: Filters, wanted: set[str], mode: Mode
) -> None:
    store = RagPgVectorStore("nodes", rag=rag, dimensions=2)
    if not store.client.count():
        store.add(NODES)
    assert {*found(store, query_embedding=A, query_str="x", filters=filters, mode=mode)} == wanted


def test_every_operator_is_translated() -> None:
    assert {one.operator for case, _ in CASES for one in case.filters if isinstance(one, One)} == {
        *Op
    }


@Both
def test_add_to_db_query_and_delete(store: RagPgVectorStore, use_async: bool) -> None:
    call(store.adelete if use_async else store.delete, "doc-a")
    assert {*found(store, query_embedding=A)} == {"bbb", "ddd"}


@Both
def test_sparse_query(store: RagPgVectorStore, use_async: bool) -> None:
    query = VectorStoreQuery(query_str="who is the fox?", sparse_top_k=2, mode=Mode.SPARSE)
    result = call(store.aquery if use_async else store.query, query)
    assert {*ids(result.nodes)} == {"ccc", "ddd"}
    assert found(store, query_str="hound", mode=Mode.TEXT_SEARCH) == ["ddd"]


@Both
def test_hybrid_query(store: RagPgVectorStore, use_async: bool) -> None:
    options = {"query_embedding": A, "query_str": "fox", "similarity_top_k": 2}
    query = VectorStoreQuery(**options, hybrid_top_k=4, mode=Mode.HYBRID)
    result = call(store.aquery if use_async else store.query, query)
    assert {*ids(result.nodes)} == {"aaa", "bbb", "ccc", "ddd"}
    assert found(store, **options, alpha=1.0, mode=Mode.HYBRID)[0] == "aaa"
    assert found(store, **options, alpha=0.0, mode=Mode.HYBRID)[0] in ("ccc", "ddd")
    assert len(found(store, **options, mode=Mode.SEMANTIC_HYBRID)) == 2


def test_add_to_db_and_hybrid_query_with_metadata_filters(store: RagPgVectorStore) -> None:
    filters = where("kind", Op.EQ, "y")
    options = {"query_str": "fox", "mode": Mode.HYBRID, "filters": filters}
    assert found(store, query_embedding=C, **options)[0] == "ccc"
    assert {*found(store, query_embedding=C, **options)} == {"bbb", "ccc"}


def test_hybrid_query_fails_if_no_query_str_provided(store: RagPgVectorStore) -> None:
    with pytest.raises(InvalidInput, match="query_str"):
        found(store, query_embedding=A, mode=Mode.HYBRID)


@pytest.mark.parametrize("mode", [Mode.SVM, Mode.LINEAR_REGRESSION, Mode.LOGISTIC_REGRESSION])
def test_modes_of_other_stores_are_refused(store: RagPgVectorStore, mode: Mode) -> None:
    with pytest.raises(InvalidInput, match=mode.value):
        found(store, query_embedding=A, mode=mode)
    with pytest.raises(InvalidInput, match="index_id"):
        store.query(VectorStoreQuery(query_embedding=A), index_id="42")
    with pytest.raises(InvalidInput, match="takes a list, not 'blue'"):
        store.get_nodes(filters=where("tags", Op.ALL, "blue"))


@Both
def test_add_to_db_and_query_index_nodes(empty: RagPgVectorStore, use_async: bool) -> None:
    index = IndexNode(text="the quick brown fox", id_="ref", index_id="aaa", embedding=C)
    image = ImageNode(text="a picture", id_="img", image_path="x.png", embedding=A)
    call(empty.async_add if use_async else empty.add, [node("bbb", "dolor", B), index, image])
    query = VectorStoreQuery(query_embedding=C, similarity_top_k=3)
    nodes = {one.node_id: one for one in call(empty.query, query).nodes}
    assert isinstance(nodes["ref"], IndexNode) and nodes["ref"].index_id == "aaa"
    assert isinstance(nodes["img"], ImageNode) and nodes["img"].image_path == "x.png"
    assert type(nodes["bbb"]) is TextNode


@Both
def test_delete_nodes(store: RagPgVectorStore, use_async: bool) -> None:
    delete = store.adelete_nodes if use_async else store.delete_nodes
    call(delete)
    call(delete, ["nobody"])
    call(delete, [])
    call(delete, [], filters=where("kind", Op.EQ, "x"))
    assert len(found(store, query_embedding=A)) == 4
    call(delete, ["aaa", "bbb"])
    assert {*found(store, query_embedding=A)} == {"ccc", "ddd"}


@Both
def test_delete_nodes_metadata(store: RagPgVectorStore, use_async: bool) -> None:
    delete = store.adelete_nodes if use_async else store.delete_nodes
    call(delete, ["aaa", "bbb"], filters=where("kind", Op.IN, ["y", "z"]))
    assert {*found(store, query_embedding=A)} == {"aaa", "ccc", "ddd"}
    call(delete, ["ccc"], filters=where("year", Op.EQ, 2020))
    assert {*found(store, query_embedding=A)} == {"aaa", "ccc", "ddd"}
    call(delete, filters=where("year", Op.EQ, 2020))
    assert {*found(store, query_embedding=A)} == {"ccc", "ddd"}


@Both
def test_clear(store: RagPgVectorStore, use_async: bool) -> None:
    call(store.aclear if use_async else store.clear)
    assert store.query(VectorStoreQuery(query_embedding=A, similarity_top_k=9)).ids == []


@pytest.mark.parametrize(
    ("node_ids", "filters", "wanted"),
    [
        (["aaa", "bbb"], None, {"aaa", "bbb"}),
        (None, where("year", Op.EQ, 2020), {"aaa"}),
        (["bbb", "ccc"], where("title", Op.EQ, "A Fox"), {"ccc"}),
        (["bbb"], where("title", Op.EQ, "A Fox"), set()),
        (None, None, {"aaa", "bbb", "ccc", "ddd"}),
        ([], where("year", Op.EQ, 2020), set()),
    ],
)
def test_get_nodes_parametrized(
    store: RagPgVectorStore, node_ids: list[str] | None, filters: Filters | None, wanted: set[str]
) -> None:
    assert {*ids(store.get_nodes(node_ids, filters))} == wanted
    assert {*ids(asyncio.run(store.aget_nodes(node_ids, filters)))} == wanted


def test_one_text_is_no_list_of_ids(store: RagPgVectorStore) -> None:
    text: Any = "aaa"
    query = VectorStoreQuery(query_embedding=A, node_ids=text)
    for ask in (lambda: store.delete_nodes(text), lambda: store.query(query)):
        with pytest.raises(InvalidInput, match="ids are a list, not the text 'aaa'"):
            ask()


def test_query_by_doc_ids_and_node_ids(store: RagPgVectorStore) -> None:
    assert {*found(store, query_embedding=A, doc_ids=["doc-a"])} == {"aaa", "ccc"}
    assert found(store, query_embedding=A, node_ids=["bbb"]) == ["bbb"]


def test_mmr_query(store: RagPgVectorStore) -> None:
    options = {"query_embedding": B, "similarity_top_k": 2, "mode": Mode.MMR}
    assert {*found(store, **options, mmr_threshold=1.0)} == {"bbb", "ddd"}
    assert len({*found(store, **options, mmr_threshold=0.1)} & {"bbb", "ddd"}) == 1


def test_a_node_is_replaced_by_one_of_its_id(store: RagPgVectorStore) -> None:
    store.add([node("aaa", "new words", B, "doc-a", kind="z")])
    [again] = store.get_nodes(["aaa"])
    assert again.get_content() == "new words" and again.metadata == {"kind": "z"}


def test_a_node_without_text_is_stored(store: RagPgVectorStore) -> None:
    store.add([ImageNode(id_="picture", image_url="a.png", embedding=A)])
    [again] = store.get_nodes(["picture"])
    assert again.get_content() == ""


def test_it_is_the_store_of_an_index(rag: Rag) -> None:
    store = RagPgVectorStore("index", rag=rag, dimensions=8)
    context = StorageContext.from_defaults(vector_store=store)
    nodes = [TextNode(text=f"text {i}") for i in range(5)]
    index = VectorStoreIndex(nodes=nodes, embed_model=MockEmbedding(8), storage_context=context)
    assert len(index.as_retriever(similarity_top_k=3).retrieve("text")) == 3
    again = VectorStoreIndex.from_vector_store(store, embed_model=MockEmbedding(8))
    retriever = again.as_retriever(similarity_top_k=4, vector_store_query_mode="hybrid")
    assert len(retriever.retrieve("text 3")) == 4


def test_it_is_serialised_without_the_address_of_the_database(
    store: RagPgVectorStore, rag: Rag, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_pg.frameworks.environment_client", lambda: rag)
    text = store.to_json()
    assert "postgresql" not in text
    again = RagPgVectorStore.from_json(text)
    assert found(again, query_embedding=A, similarity_top_k=1) == ["aaa"]
    assert again.to_dict() == store.to_dict()


def test_a_node_that_came_otherwise_is_read_too(rag: Rag) -> None:
    docs = rag.collection("adopted", model="llamaindex", dimensions=2)
    docs.add_chunks([{"uri": "x", "content": "from elsewhere", "embedding": A, "year": 2020}])
    store = RagPgVectorStore("adopted", rag=rag, dimensions=2)
    [one] = store.get_nodes()
    assert (one.node_id, one.get_content(), one.metadata) == ("x", "from elsewhere", {"year": 2020})


def test_a_passage_of_a_cut_document_has_what_a_citation_needs(rag: Rag) -> None:
    docs = rag.collection("filled", model="hash:32")
    text = "# Backups\n\nRestore them.\n\n# Keys\n\nRotate them."
    docs.add({"uri": "ops.md", "content": text, "media_type": "text/markdown", "year": 2024})
    retriever = RagPgRetriever(docs, similarity_top_k=1, filter={"year": 2024})
    [one] = retriever.retrieve("rotate keys")
    [hit] = docs.search("rotate keys", limit=1)
    assert one.node.metadata == hit_metadata(hit) and one.node.node_id == str(hit.chunk_id)
    assert one.score == hit.score and "chunk_id" not in one.node.get_content(metadata_mode="llm")
    assert asyncio.run(retriever.aretrieve("rotate keys")) == [one]
