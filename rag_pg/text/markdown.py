"""The structure of a Markdown text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

Kind = Literal["heading", "prose", "rigid", "group"]


_KINDS: dict[str, Kind] = {
    "heading_open": "heading",
    "paragraph_open": "prose",
    "hr": "prose",
    "fence": "rigid",
    "code_block": "rigid",
    "html_block": "rigid",
    "table_open": "rigid",
    "list_item_open": "group",
    "blockquote_open": "group",
}


_GROUP_ENDS = {"list_item_close", "blockquote_close"}


_ATTRIBUTES = re.compile(r"\s*\{:?\s*[#.][^{}]*\}\s*$")


_INDENTED = re.compile(r"(?m)^(?: {4}|\t)")


_INLINE_CODE = re.compile(r"(?<![\\`])(`+)(?!`)(?:(?!\n[ \t]*\n)[\s\S])*?(?<!`)\1(?!`)")


_HEADING_LENGTH = 1_000  # characters; the rest of a longer heading is of no use as a path


def first_title(text: str) -> str:
    """Return the first level-1 heading of a Markdown text as plain text, "" when there is none."""
    for node in parse_markdown(text):
        if node.kind == "heading" and node.level == 1 and (title := plain_heading(node.heading)):
            return title
    return ""


@dataclass(slots=True)
class MarkdownNode:
    """Lines [first, last) of the text."""

    first: int
    last: int
    kind: Kind
    children: list[MarkdownNode]
    level: int = 0
    heading: str = ""


def parse_markdown(text: str) -> list[MarkdownNode]:
    """Return the blocks of a Markdown text, nested."""
    return _tree(_parser().parse(text))


def code_spans(text: str) -> list[tuple[int, int]]:
    """Return where the code of a Markdown text stands: fenced, indented, and inline with its
    backticks; in order."""
    if "`" not in text and "~~~" not in text and not _INDENTED.search(text):
        return []
    starts = [0, *(match.end() for match in re.finditer("\\r\\n|[\\r\\n]", text)), len(text)]
    spans: list[tuple[int, int]] = []
    inline: dict[tuple[int, int], int] = {}  # how much code there is in lines of prose
    for token in _parser().parse(text):
        if token.map is None:
            continue
        lines = starts[token.map[0]], starts[min(token.map[1], len(starts) - 1)]
        if token.type in ("fence", "code_block"):
            spans.append(lines)
        elif token.type == "inline" and "`" in token.content:
            children = _inline_parser().parseInline(token.content)[0].children or ()
            found = sum(child.type == "code_inline" for child in children)
            inline[lines] = inline.get(lines, 0) + found
    for lines, count in inline.items():
        inside = [(m.start(), m.end()) for m in _INLINE_CODE.finditer(text, *lines)]
        spans += inside if len(inside) == count else []  # else one stands in a tag or an address
    return sorted(spans)


def _tree(tokens: Sequence[Token]) -> list[MarkdownNode]:
    root: list[MarkdownNode] = []
    stack = [root]
    for index, token in enumerate(tokens):
        if token.type in _GROUP_ENDS:
            stack.pop()
            continue
        if token.map is None or not (kind := _KINDS.get(token.type)):
            continue
        node = MarkdownNode(token.map[0], token.map[1], kind, [])
        stack[-1].append(node)
        if kind == "group":
            stack.append(node.children)
        elif kind == "heading":
            if len(stack) == 1:
                node.level, node.heading = int(token.tag[1:]), tokens[index + 1].content
            else:
                node.kind = "prose"
    return root


@cache
def _parser() -> MarkdownIt:
    """A parser of blocks only: what is inside paragraphs does not matter here, and costs most."""
    from markdown_it import MarkdownIt  # takes longer than a search

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


@cache
def _inline_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark")


def plain_heading(heading: str) -> str:
    """Return a heading's text without markup and without attributes such as { #id }."""
    source = _ATTRIBUTES.sub("", heading[:_HEADING_LENGTH])
    return " ".join("".join(_words(_inline_parser().parseInline(source))).split())


def _words(tokens: Sequence[Token]) -> Iterator[str]:
    for token in tokens:
        if token.children:
            yield from _words(token.children)
        elif token.type in ("text", "code_inline", "text_special"):
            yield token.content
        elif token.type in ("softbreak", "hardbreak"):
            yield " "
