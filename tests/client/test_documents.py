"""Documents and vectors as stores of other frameworks need them: by id, filter and ready vector,
by an object that embeds."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from fakes import HashEmbedder

from rag_pg import (
    AlreadyExists,
    CollectionMismatch,
    InvalidInput,
    InvalidQuery,
    Rag,
    Settings,
    load_bytes,
)
from rag_pg.db.document import MOST_IN_A_STATEMENT

TEXTS = {"fish": "A red fish swims in the sea.", "bird": "A blue bird flies over the tree."}


def test_a_ready_vector_is_searched_by_alone_and_beside_words(
    rag: Rag, embedder: HashEmbedder
) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add(*({"uri": uri, "content": text} for uri, text in TEXTS.items()))
    vectors = {uri: docs.get_many([uri], embeddings=True)[0].embeddings[0] for uri in TEXTS}
    embedder.seen.clear()
    for uri, vector in vectors.items():
        assert vector is not None
        given: Any
        for given in (vector, vector.tolist(), np.asarray(vector, dtype=np.float64)):
            alone = docs.search(embedding=given, limit=1)
            assert [hit.uri for hit in alone] == [uri] and alone.method == "vector"
            assert alone[0].keyword_rank is None and alone[0].vector_rank == 1
    fish = vectors["fish"]
    both = docs.search("blue bird", embedding=fish, limit=2)
    assert both.method == "hybrid" and both.question == "blue bird"
    assert {hit.uri: (hit.vector_rank, hit.keyword_rank) for hit in both} == {
        "fish": (1, None),
        "bird": (2, 1),
    }
    words = docs.search("blue bird", embedding=fish, vector_weight=0)
    assert [hit.uri for hit in words] == ["bird"] and words.method == "keyword"
    assert embedder.seen == []
    again = [docs.search(embedding=fish, limit=1, cache=True).cached for _ in range(2)]
    assert again == [False, True]
    assert not docs.search(embedding=vectors["bird"], limit=1, cache=True).cached


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        ({}, InvalidQuery, "nothing to search by"),
        ({"embedding": [[1.0] * 32]}, InvalidQuery, "shape"),
        ({"embedding": [float("nan")] * 32}, InvalidQuery, "NaN or infinity"),
        ({"embedding": [1.0] * 31}, InvalidQuery, "31"),
        ({"embedding": [1.0] * 32, "query": " "}, InvalidQuery, "the query is empty"),
        ({"embedding": [1.0] * 32, "query": "x", "rewrite": ["hyde"]}, InvalidInput, "leave out"),
        ({"embedding": [1.0] * 32, "rerank": "llm"}, InvalidInput, "leave out"),
        ({"embedding": [1.0] * 32, "limt": 1}, InvalidInput, "did you mean 'limit'"),
    ],
)
@pytest.mark.one_database
def test_a_vector_that_cannot_be_searched_by_is_refused(
    rag: Rag, call: dict[str, Any], error: type[Exception], message: str
) -> None:
    docs = rag.collection("docs", model="hash:32")
    with pytest.raises(error, match=message):
        docs.search(**call)


def test_an_object_embeds_a_collection_and_its_name_is_the_model(dsn: str, tmp_path: Path) -> None:
    mine = HashEmbedder("my own model")
    settings = Settings(home=tmp_path)
    with Rag(dsn, settings=settings) as rag:
        docs = rag.collection("docs", embedder=mine)
        assert (docs.info.model, docs.info.dimensions) == ("my own model", 32)
        assert docs.add({"uri": "fish", "content": TEXTS["fish"]}).added == 1
        assert docs.search("red fish", keyword_weight=0)[0].uri == "fish"
        assert len(mine.seen) == 1
        with pytest.raises(InvalidInput, match="model is 'minilm', the embedder is 'my own model'"):
            rag.collection("docs", embedder=mine, model="minilm")
        with pytest.raises(CollectionMismatch, match="model is 'my own model'"):
            rag.collection("docs", embedder=HashEmbedder("another"))
    with Rag(dsn, settings=settings) as other:
        with pytest.raises(InvalidInput, match="my own model"):
            other.collection("docs").embedder  # noqa: B018
        assert other.collection("docs", embedder=mine).search("red fish")[0].vector_rank == 1


def test_many_documents_come_back_in_the_order_of_their_uris(rag: Rag) -> None:
    docs = rag.collection("docs", model="mine", dimensions=3)
    docs.add_chunks([
        {"uri": "a", "content": "one", "embedding": [1, 0, 0]},
        {"uri": "b", "content": "two", "embedding": [0.1, 0.2, 0.3]},
        {"uri": "a", "content": "three"},
    ], wait=False)  # fmt: skip
    found = docs.get_many(["b", "never", "a", "b"])
    assert [(one.uri, one.content, one.embeddings) for one in found] == [
        ("b", "two", ()),
        ("a", "one\n\nthree", ()),
    ]
    b, a = docs.get_many(["b", "a"], embeddings=True)
    assert a.embeddings[1] is None and np.array_equal(np.asarray(a.embeddings[0]), [1, 0, 0])
    (vector,) = b.embeddings
    assert vector is not None and vector.dtype == np.float32
    assert np.allclose(vector, [0.1, 0.2, 0.3], rtol=0.0005)
    assert [(c.uri, c.ordinal, c.content) for c in docs.chunks.list("a", "b")] == [
        ("a", 0, "one"), ("a", 1, "three"), ("b", 0, "two"),
    ]  # fmt: skip
    assert [one.content for one in docs.list(content=True)] == ["one\n\nthree", "two"]
    with pytest.raises(InvalidInput, match="uris are a list, not the text 'ab'"):
        docs.get_many("ab")
    assert docs.get_many([]) == [] and docs.chunks.embeddings([]) == {} and docs.chunks.list() == []


def test_documents_are_deleted_merged_and_cleared_by_filter(rag: Rag) -> None:
    docs = rag.collection("docs", model="mine", dimensions=3)
    docs.add_chunks(
        [{"uri": f"d{n}", "content": "x", "embedding": [1, n, 0], "n": n} for n in range(9)]
    )
    assert docs.metadata.merge({"n": {"$in": {1, 2}}}, {"seen": True}, remove=["n"]) == 2
    assert [d.uri for d in docs.list(filter={"seen": True})] == ["d1", "d2"]
    assert docs.search(embedding=[1, 1, 0], limit=1)[0].metadata == {"seen": True}
    first = docs.metadata.facets("n", limit=3)
    assert len(first) == 3 and {facet.total_values for facet in first} == {7}
    assert docs.delete(filter={"n": {"$gte": 5}}) == 4
    with pytest.raises(InvalidInput, match="passes every document"):
        docs.delete(filter={})
    assert docs.delete(everything=True) == 5 and docs.count() == 0
    assert rag.info("docs").name == "docs"


@pytest.mark.one_database
@pytest.mark.parametrize("wrong", [[], "", 0, False])
def test_what_is_no_filter_is_an_error_and_not_none(rag: Rag, wrong: Any) -> None:
    docs = rag.collection("docs", model="mine", dimensions=3)
    for read in (
        docs.count, docs.delete, docs.metadata.describe, docs.metadata.select,
        partial(docs.metadata.facets, "n"), lambda filter: [*docs.list(filter=filter)],
    ):  # fmt: skip
        with pytest.raises(InvalidQuery, match="the filter is a JSON"):
            read(filter=wrong)


@pytest.mark.parametrize("count", [1, MOST_IN_A_STATEMENT, MOST_IN_A_STATEMENT + 1])
def test_a_few_chunks_need_no_temporary_table_and_are_stored_alike(
    rag: Rag, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied: list[Any] = []
    copy = psycopg.Cursor.copy

    def kept(cursor: Any, *arguments: Any, **options: Any) -> Any:
        copied.append(arguments)
        return copy(cursor, *arguments, **options)

    monkeypatch.setattr(psycopg.Cursor, "copy", kept)
    docs = rag.collection("docs", model="mine", dimensions=3)
    chunks = [
        {
            "uri": f"d{n // 2}", "content": f"text\t{n} \\N é", "title": "T", "heading": f"H{n}",
            "embedding": np.array([0.1, n, 1], np.float32), "metadata": {"n": n}, "lang": "en",
        }
        for n in range(count)
    ]  # fmt: skip
    loaded = docs.add_chunks(chunks)
    assert loaded == count and len(copied) == (count > MOST_IN_A_STATEMENT)
    stored = docs.chunks.list(*{str(chunk["uri"]) for chunk in chunks})
    vectors = docs.chunks.embeddings(chunk.chunk_id for chunk in stored)
    found = {
        (c.content, c.heading, tuple(c.metadata.items()), tuple(vectors[c.chunk_id].tolist()))
        for c in stored
    }
    half = float(np.float16(0.1))
    assert found == {
        (f"text\t{n} \\N é", f"H{n}", (("n", n), ("lang", "en")), (half, n, 1.0))
        for n in range(count)
    }
    assert {document.title for document in docs.list()} == {"T"}
    with pytest.raises(AlreadyExists, match="has a document 'd0'"):
        docs.add_chunks(chunks, existing="error")
    assert (
        docs.add_chunks([*chunks, {"uri": "new", "content": "n"}], existing="skip", wait=False) == 1
    )
    assert [c.chunk_id for c in docs.chunks.list("d0")] == [
        c.chunk_id for c in stored if c.uri == "d0"
    ]


def test_bytes_have_a_uri_of_their_own(rag: Rag) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add(load_bytes("fish.md", b"# Fish\n\nA red fish.", "s3://bucket/fish"))
    assert docs.get("s3://bucket/fish").title == "Fish"
    assert load_bytes("fish.md", b"x").uri == "fish.md"
