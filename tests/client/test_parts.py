"""A corpus in parts: documents dealt over databases, searched side by side, and answered from."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fakes import HashEmbedder, ScriptedLLM

from rag_pg import Rag, Settings
from rag_pg.client import Collection
from rag_pg.db import name_of
from rag_pg.errors import (
    CollectionMismatch,
    DatabaseUnavailable,
    InvalidInput,
    InvalidQuery,
    NotFound,
)

WORDS = [f"w{n}" for n in range(40)]
NOWHERE = "host=127.0.0.1 port=1 dbname=none connect_timeout=2"


def open_rag(dsn: Any, home: Path, **options: Any) -> Rag:
    return Rag(dsn, settings=Settings(home=home), embedders={"hash": HashEmbedder}, **options)


def parts_of(docs: Collection) -> list[Rag]:
    assert isinstance(docs.rag, Rag)
    return docs.rag.parts


def documents(count: int) -> list[dict[str, Any]]:
    chance = random.Random(f"parts {count}")
    return [
        {
            "uri": f"d{n:03}", "title": f"Title {n % 7}",
            "content": " ".join(chance.choices(WORDS, k=chance.randint(3, 30))),
            "metadata": {"kind": n % 3, "n": n},
        }
        for n in range(count)
    ]  # fmt: skip


@pytest.fixture
def dsns(new_database: Callable[..., str], template: str) -> list[str]:
    return [new_database(template) for _ in range(3)]


@pytest.fixture(scope="module")
def filled(
    new_database: Callable[..., str],
    template: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> list[str]:
    """Names of databases with 120 documents: all in the first, dealt over the others."""
    dsns = [new_database(template) for _ in range(4)]
    for parts in (dsns[0], dsns[1:]):
        with open_rag(parts, tmp_path_factory.mktemp("home")) as rag:
            docs = rag.collection("docs", model="hash:32")
            assert docs.add(iter(documents(120))).added == 120
    return [name_of(dsn) for dsn in dsns]


@pytest.fixture
def parts(new_database: Callable[..., str], filled: list[str]) -> list[str]:
    return [new_database(name) for name in filled[1:]]


@pytest.fixture
def whole(
    new_database: Callable[..., str], filled: list[str], parts: list[str], tmp_path: Path
) -> Iterator[tuple[Collection, Collection]]:
    """The corpus in one collection, and in three parts."""
    with (
        open_rag(new_database(filled[0]), tmp_path) as one,
        open_rag(parts, tmp_path) as parted,
    ):
        yield one.get_collection("docs"), parted.get_collection("docs")


def queries(count: int) -> list[str]:
    chance = random.Random("queries")
    return [" ".join(chance.choices(WORDS, k=3)) for _ in range(count)]


def test_vector_searches_and_filters_find_what_one_collection_finds(
    whole: tuple[Collection, Collection],
) -> None:
    for query in queries(20):
        for options in ({}, {"filter": {"kind": 1}}, {"offset": 5}, {"fusion": "rrf"}):
            found = [docs.search(query, keyword_weight=0.0, **options) for docs in whole]
            first, second = ([(h.vector_distance, h.vector_rank) for h in hits] for hits in found)
            assert len(first) == 10 and first == second
            edges = (first[0][0], first[-1][0])  # others, on other pages, may be as far
            within = [{h.uri for h in hits if h.vector_distance not in edges} for hits in found]
            assert within[0] == within[1]


@pytest.mark.minutes
def test_hybrid_hits_are_nearly_those_of_one_collection_and_not_those_by_the_parts_scores(
    whole: tuple[Collection, Collection],
) -> None:
    one, parted = whole
    shared = by_scores = 0
    for query in queries(30):
        wanted = {hit.uri for hit in one.search(query)}
        shared += len(wanted & {hit.uri for hit in parted.search(query)})
        merged = [
            hit for part in parts_of(parted) for hit in part.get_collection("docs").search(query)
        ]
        merged.sort(key=lambda hit: -hit.score)
        by_scores += len(wanted & {hit.uri for hit in merged[:10]})
    assert shared >= 0.85 * 300
    assert shared > by_scores


def test_scores_are_of_the_fusion_over_all_parts(whole: tuple[Collection, Collection]) -> None:
    _, parted = whole
    spread = parts_of(parted)[0].database.cosine_spread("docs")
    assert spread is not None
    for query in queries(10):
        hits = parted.search(query, fusion="weighted", limit=40)
        best = max(hit.keyword_score or 0 for hit in hits)
        for hit in hits:
            assert hit.vector_distance is not None
            similarity = (1 - hit.vector_distance - spread.mean) * 0.133 / spread.spread
            expected = 0.7 * similarity + 0.3 * (hit.keyword_score or 0) / best
            assert hit.score == pytest.approx(expected)
        assert [h.score for h in hits] == sorted((h.score for h in hits), reverse=True)
        ranks = sorted(h.vector_rank for h in hits if h.vector_rank)
        assert len(set(ranks)) == len(ranks)


@pytest.mark.minutes
def test_boosts_copies_and_documents_are_those_of_the_whole(
    whole: tuple[Collection, Collection],
) -> None:
    _, parted = whole
    boosts = [{"filter": {"kind": 2}, "add": 5}]
    hits = parted.search("w1 w2", limit=40, boosts=boosts)
    kinds = [hit.metadata["kind"] for hit in hits]
    assert kinds[:20] == [2] * 20 and hits[0].score > 5
    copies = [
        {"uri": f"copy{n}", "title": "same", "content": "copied text of w1"} for n in range(9)
    ]
    parted.add(*copies)
    found = [hit.uri for hit in parted.search("copied text of w1", limit=20)]
    assert sum(uri.startswith("copy") for uri in found) == 1
    found = [hit.uri for hit in parted.search("copied text of w1", limit=20, duplicates=True)]
    assert sum(uri.startswith("copy") for uri in found) == 9
    assert max(map(found.count, found)) == 1


def test_counts_facets_and_readers_are_those_of_the_whole(
    whole: tuple[Collection, Collection],
) -> None:
    one, parted = whole
    for docs in whole:
        assert docs.count() == 120 and docs.count(filter={"kind": 0}) == 40
    facets = [docs.metadata.facets("kind") for docs in whole]
    assert {(f.value, f.documents) for f in facets[0]} == {
        (f.value, f.documents) for f in facets[1]
    }
    assert {d.uri for d in parted.list()} == {d.uri for d in one.list()}
    assert len([*parted.list(limit=7)]) == 7
    assert (parted.stats().documents, parted.stats().chunks) == (120, one.stats().chunks)
    assert parted.get("d007").content == one.get("d007").content
    assert [d.uri for d in parted.get_many(["d100", "none", "d001"])] == ["d100", "d001"]
    with pytest.raises(NotFound, match="no document 'none'"):
        parted.get("none")
    sizes = [part.get_collection("docs").count() for part in parts_of(parted)]
    assert sum(sizes) == 120 and min(sizes) > 20


def test_a_hit_leads_to_its_part(whole: tuple[Collection, Collection]) -> None:
    _, parted = whole
    hits = parted.search("w1 w2 w3", limit=20)
    assert len({hit.chunk_id % 3 for hit in hits}) == 3
    passages = parted.chunks.around([hit.chunk_id for hit in hits])
    assert {p.chunk_keys[0]: p.uri for p in passages} == {h.chunk_id: h.uri for h in hits}
    assert [p.rank for p in passages] == sorted(p.rank for p in passages)
    assert parted.chunks.snippets("w1", hits[:3]) != ["", "", ""]
    vectors = parted.chunks.embeddings(hit.chunk_id for hit in hits)
    chunks = {chunk.chunk_id for chunk in parted.chunks.list(*(hit.uri for hit in hits))}
    assert set(vectors) == chunks == {hit.chunk_id for hit in hits}
    assert parted.delete(hits[0].uri, hits[1].uri, "none") == 2
    assert parted.count() == 118
    assert hits[0].uri not in {hit.uri for hit in parted.search("w1 w2 w3", limit=20)}


@pytest.mark.minutes
def test_a_document_stays_in_its_part_when_there_are_more_of_them(
    whole: tuple[Collection, Collection], parts: list[str], dsn: str, tmp_path: Path
) -> None:
    second = Rag(dsn, schema="second", settings=Settings(home=tmp_path))
    second.upgrade()
    with open_rag([*parts, second], tmp_path) as rag:
        docs = rag.collection("docs", model="hash:32")
        changed = [{**one, "content": f"{one['content']} changed"} for one in documents(120)]
        assert docs.add(iter(changed)).added == 120
        assert docs.count() == 120 and rag.parts[3].get_collection("docs").count() == 0
        docs.add_chunks({"uri": f"new{n}", "content": f"w{n}"} for n in range(30))
        assert rag.parts[3].get_collection("docs").count() > 0
        assert docs.count() == 150
        assert docs.add(iter(changed)).unchanged == 120


@pytest.mark.minutes
def test_an_answer_quotes_what_several_parts_have(dsns: list[str], tmp_path: Path) -> None:
    with open_rag(dsns[:2], tmp_path) as rag:
        docs = rag.collection("docs", model="hash:32")
        texts = {f"t{n}": f"The fee of plan {n} is {n}00 francs." for n in range(8)}
        docs.add(*({"uri": uri, "content": text} for uri, text in texts.items()))
        answer = docs.ask("What is the fee of plan 3?", llm="extractive")
        assert "300 francs" in answer.text
        assert (answer.citations[0].uri, answer.citations[0].status) == ("t3", "exact")
        assert docs.get(answer.citations[0].uri).content == texts["t3"]
        reply = "Plan 1 costs 100 francs [1]. Plan 6 costs 600 francs [2]."
        llm = ScriptedLLM(lambda call: reply, cites_by_key=False)
        told = docs.ask("fee of plan", llm=llm, strategy="single")
        assert told.found and not [note for note in told.notes if "not there" in note]


def test_a_quote_of_another_part_is_misattributed_and_one_of_none_fabricated(
    whole: tuple[Collection, Collection],
) -> None:
    from rag_pg.types import Citation

    _, parted = whole
    hits = parted.search("w1 w2", limit=30)
    one = hits[0]
    other = next(hit for hit in hits if hit.chunk_id % 3 != one.chunk_id % 3)
    citations = [
        Citation(number=n, chunk_id=one.chunk_id, uri=one.uri, title="", heading="", quote=quote)
        for n, quote in enumerate((one.content, other.content, "nobody says so"), 1)
    ]
    checked = parted.rag.database.check_citations("docs", citations, [other.chunk_id])
    assert [row.status for row in checked] == ["exact", "misattributed", "fabricated"]
    assert [row.chunk_key for row in checked[:2]] == [one.chunk_id, other.chunk_id]


def test_a_part_that_is_gone_is_noted_and_the_others_answer(
    whole: tuple[Collection, Collection], parts: list[str], tmp_path: Path
) -> None:
    with open_rag([NOWHERE, *parts[1:]], tmp_path) as rag:
        docs = rag.get_collection("docs")
        hits = docs.search("w1 w2")
        assert len(hits) == 10 and {hit.chunk_id % 3 for hit in hits} == {1, 2}
        assert [note for note in hits.notes if note.startswith("part 1 of 3 does not answer")]
        assert docs.get(hits[0].uri).uri == hits[0].uri
        assert docs.ask("w1 w2?", llm="extractive").strategy
        for call in (docs.count, lambda: docs.delete("d001"), lambda: docs.metadata.facets("kind"),
                     lambda: docs.add({"uri": "x", "content": "x"}), lambda: [*docs.list()],
                     lambda: docs.get("none")):  # fmt: skip
            with pytest.raises(DatabaseUnavailable, match="part 1 of 3"):
                call()
    with pytest.raises(DatabaseUnavailable, match="part 1 of 2"):
        open_rag([NOWHERE, NOWHERE], tmp_path).open()


@pytest.mark.minutes
def test_a_part_that_takes_too_long_is_noted(
    whole: tuple[Collection, Collection], parts: list[str], tmp_path: Path
) -> None:
    with open_rag(parts, tmp_path, part_timeout=20) as rag:
        docs = rag.get_collection("docs")
        assert docs.search("w1").notes == ()
        with psycopg.connect(parts[1]) as blocker:
            blocker.execute("LOCK TABLE rag.chunks")
            hits = docs.search("w1 w2")
            assert {hit.chunk_id % 3 for hit in hits} == {0, 2}
            assert [note for note in hits.notes if "part 2 of 3 did not answer" in note]
        assert docs.search("w1 w3").notes == ()


def test_parts_with_other_models_are_refused(dsns: list[str], tmp_path: Path) -> None:
    for dsn, model in zip(dsns, ("hash:32", "hash:16"), strict=False):
        with open_rag(dsn, tmp_path) as rag:
            rag.collection("docs", model=model)
    with (
        open_rag(dsns[:2], tmp_path) as rag,
        pytest.raises(
            CollectionMismatch,
            match="part 2 has model 'hash:16' for collection 'docs', part 1 'hash:32'",
        ),
    ):
        rag.get_collection("docs")


def test_what_is_not_there_in_parts_is_refused_by_name(
    whole: tuple[Collection, Collection],
) -> None:
    _, parted = whole
    with pytest.raises(
        InvalidInput, match="aggregate_documents is not there for a corpus in parts"
    ):
        parted.metadata.aggregate({"count": {"count": "*"}})
    with pytest.raises(InvalidInput, match="by one wording"):
        parted.search(
            "w1", rewrite=["multi_query"], helper_llm=ScriptedLLM('{"queries": ["a", "b"]}')
        )
    with pytest.raises(InvalidQuery, match="diversity compares"):
        parted.search("w1", diversity=0.5)
    with pytest.raises(InvalidInput, match="part by part"):
        next(parted.list(after="d001"))
