"""Filters as Python writes them."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from rag_pg import InvalidQuery
from rag_pg.db.filters import plain_filter


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (datetime(2024, 2, 29, 1, 2, tzinfo=UTC), "2024-02-29T01:02:00+00:00"),
        (datetime(2024, 2, 29, 1, 2), "2024-02-29T01:02:00"),
        (date(2024, 2, 29), "2024-02-29"),
        (Decimal("0.1"), 0.1),
        (UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        ({"$in": (1, "a")}, {"$in": [1, "a"]}),
        ({"$in": {7}}, {"$in": [7]}),
        (np.int64(5), 5),
        (np.float32(0.5), 0.5),
        (True, True),
        (None, None),
    ],
)
def test_python_values_become_json(value: Any, plain: Any) -> None:
    assert plain_filter({"a": value}) == {"a": plain}


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"a": float("nan")}, "cannot hold nan"),
        ({"a": Decimal("Infinity")}, "cannot hold Infinity"),
        ({"a": Decimal("0.12345678901234567890123")}, "more digits than a float"),
        ({"a": object()}, "cannot hold <object.*use text, numbers"),
        ({1: "a"}, "keys are field names and operators, not 1"),
    ],
)
def test_what_json_cannot_hold_is_named(wanted: Any, message: str) -> None:
    with pytest.raises(InvalidQuery, match=message):
        plain_filter(wanted)
