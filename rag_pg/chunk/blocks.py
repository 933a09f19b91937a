"""The structure of a text: its blocks in order, each with the headings it stands under.

Blocks are made of whole lines, and together they hold every line that is not blank. Markdown is
read by markdown-it-py (CommonMark and tables), so that a '#' in a code block is no heading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rag_pg.text import Kind, MarkdownNode, parse_markdown, plain, plain_heading

_LINE_END = re.compile(r"\r\n|\r|\n")
_RULE = re.compile(r"([=~^\"'+*#.:_`<>-])\1+")
_TITLE = re.compile(r"(?!\.\. |[-=~^\"'+*#.:_`<>]+\Z).*\w")
_BLANK_LINES = re.compile(r"(?:\r\n|\r|\n)[^\S\r\n]*(?:\r\n|\r|\n)\s*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """text[start:stop] and the headings above it, outermost first.

    kind: prose may be cut at sentences; rigid (code, table, HTML) only between lines; a group
    (list item, quotation) has its parts in `children`; a heading's path ends with itself.
    """

    start: int
    stop: int
    kind: Kind
    path: tuple[str, ...] = ()
    children: tuple[Block, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Unit(Block):
    """A block whose size is known, in tokens."""

    tokens: int


def outline_plain(text: str) -> list[Block]:
    """Return the paragraphs of `text`: what blank lines separate. There are no headings."""
    return _paragraphs(text, 0, len(text), ())


def _paragraphs(text: str, start: int, stop: int, path: tuple[str, ...]) -> list[Block]:
    blocks = []
    for gap in _BLANK_LINES.finditer(text, start, stop):
        blocks.append(Block(start=start, stop=gap.start(), kind="prose", path=path))
        start = gap.end()
    blocks.append(Block(start=start, stop=stop, kind="prose", path=path))
    return [block for block in blocks if text[block.start : block.stop].strip()]


def outline_rest(text: str) -> list[Block]:
    """Return the paragraphs of a reStructuredText under its headings, which are lines with a rule
    of one mark below them, and maybe above; a rule is of the level at which it comes up first."""
    lines = _Lines(text)
    bare = [line.rstrip() for line in _LINE_END.split(text)]
    styles: list[tuple[str, bool]] = []
    open_headings: list[str] = []
    blocks: list[Block] = []
    done = 0
    for at, (title, rule) in enumerate(pairwise(bare)):
        before = bare[at - 1] if at else ""
        is_over = _RULE.fullmatch(before) is not None and before == rule
        is_alone = is_over or not before or before.startswith(".. ")
        if at < done or not (is_alone and _RULE.fullmatch(rule) and _TITLE.match(title, 0)):
            continue
        if len(rule) < min(len(title), 4) or (title[0].isspace() and not is_over):
            continue
        blocks += _paragraphs(text, *lines.span(done, at - is_over), tuple(open_headings))
        style = (rule[0], is_over)
        if style not in styles:
            styles.append(style)
        del open_headings[styles.index(style) :]
        open_headings.append(plain_heading(plain(title)))
        start, stop = lines.span(at - is_over, at + 2)
        blocks.append(Block(start=start, stop=stop, kind="heading", path=tuple(open_headings)))
        done = at + 2
    return blocks + _paragraphs(text, *lines.span(done, lines.count), tuple(open_headings))


def outline_markdown(text: str) -> list[Block]:
    """Return the blocks of a Markdown text. Only headings of the document itself count, not those
    inside a list or a quotation; an item of a list is a block of its own."""
    lines = _Lines(text)
    path: tuple[str, ...] = ()
    open_headings: list[tuple[int, str]] = []
    blocks: list[Block] = []
    for node in lines.fill(parse_markdown(text), 0, lines.count):
        if node.kind == "heading":
            while open_headings and open_headings[-1][0] >= node.level:
                open_headings.pop()
            open_headings.append((node.level, plain_heading(node.heading)))
            path = tuple(name for _, name in open_headings if name)
        blocks.append(lines.block(node, path))
    return blocks


def split_lines(text: str, start: int, stop: int) -> list[tuple[int, int]]:
    """Return (start, stop) of each line of text[start:stop] that is not blank."""
    ends = [match.end() for match in _LINE_END.finditer(text, start, stop)]
    pairs = zip([start, *ends], [*ends, stop], strict=True)
    return [(first, last) for first, last in pairs if text[first:last].strip()]


# --- markdown-it's tokens ------------------------------------------------------------------------


class _Lines:
    """Where the lines of a text begin."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text)), len(text)]
        self.count = len(self._starts) - 1

    def fill(self, nodes: Sequence[MarkdownNode], first: int, last: int) -> Iterator[MarkdownNode]:
        """Yield `nodes`, and prose for the lines of [first, last) that no node has, such as link
        definitions. A group begins at its first line, so that its children have the list's marker.
        """
        for node in nodes:
            if self._has_text(first, node.first):
                yield MarkdownNode(first, node.first, "prose", [])
            yield node
            first = max(first, node.last)
        if self._has_text(first, last):
            yield MarkdownNode(first, last, "prose", [])

    def block(self, node: MarkdownNode, path: tuple[str, ...]) -> Block:
        children = (
            [self.block(child, path) for child in self.fill(node.children, node.first, node.last)]
            if node.kind == "group"
            else []
        )
        kind = node.kind
        if len(children) == 1:  # an item that is one paragraph, or one code block
            kind, children = children[0].kind, list(children[0].children)
        return Block(
            start=self._starts[node.first],
            stop=self._starts[min(node.last, self.count)],
            kind=kind,
            path=path,
            children=tuple(children),
        )

    def span(self, first: int, last: int) -> tuple[int, int]:
        return self._starts[first], self._starts[min(last, self.count)]

    def _has_text(self, first: int, last: int) -> bool:
        return first < last and bool(self._text[self._starts[first] : self._starts[last]].strip())
