"""Declared metadata fields, and conditions on them that a question asks for."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any, Protocol

from rag_pg.search.rewrite.dates import Period
from rag_pg.text import words

MOST_VALUES = 500  # of a field that are read, the most frequent

_TESTS = {
    "$eq": "{}", "$ne": "not {}", "$in": "{}", "$nin": "not {}",
    "$gt": "above {}", "$gte": "from {} on", "$lt": "before {}", "$lte": "up to {}",
}  # fmt: skip
_JOINTS = re.compile(r"(?<=[a-z])(?=[A-Z])|[_.$\\-]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """A metadata field. type: text, numeric, timestamptz or boolean. values: the most frequent
    ones, at most MOST_VALUES."""

    name: str
    type: str
    values: Sequence[Any] = ()

    @property
    def complete(self) -> bool:
        """Whether `values` are all that there are."""
        return len(self.values) < MOST_VALUES

    @property
    def name_words(self) -> list[str]:
        """The words of the name's last step: signedAt and meta.signed_at give signed and at."""
        return _name_words(self.name)


@dataclass(frozen=True, kw_only=True, slots=True)
class Condition:
    """What a question asks of a field. test: as in a filter, a value or operators. source: the
    words it comes from. explicit: the question says so; a mere mention of a value is not."""

    field: str
    test: Any
    source: str
    explicit: bool = True

    @property
    def filter(self) -> dict[str, Any]:
        """The condition as a filter."""
        return {self.field: self.test}

    @property
    def in_words(self) -> str:
        """The condition for people: signed_at from 2026-07-01 on, before 2026-10-01."""
        return test_in_words(self.field, self.test)

    @property
    def words(self) -> list[str]:
        """The words of the field's name and of the source."""
        return [*_name_words(self.field), *words(self.source)]


def test_in_words(field: str, test: Any) -> str:
    """Return what a filter asks of a field, for people."""
    tests = test if isinstance(test, Mapping) else {"$eq": test}
    parts = [
        _TESTS.get(operator, f"{operator} {{}}").format(_value(v)) for operator, v in tests.items()
    ]
    return f"{field} {', '.join(parts)}"


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " or ".join(map(_value, value))
    text = str(value).removesuffix("T00:00:00").removesuffix("T00:00:00+00:00")
    return json.dumps(text, ensure_ascii=False) if text == value else text


def _name_words(name: str) -> list[str]:
    return words(_JOINTS.sub(" ", name.rpartition(".")[2] or name))


class Metadata(Protocol):
    """The metadata of a collection."""

    def fields(self) -> Sequence[Field]:
        """The declared fields."""
        ...

    def count(self, filter: Mapping[str, Any]) -> int:
        """How many documents pass a filter. Raises: InvalidQuery when it does not compile."""
        ...


def period_condition(field: Field, period: Period) -> Condition:
    """Return the condition that a date lies in a period.

    Dates without a time are compared with dates, so that no time zone moves them to the day before.
    """
    whole_days = bool(field.values) and all(
        isinstance(value, str) and len(value) == 10 for value in field.values
    )

    def shown(moment: datetime) -> str:
        return moment.date().isoformat() if whole_days else moment.isoformat()

    test = {}
    if period.start is not None:
        test["$gte"] = shown(period.start)
    if period.stop is not None:
        of_day = whole_days and period.stop.timetz().replace(tzinfo=None) > time()
        test["$lt"] = shown(period.stop + timedelta(days=1) if of_day else period.stop)
    return Condition(field=field.name, test=test, source=period.text)
