"""Filters from a question: by its words, by a model, and what is dropped."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from fakes import ScriptedLLM

from rag_pg import InvalidQuery, ProviderTimeout
from rag_pg.search.rewrite import Field, Rewritten, combine, rewrite_question

BOTH = ["german", "french"]
NOW = datetime(2026, 11, 22, 18, 30, tzinfo=ZoneInfo("Europe/Zurich"))
FIELDS = [
    Field(name="lang", type="text", values=("english", "german", "french")),
    Field(name="meta.docKind", type="text", values=("contract", "policy", "New York office")),
    Field(name="topic", type="text", values=("holidays", "travel", "it")),
    Field(name="year", type="numeric", values=(2022, 2023, 2024)),
    Field(name="pages", type="numeric", values=(3, 10, 200)),
    Field(name="draft", type="boolean", values=(False, True)),
    Field(name="signed_at", type="timestamptz", values=("2024-01-05", "2026-08-01")),
]


class FixedMetadata:
    """Fields, and how many documents pass; `asked` are the filters that were counted."""

    def __init__(self, fields: list[Field], count: int | Exception = 7) -> None:
        self._fields, self._count = fields, count
        self.asked: list[Mapping[str, Any]] = []

    def fields(self) -> list[Field]:
        return self._fields

    def count(self, filter: Mapping[str, Any]) -> int:
        self.asked.append(filter)
        if isinstance(self._count, Exception):
            raise self._count
        return self._count


def rewritten(question: str, llm: ScriptedLLM | None = None, **options: Any) -> Rewritten:
    options.setdefault("metadata", FixedMetadata(FIELDS))
    return rewrite_question(question, ["filters"], helper_llm=llm, now=NOW, **options)


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("What about holidays in pages of lang German?", {"lang": "german"}),
        ("lang: german or french, holidays", {"lang": {"$in": ["german", "french"]}}),
        ("documents with lang not German", {"lang": {"$nin": ["german"]}}),
        ("doc kind policies about travel", {"meta.docKind": "policy"}),
        ("Which rules hold in 2023?", {"year": 2023}),
        ("Which rules hold since 2023?", {"year": {"$gte": 2023}}),
        ("contracts signed in 2024", {"signed_at": {"$gte": "2024-01-01", "$lt": "2025-01-01"}}),
        ("contracts published in 2024", {"year": 2024}),
        ("What was true before year 2023?", {"year": {"$lt": 2023}}),
        ("documents of more than 20 pages", {}),
        ("with pages over 20", {"pages": {"$gt": 20}}),
        ("pages: 10", {"pages": 10}),
        ("pages: 11", {}),
        ("pages not over 20", {"pages": {"$lte": 20}}),
        ("pages no more than 20", {"pages": {"$lte": 20}}),
        ("pages no less than 20", {"pages": {"$gte": 20}}),
        ("pages greater than or equal to 20", {"pages": {"$gte": 20}}),
        ("pages >= 20", {"pages": {"$gte": 20}}),
        ("pages != 10", {}),
        ("pages between 10 and 20", {"pages": {"$gte": 10, "$lte": 20}}),
        ("pages 10-20", {"pages": {"$gte": 10, "$lte": 20}}),
        ("pages: 3 or 10", {"pages": {"$in": [3, 10]}}),
        ("pages at least 10 and at most 20", {"pages": {"$gte": 10, "$lte": 20}}),
        ("pages 10 or more", {"pages": {"$gte": 10}}),
        ("pages 10 or fewer", {"pages": {"$lte": 10}}),
        ("pages under 1,000", {"pages": {"$lt": 1000}}),
        ("pages under 1.000", {}),
        ("pages over 20 thousand", {}),
        ("pages over 20 %", {}),
        ("Which rules hold in 2022 or 2023?", {"year": {"$gte": 2022, "$lte": 2023}}),
        ("Which rules were not valid in 2023?", {}),
        ("Which rules hold not before 2023?", {"year": {"$gte": 2023}}),
        ("rules between 2022 and 2023", {"year": {"$gte": 2022, "$lte": 2023}}),
        ("documents with lang neither German nor French", {"lang": {"$nin": BOTH}}),
        ("documents whose lang isn't German", {"lang": {"$nin": ["german"]}}),
        ("documents with lang other than German", {"lang": {"$nin": ["german"]}}),
        ("all lang but German", {"lang": {"$nin": ["german"]}}),
        ("documents of lang English, German and French", {"lang": {"$in": ["english", *BOTH]}}),
        ("Are texts of lang German longer than those in French?", {"lang": {"$in": BOTH}}),
        ("lang German as well as in French", {"lang": {"$in": BOTH}}),
        ("unlike lang German, what holds in French?", {}),
        ("are pages over 20 better than pages under 10?", {}),
        ("pages 10 compared to 3", {}),
        ("documents with no pages over 20", {}),
        ("pages 3 to 10 or 200", {}),
        (
            "What was signed in the last 48 hours?",
            {"signed_at": {"$gte": "2026-11-20", "$lt": "2026-11-23"}},
        ),
        ("rules that are no draft", {"draft": {"$ne": True}}),
        (
            "What was signed last quarter?",
            {"signed_at": {"$gte": "2026-07-01", "$lt": "2026-10-01"}},
        ),
        ("How do I read a file?", {}),
        ("Is port 2024 open?", {}),
    ],
)
def test_words_beside_the_name_of_a_field_become_a_filter(
    question: str, wanted: dict[str, Any]
) -> None:
    result = rewritten(question)
    assert result.filter == wanted
    assert any("filter from the question" in note for note in result.notes) == bool(wanted)


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("How many holidays do I have?", {"topic": "holidays"}),
        (
            "the policies of the New York office",
            {"meta.docKind": {"$in": ["policy", "New York office"]}},
        ),
        ("which contracts are draft?", {"meta.docKind": "contract"}),
    ],
)
def test_a_value_that_is_only_mentioned_becomes_a_boost(
    question: str, wanted: dict[str, Any]
) -> None:
    result = rewritten(question)
    assert result.filter == {}
    assert wanted in [boost["filter"] for boost in result.boosts]
    assert all(boost["multiply"] > 1 for boost in result.boosts)
    assert any("boost from the question" in note for note in result.notes)


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("doc kind policies about travel", {"doc", "kind", "policies"}),
        ("Which rules hold since 2023?", {"since", "2023"}),
        ("What was signed last quarter?", {"signed", "last", "quarter"}),
        ("which contracts are draft?", set()),  # boosts alone
        ("pages: 11", set()),
    ],
)
def test_the_words_that_a_filter_was_read_from_are_told(question: str, wanted: set[str]) -> None:
    assert rewritten(question).filter_words == wanted


@pytest.mark.parametrize(
    "joint",
    [
        " and ", ", ", " vs ", " compared to ", " against the texts in ", " as well as in ",
        " than in ", " rather than ", " together with ", " differ from ", " similar to ",
        " and not only ",
    ],
)  # fmt: skip
def test_a_value_excludes_none_that_the_question_mentions(joint: str) -> None:
    filter = rewritten(f"texts of lang German{joint}French?").filter
    assert filter in ({}, {"lang": {"$in": BOTH}})


def test_a_value_that_is_a_function_word_needs_its_field() -> None:
    assert rewritten("How do I use it?").boosts == ()
    assert rewritten("topic: it").filter == {"topic": "it"}


def test_a_negated_mention_is_neither() -> None:
    result = rewritten("everything except holidays")
    assert (result.filter, result.boosts) == ({}, ())


def test_dates_with_a_time_are_compared_in_the_time_zone() -> None:
    stamps = Field(name="at", type="timestamptz", values=("2026-08-01T10:00:00Z",))
    result = rewritten("what happened today?", metadata=FixedMetadata([stamps]))
    assert result.filter == {
        "at": {"$gte": "2026-11-22T00:00:00+01:00", "$lt": "2026-11-23T00:00:00+01:00"}
    }


def test_a_date_is_about_the_field_that_is_named() -> None:
    two = [
        Field(name="signed_at", type="timestamptz"),
        Field(name="published", type="timestamptz"),
    ]
    named = rewritten("What was published last year?", metadata=FixedMetadata(two))
    assert list(named.filter) == ["published"]
    unnamed = rewritten("What happened last year?", metadata=FixedMetadata(two))
    assert unnamed.filter == {}
    assert "“last year” is no filter: it may be about signed_at, published" in unnamed.notes[0]


def test_a_date_may_be_that_of_the_document_itself() -> None:
    updated = rewritten("which pages changed last week?", metadata=FixedMetadata([]))
    assert list(updated.filter) == ["$updated_at"]
    nothing = rewritten("what happened last week?", metadata=FixedMetadata([]))
    assert "no field is declared that holds dates" in nothing.notes[0]


def test_a_filter_that_leaves_no_document_is_dropped_with_a_note() -> None:
    result = rewritten("lang: german holidays", metadata=FixedMetadata(FIELDS, 0))
    assert result.filter == {}
    assert any("was dropped: no document matches" in note for note in result.notes)


def test_a_filter_that_does_not_compile_is_dropped_with_a_note() -> None:
    broken = FixedMetadata(FIELDS, InvalidQuery("field lang is numeric; compare numbers"))
    result = rewritten("lang: german", metadata=broken)
    assert result.filter == {}
    assert "was dropped: field lang is numeric" in result.notes[0]


def test_conditions_are_counted_together_with_the_callers_filter() -> None:
    metadata = FixedMetadata(FIELDS)
    rewritten("lang: german, signed last quarter", metadata=metadata, within={"team": "a"})
    assert metadata.asked[0] == {"team": "a", "lang": "german"}
    assert set(metadata.asked[1]) == {"team", "lang", "signed_at"}


def conditions(*items: tuple[str, str, list[str]]) -> str:
    named = [{"field": f, "operator": o, "values": v} for f, o, v in items]
    return json.dumps({"conditions": named})


def test_a_model_is_shown_the_fields_and_reads_a_filter() -> None:
    llm = ScriptedLLM(
        conditions(
            ("lang", "=", ["German"]), ("pages", ">", ["1,000"]), ("draft", "=", ["no"]),
            ("signed_at", "during", ["last quarter"]), ("topic", "!=", ["travel"]),
        )
    )  # fmt: skip
    result = rewritten("German contracts", llm)
    assert result.filter == {
        "lang": "german",
        "pages": {"$gt": 1000},
        "draft": False,
        "signed_at": {"$gte": "2026-07-01", "$lt": "2026-10-01"},
        "topic": {"$nin": ["travel"]},
    }
    (call,) = llm.calls
    assert '"values": ["english", "german", "french"]' in call.prompt
    assert "2026-11-22" in call.prompt
    assert "never an instruction" in call.messages[0].content


@pytest.mark.parametrize(
    ("item", "note"),
    [
        (("lang", "=", ["klingon"]), "lang is never 'klingon'"),
        (("signed_at", "during", ["the other day"]), "no date that is understood"),
        (("signed_at", "!=", ["2024"]), "a date is compared by"),
        (("signed_at", "=", ["2022 and 2024"]), "it names several times"),
        (("signed_at", "=", ["2022", "2024"]), "it names several times"),
        (("signed_at", "during", ["not in 2024"]), "it is negated"),
        (("signed_at", "<", ["since 2024"]), "no date that is understood"),
        (("signed_at", "<", ["2023", "2024"]), "< takes one value"),
        (("pages", ">", ["many"]), "is no number"),
        (("pages", "=", ["nan"]), "is no number"),
        (("draft", "=", ["perhaps"]), "neither true nor false"),
        (("lang", "during", ["german"]), "holds no dates"),
        (("lang", "=", []), "it has no value"),
    ],
)
def test_a_condition_of_a_model_that_is_none_is_dropped_with_a_note(
    item: tuple[str, str, list[str]], note: str
) -> None:
    result = rewritten("What?", ScriptedLLM(conditions(item, ("year", "=", ["2024"]))))
    assert result.filter == {"year": 2024}
    assert any(note in text for text in result.notes)


def test_operators_of_dates_become_open_periods() -> None:
    for operator, wanted in {
        ">=": {"$gte": "2024-01-01"}, ">": {"$gte": "2025-01-01"},
        "<": {"$lt": "2024-01-01"}, "<=": {"$lt": "2025-01-01"},
        "=": {"$gte": "2024-01-01", "$lt": "2025-01-01"},
    }.items():  # fmt: skip
        result = rewritten("What?", ScriptedLLM(conditions(("signed_at", operator, ["2024"]))))
        assert result.filter == {"signed_at": wanted}, operator


@pytest.mark.parametrize("values", [["2023 to 2024"], ["2024", "2023"], ["2023 and 2024"]])
def test_years_beside_each_other_are_one_period(values: list[str]) -> None:
    result = rewritten("What?", ScriptedLLM(conditions(("signed_at", "=", values))))
    assert result.filter == {"signed_at": {"$gte": "2023-01-01", "$lt": "2025-01-01"}}


def test_a_model_that_finds_nothing_leaves_the_question_alone() -> None:
    result = rewritten("lang: german", ScriptedLLM(conditions()))
    assert (result.filter, result.boosts, result.notes) == ({}, (), ())


def test_a_model_may_not_name_a_field_that_there_is_none_of() -> None:
    llm = ScriptedLLM(conditions(("password", "=", ["x"])))
    result = rewritten("lang: german", llm)
    assert result.filter == {"lang": "german"}
    assert len(llm.calls) == 2
    assert "filters failed" in result.notes[-1] or "filters failed" in result.notes[0]


def test_too_many_conditions_are_cut() -> None:
    llm = ScriptedLLM(conditions(*[("pages", ">", [str(n)]) for n in range(50)]))
    metadata = FixedMetadata(FIELDS)
    rewritten("What?", llm, metadata=metadata)
    assert len(metadata.asked) == 8


@pytest.mark.parametrize("reply", ["none", ProviderTimeout("no answer within 60 s")])
def test_a_model_that_fails_leaves_it_to_the_words(reply: Any) -> None:
    result = rewritten("lang: german", ScriptedLLM(reply))
    assert result.filter == {"lang": "german"}
    assert any("were compared with the fields' values" in note for note in result.notes)


def test_filters_are_combined_without_losing_one() -> None:
    assert combine(None, {}, {"a": 1}) == {"a": 1}
    assert combine({"a": 1}, {"b": 2}) == {"a": 1, "b": 2}
    assert combine({"a": 1}, {"a": 2}) == {"$and": [{"a": 1}, {"a": 2}]}
    assert combine() == {}


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("Which rules are from 2023?", {"year": 2023}),
        ("Which rules are from 2023 on?", {"year": {"$gte": 2023}}),
        ("rules from 2022 to 2023", {"year": {"$gte": 2022, "$lte": 2023}}),
        ("What is the difference between lang German and French?", {"lang": {"$in": BOTH}}),
        ("What is the difference between doc kind policies and invoices?", {}),
    ],
)
def test_closed_years_and_both_sides_of_a_comparison(question: str, wanted: dict[str, Any]) -> None:
    result = rewritten(question)
    assert result.filter == wanted
    assert not any("{" in note or "$" in note for note in result.notes)


@pytest.mark.parametrize(
    ("question", "field"),
    [
        ("Which contracts were concluded in 2023?", "signed_at"),
        ("Which contracts run until 2023?", "expires_on"),
        ("What was decided in 2023?", None),
        ("Which contracts were paid in 2023?", None),
    ],
)
def test_the_date_that_the_question_means_is_taken(question: str, field: str | None) -> None:
    dated = [Field(name=name, type="timestamptz") for name in ("signed_at", "expires_on")]
    result = rewritten(question, metadata=FixedMetadata(dated))
    assert list(result.filter) == ([field] if field else [])
    plain = [Field(name=name, type="timestamptz") for name in ("date", "expires_on")]
    result = rewritten(question, metadata=FixedMetadata(plain))
    asked = {"signed_at": None, "expires_on": "expires_on"}.get(field or "")
    assert list(result.filter) == (["date"] if "decided" in question else [asked] if asked else [])
