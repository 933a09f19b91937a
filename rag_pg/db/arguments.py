"""Values on their way to the database, by the types of the arguments that take them: one of the
wrong type is named in one line.

PostgreSQL would look for a function that takes such a type, find none, and seem to lack the schema.
What its texts and JSON cannot hold is named with where it stands: NUL, NaN, a date.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from numbers import Integral, Real
from typing import Any

from pgvector.psycopg.halfvec import HalfVector
from psycopg.types.json import Jsonb

from rag_pg.db.filters import plain_filter
from rag_pg.errors import InvalidInput


def plain_argument(name: str, value: Any, type_: str) -> Any:
    """Return a value as the driver sends it to an argument of that type.

    Args:
        name: what a message calls it. type_: as in pg_type, with an underscore before that of a
            list; a type that is not checked here takes what PostgreSQL takes. None passes, and so
            does JSON that its caller has wrapped.
    Raises: InvalidInput for a value of another type, or that the type cannot hold.
    """
    if value is None or isinstance(value, Jsonb):
        return value
    if type_ == "jsonb":
        return checked_json(name, Jsonb(plain_filter(value) if name.endswith(FILTERS) else value))
    if type_ == "halfvec":
        return HalfVector(value)
    if type_ == "_halfvec":
        return [None if one is None else HalfVector(one) for one in value]
    if not type_.startswith("_"):
        return _plain(name, value, type_)
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | Mapping):
        raise _wrong(name, value, type_)
    items = [*value]
    return [None if one is None else _plain(name, one, type_[1:], items) for one in items]


def checked_json(name: str, value: Jsonb) -> Jsonb:
    """Return JSON as it will be sent. Raises InvalidInput: where in it is what JSON cannot hold."""
    try:
        text = json.dumps(value.obj, allow_nan=False)
    except RecursionError as exc:
        raise InvalidInput(f"{name} is nested too deeply; 100 levels are plenty") from exc
    except (TypeError, ValueError) as exc:
        raise InvalidInput(_unstorable(name, value.obj) or f"{name} is no JSON: {exc}") from exc
    if _SUSPICIOUS.search(text) and (fault := _unstorable(name, value.obj)):
        raise InvalidInput(fault)
    return Jsonb(value.obj, dumps=lambda obj: text)


_SUSPICIOUS = re.compile(r"\\u(0000|d[89a-f])")
_LONE = re.compile("[\ud800-\udfff]")
_MAX_DIGITS = 4000  # of a whole number; Python itself writes no more than 4,300


def _unstorable(where: str, value: Any) -> str | None:
    """What PostgreSQL cannot hold in a value of JSON, with where it stands; None: all is well."""
    if isinstance(value, str):
        if "\0" in value:
            return _nul(where, value)
        if _LONE.search(value):
            return (
                f"{where} {value!a:.100} holds a lone surrogate, which is no character: take it out"
            )
        return None
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, Mapping):
        for key, item in value.items():
            fault = _unstorable(f"a key of {where}", key) if isinstance(key, str) else None
            fault = fault or _unstorable(f"{where}.{key!s:.100}", item)
            if fault:
                return fault
        return None
    if isinstance(value, list | tuple):
        items = (_unstorable(f"{where}[{index}]", item) for index, item in enumerate(value))
        return next(filter(None, items), None)
    if isinstance(value, float):
        if math.isfinite(value):
            return None
        return f"{where} is {value}, a number that JSON does not have: leave it out or pass None"
    if isinstance(value, int):
        if abs(value) < 10**_MAX_DIGITS:
            return None
        return f"{where} is a number of more than {_MAX_DIGITS} digits: pass it as text"
    return (
        f"{where} is {value!r:.100} ({type(value).__name__}), which JSON does not have: pass text,"
        " numbers, booleans, None, lists or dicts"
    )


def _nul(where: str, value: str) -> str:
    return f"{where} {value!r:.100} holds a NUL character, which no text can: take it out"


FILTERS = ("filter", "having", "aggregates")  # where dates, decimals and sets are meant too
BITS = {"int4": 32, "int8": 64}
# What each type takes, and its name for one and for a list of them.
KINDS: dict[str, tuple[type | tuple[type, ...], str, str]] = {
    "int4": (Integral, "a whole number", "whole numbers"),
    "int8": (Integral, "a whole number", "whole numbers"),
    "float8": (Real, "a number", "numbers"),
    "bool": (bool, "True or False", "booleans"),
    "text": (str, "a text", "texts"),
    "date": ((date, str), "a date", "dates"),
    "timestamptz": ((date, str), "a date", "dates"),
    "interval": (timedelta, "a timedelta", "timedeltas"),
}

PLAIN = frozenset(KINDS)


def _wrong(name: str, value: Any, type_: str) -> InvalidInput:
    base = type_.removeprefix("_")
    _, one, several = KINDS.get(base, (object, "one", f"{base} values"))
    wanted = one if base == type_ else f"a list of {several}"
    return InvalidInput(f"{name} is {wanted}, not {value!r:.100}")


def _plain(name: str, given: Any, type_: str, items: list[Any] | None = None) -> Any:
    value: Any = given
    if isinstance(value, str) and "\0" in value:
        raise InvalidInput(_nul(name, value))
    kind = KINDS.get(type_)
    if kind is None:
        return value
    if not isinstance(given, kind[0]) or (isinstance(given, bool) and type_ != "bool"):
        raise _wrong(name, value, type_) if items is None else _wrong(name, items, f"_{type_}")
    if type_ in BITS:
        if not -(2 ** (BITS[type_] - 1)) <= int(value) < 2 ** (BITS[type_] - 1):
            raise InvalidInput(f"{name} {value} is out of range; it is a {BITS[type_]} bit number")
        return int(value)
    if type_ == "float8":
        try:
            return float(value)
        except OverflowError as exc:
            raise InvalidInput(f"{name} is out of range; it is a 64 bit float") from exc
    return value
