"""Filters as Python writes them: dates, decimals, UUIDs and sets become JSON."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Set
from datetime import date
from decimal import Decimal
from numbers import Integral, Real
from typing import Any
from uuid import UUID

from rag_pg.errors import InvalidQuery

_LONE = re.compile("[\ud800-\udfff]")
DEPTH = 100  # as in rag._compile_filter


def plain_filter(value: Any, depth: int = 0) -> Any:
    """Return a filter, or a part of one, in the types of JSON.
    Raises InvalidQuery naming what has none."""
    if depth > DEPTH:
        raise InvalidQuery(f"the filter is nested more than {DEPTH} deep; take it apart")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return {_key(key): plain_filter(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | Set):
        return [plain_filter(item, depth + 1) for item in value]
    if isinstance(value, date):  # a datetime is one too; without a time zone it is UTC
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Decimal | Real):
        return _number(value)
    raise InvalidQuery(
        f"a filter cannot hold {value!r:.100} ({type(value).__name__}); "
        "use text, numbers, booleans, dates, UUIDs, None, lists and dicts of them"
    )


def _key(key: object) -> str:
    if isinstance(key, str):
        return _text(key)
    raise InvalidQuery(f"a filter's keys are field names and operators, not {key!r:.100}")


def _text(value: str) -> str:
    if _LONE.search(value):
        raise InvalidQuery(f"a filter cannot hold {value!a:.100}: a lone surrogate is no character")
    return value


def _number(value: Decimal | Real) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise InvalidQuery(f"a filter cannot hold {value}; no metadata is that number")
    if isinstance(value, Decimal) and Decimal(repr(number)) != value:
        raise InvalidQuery(f"a filter cannot hold {value}: more digits than a float; pass a float")
    return number
