"""Citations of answers: both spans, status, page, what is unsupported, how current it is."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from fakes import ScriptedLLM

from rag_pg import Rag
from rag_pg.client.collection import Collection
from rag_pg.errors import InvalidInput
from rag_pg.types import Answer, Completion

MANUAL = (
    "# Page 1\n\nThe pump has two valves. Both are made of steel.\n\n"
    "# Page 2\n\nThe pump runs at 50 bar. It stops above 80 degrees.\n\n"
    "# Page 3\n\nService is due every 400 hours."
)
OTHER = "The heater is not part of the pump. Its fan turns at 900 rounds."


def begin(rag: Rag) -> None:
    collection = rag.collection("docs", model="hash:32")
    collection.add(
        {"uri": "manual.pdf", "content": MANUAL, "media_type": "text/markdown"},
        {"uri": "heater.txt", "content": OTHER},
    )


@pytest.fixture
def docs(rag: Rag) -> Collection:
    return rag.get_collection("docs")


def ask(docs: Collection, reply: str, **options: Any) -> Answer:
    """The reply's {manual} and {heater} become the numbers of these sources."""
    hits = docs.search("pump heater", limit=8)
    numbers = {hit.uri.partition(".")[0]: f"[{n}]" for n, hit in enumerate(hits, 1)}
    llm = ScriptedLLM(reply.format(**numbers))
    return docs.ask("pump heater", llm=llm, strategy="single", **options)


def test_a_citation_leads_from_the_statement_to_the_page(docs: Collection) -> None:
    answer = ask(docs, "It is steel {manual}. The pump runs at 50 bar {manual}. A fan {heater}!")
    by_quote = {citation.quote: citation for citation in answer.citations}
    citation = by_quote["The pump runs at 50 bar."]
    assert answer.text[citation.start : citation.stop] == "The pump runs at 50 bar"
    assert MANUAL[citation.document_start : citation.document_stop] == citation.quote
    assert (citation.status, citation.similarity, citation.is_proven) == ("exact", 1, True)
    assert (citation.page_kind, citation.page, citation.version) == ("page", 2, 1)
    assert len(answer.sources) == 2
    assert answer.unsupported == () or list(answer.unsupported) == []
    assert "page" in answer.markdown()


def test_a_false_quotation_is_told_and_a_true_one_is_proven(docs: Collection) -> None:
    answer = ask(
        docs,
        'It "stops above 80 degrees" {manual}. It "stops above 90 degrees" {manual}. '
        'The "fan turns at 900 rounds" {manual}.',
    )
    assert [c.status for c in answer.citations] == ["exact", "fabricated", "misattributed"]
    assert len(answer.unsupported) == 2
    assert any("2 of 3 statements are marked" in note for note in answer.notes)


WRONG = "The pump runs at 50 bar {manual}. It stops above 95 degrees {manual}."


def test_what_is_unsupported_is_kept_marked_or_dropped(docs: Collection) -> None:
    kept, marked, dropped = (
        ask(docs, WRONG, unsupported=action) for action in ("keep", "mark", "drop")
    )
    for answer in (kept, marked, dropped):
        (told,) = answer.unsupported
        assert told.startswith("It stops above 95 degrees")
    assert "95" in kept.text and "[unsupported]" not in kept.text
    assert marked.text.endswith("[unsupported]")
    assert "95" not in dropped.text and dropped.text.startswith("The pump runs at 50 bar [")
    assert (dropped.sufficient, [c.start for c in dropped.citations]) == (False, [0])


def test_an_answer_of_which_nothing_is_left_is_not_found(docs: Collection) -> None:
    answer = ask(docs, "It stops above 95 degrees {manual}.", unsupported="drop")
    assert (answer.found, list(answer.citations), len(answer.unsupported)) == (False, [], 1)


def test_an_unknown_way_is_refused(docs: Collection) -> None:
    with pytest.raises(InvalidInput, match="use drop, mark or keep"):
        docs.ask("pump", unsupported="hide")


def test_the_documents_own_words_have_a_span_and_a_status(docs: Collection) -> None:
    answer = docs.ask("At how many bar does the pump run?", strategy="extractive")
    assert answer.found and list(answer.unsupported) == []
    for citation in answer.citations:
        assert citation.status == "exact"
        assert citation.start is not None and citation.stop is not None


def test_outdated_and_conflicting_sources_are_told(rag: Rag) -> None:
    docs = rag.collection("own", model="hash:32")
    docs.add(
        {"uri": "old.txt", "content": "The notice period of a contract is 14 days.",
         "metadata": {"effective_date": "2021-03-01"}},
        {"uri": "new.txt", "content": "The notice period of a contract is 30 days.",
         "metadata": {"effective_date": "2024-05-01"}},
    )  # fmt: skip
    reply = "The notice period is 30 days [1][2]. The notice period is 14 days [1][2]."
    answer = docs.ask("notice period?", llm=ScriptedLLM(reply), strategy="single")
    assert answer.freshness is not None and answer.freshness.status == "conflicting"
    (reason,) = answer.freshness.reasons
    assert "of 2024-05-01 states 30" in reason and "of 2021-03-01 states 14" in reason
    assert reason in answer.notes and str(answer.freshness.as_of) == "2024-05-01"
    docs.delete("new.txt")
    docs.add({"uri": "old.txt", "content": "The notice period of a contract is 14 days.",
              "metadata": {"valid_until": "2024-04-30"}})  # fmt: skip
    answer = docs.ask("notice period?", llm=ScriptedLLM("14 days notice [1]."), strategy="single")
    assert answer.freshness is not None and answer.freshness.status == "superseded"
    assert "held until 2024-04-30" in answer.freshness.reasons[0]


def test_a_source_is_dated_by_its_whole_passage_wherever_the_date_is_told(rag: Rag) -> None:
    docs = rag.collection("own", model="hash:32")
    docs.add(
        {"uri": "rules-2023.md", "title": "Rules",
         "content": "Stand: 1. Februar 2023\n\nThe allowance is 24 euros."},
        {"uri": "rules-2025.md", "title": "Rules",
         "content": "As of March 1, 2025\n\nThe allowance is 30 euros."},
    )  # fmt: skip
    answer = docs.ask("How many euros is the allowance?", strategy="extractive")
    assert "Older, of 2023-02-01" in answer.text
    assert [str(c.as_of) for c in answer.citations] == ["2025-03-01", "2023-02-01"]
    (note,) = answer.notes
    assert "of 2025-03-01 states 30" in note and "of 2023-02-01 states 24" in note


def test_a_later_edition_under_another_uri_is_told(rag: Rag) -> None:
    docs = rag.collection("own", model="hash:32")
    rules = (
        "{} The rent is due on the first working day of a month. Bins are emptied on Fridays, "
        "the hall is swept on Saturdays, and who leaves for a week tells the caretaker."
    )
    docs.add(
        {"uri": "old.txt", "title": "House rules, version 2", "metadata": {"date": "2021-03-01"},
         "content": rules.format("Pets are forbidden in every flat.")},
        {"uri": "new.txt", "title": "House Rules (v3)", "metadata": {"date": "2024-05-01"},
         "content": rules.format("Cats and other small animals may be kept. Smoke outside only.")},
    )  # fmt: skip
    numbers = {hit.uri: n for n, hit in enumerate(docs.search("pets", limit=8), 1)}
    reply = f"Pets are forbidden in every flat [{numbers['old.txt']}]."
    answer = docs.ask("pets", llm=ScriptedLLM(reply), strategy="single")
    assert answer.freshness is not None and answer.freshness.status == "superseded"
    (reason,) = answer.freshness.reasons
    assert "of 2021-03-01 has a later edition of 2024-05-01: new.txt" in reason
    assert reason in answer.notes


def test_a_text_that_is_replaced_while_the_model_writes_is_superseded(rag: Rag) -> None:
    docs = rag.collection("own", model="hash:32")
    docs.alter(keep_versions=timedelta(days=30))
    docs.add({"uri": "a.txt", "content": "The notice period of a contract is 14 days."})

    class Slow(ScriptedLLM):
        def complete(self, *arguments: Any, **options: Any) -> Completion:
            docs.add({"uri": "a.txt", "content": "The notice period of a contract is 30 days."})
            return super().complete(*arguments, **options)

    answer = docs.ask("notice period?", llm=Slow("It is 14 days [1]."), strategy="single")
    assert [citation.status for citation in answer.citations] == ["superseded"]
    assert answer.freshness is not None and answer.freshness.status == "superseded"
    assert "was replaced by another text" in answer.freshness.reasons[0]


def test_what_was_shown_decides_where_the_source_is_replaced_and_not_kept(rag: Rag) -> None:
    docs = rag.collection("own", model="hash:32")
    docs.add({"uri": "a.txt", "content": "The notice period of a contract is 14 days."})

    class Slow(ScriptedLLM):
        def complete(self, *arguments: Any, **options: Any) -> Completion:
            docs.add({"uri": "a.txt", "content": "There is no notice of a contract any more."})
            return super().complete(*arguments, **options)

    reply = (
        'It is 14 days [1]. "The NOTICE period of a contract" [1] is told. '
        'It is said that "nobody keeps to any contract" [1].'
    )
    answer = docs.ask("notice period?", llm=Slow(reply), strategy="single")
    assert [c.status for c in answer.citations] == ["superseded", "superseded", "fabricated"]
    assert answer.freshness is not None and answer.freshness.status == "superseded"


def test_a_source_that_is_cut_anew_while_the_model_writes_is_found_in_its_text(rag: Rag) -> None:
    docs = rag.collection("own", model="hash:32")
    words = " ".join(f"word{number}" for number in range(80))
    docs.add({"uri": "words.txt", "content": words})
    quote = words[words.index("word20") : words.index("word60")].strip()

    class Slow(ScriptedLLM):
        def complete(self, *arguments: Any, **options: Any) -> Completion:
            docs.rechunk({"max_tokens": 32})
            return super().complete(*arguments, **options)

    answer = docs.ask("word1", llm=Slow(f'It has "{quote}" [1].'), strategy="single")
    (citation,) = answer.citations
    assert (citation.status, citation.version, citation.chunk_start) == ("exact", 1, None)
    assert words[citation.document_start : citation.document_stop] == quote


def test_a_quote_of_a_version_that_is_not_kept_is_unknown(rag: Rag) -> None:
    docs = rag.collection("own", model="hash:32")
    docs.alter(keep_versions=timedelta(days=1))
    first, second, third = (
        f"The lift {fact}. Nothing else is told of it." for fact in
        ("stops below zero degrees", "is out of order", "was taken out in autumn")
    )  # fmt: skip
    for text in (first, second, third):
        docs.add({"uri": "a.txt", "content": text})
    (hit,) = docs.search("lift")
    with rag.database.connection() as connection:
        connection.execute("DELETE FROM rag.document_versions WHERE version = 1")
        for quote, version, status in (
            (first, 1, "unknown"), (first, 2, "fabricated"), (first, 3, "fabricated"),
            (first, 4, "unknown"), (second, 2, "superseded"), (second, None, "superseded"),
            (second, 1, "unknown"), (third, 1, "exact"),
        ):  # fmt: skip
            row = connection.execute(
                "SELECT * FROM rag.check_citation('own', %s, %s, %s)",
                [hit.chunk_id, quote.partition(".")[0], version],
            ).fetchone() or ("",)
            assert row[0] == status, (quote, version)
            assert status != "unknown" or row[1:] == (None, None, None, None)


def test_current_sources_are_current(docs: Collection) -> None:
    answer = ask(docs, "The pump runs at 50 bar {manual}. The heater is not part of it {heater}.")
    assert answer.freshness is not None
    assert (answer.freshness.status, list(answer.freshness.reasons)) == ("current", [])
