"""What a model is shown around the hits: neighbours as one source, windows, sections."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from fakes import HashEmbedder, ScriptedLLM
from prompts import quoted

from rag_pg import InvalidInput, Rag
from rag_pg.client.collection import Collection
from rag_pg.search.passages import join_hits
from rag_pg.types import Answer, Hit, Passage

ANIMALS = ["fish", "bird", "cat", "dog", "horse", "mouse", "snake", "frog"]
PAGE = "# Zoo\n\nA page.\n\n" + "\n\n".join(
    f"## The {name}\n\n"
    + "\n\n".join(f"The {name} lives in house {n} and eats {name} food number {n}." for n in "1234")
    for name in ANIMALS
)


def begin(rag: Rag) -> None:
    chunking = {"max_tokens": 40, "overlap": 0.4}
    collection = rag.collection("docs", model="hash:32", chunking=chunking)
    collection.add({"uri": "zoo", "content": PAGE, "media_type": "text/markdown"})
    collection.add_chunks(
        [{"uri": "made", "content": f"The whale sings song {n}."} for n in range(3)]
    )


@pytest.fixture
def docs(rag: Rag) -> Collection:
    return rag.get_collection("docs")


def ask(docs: Collection, question: str, **options: Any) -> tuple[Answer, list[str]]:
    llm = ScriptedLLM("So [1]. And [2]. And [3].")
    answer = docs.ask(question, llm=llm, strategy="single", **options)
    return answer, quoted(llm.prompts[0])


def test_neighbours_are_one_source_and_nothing_is_shown_twice(docs: Collection) -> None:
    question = "What does the fish eat in house 1, 2, 3 and 4?"
    hits = docs.search(question, limit=4)
    assert sum("fish" in hit.content for hit in hits) > 1
    answer, shown = ask(docs, question, limit=4)
    whole = "\n".join(shown)
    assert all(whole.count(f"The fish lives in house {n}") == 1 for n in "1234")
    assert len(shown) < len(hits)
    document = docs.get("zoo").content or ""
    for citation in answer.citations:
        if citation.uri == "zoo":
            assert citation.quote in document
        assert citation.chunk_id in [hit.chunk_id for hit in hits]


def test_a_window_shows_the_chunks_beside_a_hit(docs: Collection) -> None:
    question = "The horse lives in house 2"
    hit = docs.search(question, limit=1)[0]
    answer, (shown,) = ask(docs, question, limit=1, expand="window")
    assert hit.content in shown and len(shown) > len(hit.content) + 30
    assert answer.citations[0].quote in (docs.get("zoo").content or "")
    citation = answer.citations[0]
    assert hit.chunk_id in citation.chunk_ids and citation.chunk_id in citation.chunk_ids
    assert (citation.status, citation.heading) == ("exact", hit.heading)


def test_a_section_is_shown_whole_and_nothing_of_the_next(docs: Collection) -> None:
    answer, (shown,) = ask(docs, "The dog lives in house 3", limit=1, expand="section")
    assert all(f"The dog lives in house {n}" in shown for n in "1234")
    assert "horse" not in shown and "cat" not in shown
    assert "dog food number 4" in answer.citations[0].quote


def test_ready_made_chunks_stay_as_they_are(docs: Collection) -> None:
    answer, shown = ask(docs, "The whale sings song", limit=3, expand="window")
    contents = {f"The whale sings song {n}." for n in range(3)}
    assert {c.quote for c in answer.citations if c.uri == "made"} <= contents
    assert sum("whale" in text for text in shown) == 3


def test_every_strategy_that_shows_sources_expands_them(docs: Collection) -> None:
    llm = ScriptedLLM(lambda call: '{"summary": "Food.", "score": 9}' if call.schema else "So [1].")
    answer = docs.ask(
        "The dog lives in house 3", llm=llm, strategy="evidence", limit=1, expand="section"
    )
    assert "dog food number 4" in llm.prompts[0] and "number 4" not in llm.prompts[-1]
    assert "dog food number 4" in answer.citations[0].quote


def test_without_a_model_a_note_says_what_changes_nothing(docs: Collection) -> None:
    question = "The dog lives in house 3"
    got = docs.ask(question, strategy="extractive", expand="window")
    assert any(note.startswith("expand changes nothing") for note in got.notes)
    wide = docs.ask(question, strategy="extractive", limit=20)
    assert "without a language model the first 8 passages are looked at" in wide.notes
    assert not docs.ask(question, strategy="extractive").notes


def test_what_there_is_not_to_expand_to_is_told(docs: Collection) -> None:
    with pytest.raises(InvalidInput, match="expand is 'page'; use window or section"):
        docs.ask("Why?", expand="page")


def hit(number: int, content: str) -> Hit:
    return Hit(
        chunk_id=number, document_id=UUID(int=1), uri="a", title="", heading="", content=content,
        metadata={}, score=1 / number, vector_rank=None, vector_distance=None, keyword_rank=None,
        keyword_score=None,
    )  # fmt: skip


def passage(
    content: str, *chunk_ids: int, start: int | None = 0, stop: int | None = None
) -> Passage:
    return Passage(
        document_id=UUID(int=1), uri="a", title="", heading="", content=content,
        start_offset=start, stop_offset=len(content) if stop is None else stop,
        chunk_keys=chunk_ids, rank=1,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("passages", "texts"),
    [
        ([passage("one two three", 1, 2)], ["one two three"]),
        ([passage("one two three", 2)], ["one", "one two three"]),
        ([passage("one two three", 1, 2, start=None)], ["one", "two"]),
        ([passage("one\n\ntwo", 1, 2, stop=6)], ["one", "two"]),  # joined, not cut out
        ([passage("one but no other", 1, 2)], ["one but no other", "two"]),  # older than the chunk
        ([passage("one two " * 99, 1, 2)], ["one", "two"]),  # too long
        ([], ["one", "two"]),
    ],
)
def test_hits_of_one_passage_become_the_best_of_them(
    passages: list[Passage], texts: list[str]
) -> None:
    found = join_hits([hit(1, "one"), hit(2, "two")], passages, longest=100)
    assert [h.content for h in found] == texts
    assert found[0].chunk_id == 1


def test_no_statement_is_sent_where_nothing_can_be_joined(
    docs: Collection, embedder: HashEmbedder
) -> None:
    hits = list(docs.search("fish whale", limit=20))
    one_each = list({h.document_id: h for h in hits}.values())
    docs._opened.searcher.database = None  # type: ignore[assignment]
    assert docs._opened.searcher.expand(one_each, None, longest=100) == one_each
