"""Printing: data as it is stored, on stdout; messages on stderr.

A pipe gets what is stored, character by character. A terminal gets the same, but for control
characters, which are made visible (\\x1b), so that no text can move the cursor or hide another. A
table is aligned where it fits on a terminal, else it is a paragraph for each row; in a pipe it is a
line for each row, without a head, its fields parted by tabs and escaped as PostgreSQL's COPY does.
With --json it is an object for each row.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, fields
from datetime import date
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
NARROWEST = 20  # columns of a terminal; a narrower one is written to as if it had these
_SHORTEST = 12  # columns of a field that was shortened

as_json: ContextVar[bool] = ContextVar("as_json", default=False)  # whether --json was given
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
    from rag_pg.types import to_json  # not before there is a value

    line = json.dumps(to_json(value), default=str, ensure_ascii=False)
    sys.stdout.write(_UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", line) + "\n")
    sys.stdout.flush()


def write_result(sentence: str, **result: Any) -> None:
    """Write what a command did: a sentence, or an object with --json."""
    if as_json.get():
        write_json(result)
    else:
        write(sentence)


# --- lines that fit ------------------------------------------------------------------------------


def write_filled(text: str, *head: Part, indent: int = _INDENT, style: str = "") -> None:
    """Write a text after a head: on a terminal in lines of its width, the later ones indented; in a
    pipe in one line, as it is."""
    if not is_terminal(sys.stdout):
        write(*head, text)
        return
    before = sum(cells(part if isinstance(part, str) else part[0]) for part in head)
    first, *others = wrapped(visible(text, cell=True), width(), before=before, indent=indent)
    write(*head, (first, style))
    for line in others:
        write(" " * indent, (line, style))


def wrapped(text: str, line_width: int, *, before: int = 0, indent: int = 0) -> list[str]:
    """Return a text in lines, parted at spaces where that is possible; nothing is left out of it
    but those spaces.

    before: the columns that the first line has before it, as the later ones have `indent`.
    """
    lines: list[str] = []
    whole = max(line_width, NARROWEST) - indent
    rest, left = text, whole + indent - before
    while cells(rest) > left:
        cut = _fitting(rest, max(left, 1))
        blank = rest.rfind(" ", 1, cut + 1)
        word = rest[blank + 1 :].partition(" ")[0]  # that a line of its own may hold
        is_apart = blank > cut // 2 or (blank > 0 and cells(word) <= whole)
        cut = blank if is_apart else 0 if before > indent and not lines else cut
        lines.append(rest[:cut].rstrip(" "))
        rest, left = rest[cut:].lstrip(" "), whole
    return [*lines, rest]


def shortened(text: str, columns: int) -> str:
    """Return the beginning of a text that takes so many columns, with … where it goes on."""
    return text if cells(text) <= columns else text[: _fitting(text, columns - 1)] + "…"


def _fitting(text: str, columns: int) -> int:
    """How many characters take at most so many columns; one at least, with the marks on it."""
    from rich.cells import get_character_cell_size

    taken = 0
    for number, character in enumerate(text):
        # that selector of a form may make what stands before it wide
        taken += 1 if character == "\ufe0f" else get_character_cell_size(character)
        if taken > columns and number:
            return number
    return len(text)


# --- tables --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Column:
    """A column: `shown` makes its values readable on a terminal; a pipe gets them as they are.

    optional: it may be left out of a narrow terminal where it has nothing to say in any row.
    value: the field of a row, or what makes the value of it; None: the field of the column's name.
    shrinks: it may be shortened with … where the table does not fit.
    """

    name: str
    shown: Callable[[Any], str] | None = None
    optional: bool = False
    value: str | Callable[[Any], Any] | None = None
    shrinks: bool = False

    def of(self, row: Any) -> Any:
        if callable(self.value):
            return self.value(row)
        field = self.value or self.name
        return row[field] if isinstance(row, Mapping) else getattr(row, field)


def listing(
    rows: Iterable[Any],
    columns: Sequence[str | Column] = (),
    *,
    empty: str = "nothing found",
    **beside: Any,
) -> None:
    """Write dataclasses or mappings: a table of these columns, of all fields without any; with
    --json an object for each, with what stands `beside` it. empty: what is told where none is."""
    found = list(rows)
    if as_json.get():
        for row in found:
            given = (
                row
                if isinstance(row, Mapping)
                else {f.name: getattr(row, f.name) for f in fields(row)}
            )
            write_json({**beside, **given})
    elif found:
        names = found[0] if isinstance(found[0], Mapping) else [f.name for f in fields(found[0])]
        chosen = [Column(one) if isinstance(one, str) else one for one in columns or names]
        write_table(chosen, [[column.of(row) for column in chosen] for row in found])
    elif empty:
        write_message(empty)


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
    text = "" if value is None else plain(value)
    return "".join(_COPY.get(character, character) for character in text)


def plain(value: Any) -> str:
    """Return a text as it is, a time in ISO's form, anything else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, date):
        return value.isoformat()
    return json.dumps(value, default=str, ensure_ascii=False)


def table_lines(
    columns: Sequence[Column], rows: Sequence[Sequence[Any]], line_width: int
) -> Iterator[list[Part]]:
    """Yield the lines of a table of at most `line_width` columns, or `NARROWEST`:
    aligned, or a paragraph for each row."""
    line_width = max(line_width, NARROWEST)
    kept = list(range(len(columns)))
    shown = [[_cell(columns[i], row[i]) for i in kept] for row in rows]
    widths = [max(map(cells, [columns[i].name, *(row[i] for row in shown)])) for i in kept]

    def missing() -> int:
        return sum(widths[i] + _GAP for i in kept) - _GAP - line_width

    for i in reversed(range(len(columns))):
        if missing() > 0 and columns[i].optional and not any(row[i] for row in rows):
            kept.remove(i)
    shrinking = [i for i in kept if columns[i].shrinks and widths[i] > _SHORTEST]
    if 0 < missing() <= sum(widths[i] - _SHORTEST for i in shrinking):
        while missing() > 0:
            widest = max(shrinking, key=lambda i: widths[i])
            widths[widest] -= 1
        shown = [[shortened(cell, widths[i]) for i, cell in enumerate(row)] for row in shown]
    if missing() > 0:
        for row in shown:
            yield from _paragraph(
                [columns[i].name for i in kept], [row[i] for i in kept], line_width
            )
        return
    numbers = {i for i in kept if rows and all(isinstance(row[i], int | float) for row in rows)}

    def line(texts: Sequence[str]) -> str:
        padded = []
        for i in kept:
            blank = " " * (widths[i] - cells(texts[i]))
            padded.append(blank + texts[i] if i in numbers else texts[i] + blank)
        return (" " * _GAP).join(padded).rstrip()

    yield [(line([shortened(column.name, widths[i]) for i, column in enumerate(columns)]), "bold")]
    for row in shown:
        yield [line(row)]


def _paragraph(names: Sequence[str], shown: Sequence[str], line_width: int) -> Iterator[list[Part]]:
    """Yield a row: its first field on lines of its own, then the others, filled;
    no field is cut."""
    for number, line in enumerate(wrapped(shown[0], line_width, indent=_INDENT)):
        yield [(" " * _INDENT * bool(number) + line, "bold")]
    filled = ""
    for name, cell in zip(names[1:], shown[1:], strict=True):
        if not cell:
            continue
        field = f"{name}: {cell}" if name else cell
        if filled and _INDENT + cells(f"{filled} · {field}") > line_width:
            yield [" " * _INDENT + filled]
            filled = ""
        filled = f"{filled} · {field}" if filled else field
        if _INDENT + cells(filled) > line_width:
            *full, filled = wrapped(filled, line_width, before=_INDENT, indent=_INDENT + _GAP)
            for number, line in enumerate(full):
                yield [" " * (_INDENT + _GAP * bool(number)) + line]
            yield [" " * (_INDENT + _GAP) + filled]
            filled = ""
    if filled:
        yield [" " * _INDENT + filled]


def _cell(column: Column, value: Any) -> str:
    if value is None:
        return ""
    return visible(plain(value if column.shown is None else column.shown(value)), cell=True)


def cells(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
