"""Rows of a table as a Markdown list or table."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from datetime import date, datetime, time
from itertools import chain, pairwise, zip_longest
from typing import NamedTuple

from rag_pg.errors import UnsupportedFile
from rag_pg.load.records import kind_of, table_rows

_LONGEST = 100_000_000  # characters of a list: each row repeats the names and what is merged
_YEAR = re.compile("(?:19|20)[0-9][0-9]")


def rows_as_list(rows: Iterable[Sequence[object]]) -> str:
    """Return the rows of a sheet as a list: each says its columns' names, from the first row that
    has any, so that a row can be understood without the others; where that is one of data, rows
    are without names. Below an empty row another table may begin. Rows of one text above a row of
    several are what the sheet is called: lines above the list; so is a text alone between an empty
    row and a further head."""
    every = ([_cell(value) for value in row] for row in rows)
    filled: Iterator[list[str]] = filter(any, every)
    above: list[list[str]] = []
    names: list[str] | None = None
    for cells in filled:
        above.append(cells)
        if sum(map(bool, cells)) > 1:
            below = next(filled, [])
            filled = chain([below], every)
            if not is_data(cells, below):
                names = cells
            elif len(above) == 1:
                names, filled = [], chain([cells], filled)
            break
    if names is None:  # one column, or a head of one name
        names, *rest = above or [[]]
        filled, above = chain(rest, filled), []
    items, length = list[str](), 0
    for cells, kind in _with_heads(filled):
        if kind == "head":
            names = cells
            continue
        if kind == "title":
            items += ["", *filter(None, cells), ""]
            continue
        named = zip([*names, *[""] * len(cells)], cells, strict=False)
        items.append("- " + "; ".join(f"{n}: {c}" if n else c for n, c in named if c))
        length += len(items[-1])
        if length > _LONGEST:
            raise UnsupportedFile(
                f"has over {_LONGEST:,} characters where each row repeats the names of its columns "
                "and what is merged into it; shorten those, or split the file"
            )
    if names and not items:
        items = ["- " + "; ".join(filter(None, names))]
    titles = [next(filter(None, cells)) for cells in above[:-1]]
    return "\n\n".join(filter(None, ("\n".join(titles), "\n".join(items))))


def _with_heads(rows: Iterable[list[str]]) -> Iterator[tuple[list[str], str]]:
    """Yield the rows that are not empty, and whether another table begins there, as its head: with
    words alone below an empty row, above figures, where the table before has figures, too; or as
    its title: a text alone between that row and the head."""
    last, is_apart, alone = list[str](), False, list[list[str]]()
    for cells, below in pairwise(chain(rows, [[]])):
        several = sum(map(bool, cells)) > 1
        if any(cells):
            words = is_apart and not any(map(kind_of, cells))
            if words and not several:
                alone.append(cells)
                continue
            is_head = (
                words
                and any(map(kind_of, last))
                and any(a and kind_of(b) for a, b in zip(cells, below, strict=False))
            )
            if is_head and alone:
                alone = [[*chain.from_iterable(alone)]]
            yield from ((one, "title" if is_head else "") for one in alone)
            yield cells, "head" if is_head else ""
            alone = []
        is_apart |= not any(cells)
        if several:
            last, is_apart = cells, False
    yield from ((one, "") for one in alone)


class Span(NamedTuple):
    """Cells that are one: rows from 1, columns from 0, ends included."""

    first: int
    last: int
    left: int
    right: int


def merged(
    rows: Iterable[Sequence[object]], spans: Iterable[Span], hidden: Container[int] = ()
) -> Iterator[Sequence[object]]:
    """Yield rows whose cells say what was merged into them from above. The lines of a head, as far
    down as its merged cells, or one below those over several columns, are one row. hidden: the
    numbers of rows, from 1, that are left out."""
    begin: dict[int, list[Span]] = {}
    for span in spans:
        begin.setdefault(span.first, []).append(span)
    if not begin:
        yield from (row for number, row in enumerate(rows, 1) if number not in hidden)
        return
    down: dict[int, tuple[int, object]] = {}  # column: the last row that a cell comes down to
    head: list[list[object]] = []
    end = None  # the last row of the head
    for number, row in enumerate(rows, 1):
        if not row:
            yield row
            continue
        cells = [*row, *[None] * (max(down, default=-1) + 1 - len(row))]
        for span in begin.get(number, ()):
            if span.last > number and span.left < len(cells):
                down[span.left] = (span.last, cells[span.left])
        for column, (last, value) in [*down.items()]:
            if number > last:
                del down[column]
            elif column < len(cells) and cells[column] is None:
                cells[column] = value
        if number in hidden:
            continue
        texts = [cell for cell in cells if cell is not None]
        is_head = not any(map(_is_figure, texts))
        if end is None and is_head and len(texts) > 1:
            own = begin.get(number, [])
            across = [span for span in own if span.right > span.left]
            end = max([number + bool(across), *(span.last for span in own)])
        if end is None or number > end or not is_head:
            yield from _one(head)
            head, end = [], end and min(end, number)
            yield cells
            continue
        for span in begin.get(number, ()):
            cells[span.left : span.right + 1] = [cells[span.left]] * (span.right - span.left + 1)
        head.append(cells)
    yield from _one(head)


def _one(lines: Sequence[Sequence[object]]) -> Iterator[Sequence[object]]:
    """The lines of a head as one row: each column says what all of them say."""
    if lines:
        columns = zip_longest(*lines)
        yield [" ".join(map(str, dict.fromkeys(filter(None, column)))) for column in columns]


def _is_figure(value: object) -> bool:
    """Whether a cell is no name of a column: a number or date, also one that is written as text,
    but for years."""
    return not isinstance(value, str) or bool(kind_of(value) and not _YEAR.fullmatch(value))


def is_data(first: Sequence[str], below: Sequence[str]) -> bool:
    """Whether the first row of a table is no head: its first cell is a label with a colon, or it
    has numbers, dates or addresses and each of its cells is of the kind of the one below. Years
    above other numbers are names, and so is what stands beside an empty corner."""
    pairs = [pair for pair in zip_longest(first, below, fillvalue="") if any(pair)]
    if not below or not pairs[0][0]:
        return False
    if pairs[0][0].endswith(":"):
        return True
    values = [pair for pair in pairs if all(pair) and kind_of(pair[0])]
    if all(_YEAR.fullmatch(above) for above, _ in values):
        values = [pair for pair in values if _YEAR.fullmatch(pair[1])]
    return bool(values) and all(
        kind_of(above) == kind_of(cell) for above, cell in pairs if above and cell
    )


def rows_as_table(rows: Sequence[Sequence[object]], *, head: bool | None = None) -> str:
    """Return rows as a table, "" where there is nothing. head: whether the first names the columns;
    None: unless it looks like one of data. Without it the names are empty."""
    cells = [[_cell(cell) for cell in row] for row in rows]
    lines = [" | ".join(cell.replace("|", "\\|") for cell in row) for row in cells]
    if not any(line.strip(" |") for line in lines):
        return ""
    if head is False or (head is None and is_data(cells[0], next(filter(any, cells[1:]), []))):
        lines.insert(0, " | ".join("" for _ in rows[0]))
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
    return rows_as_list(row for _, row in table_rows(text, suffix))
