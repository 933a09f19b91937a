"""Rows of a table as a Markdown list or table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime, time

from rag_pg.load.records import _dialect
from rag_pg.text import separated_rows


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


def rows_as_table(rows: Sequence[Sequence[object]]) -> str:
    """Return rows, the first of which names the columns, as a table, "" where there is nothing."""
    lines = [" | ".join(_cell(cell).replace("|", "\\|") for cell in row) for row in rows]
    if not any(line.strip(" |") for line in lines):
        return ""
    rule = " | ".join("---" for _ in rows[0])
    return "\n".join(f"| {line} |" for line in (lines[0], rule, *lines[1:]))


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
    """Return a CSV or TSV file as a list of its rows, each with the names of its columns."""
    return rows_as_list(row for _, row in separated_rows(text, _dialect(text, suffix)))
