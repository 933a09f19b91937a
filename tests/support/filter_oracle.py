"""The filter language by its documentation, over plain Python values:
what rag._compile_filter has to agree with."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from operator import ge, gt, le, lt
from typing import Any

DATE = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d(:?\d\d)?)?)?", re.A
)
ORDER = {"$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}
MISSING = object()


def matches(metadata: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(_clause(metadata, key, operand) for key, operand in wanted.items())


def _clause(metadata: Mapping[str, Any], key: str, operand: Any) -> bool:
    if key == "$and":
        return all(matches(metadata, branch) for branch in operand)
    if key == "$or":
        return any(matches(metadata, branch) for branch in operand)
    if key == "$not":
        return not matches(metadata, operand)
    value: Any = metadata
    for step in re.findall(r"((?:[^.\\]|\\.)*)\.", key + "."):
        step = re.sub(r"\\(.)", r"\1", step)
        value = value.get(step, MISSING) if isinstance(value, Mapping) else MISSING
    return _field(value, operand)


def _field(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping) and any(key.startswith("$") for key in wanted):
        return all(_operator(value, name, operand) for name, operand in wanted.items())
    return _operator(value, "$eq", wanted)


def _operator(value: Any, name: str, operand: Any) -> bool:
    negated = {"$ne": "$eq", "$nin": "$in"}
    if name in negated:
        return not _operator(value, negated[name], operand)
    if name == "$not":
        return not _field(value, operand)
    if name == "$exists":
        return bool((value is not MISSING) == operand)
    if name == "$eq":
        return any(equal(candidate, operand) for candidate in _candidates(value))
    if name == "$in":
        return any(_operator(value, "$eq", one) for one in operand)
    if name == "$contains":
        return any(contains(candidate, operand) for candidate in _candidates(value))
    if name == "$ilike":
        return isinstance(value, str) and _operator(folded(value), "$like", folded(operand))
    if name == "$like":
        parts = re.findall(r"\\.|.", operand, re.S)
        pattern = "".join({"%": ".*", "_": "."}.get(p, re.escape(p[-1])) for p in parts)
        return isinstance(value, str) and re.fullmatch(pattern, value, re.S) is not None
    (kind, left), (wanted_kind, right) = _ordered(value, operand), _ordered(operand, operand)
    return kind == wanted_kind and ORDER[name](left, right)


def folded(text: str) -> str:
    """By Unicode's simple case folding: a letter becomes a letter."""
    composed = unicodedata.normalize("NFC", text)
    return "".join(
        min((one.casefold(), one.lower(), one), key=lambda f: (len(f) > 1,)) for one in composed
    )


def _candidates(value: Any) -> Iterator[Any]:
    """The value, and its elements when it is an array."""
    if value is not MISSING:
        yield value
    if isinstance(value, list):
        yield from value


def _ordered(value: Any, operand: Any) -> tuple[str, Any]:
    """A value as (kind, something that can be ordered);
    a text is a date where the operand is one."""
    if isinstance(value, str) and date(operand) is not None:
        return ("date", date(value)) if date(value) else ("no date", None)
    return ("number" if type(value) in (int, float) else type(value).__name__), value


def date(value: Any) -> datetime | None:
    if not isinstance(value, str) or not DATE.fullmatch(value):
        return None
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def equal(left: Any, right: Any) -> bool:
    """As JSON: a number is no boolean."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(equal(left[k], right[k]) for k in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def contains(value: Any, part: Any) -> bool:
    if isinstance(value, Mapping) and isinstance(part, Mapping):
        return all(k in value and contains(value[k], part[k]) for k in part)
    if isinstance(value, list) and isinstance(part, list):
        return all(any(contains(one, wanted) for one in value) for wanted in part)
    return equal(value, part)
