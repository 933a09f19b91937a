"""Conditions that a language model reads from a question, given the real fields and their
values."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from rag_pg.search.rewrite.dates import find_period
from rag_pg.search.rewrite.fields import Condition, Field, period_condition
from rag_pg.search.rewrite.helper import Helper

SHOWN_VALUES = 20  # of each field, in the prompt
MOST_CONDITIONS = 8
OWN = (
    Field(name="$created_at", type="timestamptz"),
    Field(name="$updated_at", type="timestamptz"),
)
OPERATORS = {
    "=": "",
    "!=": "$nin",
    "<": "$lt",
    "<=": "$lte",
    ">": "$gt",
    ">=": "$gte",
    "during": "",
}
RULES = """\
You read from a question which documents it is about, as conditions on their metadata.
- Use only the fields listed. Of text fields use values that are listed, as they are written there.
- Make a condition only of what the question says; most questions need none. Do not answer.
- Operators: = (one of the values), !=, <, <=, >, >= and, of dates, during.
- Write dates as in the question, in English: last quarter, 30 days ago, March 2024, or
  2024-03-01."""


def conditions_by_model(
    question: str, fields: Sequence[Field], now: datetime, helper: Helper
) -> tuple[list[Condition], list[str]] | None:
    """Return the conditions that a model reads from a question, and those that cannot be made one.

    None when the model fails.
    """
    offered = [*fields, *OWN]
    listed = [
        {"field": f.name, "type": f.type, "values": list(f.values[:SHOWN_VALUES])} for f in offered
    ]
    parsed = helper.ask(
        "filters",
        RULES,
        {
            "fields": "\n".join(json.dumps(line, ensure_ascii=False) for line in listed),
            "today": now.strftime("%A, %Y-%m-%d"),
            "question": question,
        },
        _schema([field.name for field in offered]),
        otherwise="the question's words were compared with the fields' values",
    )
    if parsed is None:
        return None
    by_name = {field.name: field for field in offered}
    found: list[Condition] = []
    dropped: list[str] = []
    for item in parsed["conditions"][:MOST_CONDITIONS]:
        field = by_name[item["field"]]
        source = f"{field.name} {item['operator']} {', '.join(item['values'])}"
        try:
            found.append(_condition(field, item["operator"], item["values"], source, now))
        except ValueError as exc:
            dropped.append(f"“{source[:200]}” is no filter: {exc}")
    return found, dropped


def _condition(
    field: Field, operator: str, values: Sequence[str], source: str, now: datetime
) -> Condition:
    """Raises: ValueError saying why a model's condition is none."""
    if not values:
        raise ValueError("it has no value")
    if len(values) > 1 and operator not in ("=", "!="):
        raise ValueError(f"{operator} takes one value")
    if field.type == "timestamptz":
        return _date(field, operator, " or ".join(values), source, now)
    if operator == "during":
        raise ValueError(f"{field.name} holds no dates")
    read: Callable[[Field, str], Any] = _READERS[field.type]
    typed = [read(field, value) for value in values]
    if operator == "!=":
        return Condition(field=field.name, test={"$nin": typed}, source=source)
    if operator == "=":
        test = typed[0] if len(typed) == 1 else {"$in": typed}
        return Condition(field=field.name, test=test, source=source)
    return Condition(field=field.name, test={OPERATORS[operator]: typed[0]}, source=source)


def _date(field: Field, operator: str, value: str, source: str, now: datetime) -> Condition:
    bound = {"<": "before", "<=": "until", ">": "after", ">=": "since"}.get(operator, "")
    if operator == "!=":
        raise ValueError("a date is compared by =, <, <=, >, >= or during")
    period = find_period(f"{bound or 'in'} {value}", now)
    if period is None or not period.text.startswith(bound):
        raise ValueError("it is no date that is understood")
    if period.doubt or period.gaps:
        raise ValueError(period.doubt or "it names several times")
    return Condition(field=field.name, test=period_condition(field, period).test, source=source)


def _text(field: Field, value: str) -> str:
    """The value as the documents write it."""
    folded = {v.casefold(): v for v in field.values if isinstance(v, str)}
    known = folded.get(value.strip().casefold())
    if known is None and field.complete:
        raise ValueError(f"{field.name} is never {value!r:.100}")
    return value if known is None else known


def _number(field: Field, value: str) -> float | int:
    try:
        number = float(value.replace(",", ""))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{value!r:.100} is no number")
    return int(number) if number.is_integer() else number


def _boolean(field: Field, value: str) -> bool:
    if value.casefold() not in ("true", "false", "yes", "no"):
        raise ValueError(f"{value!r:.100} is neither true nor false")
    return value.casefold() in ("true", "yes")


_READERS: Mapping[str, Callable[[Field, str], Any]] = {
    "text": _text,
    "numeric": _number,
    "boolean": _boolean,
}


def _schema(names: Sequence[str]) -> dict[str, Any]:
    condition = {
        "type": "object",
        "properties": {
            "field": {"type": "string", "enum": list(names)},
            "operator": {"type": "string", "enum": list(OPERATORS)},
            "values": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["field", "operator", "values"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"conditions": {"type": "array", "items": condition}},
        "required": ["conditions"],
        "additionalProperties": False,
    }
