"""Markdown on a terminal: lines of its width, with bold, lists, tables and code.

Only the marks of Markdown are read; the words are printed as they are, see `visible`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from rag_pg.console.terminal import Column, Part, table_lines, visible, wrapped
from rag_pg.text import UNDERLINE, read_cells

BOLD = re.compile(
    r"(?<![\w*])\*\*(?=[^\s*])((?:[^*]|\*(?!\*)|(?<=\w)\*\*(?=\w))+?)(?<=[^\s*])\*\*(?![\w*])"
)
_ITEM = re.compile(r"(\s*(?:[-*+•]|\d{1,3}[.)])\s+)(?=\S)")
_HEADING = re.compile(r"#{1,6}\s+(?=\S)")
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})")
_LONG = 2000  # characters of a piece that is read again when it has grown by a sixteenth
_CITED = re.compile(r"\[\d{1,6}\]")


def markdown_lines(text: str, line_width: int) -> Iterator[list[Part]]:
    """Yield the lines of a Markdown text, none longer than `line_width` but of code, which keeps
    its lines without its fences. Without colours the marks of bold stay."""
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        line = lines[at].rstrip(" ")  # as a break within a paragraph has them
        if _FENCE.match(line) and (end := _end_of_code(lines, at)):
            for code in lines[at + 1 : end]:
                yield [f"    {code}" if code else ""]
            at = end + 1
        elif line.startswith("|") and UNDERLINE.match("\n".join(lines[at : at + 2]), len(line)):
            stop = next((n for n in range(at, len(lines)) if lines[n][:1] != "|"), len(lines))
            yield from _table(lines[at], lines[at + 2 : stop], line_width)
            at = stop
        else:
            yield from _paragraph(line, line_width)
            at += 1


class LiveMarkdown:
    """Markdown that comes in pieces: gives each line of the terminal as soon as what follows cannot
    change it, a table or code when it is whole."""

    def __init__(self) -> None:
        self._rest = ""
        self._shown = 0  # lines of the first line of it that were given
        self._waits = 0  # characters of it before it is read again

    def feed(self, piece: str, line_width: int) -> list[list[Part]]:
        """Return the lines that a further piece completes."""
        self._rest += piece
        if len(self._rest) < self._waits:
            return []
        if len(self._rest) > _LONG:
            self._waits = len(self._rest) * 17 // 16  # so that the time is linear in the length
        done, newline, last = self._rest.rpartition("\n")
        begun = [line for line in done.split("\n") if _FENCE.match(line)]
        if len(begun) % 2 or done.rpartition("\n")[2].startswith("|"):
            return []
        found = self._given(done, line_width) if newline else []
        self._rest = last
        if "**" not in last and last[:1] not in ("|", "`", "~", "#"):
            lines = list(markdown_lines(last, line_width))
            found += lines[self._shown : -1]
            self._shown = max(self._shown, len(lines) - 1)
        return found

    def close(self, line_width: int) -> list[list[Part]]:
        """Return the lines that are left."""
        return self._given(self._rest, line_width) if self._rest else []

    def _given(self, text: str, line_width: int) -> list[list[Part]]:
        lines = list(markdown_lines(text, line_width))[self._shown :]
        self._shown, self._rest, self._waits = 0, "", 0
        return lines


def _end_of_code(lines: Sequence[str], at: int) -> int:
    """The line that closes the code that begins at a line; 0 where none does."""
    return next((n for n in range(at + 1, len(lines)) if _FENCE.match(lines[n])), 0)


def _paragraph(line: str, line_width: int) -> Iterator[list[Part]]:
    """Yield a line of Markdown in lines of the terminal, those of an item under its words."""
    heading = _HEADING.match(line)
    item = _ITEM.match(line)
    indent = len(item[1].expandtabs(4)) if item else 0
    parts = _styled(line[heading.end() :] if heading else line, "bold" if heading else "")
    whole = "".join(text for text, _ in parts)
    styles = [style for text, style in parts for _ in text]
    at = 0
    for number, shown in enumerate(wrapped(whole, line_width, indent=indent)):
        at = whole.index(shown, at)
        found: list[Part] = [" " * indent] if number and indent else []
        for style, same in groupby(range(at, at + len(shown)), styles.__getitem__):
            found.append(("".join(whole[position] for position in same), style))
        yield found
        at += len(shown)


def _styled(line: str, base: str) -> list[tuple[str, str]]:
    """The pieces of a line with their styles; without colours the marks are kept."""
    pieces = [line] if os.environ.get("NO_COLOR") else BOLD.split(line)
    return [
        (visible(piece, cell=True), "bold" if number % 2 else base)
        for number, piece in enumerate(pieces)
    ]


def _table(head: str, rows: Sequence[str], line_width: int) -> Iterator[list[Part]]:
    """Yield a table in columns, rows that are cited in bold; where it is too wide, a paragraph for
    each row."""
    names = read_cells(head)
    if len(names) > line_width:  # no table that a terminal can show
        for row in (head, *rows):
            yield from _paragraph(row, line_width)
        return
    cells = [[*_cells(row), *[""] * len(names)][: len(names)] for row in rows]
    lines = list(table_lines([Column(name) for name in names], cells, line_width))
    for number, line in enumerate(lines):
        is_row = len(lines) == len(rows) + 1 and number > 0
        if is_row and _CITED.search(rows[number - 1]):
            line = [(part, "bold") if isinstance(part, str) else part for part in line]
        yield line


def _cells(row: str) -> list[str]:
    """The cells of a row, the last with the citations that stand in it."""
    *cells, last = read_cells(row)
    return [*cells, " ".join(filter(None, [last, *_CITED.findall(row)]))]
