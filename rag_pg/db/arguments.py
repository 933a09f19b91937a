"""Values on their way to the database, by their names: one of the wrong type is named in one line.

PostgreSQL would look for a function that takes such a type, find none, and seem to lack the schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

from rag_pg.errors import InvalidInput

WHOLE = (
    "limit", "offset", "rrf_k", "candidate_limit", "per_document", "max_length", "space_id",
    "expected_space", "ef_search", "dimensions",
)  # fmt: skip
NUMBERS = ("vector_weight", "keyword_weight", "diversity")
TRUTHS = ("duplicates", "descending", "forced")
TEXTS = (
    "collection", "name", "query", "uri", "field", "fusion", "order_by", "model", "title",
    "distance", "type", "start_mark", "stop_mark", "ellipsis",
)  # fmt: skip


def plain_arguments(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with numbers of other libraries as Python's own.

    Raises InvalidInput for a value that is not of the type that its name asks for; None passes.
    """
    return {name: value if value is None else _plain(name, value) for name, value in values.items()}


def _plain(name: str, value: Any) -> Any:
    if name in WHOLE:
        if not isinstance(value, Integral) or isinstance(value, bool):
            raise InvalidInput(f"{name} is a whole number, not {value!r:.100}")
        if not -(2**31) <= int(value) < 2**31:
            raise InvalidInput(f"{name} {value} is out of range; it is a 32 bit number")
        return int(value)
    if name in NUMBERS:
        if not isinstance(value, Real) or isinstance(value, bool):
            raise InvalidInput(f"{name} is a number, not {value!r:.100}")
        return float(value)
    if name in TEXTS and not isinstance(value, str):
        raise InvalidInput(f"{name} is a text, not {value!r:.100}")
    if name in TRUTHS and not isinstance(value, bool):
        raise InvalidInput(f"{name} is True or False, not {value!r:.100}")
    return value
