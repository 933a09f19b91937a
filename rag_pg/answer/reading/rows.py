"""A claim about one row of a table, and what another has; the rows that a question is about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

from rag_pg.answer.reading.aggregates import (
    LONGEST,
    MONEY,
    MOST_ROWS,
    aggregate,
    asked_aggregate,
    named_columns,
    read_numbers,
)
from rag_pg.answer.reading.figures import MONTHS, counted_figures, figures_of
from rag_pg.answer.reading.measures import is_unit
from rag_pg.answer.reading.negation import is_negated
from rag_pg.answer.reading.passage import read_source
from rag_pg.answer.reading.relations import bounds_of
from rag_pg.text import Table, content_words, is_among, told_words, words

_YES = frozenset(["yes", "y", "true", "x", "✓", "✔", "ja", "wahr", "oui", "vrai", "sí", "si"])
_NO = frozenset(["", "-", "–", "—", "✗", "✘", "no", "n", "false", "nein", "falsch", "non", "faux"])
_DENIALS = ("no", "not", "without", "keine", "kein", "nicht", "ohne", "sans", "pas", "sin")
_BETWEEN = re.compile(
    r"\D{0,20}?(\d(?:[\d.,]*\d)?)\D{0,12}?(?:to|bis|[-–—à])\s?[€$£]?(\d(?:[\d.,]*\d)?)\D{0,20}",
    re.IGNORECASE,
)
_FROM = re.compile(
    r"(?:from|over|above|more than|ab|über|mehr als|dès|plus de|[≥>]) ?[€$£]?"
    r"(\d(?:[\d.,]*\d)?)\D{0,20}"
    r"|[€$£]?(\d(?:[\d.,]*\d)?)"
    r"(?:\+|\D{0,12} (?:or|and|oder|und|ou) (?:more|over|above|mehr|plus))",
    re.IGNORECASE,
)
_UP_TO = re.compile(
    r"(?:up to|until|under|below|less than|bis|bis zu|unter|weniger als|jusqu'à|moins de|[≤<])"
    r" ?[€$£]?(\d(?:[\d.,]*\d)?)\D{0,20}",
    re.IGNORECASE,
)
# Money has no three decimals, and in languages that write ranges so a point parts thousands.
_POINTED = re.compile(rf"{MONEY.pattern}|\b(?:bis|ab|über|unter|jusqu'à|moins de|plus de)\b")
_THOUSANDS = re.compile(r"(?<=\d)\.(?=\d{3}(?!\d))")
_MINUTES = re.compile(r"\d\s*min\b")  # no minimum


def is_of_another_row(claim: str, source: str) -> bool:
    """Whether a claim names one row of a table by its first cell, and has a figure or all words of
    a cell that stand in other rows of it and nowhere else in the source."""
    read = read_source(source)
    for table in read.tables:
        named = [row for row in table.cells if names_cell(claim, row[0])]
        if len(named) != 1 or len(table.cells) < 2:
            continue
        (mine,) = named
        rest = "\n".join(
            [*table.names, *mine, *(s.text for s in read.sentences if s.kind != "row")]
        )
        others = [row for row in table.cells if row != mine]
        here = figures_of(rest)
        if figures_of(claim) & ({v for row in others for v in figures_of(" ".join(row))} - here):
            return True
        if any(
            names_cell(claim, cell) and not names_cell(rest, cell) and not names_cell(claim, own)
            for row in others
            for cell, own in [*zip(row, mine, strict=True)][1:]
            if cell and own and not figures_of(cell)
        ):
            return True
    return False


def is_not_the_most(claim: str, source: str) -> bool:
    """Whether a claim says of one row of a table that it has the highest or lowest value of a
    column (the cheapest plan), and another has."""
    claim = _MINUTES.sub(" ", claim)
    if asked_aggregate(claim) not in ("maximum", "minimum"):
        return False
    for table in read_source(source).tables:
        named = [n for n, row in enumerate(table.cells) if names_cell(claim, row[0])]
        if len(named) != 1:
            continue
        name = words(table.cells[named[0]][0])
        rest = " ".join(word for word in claim.split() if not {*words(word)} & {*name})
        found = aggregate(rest, table, rest)
        if found and table.rows[named[0]] not in found[1]:
            return True
    return False


def rows_without(question: str, table: Table) -> set[int]:
    """The sentences of the rows of a table that a question does not ask for, by a column that it
    names: those that say no, and those whose number is not within its bounds (over 20 seats); or
    by its number, which is within the range of one row alone (45 minutes in 30 to 59)."""
    question = question[:LONGEST]
    found = rows_out_of_range(question, table)
    bounds = bounds_of(question)
    for n in named_columns(table, content_words(question)):
        cells = [row[n].strip().casefold() for row in table.cells]
        if _is_told(cells):
            is_no = is_negated(question)
            found |= {
                at for at, cell in zip(table.rows, cells, strict=True) if (cell in _NO) != is_no
            }
        elif bounds and (numbers := read_numbers(table, n)):
            within = [all(bound(number) for bound in bounds) for number in numbers[0]]
            found |= {at for at, is_in in zip(table.rows, within, strict=True) if not is_in}
    return found


def rows_out_of_range(question: str, table: Table) -> set[int]:
    """The sentences of the rows but that in whose range a number of a question is, where their
    column has ranges, in the unit of the number; none where that is in none or in several."""
    for name, *column in zip(table.names, *table.cells[:MOST_ROWS], strict=True):
        is_pointed = _POINTED.search(" ".join([name, *column])) is not None
        asked, *cells = (
            _THOUSANDS.sub("", text) if is_pointed else text for text in (question, *column)
        )
        ranges = [_range(cell) for cell in cells]
        if sum(one is not None for one in ranges) < 2:
            continue
        for _, value, unit in counted_figures(asked):
            text = " ".join([*table.names, *column]).casefold()
            within = [n for n, one in enumerate(ranges) if one and one[0] <= value <= one[1]]
            units = {*words(text), *(unit for _, _, unit in counted_figures(text))}
            if len(within) == 1 and (not is_unit(unit) or is_among(unit, units)):
                return {*table.rows[: len(ranges)]} - {table.rows[within[0]]}
    return set()


def _range(cell: str) -> tuple[Decimal, Decimal] | None:
    """The least and the most number of a cell that is a range: 30 to 59 minutes, 60 or more."""
    plain = " ".join(cell.split())
    if MONTHS.keys().isdisjoint(words(plain)):
        for pattern, ends in ((_BETWEEN, None), (_FROM, "Infinity"), (_UP_TO, "0")):
            if match := pattern.fullmatch(plain):
                told = [value for n in match.groups() if n for _, value, _ in counted_figures(n)]
                numbers = [*told, *([Decimal(ends)] if ends else [])]
                return min(numbers), max(numbers)
    return None


def _is_told(cells: Sequence[str]) -> bool:
    """Whether a column says of most things yes or no, and not the same of all."""
    told = [cell for cell in cells if cell in _YES | _NO]
    return 2 * len(told) >= len(cells) and not (_YES.issuperset(cells) or _NO.issuperset(cells))


def readings(question: str, table: Table) -> list[tuple[str, str, Table]]:
    """Return (question without it, what they have, the rows) of the ways to read which rows of a
    table a question is about: all; those that have the one cell which it names of a column with
    equal cells (boxes of Haddad); those alone that say yes or no in a column that it names, and
    none where such a column says something else of one."""
    if len(table.rows) > MOST_ROWS:
        return []
    table = _grouped(table)
    columns = [list(column) for column in zip(*table.cells, strict=True)]
    named = named_columns(table, content_words(question))
    folded = {n: [cell.strip().casefold() for cell in columns[n]] for n in named if n}
    if told := [n for n, cells in folded.items() if _is_told(cells)]:
        is_no = is_negated(question)
        if len(told) > 1 or not (_YES | _NO).issuperset(folded[told[0]]):
            return []
        wanted = _NO if is_no else _YES
        rows = [n for n, cell in enumerate(folded[told[0]]) if cell in wanted]
        which = f"{table.names[told[0]]}: {'no' if is_no else 'yes'}"
        return [_reading(question, table, rows, table.names[told[0]], which)]
    found = {
        (n, cell)
        for n, cells in enumerate(columns)
        if len(set(cells)) < len(cells)
        for cell in cells
        if any(map(str.isalpha, cell)) and names_cell(question, cell)
    }
    everything = (question, "", table)
    if len(found) != 1:
        return [everything]
    ((column, cell),) = found
    rows = [n for n, own in enumerate(columns[column]) if own == cell]
    which = ": ".join(filter(None, [table.names[column], cell]))
    return [everything, _reading(question, table, rows, which, which)]


def _grouped(table: Table) -> Table:
    """A table all of whose rows stand below one with a single text (Hot dishes), without these, and
    with what they say as a last column; any other as it is."""
    told = [_only(row) for row in table.cells]
    if len(table.names) < 3 or not told[0] or told[-1] or any(map(all, pairwise(told))):
        return table
    kept = [n for n, own in enumerate(told) if not own]
    cells = [[*table.cells[n], next(filter(None, told[n::-1]))] for n in kept]
    rows = [table.rows[n] for n in kept]
    return replace(table, names=[*table.names, ""], rows=rows, cells=cells)


def _only(row: Sequence[str]) -> str:
    """What a row says that has text in one cell alone, or the same in all."""
    told = {*row} - {""}
    return told.pop() if len(told) == 1 and row.count("") in (0, len(row) - 1) else ""


def _reading(
    question: str, table: Table, rows: Sequence[int], named: str, which: str
) -> tuple[str, str, Table]:
    """Those rows, and the question without the words that name them, or deny them."""
    of_it = [*words(named), *_DENIALS]
    kept = (t for t in question.split() if not all(is_among(w, of_it) for w in words(t)))
    some = replace(table, rows=[table.rows[n] for n in rows], cells=[table.cells[n] for n in rows])
    return " ".join(kept), which, some


def names_cell(claim: str, cell: str) -> bool:
    """Whether a claim has all words of a cell."""
    stated, found = told_words(cell), words(claim)
    return bool(stated) and all(is_among(w, found) for w in stated)
