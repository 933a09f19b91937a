"""Values on their way to the database, by their names: one of the wrong type is named in one line.

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

from psycopg.types.json import Jsonb

from rag_pg.errors import InvalidInput

WHOLE = (
    "limit", "offset", "rrf_k", "candidate_limit", "per_document", "max_length", "space_id",
    "expected_space", "ef_search", "dimensions", "max_rows", "max_queries", "sample", "k",
)  # fmt: skip
NUMBERS = (
    "vector_weight", "keyword_weight", "diversity", "sample_queries", "recall_target", "target",
)  # fmt: skip
TRUTHS = (
    "duplicates",
    "descending",
    "forced",
    "keep_query_text",
    "keep_original",
    "typo_tolerance",
)
TEXTS = (
    "collection", "name", "query", "uri", "field", "fusion", "order_by", "model", "title",
    "distance", "type", "start_mark", "stop_mark", "ellipsis", "view", "description", "comment",
    "set_name",
)  # fmt: skip
RUNS = ("run_id", "run_a", "run_b")
DATES = ("since", "until")
LISTS_OF_TEXTS = ("by", "columns", "group_by", "metrics", "order", "uris")
TIMES = ("timeout", "keep_versions", "keep_answers", "keep_queries")


def plain_arguments(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with numbers of other libraries as Python's own.

    Raises InvalidInput for a value that is not of the type that its name asks for; None passes.
    """
    return {name: value if value is None else _plain(name, value) for name, value in values.items()}


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


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, Jsonb):
        return checked_json(name, value)
    texts = value if isinstance(value, list | tuple) else [value]
    for text in texts:
        if isinstance(text, str) and "\0" in text:
            raise InvalidInput(_nul(name, text))
    if name in WHOLE or name in RUNS:
        bits = 32 if name in WHOLE else 64
        if not isinstance(value, Integral) or isinstance(value, bool):
            raise InvalidInput(f"{name} is a whole number, not {value!r:.100}")
        if not -(2 ** (bits - 1)) <= int(value) < 2 ** (bits - 1):
            raise InvalidInput(f"{name} {value} is out of range; it is a {bits} bit number")
        return int(value)
    if name in NUMBERS:
        if not isinstance(value, Real) or isinstance(value, bool):
            raise InvalidInput(f"{name} is a number, not {value!r:.100}")
        return float(value)
    if name in DATES and not isinstance(value, date | str):
        raise InvalidInput(f"{name} is a date, not {value!r:.100}")
    if name in TEXTS and not isinstance(value, str):
        raise InvalidInput(f"{name} is a text, not {value!r:.100}")
    if name in LISTS_OF_TEXTS:
        if not isinstance(value, Iterable) or isinstance(value, str | bytes | Mapping):
            raise InvalidInput(f"{name} is a list of texts, not {value!r:.100}")
        value = list(value)
        if not all(isinstance(item, str) for item in value):
            raise InvalidInput(f"{name} is a list of texts, not {value!r:.100}")
    if name in TIMES and not isinstance(value, timedelta):
        raise InvalidInput(f"{name} is a timedelta, not {value!r:.100}")
    if name in TRUTHS and not isinstance(value, bool):
        raise InvalidInput(f"{name} is True or False, not {value!r:.100}")
    return value
