"""Dates in a question, with a frozen clock: Sunday, 22 November 2026, 18:30 in Zurich."""

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pg import InvalidInput
from rag_pg.search.rewrite.dates import find_period
from rag_pg.search.rewrite.rewrite import local_time

ZONE = ZoneInfo("Europe/Zurich")
NOW = datetime(2026, 11, 22, 18, 30, tzinfo=ZONE)


@pytest.mark.parametrize(
    ("question", "start", "stop"),
    [
        ("which contracts were signed last quarter?", "2026-07-01", "2026-10-01"),
        ("what is due next Tuesday?", "2026-11-24", "2026-11-25"),
        ("what happened last Tuesday?", "2026-11-17", "2026-11-18"),
        ("the meeting this Tuesday", "2026-11-17", "2026-11-18"),
        ("last Sunday", "2026-11-15", "2026-11-16"),
        ("next Sunday", "2026-11-29", "2026-11-30"),
        ("what changed in the last 30 days?", "2026-10-23", "2026-11-23"),
        ("in the past week", "2026-11-15", "2026-11-23"),
        ("over the last month", "2026-10-22", "2026-11-23"),
        ("last week", "2026-11-09", "2026-11-16"),
        ("this week", "2026-11-16", "2026-11-23"),
        ("next month", "2026-12-01", "2027-01-01"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("this quarter", "2026-10-01", "2027-01-01"),
        ("the next two quarters", "2027-01-01", "2027-07-01"),
        ("past 3 quarters", "2026-01-01", "2026-10-01"),
        ("next decade", "2030-01-01", "2040-01-01"),
        ("last weekend", "2026-11-14", "2026-11-16"),
        ("today", "2026-11-22", "2026-11-23"),
        ("yesterday", "2026-11-21", "2026-11-22"),
        ("the day before yesterday", "2026-11-20", "2026-11-21"),
        ("three days ago", "2026-11-19", "2026-11-20"),
        ("2 weeks ago", "2026-11-02", "2026-11-09"),
        ("a month ago", "2026-10-01", "2026-11-01"),
        ("five days from now", "2026-11-27", "2026-11-28"),
        ("in March", "2026-03-01", "2026-04-01"),
        ("in December", "2025-12-01", "2026-01-01"),
        ("last December", "2025-12-01", "2026-01-01"),
        ("next March", "2027-03-01", "2027-04-01"),
        ("in 2024", "2024-01-01", "2025-01-01"),
        ("reports of 2023", "2023-01-01", "2024-01-01"),
        ("March 2024", "2024-03-01", "2024-04-01"),
        ("on 5 March 2024", "2024-03-05", "2024-03-06"),
        ("on March 5th, 2024", "2024-03-05", "2024-03-06"),
        ("on 2024-02-29", "2024-02-29", "2024-03-01"),
        ("2024-12", "2024-12-01", "2025-01-01"),
        ("Q3 2025", "2025-07-01", "2025-10-01"),
        ("the third quarter of 2025", "2025-07-01", "2025-10-01"),
        ("H2 2025", "2025-07-01", "2026-01-01"),
        ("since March", "2026-03-01", None),
        ("after 2024", "2025-01-01", None),
        ("before 2024", None, "2024-01-01"),
        ("reports from 2024", "2024-01-01", "2025-01-01"),
        ("the minutes from March", "2026-03-01", "2026-04-01"),
        ("from 2024 on", "2024-01-01", None),
        ("rules valid from 2024", "2024-01-01", None),
        ("until last Friday", None, "2026-11-21"),
        ("older than six months", None, "2026-05-22"),
        ("between 2023 and 2024", "2023-01-01", "2025-01-01"),
        ("from 5 March 2024 to 7 April 2024", "2024-03-05", "2024-04-08"),
        ("between 5 and 10 March 2024", "2024-03-05", "2024-03-11"),
        ("on March 5-10, 2024", "2024-03-05", "2024-03-11"),
        ("from March to May 2024", "2024-03-01", "2024-06-01"),
        ("in March or April 2024", "2024-03-01", "2024-05-01"),
        ("between Q1 and Q3 2024", "2024-01-01", "2024-10-01"),
        ("valid from 2022 to 2024", "2022-01-01", "2025-01-01"),
        ("from 2022 until 2024", "2022-01-01", "2025-01-01"),
        ("in 2023 or 2024", "2023-01-01", "2025-01-01"),
        ("in 2021, 2022 and 2024", "2021-01-01", "2025-01-01"),
        ("of the years 2022 and 2023", "2022-01-01", "2024-01-01"),
        ("signed after 2020 and before 2023", "2021-01-01", "2023-01-01"),
        ("what does the report of 2024 say that was said in 2021?", "2021-01-01", "2025-01-01"),
        ("not before 2024", "2024-01-01", None),
        ("no later than March 2024", None, "2024-04-01"),
        ("no older than two years", "2024-11-22", None),
        ("on or after 5 March 2024", "2024-03-05", None),
        ("on or before 5 March 2024", None, "2024-03-06"),
        ("in or before 2024", None, "2025-01-01"),
        ("on 1, 3 and 5 May 2023", "2023-05-01", "2023-05-06"),
        ("from January 2020 to date", "2020-01-01", None),
        ("until the end of March 2024", None, "2024-04-01"),
        ("before the end of 2023", None, "2024-01-01"),
        ("since the beginning of 2024", "2024-01-01", None),
        ("after the end of last year", "2026-01-01", None),
        ("from the start of 2022 to the end of 2023", "2022-01-01", "2024-01-01"),
        ("more than a year ago", None, "2025-11-22"),
        ("less than two weeks ago", "2026-11-08", None),
        ("in 2024 or later", "2024-01-01", None),
        ("in 2024 or earlier", None, "2025-01-01"),
    ],
)
def test_a_date_becomes_the_days_that_it_means(
    question: str, start: str | None, stop: str | None
) -> None:
    period = find_period(question, NOW)
    assert period is not None
    edges = [edge and edge.strftime("%Y-%m-%d %H:%M") for edge in (period.start, period.stop)]
    assert edges == [start and f"{start} 00:00", stop and f"{stop} 00:00"]
    assert period.text in question
    for edge in (period.start, period.stop):
        assert edge is None or edge.tzinfo is ZONE


@pytest.mark.parametrize(
    "question",
    [
        "how do I open port 2024?",
        "error 1999 in module",
        "may I do this?",
        "the march of time",
        "until 30 February 2024",
        "2020-13-01",
        "the last page",
        "next steps",
        "second part",
        "in 3 steps",
        "9999 decades ago",
        "the contract of April Jones",
        "in the season of 2023/24",
        "",
    ],
)
def test_what_is_no_date_is_none(question: str) -> None:
    assert find_period(question, NOW) is None


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("contracts not signed in 2024", "it is negated"),
        ("contracts that weren't signed last year", "it is negated"),
        ("contracts other than of 2024", "it is negated"),
        ("not until 2024", "it is negated"),
        ("the fiscal year 2024", "such a year may begin in any month"),
        ("financial Q1 2024", "such a year may begin in any month"),
        ("compared with last year, what is new?", "the question compares it"),
        ("did prices rise since 2023 compared to 2021?", "the question compares it"),
        ("are contracts of 2024 longer than in 2023?", "the question compares it"),
        ("unlike in 2023, what holds?", "the question compares it"),
        ("growth in 2023 vs. that of 2024", "the question compares it"),
        ("in the week of 5 March 2024", "it is vague"),
        ("within two weeks of 5 March 2024", "it is vague"),
        ("signed before 2020 or after 2023", "it names several times"),
        ("from December to May 2024", "it names several times"),
    ],
)
def test_a_time_that_is_none_to_filter_by_says_why(question: str, why: str) -> None:
    period = find_period(question, NOW)
    assert period is not None
    assert period.doubt == why


def test_hours_are_counted_by_the_clock_that_does_not_jump() -> None:
    after_the_change = datetime(2026, 3, 29, 4, 0, tzinfo=ZONE)  # the clocks went forward at 2
    period = find_period("in the last 3 hours", after_the_change)
    assert period is not None
    assert period.exact
    assert period.start == datetime(2026, 3, 29, 0, 0, tzinfo=ZONE)
    assert period.stop == after_the_change


def test_a_time_zone_decides_which_day_it_is() -> None:
    utc = datetime(2026, 11, 22, 23, 30, tzinfo=ZoneInfo("UTC"))
    tokyo = local_time(utc, "Asia/Tokyo")
    period = find_period("today", tokyo)
    assert period is not None
    assert period.start is not None
    assert period.start.isoformat() == "2026-11-23T00:00:00+09:00"


def test_a_clock_without_a_zone_is_in_the_zone_named() -> None:
    assert local_time(datetime(2026, 1, 1, 12), "Asia/Tokyo").isoformat().endswith("12:00:00+09:00")
    assert local_time(None, None).tzinfo is not None


@pytest.mark.parametrize("name", ["Mars/Olympus", "../etc/passwd", ""])
def test_a_time_zone_that_there_is_none_of_is_named(name: str) -> None:
    with pytest.raises(InvalidInput, match="no time zone"):
        local_time(None, name)


@given(st.dates(date(2001, 1, 1), date(2099, 1, 1)), st.integers(1, 12))
def test_calendar_units_touch_and_hold_today(day: date, count: int) -> None:
    now = datetime(day.year, day.month, day.day, 12, tzinfo=ZONE)
    for unit in ("day", "week", "month", "quarter", "year"):
        this, last, following = (
            find_period(f"{way} {unit}", now) for way in ("this", "last", "next")
        )
        assert this and last and following
        assert last.stop == this.start
        assert this.stop == following.start
        assert this.start is not None and this.stop is not None
        assert this.start <= now < this.stop
        rolling = find_period(f"in the last {count} {unit}s", now)
        assert rolling and rolling.start and rolling.stop
        assert rolling.start < rolling.stop <= now + timedelta(days=1)


@pytest.mark.parametrize("before", ["of", "in", "from", "between"])
@pytest.mark.parametrize(
    "joint",
    [
        " and ", " or ", ", ", ", and ", " to ", " - ", "–", "/", " & ", " plus ", " until ",
        " through ", " and in ", ", or in ", " and of ", " as well as ", " as well as in ", " vs ",
        " vs. ", " versus ", " compared to ", " compared with ", " against ", " unlike ",
        " relative to ", " differ from ", " with those of ", " than in ", " than those of ",
        "; those of ",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    ("one", "other"),
    [("2021", "2023"), ("2023", "2021"), ("March 2021", "June 2023"), ("Q1 2023", "Q3 2023")],
)
@pytest.mark.few(48)
def test_a_time_excludes_none_that_stands_beside_it(
    before: str, joint: str, one: str, other: str
) -> None:
    period = find_period(f"contracts {before} {one}{joint}{other}", NOW)
    for asked in (one, other):
        alone = find_period(f"in {asked}", NOW)
        assert alone and alone.start and alone.stop
        if period and not period.doubt:
            assert period.start is None or period.start <= alone.start
            assert period.stop is None or period.stop >= alone.stop


@given(st.text(max_size=60))
def test_any_text_is_read_without_an_error(text: str) -> None:
    for question in (text, f"since {text} 2024"):
        found = find_period(question, NOW)
        if found and found.start and found.stop and not found.doubt:
            assert found.start < found.stop
