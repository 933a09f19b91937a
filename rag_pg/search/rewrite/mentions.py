"""Conditions that the words of a question ask for, without a model: values of declared fields,
dates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from rag_pg.search.rewrite.dates import Period, find_period
from rag_pg.search.rewrite.fields import Condition, Field, period_condition
from rag_pg.text import FUNCTION_WORDS, same_word, words

LONGEST_VALUE = 8  # words of a value that is looked for in a question
NEAR = 3  # words between a value and the name of its field

_NEGATIONS = (
    "not no except excluding without non nicht kein keine ohne ausser sans sauf sin excepto"
)
NEGATIONS = frozenset(_NEGATIONS.split())
_COMPARED = {
    "$gt": r"over|more\s+than|above|(?:greater|larger|higher|later)\s+than|after|>",
    "$gte": r"at\s+least|from|since|starting|>=|≥",
    "$lt": r"under|(?:less|smaller|lower|earlier)\s+than|below|before|<",
    "$lte": r"at\s+most|up\s+to|until|till|through|by|no\s+more\s+than|<=|≤",
}
_COMPARISON = "|".join(
    f"(?P<{name[1:]}>{pattern})" for name, pattern in sorted(_COMPARED.items(), reverse=True)
)
_NUMBER = r"(?P<number>-?\d+(?:\.\d+)?)(?![\w.]*\d)"
_YEAR = re.compile(
    rf"\b(?:(?:{_COMPARISON}|in|of|for|during)\s+(?:the\s+)?(?:year\s+)?|year\s+)"
    r"(?P<number>(?:19|20)\d\d)\b",
    re.IGNORECASE,
)
_TO_YEAR = re.compile(
    r"\s*(?:(?:to|until|till|through|-|–)\s*(?P<year>(?:19|20)\d\d)\b|(?:on|onwards?)\b)",
    re.IGNORECASE,
)
_ONLY_A_YEAR = re.compile(
    r"(?:(?:since|from|after|before|until|till|by)\s+)?(?:the\s+)?(?:year\s+)?(?:19|20)\d\d"
    r"(?:\s*(?:to|until|till|through|-|–)\s*(?:19|20)\d\d)?",
    re.IGNORECASE,
)
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
    found: list[Condition] = []
    for field in fields:
        if field.type == "text":
            found += _values(field, tokens)
        elif field.type == "numeric":
            found += _numbers(field, question)
        elif field.type == "boolean":
            found += _truth(field, tokens)
    period = find_period(question, now)
    if period is None or any(_same_year(condition, period) for condition in found):
        return found, []
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
    wanted: dict[bool, list[Any]] = {True: [], False: []}
    excluded: list[Any] = []
    for start, stop, value in spans:
        named = any(
            -NEAR <= position - stop < NEAR or 0 < start - position <= NEAR for position in names
        )
        named = named and not all(start <= position < stop for position in names)
        negated = not NEGATIONS.isdisjoint(tokens[max(0, start - 2) : start])
        if negated and named:
            excluded.append(value)
        elif not negated and (named or not FUNCTION_WORDS.issuperset(tokens[start:stop])):
            wanted[named].append(value)
    explicit = bool(wanted[True])
    values = list(dict.fromkeys(wanted[True] or wanted[False]))
    if values:
        test = values[0] if len(values) == 1 else {"$in": values}
        yield Condition(field=field.name, test=test, source=_listed(values), explicit=explicit)
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


def _numbers(field: Field, question: str) -> Iterator[Condition]:
    """A number that is compared with the field by name, or a year of a field that is called so."""
    match = _YEAR.search(question) if "year" in field.name_words else None
    if match is None and field.name_words:
        name = r"[\s_-]+".join(map(re.escape, field.name_words))
        copula = r"(?:(?:is|are|was|of|number|no\.?)\s+)?"
        compared = rf"(?:(?:{_COMPARISON})\s*)?{_NUMBER}"
        match = re.search(rf"\b{name}s?\b\W*{copula}{compared}", question, re.IGNORECASE)
    if match is None:
        return
    number = float(match["number"])
    value = int(number) if number.is_integer() else number
    operator = next((key for key in _COMPARED if match[key[1:]]), None)
    source = " ".join(match[0].split())
    if match.re is _YEAR and (match["gte"] or "").casefold() == "from":
        operator, to = None, _TO_YEAR.match(question, match.end())
        if to and to["year"]:
            test = {"$gte": value, "$lte": int(to["year"])}
            yield Condition(field=field.name, test=test, source=f"{source}{to[0]}")
            return
        operator = "$gte" if to else None
    if operator is not None:
        yield Condition(field=field.name, test={operator: value}, source=source)
    elif value in field.values or not field.complete:
        yield Condition(field=field.name, test=value, source=source)


def _truth(field: Field, tokens: Sequence[str]) -> Iterator[Condition]:
    """A boolean field that the question names: wanted, or not wanted."""
    for position in _positions(field.name_words, tokens):
        negated = not NEGATIONS.isdisjoint(tokens[max(0, position - 2) : position])
        source = f"{'not ' if negated else ''}{' '.join(field.name_words)}"
        test = {"$ne": True} if negated else True
        yield Condition(field=field.name, test=test, source=source, explicit=negated)
        return


# --- dates


def _same_year(condition: Condition, period: Period) -> bool:
    """Whether a condition on a number is about the year that the period is."""
    return _ONLY_A_YEAR.fullmatch(period.text) is not None and period.text[-4:] in condition.source


def _speaks_of(field: Field, word: str) -> bool:
    """Whether a word says what the field tells the date of."""
    return any(word in event and not event.isdisjoint(field.name_words) for event in _EVENTS)


def _date_field(
    tokens: Sequence[str], fields: Sequence[Field], period: Period
) -> tuple[Field | None, str]:
    """The field that a date is about: the one that is named, the only one, or the document's
    own."""
    dated = [field for field in fields if field.type == "timestamptz"]
    named = [
        f for f in dated if any(same_word(n, t) for n in f.name_words if len(n) > 3 for t in tokens)
    ]
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
