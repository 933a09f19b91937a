"""A date and what is asked of it -> weekday, another date, the days between, a period's ends."""

from __future__ import annotations

import calendar
import re
from datetime import date, timedelta

from rag_pg.errors import InvalidInput
from rag_pg.tools import make_tool
from rag_pg.types import AgentTool

_STEP = re.compile(r"([+-]?\s*\d{1,6})\s*(day|week|month|quarter|year)s?", re.IGNORECASE)
_MONTHS = {"month": 1, "quarter": 3, "year": 12}


def dates_tool(today: date) -> AgentTool:
    """Return a tool that calculates with dates."""

    def dates(**asked: str) -> dict[str, object]:
        return date_facts(today, **asked)

    text = {"type": "string"}
    return make_tool(
        "dates",
        "Today's date, a weekday, a date before or after another, the days between two, or the"
        " first and last day of a period.",
        dates,
        day={**text, "description": "such as 2026-11-22, or today", "default": "today"},
        add={**text, "description": "such as -3 months or 10 days", "default": ""},
        until={**text, "description": "count the days until this date", "default": ""},
        period={"enum": ["week", "month", "quarter", "year"], "default": ""},
    )


def date_facts(
    today: date, day: str = "today", add: str = "", until: str = "", period: str = ""
) -> dict[str, object]:
    """Return what is asked of a day.

    Args:
        day, until: ISO dates, or today. add: such as "-3 months" or "1 year 10 days". The last day
            of a month stands for days that a month does not have. period: week (from Monday),
            month, quarter or year: its first and last day.
    Raises: InvalidInput.
    """
    at = _read(today, day)
    if add:
        at = _added(at, add)
    found: dict[str, object] = {"date": at.isoformat(), "weekday": calendar.day_name[at.weekday()]}
    if until:
        end = _read(today, until)
        months = (end.year - at.year) * 12 + end.month - at.month
        if months and (end - _added(at, f"{months} months")).days * months < 0:
            months -= 1 if months > 0 else -1
        found |= {"days_until": (end - at).days, "whole_months_until": months}
    if period:
        first, last = _period(at, period)
        found |= {"first_day": first.isoformat(), "last_day": last.isoformat()}
    return found


def _read(today: date, text: str) -> date:
    if text.strip().lower() in ("today", "now"):
        return today
    try:
        return date.fromisoformat(text.strip()[:10])
    except ValueError as exc:
        raise InvalidInput(
            f"{text!r:.50} is no date; use a form like 2026-11-22, or today"
        ) from exc


def _added(day: date, text: str) -> date:
    steps = _STEP.findall(text)
    rest = re.sub(r"\band\b|[\s,]", "", _STEP.sub("", text))
    if not steps or rest:
        raise InvalidInput(f'{text!r:.50} is no span; use "-3 months" or "1 year 10 days"')
    try:
        for number, unit in steps:
            count = int(number.replace(" ", ""))
            if (months := _MONTHS.get(unit.lower())) is None:
                day += timedelta(days=count * (7 if unit.lower() == "week" else 1))
                continue
            year, month = divmod(day.year * 12 + day.month - 1 + count * months, 12)
            day = date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))
    except (ValueError, OverflowError, calendar.IllegalMonthError) as exc:
        raise InvalidInput(f"{text!r:.50} leads beyond the years 1 to 9999") from exc
    return day


def _period(day: date, period: str) -> tuple[date, date]:
    if period == "week":
        first = day - timedelta(days=day.weekday())
        return first, first + timedelta(days=6)
    months = _MONTHS.get(period)
    if months is None:
        raise InvalidInput(f"there is no period {period!r:.50}; use week, month, quarter or year")
    month = (day.month - 1) // months * months + 1
    end = month + months - 1
    return day.replace(month=month, day=1), date(
        day.year, end, calendar.monthrange(day.year, end)[1]
    )
