"""Which hits are a later edition of a source that is cited."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from passages import hit

from rag_pg.answer.reading.freshness import find_freshness, source_date
from rag_pg.types import CheckedQuote, Citation, Hit

RULES = "The rent is due on the first day of a month. Pets are forbidden."
LATER = "The rent is due on the first day of a month. Pets are allowed if they are small."
TODAY = date(2026, 11, 23)


def source(number: int, content: str, title: str, day: str, **metadata: Any) -> Hit:
    return replace(hit(content, number=number, title=title), metadata={"date": day, **metadata})


def reasons(cited: Hit, *retrieved: Hit) -> list[str]:
    citation = Citation(
        number=1, chunk_id=cited.chunk_id, uri=cited.uri, title=cited.title, heading="", quote="x"
    )
    row = CheckedQuote(
        status="exact", similarity=1.0, chunk_key=cited.chunk_id, chunk_start=0, chunk_stop=1,
        document_start=0, document_stop=1, document_version=1, page_kind=None, page=None,
        updated_on=TODAY, metadata=cited.metadata,
    )  # fmt: skip
    found = find_freshness([(citation, row)], TODAY, [cited, *retrieved])
    assert found is not None and (found.status == "superseded") == bool(found.reasons)
    return [*found.reasons]


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Last updated: 2024-05-01", date(2024, 5, 1)),
        ("- date: 2019-03-01; event: the office opened\n- date: 2026-06-01; event: a fee", None),
        ("- Date: 2024-05-01\n- Room: 4; 5", date(2024, 5, 1)),
        ("Rules\n\nIssued 2020-02-10", date(2020, 2, 10)),
        ("**Reviewed:** 3 May 2021", date(2021, 5, 3)),
        ("The permit was issued on 3 May 2021.", None),
    ],
)
def test_the_date_of_a_row_or_a_thing_is_not_that_of_its_text(text: str, day: date | None) -> None:
    assert source_date({}, "board", text) == day


CITED = source(1, RULES, "House Rules, version 2", "2021-03-01")


@pytest.mark.parametrize(
    "title",
    ["House rules", "house  RULES (v2)", "House rules, 3rd edition", "House rules – v. 2.1"],
)
def test_the_same_title_of_a_later_date_is_a_later_edition(title: str) -> None:
    assert reasons(CITED, source(2, LATER, title, "2024-05-01")) == [
        "source [1] of 2021-03-01 has a later edition of 2024-05-01: doc2.md"
    ]


def test_the_latest_of_several_editions_is_told() -> None:
    editions = [source(n, LATER, "House rules", f"202{n}-05-01") for n in (3, 5, 4)]
    (reason,) = reasons(CITED, *editions)
    assert reason.endswith("2025-05-01: doc5.md")


def test_an_edition_in_several_hits_is_compared_as_a_whole() -> None:
    first, second = (
        source(n, text, "House rules", "2024-05-01")
        for n, text in enumerate(("The rent is due on the first day.", "Pets of a month."), 2)
    )
    parts = [replace(part, uri="new.md") for part in (first, second)]
    assert reasons(CITED, *parts) and not reasons(CITED, parts[1])


@pytest.mark.parametrize(
    "other",
    [
        source(2, LATER, "House rules of the dormitory", "2024-05-01"),
        source(2, LATER, "House rules, 1st edition", "2024-05-01"),
        source(2, LATER, "House rules", "2020-05-01"),
        source(2, LATER, "House rules", "2021-03-01"),
        source(2, LATER, "House rules", "2027-01-01"),
        source(2, LATER, "House rules", ""),
        source(2, LATER, "House rules", "2024-05-01", status="withdrawn"),
        source(2, "The vet visits on Mondays.", "House rules", "2024-05-01"),
        replace(source(2, LATER, "House rules", "2024-05-01"), uri=CITED.uri),
    ],
    ids=["title", "version falls", "older", "same day", "not yet", "no date", "withdrawn", "words",
         "same document"],
)  # fmt: skip
def test_no_other_document_is_a_later_edition(other: Hit) -> None:
    assert reasons(CITED, other) == []


def test_a_source_without_title_or_date_has_no_edition() -> None:
    later = source(2, LATER, "", "2024-05-01")
    assert reasons(replace(CITED, title=""), later) == []
    assert reasons(replace(CITED, title="Version 2"), replace(later, title="Version 3")) == []
    assert reasons(replace(CITED, metadata={}), replace(later, title="House rules")) == []


def test_the_years_of_reports_are_not_editions() -> None:
    cited = replace(CITED, title="Annual report 2021")
    assert reasons(cited, source(2, LATER, "Annual report 2024", "2024-05-01")) == []


def test_a_title_that_most_documents_share_names_no_document() -> None:
    later = source(2, LATER, "House rules", "2024-05-01")
    others = [
        source(n, f"Of the {word} nothing is said here.", "House rules", "2020-01-01")
        for n, word in enumerate(("cellar", "garden"), 3)
    ]
    assert reasons(CITED, later, others[0])
    assert reasons(CITED, later, *others) == []
