"""Dates in a question, also relative ones ("last quarter"), as periods of time. Pure; English.

Months and weeks are those of the calendar in the time zone of `now`; weeks begin on Monday.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise

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
_JOINED = (
    r"\s*(?:,|[-–/&]|,?\s*\b(?:and|or|to|until|till|through|as\s+well\s+as|plus|against|unlike)\b)"
    r"\s*(?:(?:in|of)\s+)?(?:the\s+)?"
)
_IS_JOINED = re.compile(_JOINED, re.IGNORECASE).fullmatch
_IS_RANGE = re.compile(r"[-–]|\b(?:to|until|till|through)\b", re.IGNORECASE).search
_LAST_DAY = (
    rf"(?:(?:{_JOINED}[0-3]?\d(?:st|nd|rd|th)?)*{_JOINED}(?P<last>[0-3]?\d)(?:st|nd|rd|th)?)?"
)
_PERIODS = [
    ("iso", r"(?P<year>\d{4})-(?P<monthnumber>\d\d)(?:-(?P<day>\d\d))?"),
    ("quarter", rf"q(?P<quarter>[1-4])(?:\s+(?:of\s+)?{_YEAR})?"),
    ("quarter", rf"(?P<ordinal>first|second|third|fourth)\s+quarter(?:\s+(?:of\s+)?{_YEAR})?"),
    ("half", rf"(?:h(?P<half>[12])|(?P<ordinal>first|second)\s+half)\s+(?:of\s+)?{_YEAR}"),
    ("date", rf"{_DAY}{_LAST_DAY}(?:\s+of)?\s+{_MONTH}(?:,?\s+{_YEAR})?"),
    ("date", rf"{_MONTH}\s+{_DAY}{_LAST_DAY}(?!\d)(?:,?\s+{_YEAR})?"),
    ("month", rf"{_MONTH}\s+(?:of\s+)?{_YEAR}"),
    ("rolling", rf"(?:the\s+)?(?P<way>last|past|previous|next|coming)\s+{_NUMBER}\s+{_UNIT}s?"),
    ("rolling", rf"(?:the\s+)?(?P<way>past)\s+{_ROLLING}"),
    ("rolling", rf"the\s+(?P<way>last)\s+{_ROLLING}"),
    ("calendar", rf"(?:the\s+)?(?P<way>this|current|last|previous|next|coming)\s+{_UNIT}"),
    ("weekend", rf"{_NEAR}\s+weekend"),
    ("weekday", rf"{_NEAR}\s+{_WEEKDAY}"),
    ("named", rf"{_NEAR}\s+{_MONTH}"),
    ("ago", rf"{_NUMBER}\s+{_UNIT}s?\s+ago"),
    ("age", rf"(?P<way>more|less)\s+than\s+{_NUMBER}\s+{_UNIT}s?\s+ago"),
    ("age", rf"(?P<way>over|under)\s+{_NUMBER}\s+{_UNIT}s?\s+ago"),
    ("ahead", rf"{_NUMBER}\s+{_UNIT}s?\s+from\s+now"),
    ("age", rf"(?P<way>older|newer|younger)\s+than\s+{_NUMBER}\s+{_UNIT}s?(?!\s+ago)"),
    ("day", r"(?P<name>today|yesterday|tomorrow)"),
    ("day", r"the\s+(?P<name>day\s+before\s+yesterday|day\s+after\s+tomorrow)"),
    ("year", rf"(?:the\s+)?years?\s+{_YEAR}"),
    ("year", rf"(?:{_AFTER_WORD}){_YEAR}(?!\d|[/–-]\d\d\b)"),
    ("month", rf"(?:{_AFTER_WORD}){_MONTH}(?!\s+(?-i:[A-Z][a-z]))"),  # April Jones is a person
    ("joined year", rf"{_YEAR}(?!\d)"),  # one only behind another period: in 2023 or 2024
    ("joined month", _MONTH),
]
_PATTERNS = [(kind, re.compile(rf"\b{pattern}\b", re.IGNORECASE)) for kind, pattern in _PERIODS]
_BOUND = re.compile(
    r"\b(?P<bound>since|starting|as\s+of|(?:on|in)\s+or\s+after|"
    r"after\s+or\s+(?:on|in)|(?:on|in)\s+or\s+before|before\s+or\s+(?:on|in)|after|later\s+than|newer\s+than|from|before|earlier\s+than|older\s+than|"
    r"prior\s+to|until|till|up\s+to|through|by|between)\s+(?:the\s+)?\Z",
    re.IGNORECASE,
)
_FROM = (
    "since", "starting", "as of", "on or after", "in or after", "after or on", "after or in",
)  # fmt: skip
_ONWARDS = re.compile(
    r"\s*(?:on|onwards?|forwards?|(?:to|until|till)\s+(?:date|now|the\s+present))\b", re.IGNORECASE
)
_OR_LATER = re.compile(r"\s*or\s+(?:later|after|newer)\b", re.IGNORECASE)
_OR_EARLIER = re.compile(r"\s*or\s+(?:earlier|before|older)\b", re.IGNORECASE)
_HOLDS = re.compile(  # what holds from a day on has no end
    r"\b(?:valid|effective|apply|applies|applied|applicable|force|starting|beginning|available|holds?)\s+\Z",
    re.IGNORECASE,
)
_AFTER = ("after", "later than", "newer than")
_BEFORE = ("before", "earlier than", "older than", "prior to")
_TO = (
    "until", "till", "up to", "through", "by",
    "on or before", "in or before", "before or on", "before or in",
)  # fmt: skip
_EDGE = re.compile(
    r"(?:\bthe\s+)?\b(?:(?P<end>end|close)|beginning|start)\s+of\s+(?:the\s+)?\Z", re.IGNORECASE
)
_RANGE = ("to", "until", "till", "through", "-", "–")
_NOT = re.compile(r"(?:\b(?:not|no)|n['’]t)\s+\Z", re.IGNORECASE)
# What stands before a period that is none to filter by, and why.
_DOUBTS = [
    (re.compile(pattern, re.IGNORECASE), why)
    for pattern, why in (
        (
            r"(?:\b(?:not|never|without|except|excluding|other\s+than|apart\s+from)|n['’]t)"
            r"(?:\s+[\w-]+){0,3}\s+\Z",
            "it is negated",
        ),
        (
            r"\b(?:fiscal|financial|tax|academic|school)\s+(?:years?\s+)?\Z",
            "such a year may begin in any month",
        ),
        (
            r"\b(?:compar(?:ed?|ing|isons?)\s+(?:to|with)|unlike|versus|vs\.?|than|instead\s+of|"
            r"(?:opposed|relative|contrast)\s+to|differ\w*\s+from)(?:\s+[\w-]+){0,2}\s+\Z",
            "the question compares it",
        ),
        (
            r"\b(?:around|circa|approximately|within\s.{1,20}\sof|week\s+of)\s+(?:the\s+)?\Z",
            "it is vague",
        ),
    )
]
COMPARED_WITH = re.compile(
    r"\s*,?\s*(?:vs\.?|versus|compared?|as\s+opposed|rather\s+than)(?=\s)", re.IGNORECASE
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Period:
    """The time from `start` to before `stop`, both in the time zone of now; None: without end.
    text: its words in the question. exact: it begins within a day. doubt: why it is no filter.
    gaps: the question names times in it, not all of it."""

    text: str
    start: datetime | None
    stop: datetime | None
    exact: bool = False
    doubt: str = ""
    gaps: bool = False


def find_period(question: str, now: datetime) -> Period | None:
    """Return the period of time that a question names, or None.

    "last week" is the calendar week before this one, "the last week", "the past week" and "the last
    7 days" end now. "next Tuesday" is the first one after today, "this Tuesday" that of this week.
    "since", "from … on", "after", "before" and "until" leave one end open; "from 2024" alone is
    that year. Several periods ("in A or B") are one that holds them all, "after A and before B" is
    what lies between.

    Args:
        now: with its time zone.
    """
    question = " ".join(question.split())
    found = _ranges(question, list(_periods(question, now)))
    if not found:
        return None
    (begin, _, first), (_, end, last) = found[0], found[-1]
    periods = [period for _, _, period in found]
    starts, stops = [p.start for p in periods], [p.stop for p in periods]
    by_start = sorted(periods, key=lambda p: (p.start is not None, p.start or now))
    gaps = any(one.stop != other.start for one, other in pairwise(by_start))
    between = len(found) == 2 and first.stop is last.start is None
    if between and not re.search(r"\bor\b", question[begin:end], re.IGNORECASE):
        gaps = False
        start, stop = first.start, last.stop
    else:
        start = None if None in starts else min(filter(None, starts))
        stop = None if None in stops else max(filter(None, stops))
    doubt = next((period.doubt for period in periods if period.doubt), "")
    if start is stop is None or (start and stop and start >= stop):
        doubt = doubt or "it names several times"
    exact = any(period.exact for period in periods)
    gaps = gaps or any(period.gaps for period in periods)
    text = question[begin:end]
    return Period(text=text, start=start, stop=stop, exact=exact, doubt=doubt, gaps=gaps)


def _ranges(
    question: str, named: Sequence[tuple[int, int, Period]]
) -> list[tuple[int, int, Period]]:
    """The periods with the words around them; "from A to B" and "between A and B" are one."""
    found: list[tuple[int, int, Period]] = []
    rest = list(named)
    while rest:
        start, stop, period = rest.pop(0)
        edge = _EDGE.search(question, 0, start)
        match = _BOUND.search(question, 0, edge.start() if edge else start)
        bound = " ".join(match["bound"].casefold().split()) if match else ""
        begin = match.start() if match else start
        if edge and bound in (*_FROM, *_AFTER, *_BEFORE, *_TO):  # until the end of March
            moment = period.stop if edge["end"] else period.start
            period = replace(period, start=moment, stop=moment)
        gap = _EDGE.sub("", question[stop : rest[0][0]]).strip().casefold() if rest else ""
        if gap in _RANGE or (gap == "and" and bound in ("between", "from")):
            _, stop, other = rest.pop(0)
            exact = period.exact or other.exact
            period = replace(period, stop=other.stop, exact=exact)
            bound = "between"
        first, last, doubt = _bounded(question, begin, stop, bound, period)
        if not doubt and (denied := _NOT.search(question[:begin])):
            begin = denied.start()
        text, exact = question[begin:stop], period.exact
        gaps = period.gaps and bound not in ("between", "from")
        bounded = Period(text=text, start=first, stop=last, exact=exact, doubt=doubt, gaps=gaps)
        found.append((begin, stop, bounded))
    return found


def _bounded(
    question: str, begin: int, stop: int, bound: str, named: Period
) -> tuple[datetime | None, datetime | None, str]:
    """When a period begins and ends with the word before it (since, before, …) and what else stands
    around it, and why it is no filter, if so."""
    first, last = named.start, named.stop
    onwards = _ONWARDS.match(question, stop) or _HOLDS.search(question[:begin])
    later = _OR_LATER.match(question, stop)
    if bound in _FROM or (bound == "from" and onwards) or (bound in ("", "from") and later):
        last = None
    elif bound in _AFTER:
        first, last = last, None
    elif bound in _BEFORE:
        first, last = None, first
    elif bound in _TO or (not bound and _OR_EARLIER.match(question, stop)):
        first = None
    one_sided = named.start is None or named.stop is None or bound in (*_AFTER, *_BEFORE)
    if one_sided and _NOT.search(question[:begin]):  # not before, no later than
        return last, first, ""
    if COMPARED_WITH.match(question, stop):
        return first, last, "the question compares it"
    return first, last, why_no_filter(question[:begin])


def why_no_filter(before: str) -> str:
    """Return why what stands behind these words of a question is none to filter by, or ""."""
    return next((why for words, why in _DOUBTS if words.search(before)), "")


def _periods(question: str, now: datetime) -> Iterator[tuple[int, int, Period]]:
    """Yield (start, stop, period) of the longest matches, from left to right."""
    matches = [
        (match.start(), -match.end(), order, kind, match)
        for order, (kind, pattern) in enumerate(_PATTERNS)
        for match in pattern.finditer(question)
    ]
    chosen: list[tuple[str, re.Match[str]]] = []
    for start, _, _, kind, match in sorted(matches, key=lambda m: m[:3]):
        end = chosen[-1][1].end() if chosen else 0
        joined = bool(chosen) and _IS_JOINED(question[end:start])
        if start < end or (kind.startswith("joined") and not joined):
            continue
        chosen.append((kind.removeprefix("joined "), match))
    year, following = "", 0  # of the period behind: from March to May 2024
    found: list[tuple[int, int, Period]] = []
    for kind, match in reversed(chosen):
        fields = _fields(match)
        gap = question[match.end() : following]
        if year and kind in ("date", "month", "quarter") and _IS_JOINED(gap):
            fields.setdefault("year", year)
        year, following = fields.get("year", ""), match.start()
        try:
            first, after, exact = READERS[kind](fields, now)
        except (ValueError, OverflowError):  # the 31st of February
            continue
        gaps = "last" in fields and not _IS_RANGE(match[0])
        named = Period(text=match[0], start=first, stop=after, exact=exact, gaps=gaps)
        found.append((*match.span(), named))
    yield from reversed(found)


def _fields(match: re.Match[str]) -> dict[str, str]:
    """The groups that matched, in lower case."""
    groups = {name: value for name, value in match.groupdict().items() if value is not None}
    return {name: " ".join(value.casefold().split()) for name, value in groups.items()}
