"""A row of CSV <-> a question with a judgement."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

SEPARATOR = "|"  # between the items of a cell in CSV
FIELDS = (
    "id", "question", "category", "source", "unanswerable", "relevant", "quote", "start", "stop",
    "grade", "answers", "expected_terms", "expected_metadata", "min_score",
)  # fmt: skip
_TRUE, _FALSE = ("true", "1", "yes"), ("false", "0", "no", "")


def entry_of_cells(cells: Mapping[str, str]) -> dict[str, Any]:
    """An entry of the cells of a row. Raises: ValueError saying what cannot be read."""
    entry: dict[str, Any] = {
        key: cells[key] for key in ("id", "question", "category", "source") if key in cells
    }
    if "question" not in entry:
        raise ValueError("the question is empty")
    for key in ("answers", "expected_terms"):
        if key in cells:
            entry[key] = items_of(cells[key])
    if "unanswerable" in cells:
        if cells["unanswerable"].lower() not in _TRUE + _FALSE:
            raise ValueError(f"unanswerable is {cells['unanswerable']!r:.100}: use true or false")
        entry["unanswerable"] = cells["unanswerable"].lower() in _TRUE
    if "expected_metadata" in cells:
        entry["expected_metadata"] = json.loads(cells["expected_metadata"])
    if "min_score" in cells:
        entry["min_score"] = float(cells["min_score"])
    passage: dict[str, Any] = {key: int(cells[key]) for key in ("start", "stop") if key in cells}
    if "grade" in cells:
        passage["grade"] = float(cells["grade"])
    if "quote" in cells:
        passage["quote"] = cells["quote"]
    if "relevant" in cells:
        entry["relevant"] = [{"uri": uri, **passage} for uri in items_of(cells["relevant"])]
    elif passage:
        raise ValueError("a quote, an offset or a grade needs its document in column relevant")
    return entry


def items_of(cell: str) -> list[str]:
    """The texts of a cell: a JSON array, or parted by SEPARATOR. Raises: ValueError."""
    if not cell.startswith("["):
        return [item.strip() for item in cell.split(SEPARATOR) if item.strip()]
    items = json.loads(cell)
    if not all(isinstance(item, str) for item in items):
        raise ValueError(f"{cell!r:.100} is no array of texts")
    return list(items)


def cell_of(items: Sequence[str]) -> str:
    """What `items_of` reads."""
    plain = SEPARATOR.join(items)
    same = not plain.startswith("[") and items_of(plain) == list(items)
    return plain if same else json.dumps(items, ensure_ascii=False)
