"""Values of the package as JSON has them."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from uuid import UUID

import numpy as np

from rag_pg.types import Step, to_json


def test_every_value_has_one_form_in_json() -> None:
    step = Step(kind="llm", detail={"tokens": np.int64(3), "pair": (1, None)}, seconds=float("nan"))
    written = to_json({"step": step, "at": datetime(2026, 11, 23, 8, tzinfo=UTC), "set": {2}, 5: 6})
    assert written == {
        "step": {
            "kind": "llm",
            "detail": {"tokens": 3, "pair": [1, None]},
            "seconds": None,
            "usage": {"prompt_tokens": 0, "answer_tokens": 0},
        },
        "at": "2026-11-23T08:00:00+00:00",
        "set": [2],
        "5": 6,
    }
    assert json.loads(json.dumps(written, allow_nan=False)) == written
    assert to_json([date(2026, 1, 2), UUID(int=1), Decimal("1.50"), True]) == [
        "2026-01-02", "00000000-0000-0000-0000-000000000001", "1.50", True,
    ]  # fmt: skip
