"""Rows of a table as a Markdown list."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time

from rag_pg.errors import InvalidInput
from rag_pg.load.records import _dialect


def rows_as_list(rows: Iterable[Sequence[object]]) -> str:
    """Return the rows of a sheet as a list: each says its columns' names, from the first row that
    has any, so that a row can be understood without the others."""
    names: list[str] | None = None
    items = []
    for row in rows:
        cells = [_cell(value) for value in row]
        if not any(cells):
            continue
        if names is None:
            names = cells
            continue
        named = zip([*names, *[""] * len(cells)], cells, strict=False)
        items.append("- " + "; ".join(f"{n}: {c}" if n else c for n, c in named if c))
    if names and not items:
        items = ["- " + "; ".join(filter(None, names))]
    return "\n".join(items)


def _cell(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    if isinstance(value, date | datetime):
        return value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()
    return "" if value is None else _line(value)


def _line(value: object) -> str:
    return " ".join(str(value or "").split()) if not isinstance(value, int) else str(value)


def table_as_list(text: str, suffix: str) -> str:
    """Return a CSV or TSV file as a list of its rows, each with the names of its columns.

    Raises: InvalidInput (it cannot be read as a table).
    """
    try:
        return rows_as_list(csv.reader(io.StringIO(text, newline=""), _dialect(text, suffix)))
    except csv.Error as exc:
        raise InvalidInput(f"is no table that can be read: {exc}; check its quotes") from exc
