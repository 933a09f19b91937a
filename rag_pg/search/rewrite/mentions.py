"""Conditions that the words of a question ask for, without a model: values of declared fields,
dates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from rag_pg.search.rewrite.dates import COMPARED_WITH, Period, find_period, why_no_filter
from rag_pg.search.rewrite.fields import Condition, Field, period_condition
from rag_pg.text import FUNCTION_WORDS, same_word, words

LONGEST_VALUE = 8  # words of a value that is looked for in a question
NEAR = 3  # words between a value and the name of its field

_NEGATIONS = (
    "not no never neither nor except excluding without other non isn aren wasn weren doesn don "
    "nicht kein keine weder noch ohne ausser sans sauf ni sin excepto"
)
NEGATIONS = frozenset(_NEGATIONS.split())
_LISTED = frozenset(["or", "nor", "and", "oder", "noch", "und", "ou", "ni", "et", "o", "y"])
_ALL = frozenset(["all", "any", "anything", "each", "every", "everything"])
_OTHERWISE = frozenset(["than", "versus", "vs", "compared", "instead", "unlike"])
_MORE = r"over|(?:more|greater|larger|higher|later)\s+than|above|after"
_LESS = r"under|(?:less|fewer|smaller|lower|earlier)\s+than|below|before"
_OR_EQUAL = r"\s+or\s+equal(?:\s+to)?"
_COMPARED = {
    "$gt": rf"{_MORE}|>",
    "$gte": rf"at\s+least|not?\s+(?:{_LESS})|(?:{_MORE}){_OR_EQUAL}|from|since|starting|>=|≥",
    "$lt": rf"{_LESS}|<",
    "$lte": rf"at\s+most|not?\s+(?:{_MORE})|(?:{_LESS}){_OR_EQUAL}|up\s+to|until|till|through|by|"
    r"<=|≤",
}
_COMPARISON = "|".join(
    f"(?P<{name[1:]}>{_COMPARED[name]})" for name in ("$lte", "$gte", "$lt", "$gt")
)
# A figure of its own: not 20 of "20 thousand", "20 %", "20.000" or "20th".
_NUMBER = (
    r"(?P<number>-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d{1,2}|\.\d{4,})?)(?![\w%‰]|[.,]\d|\s*%|"
    r"\s+(?:per\s?cent|hundred|thousand|million|billion|dozen)\b)"
)
_OR_MORE = re.compile(r"\s*(?:(?:or|and)\s+(?:more|above|over|higher|later)\b|\+)", re.IGNORECASE)
_OR_LESS = re.compile(r"\s*(?:or|and)\s+(?:less|fewer|below|under|lower|earlier)\b", re.IGNORECASE)
_SECOND = re.compile(
    rf"\s*(?P<joint>to|until|through|-|–|and|or|,)\s*(?:(?:{_COMPARISON})\s*)?"
    + _NUMBER.replace("-?", "", 1),
    re.IGNORECASE,
)
_FIGURES = re.compile(r"(?:19|20)\d\d")
# What is done to a document, and the words of the fields that say when.
_EVENTS = [
    frozenset(words.split())
    for words in (
        "published publish publication released release issued issue appeared posted",
        "signed sign signature concluded agreed",
        "expires expire expired expiry expiring expiration ends end ended until runs",
        "effective valid applies apply starts start begins begin force",
        "due payable deadline",
        "paid payment",
        "received receipt arrived",
        "sent send",
        "written wrote authored",
        "hired joined",
    )
]
_DOES = frozenset(word for event in _EVENTS for word in event)
_OF_DOCUMENTS = frozenset(["date", "document"])  # the field that is meant where none is named
_UPDATED = frozenset(["updated", "changed", "modified", "edited", "revised"])
_CREATED = frozenset(["added", "uploaded", "created", "ingested", "imported"])


def conditions_by_words(
    question: str, fields: Sequence[Field], now: datetime
) -> tuple[list[Condition], list[str]]:
    """Return the conditions that a question's words ask for, and what could not be made one.

    A value that stands beside its field's name, a compared number and a date are explicit; a value
    that is only mentioned is not.
    """
    tokens = words(question)
    period = find_period(question, now)
    found: list[Condition] = []
    for field in fields:
        if field.type == "text":
            found += _values(field, tokens)
        elif field.type == "numeric":
            found += _numbers(field, question, period if _is_of_year(tokens, fields) else None)
        elif field.type == "boolean":
            found += _truth(field, tokens)
    if period is None or any(condition.source == period.text for condition in found):
        return found, []
    if period.doubt:
        return found, [f"“{period.text}” is no filter: {period.doubt}"]
    dated, note = _date_field(tokens, fields, period)
    return ([*found, period_condition(dated, period)] if dated else found), [note] if note else []


# --- text


def _values(field: Field, tokens: Sequence[str]) -> Iterator[Condition]:
    """The values of a text field that stand in the question: one condition, or one beside a
    negation."""
    names = list(_positions(field.name_words, tokens))
    spans: list[tuple[int, int, Any]] = []
    for value in field.values:
        parts = words(value) if isinstance(value, str) else []
        if 0 < len(parts) <= LONGEST_VALUE:
            spans += [(start, start + len(parts), value) for start in _positions(parts, tokens)]
    spans = [s for s in spans if not any(_within(s, other) for other in spans)]
    values: dict[Any, None] = {}
    explicit = False
    excluded: list[Any] = []
    denied: dict[int, bool] = {}  # where values end that a negation denies, and whether named
    for start, stop, value in sorted(spans, key=lambda span: span[:2]):
        named = any(
            -NEAR <= position - stop < NEAR or 0 < start - position <= NEAR for position in names
        )
        named = named and not all(start <= position < stop for position in names)
        near = tokens[max(0, start - 2) : start]
        negated = not ("only" in near or NEGATIONS.isdisjoint(near)) or (
            tokens[start - 1 : start] == ["but"] and not _ALL.isdisjoint(tokens[:start])
        )
        if start - 1 in denied and tokens[start - 1] in _LISTED:  # not A or B
            negated, named = True, denied[start - 1]
        elif not (negated or _OTHERWISE.isdisjoint(tokens[max(0, start - 3) : start])):
            named = False
        if negated:
            denied[stop] = named
        if negated and named:
            excluded.append(value)
        elif not negated and (named or not FUNCTION_WORDS.issuperset(tokens[start:stop])):
            values[value] = None  # also one that is only mentioned: the question may compare them
            explicit = explicit or named
    if values:
        test = {"$in": [*values]} if len(values) > 1 else next(iter(values))
        source = _listed([*values])
        yield Condition(field=field.name, test=test, source=source, explicit=explicit)
    if excluded:
        yield Condition(
            field=field.name, test={"$nin": excluded}, source=f"not {_listed(excluded)}"
        )


def _positions(parts: Sequence[str], tokens: Sequence[str]) -> Iterator[int]:
    """Where some words follow each other in the question, the last of them in the plural too."""
    for start in range(len(tokens) - len(parts) + 1 if parts else 0):
        words = tokens[start : start + len(parts)]
        if words[:-1] == list(parts[:-1]) and is_form(words[-1], parts[-1]):
            yield start


def is_form(word: str, value: str) -> bool:
    """Whether a word is a value or its plural."""
    return word in (value, f"{value}s", f"{value}es") or (
        value.endswith("y") and word == f"{value[:-1]}ies"
    )


def _within(one: tuple[int, int, Any], other: tuple[int, int, Any]) -> bool:
    longer = other[1] - other[0] > one[1] - one[0]
    return longer and other[0] <= one[0] and one[1] <= other[1]


def _listed(values: Sequence[Any]) -> str:
    return ", ".join(str(value) for value in values)


# --- numbers, booleans


def _numbers(field: Field, question: str, period: Period | None) -> Iterator[Condition]:
    """A number that is compared with the field by name, or years of a field that is called so."""
    if "year" in field.name_words and period is not None and not period.doubt:
        of_years = _years(period)
        if of_years is not None:
            yield from _known(field, of_years, period.text)
            return
    name = r"[\s_-]+".join(map(re.escape, field.name_words))
    copula = r"(?:(?:is|are|was|were|of|number|between|no\.?(?=\s*\d))\s+)?"
    compared = rf"(?:(?:{_COMPARISON})\s*)?{_NUMBER}"
    written = rf"\b{name}s?\b[\s:=(]*{copula}{compared}"
    found = [*re.finditer(written, question, re.IGNORECASE)]
    if not name or len(found) != 1:
        return
    match, before = found[0], question[: found[0].start()]
    if why_no_filter(before) or not NEGATIONS.isdisjoint(words(before)[-1:]):
        return
    dated = period is not None and match["number"] in period.text  # by 2024
    if dated and _FIGURES.fullmatch(match["number"]) and "year" not in field.name_words:
        return
    value, operator, stop = _value(match), _operator(match), match.end()
    second = _SECOND.match(question, stop)
    test: Any = {operator: value} if operator else value
    if second is not None:
        other, joint, stop = _value(second), second["joint"].casefold(), second.end()
        between = re.search(r"\bbetween\b", match[0], re.IGNORECASE)
        bound = _operator(second)
        if _SECOND.match(question, stop):
            return
        if bound and operator and joint == "and":
            test = {operator: value, bound: other}
        elif bound:
            return
        elif between or joint not in ("and", "or", ","):
            test = {"$gte": value, "$lte": other}
        elif not operator:
            test = {"$in": [value, other]}
    elif COMPARED_WITH.match(question, stop):
        return
    elif _OR_MORE.match(question, stop):
        test = {"$gte": value}
    elif _OR_LESS.match(question, stop):
        test = {"$lte": value}
    yield from _known(field, test, " ".join(question[match.start() : stop].split()))


def _years(period: Period) -> Any:
    """What a period of whole years that are named by figures asks of a year; None: it is none."""
    edges = [edge for edge in (period.start, period.stop) if edge is not None]
    if not _FIGURES.search(period.text) or any(edge.timetuple().tm_yday > 1 for edge in edges):
        return None
    if period.start is None or period.stop is None:
        return {"$lt" if period.start is None else "$gte": edges[0].year}
    last = period.stop.year - 1
    return last if last == period.start.year else {"$gte": period.start.year, "$lte": last}


def _known(field: Field, test: Any, source: str) -> Iterator[Condition]:
    """The condition, but not that a field is what it never is."""
    if isinstance(test, dict) or test in field.values or not field.complete:
        yield Condition(field=field.name, test=test, source=source)


def _value(match: re.Match[str]) -> float | int:
    number = float(match["number"].replace(",", ""))
    return int(number) if number.is_integer() else number


def _operator(match: re.Match[str]) -> str | None:
    return next((key for key in _COMPARED if match[key[1:]]), None)


def _truth(field: Field, tokens: Sequence[str]) -> Iterator[Condition]:
    """A boolean field that the question names: wanted, or not wanted."""
    for position in _positions(field.name_words, tokens):
        negated = not NEGATIONS.isdisjoint(tokens[max(0, position - 2) : position])
        source = f"{'not ' if negated else ''}{' '.join(field.name_words)}"
        test = {"$ne": True} if negated else True
        yield Condition(field=field.name, test=test, source=source, explicit=negated)
        return


# --- dates


def _speaks_of(field: Field, word: str) -> bool:
    """Whether a word says what the field tells the date of."""
    return any(word in event and not event.isdisjoint(field.name_words) for event in _EVENTS)


def _is_of_year(tokens: Sequence[str], fields: Sequence[Field]) -> bool:
    """Whether a time may be that of a field of years: no field of dates is named, and nothing is
    done that is not done to every document when it comes out (signed, paid)."""
    return _named_dates(tokens, fields) == [] and _DOES.difference(_EVENTS[0]).isdisjoint(tokens)


def _named_dates(tokens: Sequence[str], fields: Sequence[Field]) -> list[Field]:
    return [
        f
        for f in fields
        if f.type == "timestamptz"
        and any(same_word(n, t) for n in f.name_words if len(n) > 3 for t in tokens)
    ]


def _date_field(
    tokens: Sequence[str], fields: Sequence[Field], period: Period
) -> tuple[Field | None, str]:
    """The field that a date is about: the one that is named, the only one, or the document's
    own."""
    dated = [field for field in fields if field.type == "timestamptz"]
    named = _named_dates(tokens, fields)
    if not named:
        meant = [f for f in dated if any(_speaks_of(f, token) for token in tokens)]
        plain = [f for f in dated if {*f.name_words} <= _OF_DOCUMENTS]
        asks = any(token in _DOES for token in tokens)
        named = meant if meant or asks else plain if len(plain) == 1 else []
    if len(named) == 1:
        return named[0], ""
    if not named and len(dated) == 1:
        return dated[0], ""
    own = "$updated_at" if not _UPDATED.isdisjoint(tokens) else ""
    own = "$created_at" if not own and not _CREATED.isdisjoint(tokens) else own
    if own and not named:
        return Field(name=own, type="timestamptz"), ""
    if dated:
        names = ", ".join(field.name for field in named or dated)
        return None, f"“{period.text}” is no filter: it may be about {names}; name the field"
    return None, (
        f"“{period.text}” is no filter: no field is declared that holds dates; "
        "declare one with index_field(…, 'timestamptz')"
    )
