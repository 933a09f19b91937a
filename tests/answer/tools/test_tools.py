"""What single tools give: dates, comparisons, tables, figures, functions as tools."""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pg.answer.passage_tools import compare_texts
from rag_pg.answer.reading.figures import unfounded_figures
from rag_pg.answer.tools import (
    AgentTool,
    date_facts,
    dates_tool,
    function_tool,
    render,
)
from rag_pg.errors import InvalidInput
from rag_pg.text import estimate_tokens
from rag_pg.tools import check_tool, make_tool, read_arguments

TODAY = date(2026, 11, 22)  # a Sunday


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({}, {"date": "2026-11-22", "weekday": "Sunday"}),
        ({"day": "2024-01-31", "add": "1 month"}, {"date": "2024-02-29"}),
        ({"day": "2024-02-29", "add": "-1 year"}, {"date": "2023-02-28"}),
        ({"add": "1 quarter, 2 weeks and -1 day"}, {"date": "2027-03-07"}),
        ({"until": "2026-12-24"}, {"days_until": 32, "whole_months_until": 1}),
        ({"until": "2026-10-23"}, {"days_until": -30, "whole_months_until": 0}),
        ({"day": "2026-01-31", "until": "2026-02-28"}, {"whole_months_until": 1}),
        ({"period": "week"}, {"first_day": "2026-11-16", "last_day": "2026-11-22"}),
        ({"period": "quarter"}, {"first_day": "2026-10-01", "last_day": "2026-12-31"}),
        ({"day": "2024-02-10", "period": "month"}, {"last_day": "2024-02-29"}),
        ({"period": "year", "add": "-1 year"}, {"first_day": "2025-01-01"}),
    ],
)
def test_dates(asked: dict[str, str], told: dict[str, Any]) -> None:
    read_arguments(dates_tool(TODAY), asked)
    found = date_facts(TODAY, **asked)
    assert {key: found[key] for key in told} == told


@pytest.mark.parametrize(
    "asked",
    [{"day": "tomorrow"}, {"add": "3"}, {"add": "2 fortnights"}, {"add": "9000 years"},
     {"add": "999999 months"}, {"until": ""} | {"day": "2026-13-01"}, {"period": "decade"}],
)  # fmt: skip
def test_what_is_no_date_is_refused(asked: dict[str, str]) -> None:
    with pytest.raises(InvalidInput):
        date_facts(TODAY, **asked)


@given(st.dates(date(1900, 1, 1), date(2100, 1, 1)), st.integers(-2000, 2000))
def test_days_are_added_as_the_calendar_has_them(day: date, days: int) -> None:
    other = (day + timedelta(days)).isoformat()
    found = date_facts(TODAY, day=day.isoformat(), add=f"{days} days", until=day.isoformat())
    assert (found["date"], found["days_until"]) == (other, -days)


def test_two_texts_are_compared_by_their_sentences() -> None:
    first = "Backups are kept for 30 days. They are encrypted. Ask Ann."
    second = "Backups are kept for 90 days. They are encrypted. Ask Ann."
    assert compare_texts(first, second).splitlines() == [
        "similarity: 0.67",
        "only in the first: Backups are kept for 30 days.",
        "only in the second: Backups are kept for 90 days.",
    ]
    assert compare_texts(first, first) == "the two texts are the same"
    many = compare_texts("A b. " * 3000, "C d. " * 3000)
    assert many.endswith("more differences") and len(many.splitlines()) == 61


cells = st.one_of(st.text(), st.integers(), st.none(), st.lists(st.integers(), max_size=3))
values = st.one_of(
    cells,
    st.dictionaries(st.text(), cells, max_size=30),
    st.lists(st.dictionaries(st.sampled_from("abcd"), cells), max_size=60),
)


@given(values, st.integers(50, 400))
def test_a_rendered_value_is_never_above_its_tokens(value: Any, max_tokens: int) -> None:
    rendered = render(value, max_tokens=max_tokens)
    assert estimate_tokens([rendered.text])[0] <= max_tokens
    assert rendered.left_out == 0 or "… " in rendered.text


def test_rows_are_a_table() -> None:
    rows: list[dict[str, Any]] = [
        {"name": "a\tb\nc", "n": 1},
        {"name": None, "n": 2.5, "tags": ["x"]},
    ]
    assert render(rows).text == 'name\tn\ttags\na b c\t1\tnull\nnull\t2.5\t["x"]'
    assert render([]).text == "[]" and render({"n": 3}).text == "n\n3"


@pytest.mark.parametrize(
    ("text", "known", "unfounded"),
    [
        ("There are 1,234 [7].", ["1234"], []),
        ("1. It is 3.5 on 2024-02-29.", ["3.46 on 2024-02-29"], []),
        ("About 42, exactly 41.67.", ["41.666667"], []),
        ("Seven and 8", ["9"], ["8"]),
        ("7", ["17", "70", "7.6"], ["7"]),
    ],
)
def test_figures_without_a_source(text: str, known: list[str], unfounded: list[str]) -> None:
    assert unfounded_figures(text, known) == unfounded


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int
    y: float = 0.5


def book(
    name: str,
    day: date,
    colours: list[Colour],
    at: Point | None = None,
    mode: Literal["fast", "slow"] = "fast",
) -> dict[str, Any]:
    """Book a boat.

    name: of the boat.
    """
    return {"name": name, "day": day, "colours": colours, "at": at, "mode": mode}


def test_a_function_is_a_tool_by_its_signature() -> None:
    tool = function_tool(book)
    assert (tool.name, tool.description) == ("book", "Book a boat.\n\nname: of the boat.")
    properties = tool.parameters["properties"]
    assert tool.parameters["required"] == ["name", "day", "colours"]
    assert properties["day"] == {"format": "date", "type": "string"}
    assert properties["mode"] == {"default": "fast", "enum": ["fast", "slow"], "type": "string"}
    given = {"name": "Ada", "day": "2026-01-02", "colours": ["red"], "at": {"x": 1}}
    read_arguments(tool, given)
    assert tool.run(**given) == {**given, "at": {"x": 1, "y": 0.5}, "mode": "fast"}
    for wrong in ({**given, "day": 3}, {**given, "at": {"z": 1}}, {**given, "mode": "odd"}, {}):
        with pytest.raises(InvalidInput):
            read_arguments(tool, wrong)
    with pytest.raises(ValueError, match="day"):
        tool.run(**{**given, "day": "no date"})


async def slow(seconds: float) -> str:
    """Wait."""
    await asyncio.sleep(seconds)
    return "done"


def test_an_async_function_is_cancelled_after_its_time() -> None:
    tool = function_tool(slow, timeout=0.02)
    assert tool.run(seconds=0) == "done"
    with pytest.raises(TimeoutError):
        tool.run(seconds=60)


class Shop:
    def stock(self, article: str) -> int:
        """How many there are."""
        return len(article)


def test_a_method_is_a_tool() -> None:
    tool = function_tool(Shop().stock, name="in_stock", description="Pieces.")
    assert (tool.name, tool.description, tool.run(article="abc")) == ("in_stock", "Pieces.", 3)


def untyped(name) -> str:  # type: ignore[no-untyped-def]
    return str(name)


def spread(*names: str) -> None: ...


def opaque(thing: Callable[[], int]) -> None: ...


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (untyped, "parameter name of untyped has no type"),
        (spread, "parameter names of spread has no name"),
        (opaque, "the parameters of opaque are no JSON"),
        (lambda: 1, "'<lambda>' is no name for a tool"),
    ],
)
def test_a_function_that_can_be_no_tool_says_why(function: Any, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        function_tool(function)


@pytest.mark.parametrize(
    "changed",
    [{"name": "a b"}, {"name": "x" * 65}, {"timeout": 0}, {"timeout": 601},
     {"description": "x" * 2001}, {"parameters": {"type": "array"}},
     {"parameters": {"type": "nonsense"}},
     {"parameters": {"type": "object", "enum": ["x" * 20001]}}],
)  # fmt: skip
def test_a_tool_that_cannot_be_is_refused(changed: dict[str, Any]) -> None:
    good: dict[str, Any] = {
        "name": "a", "description": "", "parameters": {"type": "object"}, "run": print,
    }  # fmt: skip
    check_tool(AgentTool(**good))
    with pytest.raises(InvalidInput):
        check_tool(AgentTool(**{**good, **changed}))


def test_arguments_are_read_as_models_write_them() -> None:
    tool = make_tool(
        "a", "", print,
        n={"type": "integer", "default": 1}, filter={"type": "object", "default": {}},
        text={"type": "string", "default": None},
    )  # fmt: skip
    wrote = {"n": "5", "filter": '{"year": {"$gte": 2024}}', "text": "5"}
    read = {"n": 5, "filter": {"year": {"$gte": 2024}}, "text": "5"}
    assert read_arguments(tool, wrote) == read
    assert read_arguments(tool, {"n": None, "filter": None, "text": None}) == {}
    for wrong in ("[" * 100_000, '{"a":' * 100_000, "1" * 100_000, '"text"', "NaN", "[]", ""):
        with pytest.raises(InvalidInput):
            read_arguments(tool, {"filter": wrong})
    with pytest.raises(InvalidInput, match="^a has no argument 'm'; it has n, filter, text$"):
        read_arguments(tool, {"m": 1})


def test_a_schema_leads_nowhere_outside_itself() -> None:
    parameters = {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/x.json"}}}
    tool = check_tool(AgentTool(name="a", description="", parameters=parameters, run=print))
    with pytest.raises(InvalidInput, match="refers to what it does not hold"):
        read_arguments(tool, {"a": 1})
