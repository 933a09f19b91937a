"""What a search tells of itself beside its hits."""

from __future__ import annotations

import pytest
from fakes import HashEmbedder

from rag_pg import Rag, RateLimited
from rag_pg.text import estimate_tokens


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("options", "method"),
    [({}, "hybrid"), ({"vector_weight": 0.0}, "keyword"), ({"keyword_weight": 0.0}, "vector")],
)
def test_hits_tell_their_method_their_time_and_their_tokens(
    rag: Rag, options: dict[str, float], method: str
) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add({"uri": "fish", "content": "A red fish swims in the sea."})
    hits = docs.search("red fish", vector_weight=options.get("vector_weight"),
                       keyword_weight=options.get("keyword_weight"))  # fmt: skip
    assert hits.method == method and hits.seconds > 0
    assert hits.total_tokens == sum(estimate_tokens([hit.content for hit in hits])) > 0


def test_hits_without_the_embedder_are_of_keywords(rag: Rag, embedder: HashEmbedder) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add({"uri": "fish", "content": "A red fish swims in the sea."})

    def fail(texts: object) -> None:
        raise RateLimited("slow down", 3)

    embedder.fail = fail
    hits = docs.search("fish in the sea")
    assert hits.method == "keyword" and hits.skipped == {"vector"}


def test_notes_tell_what_mistyped_words_were_searched_for_as(rag: Rag) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add({"uri": "fish", "content": "A red fish swims in the sea."})
    told = 'no chunk has "fsih"; "fish" was searched for instead'
    hits = docs.search("fsih", vector_weight=0)
    assert ([hit.uri for hit in hits], hits.notes) == (["fish"], (told,))
    assert docs.search("fsih", vector_weight=0, typo_tolerance=False) == []
    assert docs.search("fsih").notes == (told,)
    both: list[str] = []
    variants = docs.rag.database.search_variants("docs", ["fsih", "red"], None, notes=both)
    assert ([hit.uri for hit in variants], both) == (["fish"], [told])
