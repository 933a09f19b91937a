"""Dates in a question, also relative ones ("last quarter"), as periods of time. Pure; English.

Months and weeks are those of the calendar in the time zone of `now`; weeks begin on Monday.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from rag_pg.search.rewrite.periods import MONTHS, NUMBERS, READERS, WEEKDAYS

_MONTH = rf"(?P<month>{'|'.join(sorted(MONTHS, key=len, reverse=True))})\.?"
_UNIT = r"(?P<unit>minute|hour|day|week|fortnight|month|quarter|year|decade)"
_NUMBER = rf"(?P<number>\d{{1,4}}|{'|'.join(sorted(NUMBERS, key=len, reverse=True))})"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_ROLLING = r"(?P<unit>hour|day|week|month|year)"
_WEEKDAY = rf"(?P<weekday>{'|'.join(WEEKDAYS)})"
_NEAR = r"(?P<way>this|last|next|coming)"
# A bare year or month is one only behind such a word.
_AFTER_WORDS = "in of since before after until till from during between and to by"
_AFTER_WORD = "|".join(rf"(?<={word}\s)" for word in _AFTER_WORDS.split())
_PERIODS = [
    ("iso", r"(?P<year>\d{4})-(?P<monthnumber>\d\d)(?:-(?P<day>\d\d))?"),
    ("quarter", rf"q(?P<quarter>[1-4])(?:\s+(?:of\s+)?{_YEAR})?"),
    ("quarter", rf"(?P<ordinal>first|second|third|fourth)\s+quarter(?:\s+(?:of\s+)?{_YEAR})?"),
    ("half", rf"(?:h(?P<half>[12])|(?P<ordinal>first|second)\s+half)\s+(?:of\s+)?{_YEAR}"),
    ("date", rf"{_DAY}(?:\s+of)?\s+{_MONTH}(?:,?\s+{_YEAR})?"),
    ("date", rf"{_MONTH}\s+{_DAY}(?!\d)(?:,?\s+{_YEAR})?"),
    ("month", rf"{_MONTH}\s+(?:of\s+)?{_YEAR}"),
    ("rolling", rf"(?:the\s+)?(?P<way>last|past|previous|next|coming)\s+{_NUMBER}\s+{_UNIT}s?"),
    ("rolling", rf"(?:the\s+)?(?P<way>past)\s+{_ROLLING}"),
    ("rolling", rf"the\s+(?P<way>last)\s+{_ROLLING}"),
    ("calendar", rf"(?:the\s+)?(?P<way>this|current|last|previous|next|coming)\s+{_UNIT}"),
    ("weekend", rf"{_NEAR}\s+weekend"),
    ("weekday", rf"{_NEAR}\s+{_WEEKDAY}"),
    ("named", rf"{_NEAR}\s+{_MONTH}"),
    ("ago", rf"{_NUMBER}\s+{_UNIT}s?\s+ago"),
    ("ahead", rf"{_NUMBER}\s+{_UNIT}s?\s+from\s+now"),
    ("age", rf"(?P<way>older|newer|younger)\s+than\s+{_NUMBER}\s+{_UNIT}s?(?!\s+ago)"),
    ("day", r"(?P<name>today|yesterday|tomorrow)"),
    ("day", r"the\s+(?P<name>day\s+before\s+yesterday|day\s+after\s+tomorrow)"),
    ("year", rf"(?:the\s+)?year\s+{_YEAR}"),
    ("year", rf"(?:{_AFTER_WORD}){_YEAR}(?!\d)"),
    ("month", rf"(?:{_AFTER_WORD}){_MONTH}"),
]
_PATTERNS = [(kind, re.compile(rf"\b{pattern}\b", re.IGNORECASE)) for kind, pattern in _PERIODS]
_BOUND = re.compile(
    r"\b(?P<bound>since|starting|as\s+of|after|later\s+than|newer\s+than|from|before|"
    r"earlier\s+than|older\s+than|prior\s+to|until|till|up\s+to|through|by|between)"
    r"\s+(?:the\s+)?$",
    re.IGNORECASE,
)
_FROM = ("since", "starting", "as of")
_ONWARDS = re.compile(r"\s*(?:on|onwards?|forwards?)\b", re.IGNORECASE)
_HOLDS = re.compile(  # what holds from a day on has no end
    r"\b(?:valid|effective|apply|applies|applied|applicable|force|starting|beginning|available|holds?)\s+\Z",
    re.IGNORECASE,
)
_AFTER = ("after", "later than", "newer than")
_BEFORE = ("before", "earlier than", "older than", "prior to")
_TO = ("until", "till", "up to", "through", "by")


@dataclass(frozen=True, kw_only=True, slots=True)
class Period:
    """The time from `start` to before `stop`, both in the time zone of now; None: without end.
    text: its words in the question. exact: it begins within a day."""

    text: str
    start: datetime | None
    stop: datetime | None
    exact: bool = False


def find_period(question: str, now: datetime) -> Period | None:
    """Return the period of time that a question names, or None.

    "last week" is the calendar week before this one, "the last week", "the past week" and "the last
    7 days" end now. "next Tuesday" is the first one after today, "this Tuesday" that of this week.
    "since", "from … on", "after", "before" and "until" leave one end open; "from 2024" alone is
    that year; "between A and B" spans both.

    Args:
        now: with its time zone.
    """
    question = " ".join(question.split())
    found = list(_periods(question, now))
    if not found:
        return None
    (start, stop, first), *others = found
    bound = _bound(question, start)
    if bound in ("between", "from") and others:
        start2, stop2, second = others[0]
        joint = question[stop:start2].strip().casefold()
        if joint in ("and", "to", "until", "till", "through", "-", "–"):
            text = question[_bound_start(question, start) : stop2]
            exact = first.exact or second.exact
            return Period(text=text, start=first.start, stop=second.stop, exact=exact)
    begin = _bound_start(question, start)
    text = question[begin:stop]
    onwards = _ONWARDS.match(question, stop) or _HOLDS.search(question[:begin])
    if bound in _FROM or (bound == "from" and onwards):
        return Period(text=text, start=first.start, stop=None, exact=first.exact)
    if bound in _AFTER:
        return Period(text=text, start=first.stop, stop=None, exact=first.exact)
    if bound in _BEFORE:
        return Period(text=text, start=None, stop=first.start, exact=first.exact)
    if bound in _TO:
        return Period(text=text, start=None, stop=first.stop, exact=first.exact)
    return first


def _bound(question: str, start: int) -> str:
    match = _BOUND.search(question, 0, start)
    return " ".join(match["bound"].casefold().split()) if match else ""


def _bound_start(question: str, start: int) -> int:
    match = _BOUND.search(question, 0, start)
    return match.start() if match else start


def _periods(question: str, now: datetime) -> Iterator[tuple[int, int, Period]]:
    """Yield (start, stop, period) of the longest matches, from left to right."""
    matches = [
        (match.start(), -match.end(), order, kind, match)
        for order, (kind, pattern) in enumerate(_PATTERNS)
        for match in pattern.finditer(question)
    ]
    end = 0
    for start, _, _, kind, match in sorted(matches, key=lambda m: m[:3]):
        if start < end:
            continue
        end = match.end()
        try:
            first, after, exact = READERS[kind](_fields(match), now)
        except (ValueError, OverflowError):  # the 31st of February
            continue
        yield start, end, Period(text=match[0], start=first, stop=after, exact=exact)


def _fields(match: re.Match[str]) -> dict[str, str]:
    """The groups that matched, in lower case."""
    groups = {name: value for name, value in match.groupdict().items() if value is not None}
    return {name: " ".join(value.casefold().split()) for name, value in groups.items()}
