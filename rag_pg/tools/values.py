"""Values of the database as a tool's result has them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from typing import Any


def plain(value: Any, text: Callable[[str], str] = str) -> Any:
    """Return a value as JSON has it: numbers as numbers, dates in their ISO form, and what JSON
    does not have as a text.

    Args:
        text: called with each string and key.
    """
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bool | int | None):
        return value
    if isinstance(value, float | Decimal):
        if not math.isfinite(value):
            return str(value)
        return int(value) if isinstance(value, Decimal) and value % 1 == 0 else float(value)
    if isinstance(value, date):  # and datetime
        return value.isoformat()
    if isinstance(value, Mapping):
        return {text(str(key)): plain(one, text) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one, text) for one in value]
    return text(str(value))


def as_json(value: Any) -> str:
    """Return a value as JSON on one line. Raises: ValueError (a value that holds itself)."""
    try:
        return json.dumps(plain(value), ensure_ascii=False, separators=(",", ":"))
    except RecursionError as exc:
        raise ValueError("a value that holds itself, or is nested too deep") from exc
