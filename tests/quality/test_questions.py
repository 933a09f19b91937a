"""The questions on five corpora are what they say: counted, balanced, and their facts are there."""

from __future__ import annotations

import html
import re
from collections import Counter
from pathlib import Path

import pytest
from everyday import grade
from halves import (
    CORPORA,
    FOLDER,
    HalvedQuestion,
    corpus_files,
    facts_pattern,
    read_halved,
    spelling_pattern,
)

from rag_pg.load import load_documents
from rag_pg.types import Answer, Citation, Loaded


def raw_text(path: Path) -> str:
    """The text of a file; of HTML without its scripts and tags."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".html":
        text = re.sub(r"<script.*?</script>", "", text, flags=re.S)
        text = re.sub(r"</?(?:td|th|tr|li|dt|dd|p|br)\b[^>]*>", " ", text)
        text = html.unescape(re.sub(r"<[^>]+>", "", text))
    return text


def stored_text(path: Path) -> str:
    """The text of the documents of a file, as they are stored."""
    documents = list(load_documents(path, path.name))
    assert documents
    assert all(isinstance(document, Loaded) for document in documents), documents
    return "\n".join(d.content for d in documents if isinstance(d, Loaded))


def uneven(counts: Counter[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The keys (without their last part, the half) of which one half has two more."""
    keys = {key[:-1] for key in counts}
    return sorted(
        key for key in keys if abs(counts[(*key, "first")] - counts[(*key, "second")]) > 1
    )


def lacking(question: HalvedQuestion, texts: list[str]) -> list[str]:
    """What a question says to stand on its pages and does not."""
    wanted = question.terms or [spellings[0] for spellings in question.facts]
    return [
        word
        for word in wanted
        if not any(re.search(spelling_pattern(word), text, re.I) for text in texts)
    ]


def test_there_are_forty_on_each_corpus_and_eight_have_no_answer() -> None:
    asked = read_halved()
    assert len({q.id for q in asked}) == len({q.question.casefold() for q in asked}) == 200
    for corpus in CORPORA:
        kinds = Counter(q.unanswerable for q in asked if q.collection == corpus)
        assert kinds == {None: 32, "near": 4, "far": 4}
    assert all(q.id.startswith(f"{q.collection}-") for q in asked)
    assert {q.language for q in asked} == {"en", "de"}


def test_the_halves_are_alike() -> None:
    first, second = read_halved("first"), read_halved("second")
    assert len(first) == len(second) == 100
    for corpus in CORPORA:
        one, other = (
            Counter(q.unanswerable for q in half if q.collection == corpus)
            for half in (first, second)
        )
        assert one == other
    both = [*first, *second]
    assert uneven(Counter((q.kind, q.half) for q in both)) == []
    assert uneven(Counter((q.collection, q.kind, q.half) for q in both if q.pages)) == []
    assert uneven(Counter((q.language, q.half) for q in both)) == []


def test_each_corpus_is_of_a_size_that_people_have() -> None:
    for corpus in CORPORA:
        files = corpus_files(corpus)
        assert 15 <= len(files) <= 60
        assert 30_000 <= sum(path.stat().st_size for path in files) <= 300_000


def test_facts_stand_on_their_pages() -> None:
    wrong = {}
    for question in read_halved():
        texts = [raw_text(FOLDER / page) for page in question.pages]
        if missing := lacking(question, texts):
            wrong[question.id] = missing
        if question.terms:
            assert str(len(question.terms)) in question.facts[0]
    assert wrong == {}


@pytest.mark.parametrize("corpus", CORPORA)
@pytest.mark.minutes
def test_facts_are_in_what_is_stored_of_their_pages(corpus: str) -> None:
    read = {path: stored_text(path) for path in corpus_files(corpus)}
    wrong = {}
    for question in read_halved(corpora=[corpus]):
        if missing := lacking(question, [read[FOLDER / page] for page in question.pages]):
            wrong[question.id] = missing
    assert wrong == {}


def test_a_near_miss_asks_for_a_word_that_its_corpus_lacks() -> None:
    texts = {c: "\n".join(raw_text(path) for path in corpus_files(c)) for c in CORPORA}
    for question in read_halved():
        assert (question.unanswerable == "near") == (question.missing is not None)
        if question.missing:
            pattern = rf"(?<!\w){re.escape(question.missing)}(?!\w)"
            assert re.search(pattern, question.question, re.I), question.id
            assert not re.search(pattern, texts[question.collection], re.I), question.id


def test_a_fact_is_found_as_it_may_be_written_and_nowhere_else() -> None:
    facts = [["30 days", "thirty days"], ["--print-config"]]
    assert re.search(facts_pattern(facts), "Use `--print-config`.\nYou have **30**\ndays.")
    assert re.search(facts_pattern(facts), "Thirty days, and \\-\\-print\\-config")
    assert not re.search(facts_pattern(facts), "130 days, --print-config")
    assert not re.search(facts_pattern(facts), "30 days")
    assert not re.search(spelling_pattern("4.2"), "14.2 or 4.25")
    assert not re.search(spelling_pattern("42"), "3.42 or 42,5")


def test_a_halved_question_is_graded_as_any_other() -> None:
    for question in read_halved():
        uri = f"tests/quality/questions/{question.pages[0]}" if question.pages else "elsewhere"
        cited = [Citation(number=1, chunk_id=1, uri=uri, title="", heading="", quote="")]
        shown = " ".join(spellings[0] for spellings in question.facts)
        right = grade(question, Answer(text=f"{shown} [1]", found=True, citations=cited))
        assert right.right == right.first == right.in_first == bool(question.pages)
        assert not grade(question, Answer(text="[1]", found=True, citations=cited)).right
