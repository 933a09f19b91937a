"""Printing: data as it is stored, on stdout; messages on stderr.

A pipe gets what is stored, character by character. A terminal gets the same, but for control
characters, which are made visible (\\x1b), so that no text can move the cursor or hide another. A
table is aligned where it fits on a terminal, else it is a paragraph for each row; in a pipe it is a
line for each row, without a head, its fields parted by tabs and escaped as PostgreSQL's COPY does.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "mark": "1;33"}
# Controls but for tab and line end; marks that turn the direction of the text;
# line and paragraph separators.
_HIDDEN = (
    "\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f"
    "\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff"
)
_UNSEEN = re.compile(f"[{_HIDDEN}]")
_UNSEEN_IN_A_CELL = re.compile(f"[{_HIDDEN}\t\n]")
_COPY = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_GAP = 2  # columns between two fields of a table
_INDENT = 4

Part = str | tuple[str, str]  # a text, or a text and its style


def is_terminal(stream: TextIO) -> bool:
    """Whether people read it; FORCE_COLOR says so of a pipe."""
    return stream.isatty() or bool(os.environ.get("FORCE_COLOR"))


def width() -> int:
    """The columns of the terminal; COLUMNS overrides them."""
    return shutil.get_terminal_size().columns


def visible(text: str, *, cell: bool = False) -> str:
    """Return `text` with its control characters as escapes; in a cell, tabs and line ends too."""
    return (_UNSEEN_IN_A_CELL if cell else _UNSEEN).sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()


def write(*parts: Part, end: str = "\n", error: bool = False) -> None:
    """Write a line on stdout, or on stderr with `error`. Styles are for terminals."""
    stream = sys.stderr if error else sys.stdout
    seen = is_terminal(stream)
    styled = seen and not os.environ.get("NO_COLOR")
    for part in parts:
        text, style = (part, "") if isinstance(part, str) else part
        text = visible(text) if seen else text
        if styled and style and text:
            text = f"\x1b[{_STYLES[style]}m{text}\x1b[0m"
        stream.write(text)
    stream.write(end)
    stream.flush()


def write_message(*parts: Part) -> None:
    """Write a message, on stderr."""
    write(*parts, error=True)


def note(text: str) -> None:
    write_message(("note:", "yellow"), " ", text)


def failed(text: str) -> None:
    write_message(("failed:", "red"), " ", text)


def write_json(value: Any) -> None:
    """Write a value as a line of JSON; what a terminal would act on is escaped
    in JSON's own way."""
    line = json.dumps(_finite(value), default=str, ensure_ascii=False)
    sys.stdout.write(_UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", line) + "\n")
    sys.stdout.flush()


def _finite(value: Any) -> Any:
    """Return `value` with null for the numbers that JSON does not have."""
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, list | tuple) else value


# --- tables --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Column:
    """A column: `shown` makes its values readable on a terminal; a pipe gets them as they are.

    optional: it may be left out of a narrow terminal where it has nothing to say in any row.
    """

    name: str
    shown: Callable[[Any], str] | None = None
    optional: bool = False


def write_table(columns: Sequence[Column], rows: Sequence[Sequence[Any]]) -> None:
    """Write rows of values, in the form that stdout asks for."""
    if not is_terminal(sys.stdout):
        for row in rows:
            write("\t".join(map(copy_field, row)))
        return
    for line in table_lines(columns, rows, width()):
        write(*line)


def copy_field(value: Any) -> str:
    """Return a value as a field of COPY's text format; nothing is an empty field."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    return "".join(_COPY.get(character, character) for character in text)


def table_lines(
    columns: Sequence[Column], rows: Sequence[Sequence[Any]], line_width: int
) -> Iterator[list[Part]]:
    """Yield the lines of a table of at most `line_width` columns:
    aligned, or a paragraph for each row."""
    kept = list(range(len(columns)))
    cells = [[_cell(columns[i], row[i]) for i in kept] for row in rows]
    widths = [max(map(_cells, [columns[i].name, *(row[i] for row in cells)])) for i in kept]

    def needed() -> int:
        return sum(widths[i] + _GAP for i in kept) - _GAP

    for i in reversed(range(len(columns))):
        if needed() > line_width and columns[i].optional and not any(row[i] for row in rows):
            kept.remove(i)
    if needed() > line_width:
        for row in cells:
            yield from _paragraph(
                [columns[i].name for i in kept], [row[i] for i in kept], line_width
            )
        return
    numbers = {i for i in kept if rows and all(isinstance(row[i], int | float) for row in rows)}

    def line(texts: Sequence[str]) -> str:
        padded = []
        for i in kept:
            blank = " " * (widths[i] - _cells(texts[i]))
            padded.append(blank + texts[i] if i in numbers else texts[i] + blank)
        return (" " * _GAP).join(padded).rstrip()

    yield [(line([column.name for column in columns]), "bold")]
    for row in cells:
        yield [line(row)]


def _paragraph(names: Sequence[str], cells: Sequence[str], line_width: int) -> Iterator[list[Part]]:
    """Yield a row: its first field on a line of its own, then the others, filled;
    no field is cut."""
    yield [(cells[0], "bold")]
    filled = ""
    for name, cell in zip(names[1:], cells[1:], strict=True):
        if not cell:
            continue
        field = f"{name}: {cell}"
        if filled and _INDENT + _cells(f"{filled} · {field}") > line_width:
            yield [" " * _INDENT + filled]
            filled = ""
        filled = f"{filled} · {field}" if filled else field
    if filled:
        yield [" " * _INDENT + filled]


def _cell(column: Column, value: Any) -> str:
    if value is None:
        return ""
    if column.shown is not None:
        value = column.shown(value)
    text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    return visible(text, cell=True)


def _cells(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
