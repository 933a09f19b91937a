"""The tables and lists of a text, by its sentences. Pure.

A table is Markdown's, or a list whose items name their columns, as sheets are loaded: "- Plan: Pro;
Price: 5 €".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from typing import Literal

from rag_pg.text.plain import plain
from rag_pg.text.sentences import Sentence

# The line under the head of a table, from the end of its head on.
UNDERLINE = re.compile(r"[ \t]*+\n[ \t>]*+[+|: \t]*+[-=][-=+|: \t]*+(?:\n|\Z)")

# A row between two rules of a grid, as all rows of it are, and the next one.
_GRID = re.compile(r"(?:[ \t]*\|.*\n)+[ \t]*\+[-+]+\+[ \t]*\n[ \t]*\|")
_BAR = re.compile(r"(?<!\\)\|")
_GAP = re.compile(r"\t+| {2,}")
_NAMED = re.compile(r"([^:;]{1,60}): ([^;]*)(?:; |$)")
_BULLET = re.compile(
    r"(?m)^([ \t]*)(?:>[ \t]*)*(?:[-*+•‣◦–]|(\d{1,3}(?:[.)]|(?=[ \t]{2}))|\(?[a-z]\)))[ \t]+\Z"
)
_INDENT = re.compile(r"[ \t]*")
_RULE = re.compile(r"[ \t]*\|(?:[ \t]*:?-+:?[ \t]*\|)+[ \t]*")
_HEADING = re.compile(r"(?m)^#{1,6}\s")


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """The sentences [first, last) of a list, or of a table with its head; `starts`: with which of
    them each item or row begins."""

    first: int
    last: int
    starts: Sequence[int]
    what: Literal["items", "rows"]
    indent: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """The sentences [first, last) of a page that are a table: names of its columns, and of each row
    its sentence and its cells, as many as names. is_headed: the first sentence is the head."""

    first: int
    last: int
    names: Sequence[str]
    rows: Sequence[int]
    cells: Sequence[Sequence[str]]
    is_headed: bool

    def row(self, number: int) -> str:
        """The cells of a row, each behind the name of its column; of a table whose rows have names
        (Default: …) behind that."""
        if self.names[0].endswith((":", "：")):
            return " ".join(filter(None, self.cells[number]))
        pairs = zip(self.names, self.cells[number], strict=True)
        return "; ".join(f"{name}: {cell}" if name else cell for name, cell in pairs if cell)


def read_cells(row: str) -> list[str]:
    """Return the cells of a row of a table, without markup."""
    inner = re.sub(r"\A\s*\||(?<!\\)\|\s*\Z", "", row)
    cells = (_BAR if _BAR.search(row) else _GAP).split(inner)
    return [plain(cell.replace("\\|", "¦")).replace("¦", "|") for cell in cells]


def named_cells(item: str) -> list[tuple[str, str]]:
    """Return the cells of a row that is an item of a list, each behind the name of its column."""
    return _NAMED.findall(item)


def is_head(text: str, sentences: Sequence[Sentence], at: int) -> bool:
    """Whether a row is the head of the rows below it: a rule stands between them, or it has no
    number in a column of which the next row has one."""
    if sentences[at].kind != "row" or (at and _follows(text, sentences, at)):
        return False
    if rule := UNDERLINE.match(text, sentences[at].stop):
        if _is_below(text, sentences[at].start):
            return False
        return "=" in rule[0] or not _GRID.match(text, rule.end())
    if at + 1 >= len(sentences) or not _follows(text, sentences, at + 1):
        return False
    names, cells = (read_cells(sentences[n].text) for n in (at, at + 1))
    return len(names) == len(cells) and any(
        not re.search(r"\d", name) and re.match(r"\W*\d", cell)
        for name, cell in zip(names, cells, strict=True)
    )


def head_above(text: str) -> str:
    """Return the head of the table of Markdown in whose rows a text ends, with the rule below it;
    "": it ends in none."""
    rows = [*takewhile(lambda line: line.lstrip()[:1] == "|", text.splitlines()[::-1])]
    return f"{rows[-1]}\n{rows[-2]}\n" if len(rows) > 1 and _RULE.fullmatch(rows[-2]) else ""


def _is_below(text: str, start: int) -> bool:
    """Whether another row of a grid stands above the row that begins at `start`."""
    above = text[:start].rstrip(" \t|").rsplit("\n", 3)[1:3]
    return len(above) == 2 and above[0].lstrip()[:1] == "|" and above[1].lstrip()[:1] == "+"


def _follows(text: str, sentences: Sequence[Sentence], at: int) -> bool:
    """Whether a row stands on the line below another, or only a rule is between them."""
    gap = text[sentences[at - 1].stop : sentences[at].start]
    is_row = sentences[at - 1].kind == sentences[at].kind == "row"
    return is_row and not gap.strip("-=+|: \t\n>") and gap.count("\n") <= 2


def find_tables(text: str, sentences: Sequence[Sentence]) -> list[Table]:
    """Return the tables of a text in order; rows whose head is not there are none."""
    found = []
    at = 0
    while at + 1 < len(sentences):
        if is_head(text, sentences, at):
            names, start, read = read_cells(sentences[at].text), at + 1, read_cells
        elif names := [name for name, _ in named_cells(sentences[at].text)]:
            start, read = at, partial(_read_named, names)
        else:
            at += 1
            continue
        last = start + 1
        while last < len(sentences) and _continues(text, sentences, last, names, start > at):
            last += 1
        rows = range(start, last)
        cells = [read(sentences[row].text) for row in rows]
        if start > at or (len(rows) > 1 and sentences[at].kind == "item"):
            cells = [[*row, *[""] * len(names)][: len(names)] for row in cells]
            found.append(
                Table(
                    first=at, last=last, names=names, rows=rows, cells=cells, is_headed=start > at
                )
            )
            at = last
        else:
            at += 1
    return found


def _continues(
    text: str, sentences: Sequence[Sentence], at: int, names: Sequence[str], is_headed: bool
) -> bool:
    """Whether sentence `at` is a further row of the table before it."""
    gap = text[sentences[at - 1].stop : sentences[at].start]
    if is_headed:
        return sentences[at].kind == "row" and not gap.strip() and gap.count("\n") == 1
    own = {name for name, _ in _NAMED.findall(sentences[at].text)}  # empty cells are left out
    is_alike = own == {*names} or (len(own) > 1 and own <= {*names})
    return is_alike and not re.search(r"\n\s*[^\s*+-]", gap)


def _read_named(names: Sequence[str], row: str) -> list[str]:
    own = dict(named_cells(row))
    return [own.get(name, "") for name in names]


def find_lists(text: str, sentences: Sequence[Sentence]) -> list[Block]:
    """Return the lists of a text, each with what is nested in its items."""
    found: list[Block] = []
    for at, sentence in enumerate(sentences):
        before = text[max(0, sentence.start - 80) : sentence.start]
        gap = text[sentences[at - 1].stop : sentence.start] if at else ""
        indent = len(_INDENT.match(text, text.rfind("\n", 0, sentence.start) + 1)[0])  # type: ignore[index]
        mark = item_mark(before)
        block = found[-1] if found and found[-1].last == at and not _HEADING.search(gap) else None
        if block is not None and mark is not None and indent <= block.indent:
            if mark.strip() == "1.":  # another list
                found.append(Block(first=at, last=at + 1, starts=[at], indent=indent, what="items"))
            else:
                found[-1] = replace(block, last=at + 1, starts=[*block.starts, at])
        elif block is not None and (
            sentence.kind in ("item", "row") or indent > block.indent or "\n" not in gap
        ):
            found[-1] = replace(block, last=at + 1)
        elif mark is not None:
            found.append(Block(first=at, last=at + 1, starts=[at], indent=indent, what="items"))
    return found


def item_mark(before: str) -> str | None:
    """The mark of the list item that begins behind `before`; None within an item or a table."""
    match = _BULLET.search(before)
    if not match:
        return None
    mark = f"{match[2]}." if (match[2] or "").isdigit() else match[2] or "-"
    return " " * ((len(match[1].expandtabs(4)) + 1) // 2) + f"{mark} "
