"""A claim about one row of a table, and what another has; the rows that a question is about."""

from __future__ import annotations

import re
from dataclasses import replace

from rag_pg.answer.aggregates import MOST_ROWS, aggregate, asked_aggregate
from rag_pg.answer.figures import figures_of
from rag_pg.answer.passage import read_source
from rag_pg.text import Table, is_among, is_function_word, words

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


def rows_with(question: str, table: Table) -> tuple[str, str, Table] | None:
    """Return (question without it, what it is, the rows that have it) of the one cell that a
    question names in the columns with equal cells (boxes of Haddad); None where there is none, or
    several."""
    if len(table.rows) > MOST_ROWS:
        return None
    columns = [list(column) for column in zip(*table.cells, strict=True)]
    found = {
        (n, cell)
        for n, cells in enumerate(columns)
        if len(set(cells)) < len(cells)
        for cell in cells
        if any(map(str.isalpha, cell)) and names_cell(question, cell)
    }
    if len(found) != 1:
        return None
    ((column, cell),) = found
    of_it = words(f"{table.names[column]} {cell}")
    rest = " ".join(t for t in question.split() if not all(is_among(w, of_it) for w in words(t)))
    rows = [n for n, own in enumerate(columns[column]) if own == cell]
    some = replace(table, rows=[table.rows[n] for n in rows], cells=[table.cells[n] for n in rows])
    return rest, f"{table.names[column]}: {cell}", some


def names_cell(claim: str, cell: str) -> bool:
    """Whether a claim has all words of a cell."""
    stated = [word for word in words(cell) if not is_function_word(word)]
    found = words(claim)
    return bool(stated) and all(is_among(w, found) for w in stated)
