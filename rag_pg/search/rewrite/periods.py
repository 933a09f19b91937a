"""Periods of the calendar by the fields of a pattern: from when, to before when. Pure."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

_MONTHS = "january february march april may june july august september october november december"
MONTHS = {name: n for n, name in enumerate(_MONTHS.split(), 1)}
MONTHS |= {name[:3]: n for name, n in MONTHS.items()} | {"sept": 9}
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday"
WEEKDAYS = {name: n for n, name in enumerate(_WEEKDAYS.split())}
_NUMBERS = "one two three four five six seven eight nine ten eleven twelve"
NUMBERS = {name: n for n, name in enumerate(_NUMBERS.split(), 1)} | {
    "a": 1, "an": 1, "couple of": 2, "a couple of": 2, "few": 3, "a few": 3,
}  # fmt: skip
ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4}

Bounds = tuple[datetime | None, datetime | None, bool]
Whole = tuple[datetime, datetime, bool]


def _at(now: datetime, year: int, month: int = 1, day: int = 1) -> datetime:
    """Midnight of a day; months below 1 and above 12 are those of other years."""
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    return datetime(year, month, day, tzinfo=now.tzinfo)


def _day(now: datetime, days: int = 0) -> datetime:
    """Midnight of the day so many days after today."""
    date = now.date() + timedelta(days=days)
    return datetime(date.year, date.month, date.day, tzinfo=now.tzinfo)


def _calendar(unit: str, offset: int, now: datetime) -> Whole:
    """The calendar's unit that is `offset` units after that of now."""
    if unit in ("minute", "hour"):
        whole = now.replace(minute=0 if unit == "hour" else now.minute, second=0, microsecond=0)
        step = timedelta(**{f"{unit}s": 1})
        return _later(whole, offset * step), _later(whole, (offset + 1) * step), True
    if unit == "day":
        return _day(now, offset), _day(now, offset + 1), False
    if unit in ("week", "fortnight"):
        weeks = 2 if unit == "fortnight" else 1
        first = 7 * weeks * offset - now.weekday()
        return _day(now, first), _day(now, first + 7 * weeks), False
    months = {"month": 1, "quarter": 3, "year": 12, "decade": 120}[unit]
    base = 12 * now.year + now.month - 1
    first = (base // months + offset) * months
    return _at(now, 0, first + 1), _at(now, 0, first + months + 1), False


def _later(moment: datetime, by: timedelta) -> datetime:
    """A moment so much later, whatever the clocks do in between."""
    return (moment.astimezone(UTC) + by).astimezone(moment.tzinfo)


def _rolling(fields: dict[str, str], now: datetime) -> Whole:
    unit, count = fields["unit"], _count(fields)
    back = fields["way"] in ("last", "past", "previous")
    if unit in ("minute", "hour"):
        by = timedelta(**{f"{unit}s": count})
        return (_later(now, -by), now, True) if back else (now, _later(now, by), True)
    if unit == "quarter":
        return (
            (_calendar(unit, -count, now)[0], _calendar(unit, 0, now)[0], False)
            if back
            else (_calendar(unit, 1, now)[0], _calendar(unit, count, now)[1], False)
        )
    sign = -1 if back else 1
    if unit in ("day", "week", "fortnight"):
        days = {"day": 1, "week": 7, "fortnight": 14}[unit] * count * sign
        edge = _day(now, days)
    else:
        months = {"month": 1, "year": 12, "decade": 120}[unit] * count * sign
        edge = _clamped(now, months)
    return (edge, _day(now, 1), False) if back else (_day(now, 0), edge + timedelta(days=1), False)


def _age(fields: dict[str, str], now: datetime) -> Bounds:
    edge, _, exact = _rolling({**fields, "way": "last"}, now)
    back = fields["way"] in ("older", "more", "over")
    return (None, edge, exact) if back else (edge, None, exact)


def _clamped(now: datetime, months: int) -> datetime:
    """The day of now so many months later, or that month's last."""
    for day in range(now.day, 0, -1):
        try:
            return _at(now, now.year, now.month + months, day)
        except ValueError:
            if day <= 28:
                raise
    raise AssertionError("every month has a first day")


def _count(fields: dict[str, str]) -> int:
    number = fields.get("number", "1")
    return int(number) if number.isdigit() else NUMBERS[number]


def _way(fields: dict[str, str]) -> int:
    offsets = {"this": 0, "current": 0, "last": -1, "previous": -1, "next": 1, "coming": 1}
    return offsets[fields["way"]]


def _iso(fields: dict[str, str], now: datetime) -> Bounds:
    year, month = int(fields["year"]), int(fields["monthnumber"])
    if not 1 <= month <= 12:
        raise ValueError(month)
    if "day" in fields:
        start = _at(now, year, month, int(fields["day"]))
        return start, _day(start, 1), False
    return _at(now, year, month), _at(now, year, month + 1), False


def _date(fields: dict[str, str], now: datetime) -> Bounds:
    year = int(fields.get("year", now.year))
    month, day = MONTHS[fields["month"]], int(fields["day"])
    last = int(fields.get("last", day))
    if last < day:
        raise ValueError(last)
    return _at(now, year, month, day), _day(_at(now, year, month, last), 1), False


def _month(fields: dict[str, str], now: datetime) -> Bounds:
    """A month; without its year the latest that has begun."""
    month = MONTHS[fields["month"]]
    year = int(fields["year"]) if "year" in fields else now.year - (month > now.month)
    return _at(now, year, month), _at(now, year, month + 1), False


def _named(fields: dict[str, str], now: datetime) -> Bounds:
    month, way = MONTHS[fields["month"]], _way(fields)
    year = now.year + (way == 1 and month <= now.month) - (way == -1 and month >= now.month)
    return _at(now, year, month), _at(now, year, month + 1), False


def _quarter(fields: dict[str, str], now: datetime) -> Bounds:
    year = int(fields.get("year", now.year))
    quarter = int(fields.get("quarter") or ORDINALS[fields["ordinal"]])
    return _at(now, year, 3 * quarter - 2), _at(now, year, 3 * quarter + 1), False


def _half(fields: dict[str, str], now: datetime) -> Bounds:
    year, half = int(fields["year"]), int(fields.get("half") or ORDINALS[fields["ordinal"]])
    return _at(now, year, 6 * half - 5), _at(now, year, 6 * half + 1), False


def _weekday(fields: dict[str, str], now: datetime) -> Bounds:
    wanted, way = WEEKDAYS[fields["weekday"]], fields["way"]
    ahead = (wanted - now.weekday()) % 7
    days = {"this": wanted - now.weekday(), "last": ahead - 7}.get(way, ahead or 7)
    return _day(now, days), _day(now, days + 1), False


def _weekend(fields: dict[str, str], now: datetime) -> Bounds:
    saturday = 5 - now.weekday() + 7 * _way(fields)
    return _day(now, saturday), _day(now, saturday + 2), False


def _named_day(fields: dict[str, str], now: datetime) -> Bounds:
    days = {
        "today": 0, "yesterday": -1, "tomorrow": 1,
        "day before yesterday": -2, "day after tomorrow": 2,
    }[fields["name"]]  # fmt: skip
    return _day(now, days), _day(now, days + 1), False


def _year(fields: dict[str, str], now: datetime) -> Bounds:
    year = int(fields["year"])
    return _at(now, year), _at(now, year + 1), False


READERS: dict[str, Callable[[dict[str, str], datetime], Bounds]] = {
    "age": _age,
    "iso": _iso,
    "quarter": _quarter,
    "half": _half,
    "date": _date,
    "month": _month,
    "rolling": _rolling,
    "calendar": lambda f, now: _calendar(f["unit"], _way(f), now),
    "weekend": _weekend,
    "weekday": _weekday,
    "named": _named,
    "ago": lambda f, now: _calendar(f["unit"], -_count(f), now),
    "ahead": lambda f, now: _calendar(f["unit"], _count(f), now),
    "day": _named_day,
    "year": _year,
}
