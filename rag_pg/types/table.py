"""Rows as a table: of columns for pandas and polars, of HTML for a notebook."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date
from html import escape
from typing import Any

from rag_pg.types.json import to_json

_PLAIN = (str, bool, int, float, date, type(None))


def as_table(rows: Iterable[Any]) -> dict[str, list[Any]]:
    """Return the columns of rows by name, which `pandas.DataFrame` and `polars.DataFrame` take.

    Args:
        rows: hits, documents, chunks, facets and other values of rag_pg, or mappings; a key that
            only some of these have is None in the others.
    Returns: texts, numbers, booleans, dates and None; ids as text, and what has parts as JSON.
    """
    read = [_values(row) for row in rows]
    names = dict.fromkeys(name for row in read for name in row)
    return {name: [_plain(row.get(name)) for row in read] for name in names}


def _values(row: Any) -> Mapping[str, Any]:
    if isinstance(row, Mapping):
        return {str(name): value for name, value in row.items()}
    if not is_dataclass(row):
        raise TypeError(f"a row is a mapping or a value of rag_pg, not {type(row).__name__}")
    return {one.name: getattr(row, one.name) for one in fields(row)}


def _plain(value: Any) -> Any:
    if isinstance(value, _PLAIN):
        return value
    plain = to_json(value)
    if isinstance(plain, _PLAIN):
        return plain
    return json.dumps(plain, ensure_ascii=False, default=lambda array: array.tolist())


def shorten(text: str | None, length: int = 60) -> str | None:
    """Return a text on one line, cut where it is longer."""
    line = None if text is None else " ".join(text[: 4 * length].split())
    return line if line is None or len(line) <= length else line[: length - 1] + "…"


def brief(value: object, *names: str, **more: object) -> str:
    """Return the repr of a value with some of its fields, and with what is not one."""
    told = {**{name: getattr(value, name) for name in names}, **more}
    return f"{type(value).__name__}({', '.join(f'{name}={one!r}' for name, one in told.items())})"


def html_table(
    names: Sequence[str], rows: Sequence[Sequence[object]], below: Sequence[str] = ()
) -> str:
    """Return rows as a table of HTML, and lines of text below it; nothing in them is markup."""
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>"
        + "".join(
            f'<td dir="auto" style="text-align:left">{escape("" if v is None else str(v))}</td>'
            for v in row
        )
        + "</tr>"
        for row in rows
    )
    lines = "".join(f'<p dir="auto">{escape(line)}</p>' for line in below)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{lines}"
