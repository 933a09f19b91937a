"""Values as JSON has them, for whoever writes JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Set
from dataclasses import fields, is_dataclass
from datetime import date, timedelta
from decimal import Decimal
from numbers import Integral
from typing import Any
from uuid import UUID


def to_json(value: Any, *, text: Callable[[str], str] = str, for_models: bool = False) -> Any:
    """Return a value of this package, or of the database, in the types of JSON.

    A dataclass is an object of its fields, a date its ISO form, a number that JSON does not have is
    null. What has no form in JSON stays as it is, for the writer to refuse.

    Args:
        text: called with each string and key.
        for_models: as a model reads it best: a decimal is a number, and what JSON does not have a
            text.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, float | Decimal) and (for_models or isinstance(value, float)):
        if not math.isfinite(value):
            return str(value) if for_models else None
        return int(value) if isinstance(value, Decimal) and value % 1 == 0 else float(value)
    if is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return {
            text(str(key)): to_json(one, text=text, for_models=for_models)
            for key, one in value.items()
        }
    if isinstance(value, list | tuple | Set):
        return [to_json(one, text=text, for_models=for_models) for one in value]
    if isinstance(value, date):
        return value.isoformat()
    return (
        text(str(value)) if for_models or isinstance(value, UUID | Decimal | timedelta) else value
    )
