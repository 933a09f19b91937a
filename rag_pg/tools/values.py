"""Values of the database as a tool's result has them."""

from __future__ import annotations

import json
from typing import Any

from rag_pg.types import to_json


def as_json(value: Any) -> str:
    """Return a value as JSON on one line. Raises: ValueError (a value that holds itself)."""
    try:
        plain = to_json(value, for_models=True)
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    except RecursionError as exc:
        raise ValueError("a value that holds itself, or is nested too deep") from exc
