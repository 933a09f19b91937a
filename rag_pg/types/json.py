"""Values as JSON has them, for whoever writes JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from datetime import date, timedelta
from decimal import Decimal
from numbers import Integral
from typing import Any
from uuid import UUID


def to_json(value: Any) -> Any:
    """Return a value of this package, or of the database, in the types of JSON.

    A dataclass is an object of its fields, a date its ISO form, a number that JSON does not have is
    null. What has no form in JSON stays as it is, for the writer to refuse.
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_json(one) for key, one in value.items()}
    if isinstance(value, list | tuple | Set):
        return [to_json(one) for one in value]
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, UUID | Decimal | timedelta) else value
