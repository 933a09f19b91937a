"""Links, images and code of a Markdown text, with where they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

_MOST_BRACKETS = 500  # of a paragraph: how long a parser takes grows with their square
_DRAWN = re.compile(r"\W*(?:mermaid|plantuml|puml|dot|graphviz|d2|markmap)\b", re.IGNORECASE)

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Link:
    """text[start:stop], which leads to `address`. label: where the words of it stand that are
    shown, None for those that show none."""

    kind: Literal["link", "image", "definition"]
    start: int
    stop: int
    address: str
    label: Span | None = None


@dataclass(frozen=True, slots=True)
class Markup:
    """code: fenced and inline, with its marks, but for diagrams, which are drawn. unread: lines
    whose links nobody can find."""

    links: frozenset[Link]
    code: frozenset[Span]
    unread: frozenset[Span]


def find_markup(text: str) -> list[Markup]:
    """Return what a text's links, images and code are: once for each way in which programs read
    Markdown, with and without tables and HTML. Lines end with \\n."""
    with_html = (True, False) if "<" in text else (True,)
    with_tables = (True, False) if "|" in text else (True,)
    return [_read(text, _parser(html, tables)) for html in with_html for tables in with_tables]


def _read(text: str, parser: MarkdownIt) -> Markup:
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    starts[-1] = len(text)
    env: dict[str, Any] = {}
    links: set[Link] = set()
    code: set[Span] = set()
    unread: set[Span] = set()
    cells: dict[int, int] = {}  # where the next cell of a row is looked for
    before: Token | None = None
    for token in parser.parse(text, env):
        if token.type == "fence" and token.map and not _DRAWN.match(token.info):
            code.add((starts[token.map[0]], starts[token.map[1]]))
        elif token.type == "inline" and token.map and token.content:
            is_cell = before is not None and before.tag in ("td", "th")
            offsets = _offsets(text, starts, token, cells if is_cell else None)
            if offsets is None or token.content.count("[") > _MOST_BRACKETS:
                unread.add((starts[token.map[0]], starts[token.map[1]]))
            else:
                found = _inline(token.content, parser, env)
                links |= {_placed(link, offsets) for link in found if isinstance(link, Link)}
                code |= {_moved(one, offsets) for one in found if not isinstance(one, Link)}
        before = token
    defined = [*env.get("references", {}).values(), *env.get("duplicate_refs", ())]
    for one in defined:
        start, stop = (starts[line] for line in one["map"])
        links.add(Link("definition", start, stop, one["href"]))
    return Markup(frozenset(links), frozenset(code), frozenset(unread))


def _offsets(
    text: str, starts: Sequence[int], token: Token, cells: dict[int, int] | None
) -> list[tuple[int, int]] | None:
    """Return, for each line of a token's content, its offset there and in the text."""
    assert token.map is not None
    offsets, at = [], 0
    for number, line in enumerate(token.content.split("\n"), token.map[0]):
        words = line.strip()
        start, stop = starts[number], starts[min(number + 1, len(starts) - 1)]
        if cells is None:
            where = text.rfind(words, start, stop)
        else:
            where = text.find(words, cells.get(number, start), stop)
            cells[number] = where + len(words) if where >= 0 else stop
        if where < 0:
            return None
        offsets.append((at, where - (len(line) - len(line.lstrip()))))
        at += len(line) + 1
    return offsets


def _moved(span: Span, offsets: Sequence[tuple[int, int]]) -> Span:
    start, stop = span
    first = next(offset for offset in reversed(offsets) if offset[0] <= start)
    last = next(offset for offset in reversed(offsets) if offset[0] < stop)
    return start - first[0] + first[1], stop - last[0] + last[1]


def _placed(link: Link, offsets: Sequence[tuple[int, int]]) -> Link:
    start, stop = _moved((link.start, link.stop), offsets)
    label = None if link.label is None else _moved(link.label, offsets)
    return Link(link.kind, start, stop, link.address, label)


def _inline(content: str, parser: MarkdownIt, env: dict[str, Any]) -> list[Link | Span]:
    from markdown_it.rules_inline import StateInline

    env["found"] = []
    parser.inline.tokenize(StateInline(content, parser, env, []))
    found: list[Link | Span] = env.pop("found")
    return found


@cache
def _parser(html: bool, tables: bool) -> MarkdownIt:
    """A parser that says where what it finds stands; every address is one to it."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["normalize", "block"])
    if tables:
        parser.enable("table")
    if not html:
        parser.disable(["html_block", "html_inline"])
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    for rule in parser.inline.ruler.__rules__:
        if rule.name in ("link", "image", "autolink", "backticks"):
            parser.inline.ruler.at(rule.name, _told(rule.name, rule.fn))
    return parser


def _told(name: str, rule: Any) -> Any:
    """Return a rule of the parser that writes down what it finds."""

    def told(state: StateInline, silent: bool) -> bool:
        found, tokens, start = state.env.get("found"), len(state.tokens), state.pos
        known = len(found or ())
        if not rule(state, silent):
            return False
        if found is not None and not silent:
            if name == "image":
                del found[known:]  # of its label, which is a text of its own
            found += _finding(name, state, start, tokens)
        return True

    return told


def _finding(name: str, state: StateInline, start: int, tokens: int) -> Iterator[Link | Span]:
    new = state.tokens[tokens:]
    if name == "backticks":
        if any(token.type == "code_inline" for token in new):
            yield start, state.pos
    elif name == "image":
        address = next(str(token.attrs["src"]) for token in new if token.type == "image")
        yield Link("image", start, state.pos, address)
    else:
        address = next(str(token.attrs["href"]) for token in new if token.type == "link_open")
        label = None
        if name == "link":
            stop, state.pos = state.pos, start
            label = start + 1, state.md.helpers.parseLinkLabel(state, start, True)
            state.pos = stop
        yield Link("link", start, state.pos, address, label)
