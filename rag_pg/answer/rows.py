"""A claim about one row of a table, and the figures of another."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rag_pg.answer.figures import figures_of
from rag_pg.text import is_function_word, same_word, words

_RULE = re.compile(r"[\s|:\-]+")


def is_of_another_row(claim: str, source: str) -> bool:
    """Whether a claim names one row of a table by its first cell, and has a figure that
    stands in other rows of it and nowhere else in the source."""
    for table in _tables(source):
        named = [row for row in table[1:] if _names(claim, row[0])]
        if len(named) != 1 or len(table) < 3:
            continue
        (mine,) = named
        rest = "\n".join(line for line in source.splitlines() if "|" not in line)
        here = figures_of(f"{' '.join(table[0])} {' '.join(mine)} {rest}")
        there = {value for row in table[1:] if row != mine for value in figures_of(" ".join(row))}
        if figures_of(claim) & (there - here):
            return True
    return False


def _tables(source: str) -> Iterator[list[Sequence[str]]]:
    """Yield the rows of each table in Markdown, its head first."""
    table: list[Sequence[str]] = []
    for line in [*source.splitlines(), ""]:
        if line.count("|") > 1:
            if not _RULE.fullmatch(line):
                table.append([cell.strip() for cell in line.strip().strip("|").split("|")])
        elif table:
            yield table
            table = []


def _names(claim: str, cell: str) -> bool:
    """Whether a claim has all words of a cell."""
    stated = [word for word in words(cell) if not is_function_word(word)]
    found = words(claim)
    return bool(stated) and all(any(same_word(w, other) for other in found) for w in stated)
