"""Replay: live queries asked again, also of a candidate; what differs is listed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fakes import HashEmbedder

from rag_pg import InvalidInput, InvalidQuery, Rag, Settings
from rag_pg.client.collection import Collection
from rag_pg.evaluation.types import ReplayedQuery

Connection = psycopg.Connection[Any]
WORDS = ("anchor", "bridge", "candle", "dragon", "engine", "forest", "guitar", "hammer")
QUERIES = [f"{a} {b}" for a, b in pairwise(WORDS)]


@pytest.fixture(scope="module")
def rag(new_database: Any, template: str, tmp_path_factory: Any) -> Iterator[Rag]:
    home: Path = tmp_path_factory.mktemp("home")
    with Rag(
        new_database(template), settings=Settings(home=home), embedders={"hash": HashEmbedder}
    ) as rag:
        for name, model in (("docs", "hash:16"), ("other", "hash:8"), ("copy", "hash:16")):
            rag.collection(name, model=model).add(
                *(
                    {"uri": f"{a}-{b}", "content": f"The {a} and the {b}.", "metadata": {"n": n}}
                    for n, a in enumerate(WORDS)
                    for b in WORDS[n + 1 :]
                )
            )
        docs = rag.collection("docs")
        docs.alter(sample_queries=1, keep_query_text=True)
        for query in QUERIES:
            docs.search(query, limit=5)
        docs.search("anchor hammer", limit=5, filter={"n": 0})
        docs.alter(sample_queries=0)
        yield rag


@pytest.fixture
def docs(rag: Rag) -> Collection:
    return rag.collection("docs")


def found(docs: Collection, query: str, **options: Any) -> list[str]:
    return [hit.uri for hit in docs.search(query, limit=5, **options)]


@pytest.mark.minutes
def test_the_same_setting_changes_nothing(docs: Collection) -> None:
    replayed = docs.evaluation.replay()
    assert (len(replayed.queries), replayed.unchanged, replayed.overlap) == (8, 8, 1.0)
    assert (replayed.gained, replayed.lost, replayed.notes) == (0, 0, [])
    assert {query.legs for query in replayed.queries} == {"hybrid"}


def test_differences_are_those_of_two_searches(docs: Collection) -> None:
    replayed = docs.evaluation.replay(vector_weight=0)
    assert replayed.overlap is not None and replayed.overlap < 1
    for query in replayed.queries:
        assert query.query_text is not None
        where = {"filter": {"n": 0}} if query.query_text == "anchor hammer" else {}
        before = found(docs, query.query_text, **where)
        after = found(docs, query.query_text, vector_weight=0, **where)
        assert [hit["uri"] for hit in query.gained] == [u for u in after if u not in before]
        assert [hit["uri"] for hit in query.lost] == [u for u in before if u not in after]
        both = [uri for uri in before if uri in after]
        changes = [abs(before.index(uri) - after.index(uri)) for uri in both]
        assert query.overlap == pytest.approx(len(both) / max(len(before), len(after)))
        assert query.rank_change == (sum(changes) / len(changes) if changes else None)
        assert [(hit["uri"], hit["rank"], hit["rank_after"]) for hit in query.moved] == [
            (uri, before.index(uri) + 1, after.index(uri) + 1)
            for uri in both
            if before.index(uri) != after.index(uri)
        ]


def test_a_copy_is_compared_by_document(docs: Collection, rag: Rag) -> None:
    assert docs.evaluation.replay("copy", k=1).unchanged == 8  # later ones are tied
    rag.collection("copy").delete("anchor-bridge")
    try:
        replayed = docs.evaluation.replay("copy", k=1)
        (changed,) = [query for query in replayed.queries if query.query_text == "anchor bridge"]
        assert [hit["uri"] for hit in changed.lost] == ["anchor-bridge"]
    finally:
        rag.collection("copy").add(
            {"uri": "anchor-bridge", "content": "The anchor and the bridge."}
        )


def test_a_candidate_of_another_model_is_asked_by_that_model(docs: Collection, rag: Rag) -> None:
    replayed = docs.evaluation.replay("other", sample=3)
    assert [query.error for query in replayed.queries] == [None] * 3
    first = replayed.queries[1]
    assert first.query_text == QUERIES[-1]
    after = found(rag.collection("other"), QUERIES[-1])
    assert {hit["uri"] for hit in first.gained} == set(after) - set(found(docs, QUERIES[-1]))
    given = {"collection": "docs", "options": {}, "candidate": "other", "k": 5, "sample": 3}
    rows = rag.database.rows(ReplayedQuery, "replay_queries", **given)
    assert {row.error for row in rows} == {"it has no vector of 'other''s model"}


def test_queries_without_words_are_replayed_by_their_vectors(docs: Collection) -> None:
    with psycopg.connect(docs.rag.database.dsn) as connection:
        connection.execute("UPDATE rag.live_queries SET query_text = NULL WHERE query_id <= 2")
        connection.commit()
        try:
            replayed = docs.evaluation.replay(fusion="rrf")
            assert replayed.notes[0].startswith("2 of 8 queries were kept without their words")
            wordless = [query for query in replayed.queries if query.query_text is None]
            assert [(q.legs, q.overlap) for q in wordless] == [("vector", 1.0), ("vector", 1.0)]
            errors = [query.error for query in docs.evaluation.replay(vector_weight=0).queries]
            assert [error for error in errors if error] == [
                "its words were not kept, and no vector is searched for"
            ] * 2
        finally:
            for number, query in enumerate(QUERIES[:2], 1):
                connection.execute(
                    "UPDATE rag.live_queries SET query_text = %s WHERE query_id = %s",
                    [query, number],
                )
            connection.commit()


def test_what_is_no_candidate_is_told(docs: Collection, rag: Rag) -> None:
    with pytest.raises(InvalidInput, match="replay has no option 'limit'"):
        docs.evaluation.replay(limit=3)
    with pytest.raises(InvalidQuery, match="option vector_weight is"):
        docs.evaluation.replay(vector_weight="much")  # type: ignore[arg-type]
    with pytest.raises(InvalidQuery, match="k 0 is out of range"):
        docs.evaluation.replay(k=0)
    (query, *_) = docs.evaluation.replay(candidate_limit=3).queries
    assert query.error is not None and "candidate_limit 3 is out of range" in query.error
    assert rag.collection("copy").evaluation.replay().notes[0].startswith("no live query")


def test_a_replay_writes_nothing(docs: Collection) -> None:
    assert isinstance(docs.rag, Rag)
    reading = docs.rag.with_settings({"transaction_read_only": "on"})
    assert len(reading.collection("docs").evaluation.replay(fusion="rrf").compared) == 8
