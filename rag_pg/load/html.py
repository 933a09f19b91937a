"""HTML pages as Markdown: the main content, without navigation, scripts and forms."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, takewhile
from typing import Any

from bs4 import BeautifulSoup, Tag
from bs4.dammit import EncodingDetector
from bs4.element import Declaration, NavigableString, PageElement, ProcessingInstruction
from bs4.exceptions import ParserRejectedMarkup
from markdownify import MarkdownConverter

from rag_pg.errors import UnsupportedFile
from rag_pg.load.numerals import numeral
from rag_pg.load.tables import is_data
from rag_pg.load.titles import given_title

_DROPPED = (
    "script, style, noscript, template, svg, iframe, object, nav, footer:not(blockquote footer), "
    "button, select, input, textarea, dialog:not([open]), [popover], [hidden], [aria-hidden=true], "
    "[role=navigation], [role=contentinfo], a.headerlink, #footer, .footer, #breadcrumbs, "
    ".breadcrumbs, .breadcrumb, .navheader, .navfooter, .topNav, .subNav, .bottomNav, table.nav, "
    ".mw-editsection, td.linenos, td.gutter, ruby rt, ruby rp"
)
_XML_DECLARATION = re.compile(r"<\?xml[^>]*>", re.IGNORECASE)
_LINKS = ("http://", "https://", "mailto:")
_HEADINGS = re.compile(r"^h[1-6]$")
_BLOCKS = re.compile(
    r"^(?:p|pre|ul|ol|dl|table|div|section|blockquote|figure|details|h[1-6]|article|aside|address|hr)$"
)
_LANGUAGE = re.compile(r"(?:lang|language|highlight-source|highlight)-(?!default\b)([\w+#-]+)")
_SEPARATOR = r"\s*(?:[|·•»«›:/~]+|\s[-–—]+|[–—])\s*"  # between the names of a page and of its site
_MOST_SPANNED = 200  # rows or columns of one cell
_MOST_CELLS = 100_000  # that cells which span several are copied to
_DEEPEST = 200  # elements within each other; browsers end one for a further one, too
_PARTS = ("thead", "tbody", "tfoot")
_CLOSES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {  # what ends, within what
    "li": (("li",), ("ul", "ol")),
    "dt": (("dt", "dd"), ("dl",)),
    "dd": (("dt", "dd"), ("dl",)),
    "td": (("td", "th"), ("tr", "table")),
    "th": (("td", "th"), ("tr", "table")),
    "tr": (("tr", "caption", "colgroup"), ("table",)),
    **dict.fromkeys(_PARTS, ((*_PARTS, "caption", "colgroup"), ("table",))),
}
_UNSEEN = re.compile(
    r"(?:^|;)(?:display:none|(?:content-)?visibility:hidden|font-size:1p[xt]|transform:scale\(0\)"
    r"|(?:font-size|opacity):0(?:\.0+)?(?:px|pt|em|rem|%)?(?=;|!|$)"
    r"|(?:left|top|text-indent):-\d{3,}|clip:rect\((?:[01](?:px)?,?){4}\)|clip-path:inset\((?:50|100)%)"
)
_NOTHING = r"white|#fff|#(?:f[\da-f]){3}|rgba?\((?:2[45]\d,){2}2[45]\d(?:,[\d.]+)?\)"
_WHITE = re.compile(
    rf"(?:^|;)color:(?:{_NOTHING}|transparent|rgba\([\d.]+,[\d.]+,[\d.]+,0\))(?=;|!|$)"
)
_WHITE_BEHIND = re.compile(rf"(?:^|;)background(?:-color)?:(?:{_NOTHING})(?=;|!|$)")
_SHOWS = re.compile(r"(?:^|;)(?:display|visibility|font-size|opacity|color):")
_SELECTOR = re.compile(r"[\w-]*([.#][\w-]+)")  # a script shows a whole page again, as it loads
_ARROW = re.compile(r"\A(?:[«‹←⟵◀<]|<<)\s*\w|\w\s*(?:[»›→⟶▶>]|>>)\Z")
_LONGEST_ARROW = 80  # characters of a link to the page before or behind
_AROUND_LINKS = 30  # characters beside the links of a table of contents
_POWER = re.compile(r"[-+−]?\d{1,4}")
_RAISED = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")


def html_to_markdown(text: str) -> tuple[str, str]:
    """As `read_html`, without what is hidden."""
    return read_html(text)[:2]


def read_html(text: str) -> tuple[str, str, int]:
    """Return (title, Markdown, hidden characters left out): the title of the page, else its first
    heading, else "".

    The content is that of <main>, else of a single <article>, else of <body>, without the page's
    own table of contents. Text flows: a paragraph is one line but for its <br>; <pre> keeps its
    lines. The terms of a definition list stand before their definitions, a cell that spans
    several stands in each, and a table that only arranges a page is none. Links within the site
    become their text, images their description. A site's name that stands before or behind that of
    the page is not of the title. Raises: UnsupportedFile.
    """
    # bs4 warns about pages that begin as XML, or have no tags: neither is news here.
    page, last, rest = f"<!DOCTYPE html>\n{_XML_DECLARATION.sub('', text)}".rpartition(">")
    page += last + rest.replace("<", "&lt;")  # no tag: html.parser seeks the end of each to the end
    try:
        soup = _Page(page, "html.parser", element_classes={Tag: _Indexed})
    except ParserRejectedMarkup as exc:
        raise UnsupportedFile(f"is not HTML that can be read: {exc}; mend the markup") from exc
    site = soup.find("meta", property="og:site_name")
    names = [str(site.get("content") or "")] if isinstance(site, Tag) else []
    for mark in soup.find_all(string=_is_mark):
        mark.extract()
    headings = (tag for tag in (soup.select_one("title:not(svg title)"), soup.h1) if tag)
    title = next(filter(None, (given_title(tag.get_text()) for tag in headings)), "")
    hidden = _drop_hidden(soup)
    for tag in soup.select(f"title, {_DROPPED}"):
        tag.decompose()
    content = _main(soup)
    for tag in content.find_all("header"):
        if not tag.h1:
            tag.decompose()
    for tag in content.find_all("img"):
        if tag.decomposed:  # with the link around it
            continue
        described = str(tag.get("alt") or "")
        link = tag.find_parent("a", href=re.compile("^#"))
        if link and len(described.split()) < 2 and not link.get_text(strip=True):
            link.decompose()  # an arrow to the top of the page
        elif (cell := tag.parent) and _is_icon(cell):
            cell.decompose()
        else:
            tag.name, tag.string = "span", described
    _drop_contents(content, soup)
    for tag in content.find_all("a"):
        if not str(tag.get("href") or "").startswith(_LINKS):
            if tag.find(True) or tag.get_text().strip() != tag.get_text():
                tag.unwrap()
            else:  # to unwrap it would take a time that grows with its neighbours
                tag.name = "span"
    title = _without_site(title, content, names)
    try:
        for table in reversed(content.find_all("table")):
            _arrange(table)
        for listed in reversed(content.find_all("dl")):
            _define(listed)
        for listed in [content, *content.find_all("ol")]:
            _number(listed)
        return title, str(_Converter().convert_soup(content)).strip(), hidden
    except RecursionError:  # hundreds of elements within each other
        return title, content.get_text("\n", strip=True), hidden


class _Indexed(Tag):
    """An element that looks for its children from where the last one was: bs4 looks from the first
    on, so that to take out many takes a time that grows with their square."""

    _at = 0

    def index(self, element: PageElement) -> int:
        """As of Tag."""
        for at in chain(range(self._at, len(self.contents)), range(self._at)):
            if self.contents[at] is element:
                self._at = at
                return at
        raise ValueError("it is no child of this element")


class _Page(_Indexed, BeautifulSoup):
    """A page whose items, cells and rows end where the next begins, as HTML has it, and of which at
    most `_DEEPEST` elements stand within each other."""

    def handle_starttag(self, name: str, *args: Any, **options: Any) -> Tag | None:
        """Begin an element; see BeautifulSoup."""
        same, within = _CLOSES.get(name, ((), ()))
        for tag in reversed(self.tagStack) if same else ():
            if tag.name in within:
                break
            if tag.name in same:
                self.handle_endtag(tag.name)
                break
        if len(self.tagStack) > _DEEPEST and self.currentTag:
            self.handle_endtag(self.currentTag.name)
        return super().handle_starttag(name, *args, **options)


def declared_encoding(data: bytes) -> str | None:
    """Return the encoding an HTML page says it has, None where it does not say."""
    return EncodingDetector.find_declared_encoding(data, is_html=True)


def _drop_hidden(soup: BeautifulSoup) -> int:
    """Take out what a reader of the page does not see by its own style; return how many characters.

    White text is hidden where what is behind it is white, or nothing could make it dark.
    """
    sheets = soup.select("style, link[rel~=stylesheet]")
    dark = any(tag.name == "link" or "background" in tag.get_text() for tag in sheets)
    of_sheets = _sheet_styles(soup)
    count = 0
    for tag in soup.find_all(True):
        if tag.decomposed or not (style := _style(tag, of_sheets)):
            continue
        around = map(_background, [tag, *tag.parents]) if _WHITE.search(style) else []
        behind = next(filter(None, around), "" if dark else "background:white")
        if _UNSEEN.search(style) or (_WHITE.search(style) and _WHITE_BEHIND.search(behind)):
            count += len(_words(tag))
            tag.decompose()
    return count


def _background(tag: Tag) -> str:
    """The tag's own style, where it says what is behind its text, without white space."""
    style = re.sub(r"\s", "", str(tag.get("style") or "").lower())
    colour = tag.get("bgcolor")
    return f"background:{colour}" if colour else style * ("background" in style)


def _style(tag: Tag, of_sheets: Mapping[str, str]) -> str:
    """What the page's own sheets and the tag itself say of how it looks, without white space."""
    names: list[str] = []
    if of_sheets and tag.name not in ("html", "body"):
        names = [f".{name}" for name in tag.get_attribute_list("class") if name]
        names += [f"#{tag['id']}"] if tag.get("id") else []
    selectors = (kind + name for name in names for kind in ("", tag.name))
    found = [of_sheets[one] for one in selectors if one in of_sheets]
    return ";".join([*found, re.sub(r"\s", "", str(tag.get("style") or "").lower())])


def _sheet_styles(soup: BeautifulSoup) -> Mapping[str, str]:
    """Return what hides elements in a page's own sheets, by selectors of one element, class or id
    that no other rule shows again, as one for an open tab does."""
    hiding, shown = dict[str, str](), set[str]()
    for sheet in soup.select("style"):
        for selectors, style in _rules(sheet.get_text()):
            hides = _UNSEEN.search(style) or _WHITE.search(style)
            for one in map(str.strip, selectors.split(",")):
                if hides and _SELECTOR.fullmatch(one):
                    hiding[one] = style
                elif _SHOWS.search(style):
                    shown.update(re.findall(r"[.#]?[\w-]+", one))
    names = {one: found[1] for one in hiding if (found := _SELECTOR.fullmatch(one))}
    return {one: style for one, style in hiding.items() if names[one] not in shown}


def _rules(sheet: str) -> Iterator[tuple[str, str]]:
    """Yield the selectors and declarations of a sheet, without those of @media and the like."""
    first, *others = sheet.split("/*")
    sheet = first + "".join(one.partition("*/")[2] for one in others)
    depth, start, selectors, body = 0, 0, "", 0
    for mark in re.finditer("[{};]", sheet):
        if mark[0] == "{":
            if depth == 0:
                selectors, body = sheet[start : mark.start()].strip(), mark.end()
            depth += 1
        elif mark[0] == "}" and depth:
            depth -= 1
            if depth == 0 and not selectors.startswith("@"):
                yield selectors, re.sub(r"\s", "", sheet[body : mark.start()].lower())
        if depth == 0:
            start = mark.end()


def _is_mark(text: object) -> bool:
    """Whether it is a mark for programs, as Word writes them into its pages."""
    return isinstance(text, (Declaration, ProcessingInstruction))


def _main(soup: BeautifulSoup) -> Tag:
    articles = soup.find_all("article")
    for tag in (
        soup.find("main"),
        soup.find(role="main"),
        articles[0] if len(articles) == 1 else None,
        soup.body,
    ):
        if isinstance(tag, Tag) and tag.get_text(strip=True):
            return tag
    return soup


def _words(tag: Tag) -> str:
    return " ".join(tag.get_text().split())


# --- titles and contents -------------------------------------------------------------------------


def _without_site(title: str, content: Tag, names: list[str]) -> str:
    """Return a page's title without the name of its site: the heading of the page that it begins or
    ends with, else what is left beside the site's own name; as it is where neither is known."""
    for tag in content.find_all(_HEADINGS, limit=3):
        heading = re.escape(_words(tag).rstrip("¶#"))
        if heading and re.fullmatch(
            rf"{heading}(?:{_SEPARATOR}.*)?|.*{_SEPARATOR}{heading}", title
        ):
            return _words(tag).rstrip("¶#")
    for name in filter(None, (re.escape(" ".join(name.split())) for name in names)):
        rest = re.sub(rf"\A{name}{_SEPARATOR}|{_SEPARATOR}{name}\Z", "", title)
        if rest:
            title = rest
    return title


def _drop_contents(content: Tag, soup: BeautifulSoup) -> None:
    """Take out marks that only link to the place where they stand, lists of nothing but links to
    other places of the page, tables of one row of links, and lines of links with bars between."""
    ids = {str(tag.get(key)) for tag in soup.find_all(True) for key in ("id", "name")}
    inner = {
        id(link)
        for link in content.find_all("a", href=True)
        if str(link["href"]).rpartition("#")[2] in ids and "#" in str(link["href"])
    }
    for link in content.find_all("a", href=True):
        if link.decomposed:  # with the link around it
            continue
        if str(link["href"]).startswith("#") and not any(map(str.isalnum, link.get_text())):
            link.decompose()
    for tag in content.select("ul, ol, dl, .toc, #toc"):
        if tag.decomposed:
            continue
        links = tag.find_all("a", href=True)
        of_links = sum(len(link.get_text(strip=True)) for link in links)
        around = len(tag.get_text(strip=True)) - of_links
        if len(links) > 1 and around <= _AROUND_LINKS and all(id(link) in inner for link in links):
            tag.decompose()
    for tag in content.select("table:not(:has(table))"):
        links = tag.find_all("a", href=True)
        around = len(_words(tag)) - len(" ".join(map(_words, links)))
        is_row = len(tag.select("tr")) == 1 and len(links) == len(tag.select("td, th"))
        if is_row and len(links) > 1 and around <= _AROUND_LINKS:
            tag.decompose()
    for tag in content.select("p, ul, div:not(:has(p, div, table, ul, ol, dl, pre))"):
        links = tag.find_all("a", href=True)
        names = [_words(link) for link in links]
        around = len(_words(tag)) - len(" | ".join(names))
        is_bar = len(names) > 2 and 0 <= around <= _AROUND_LINKS
        if (is_bar and " | ".join(names) in _words(tag)) or _leads_on(links, _words(tag)):
            tag.decompose()


def _leads_on(links: list[Tag], text: str) -> bool:
    """Whether a line has nothing but links, of which one says that it leads to the page before or
    behind: « Previous | Next »."""
    names = [_words(link) for link in links]
    for name in names:
        text = text.replace(name, "", 1)
    says = any(
        _ARROW.search(name) or {"prev", "next"} & set(link.get_attribute_list("rel"))
        for name, link in zip(names, links, strict=True)
    )
    return says and max(map(len, names)) <= _LONGEST_ARROW and not any(map(str.isalnum, text))


# --- tables --------------------------------------------------------------------------------------


def _is_icon(cell: Tag) -> bool:
    """Whether a cell of an image stands beside the two rows of a note, as in pages of DocBook."""
    if cell.name != "td" or cell.get("rowspan") != "2" or _words(cell):
        return False
    table = cell.find_parent("table")
    return table is not None and len(table.find_all("tr")) == 2


def _arrange(table: Tag) -> None:
    """Make of a table one with a cell in every row and column, or, where it only arranges what
    stands in it, no table."""
    rows = [row for row in table.find_all("tr") if row.find_parent("table") is table]
    cells = [list(row.find_all(["td", "th"], recursive=False)) for row in rows]
    is_layout = table.find(["pre", "table", _HEADINGS]) or max(map(len, cells), default=0) < 2
    if is_layout:
        parts = table.find_all(["thead", "tbody", "tfoot", "tr", "td", "th"])
        for tag in [*(part for part in parts if part.find_parent("table") is table), table]:
            tag.name = "div"
        return
    _fill(rows, cells)
    head = [row for row in rows if row.parent and row.parent.name == "thead"]
    foot = [row for row in rows if row.parent and row.parent.name == "tfoot"]
    body = Tag(name="tbody")  # of several, each would begin with a head of its own
    body.extend([row for row in rows if row not in (*head, *foot)] + foot)
    table.append(body)
    if not head:
        head = [*takewhile(lambda row: row.find("th") and not row.find("td"), rows[:-1])]
    if not head and _has_no_head(rows):
        body.insert(0, nameless := Tag(name="tr"))
        nameless.extend([Tag(name="th") for _ in rows[0].find_all(["td", "th"], recursive=False)])
    for further in head[1:]:  # a head of two lines is one: each column says both
        mine = head[0].find_all(["td", "th"], recursive=False)
        for cell, below in zip(mine, further.find_all(["td", "th"], recursive=False), strict=False):
            if _words(below) not in _words(cell):
                cell.append(NavigableString(" " + _words(below)))
        further.decompose()


def _has_no_head(rows: Sequence[Tag]) -> bool:
    """Whether a table whose first row is not marked as its head has none: each of its rows is a
    name and what it has, or the first is one of data."""
    cells = [row.find_all(["td", "th"], recursive=False) for row in rows]
    is_named = all(len(row) == 2 and row[0].name == "th" for row in cells)
    return is_named or is_data(*([_words(cell) for cell in row] for row in [*cells, []][:2]))


def _fill(rows: list[Tag], cells: list[list[Tag]]) -> None:
    """Copy the cells that span several rows or columns to each of them."""
    waiting: dict[int, tuple[Tag, int]] = {}  # column: what comes down to it, for how many rows
    copied = 0
    for row, own in zip(rows, cells, strict=True):
        column = 0
        for cell in [*own, None]:
            while column in waiting or (cell is None and any(at > column for at in waiting)):
                above, left = waiting.pop(column, (None, 0))
                if above is not None and copied < _MOST_CELLS:
                    copied += 1
                    new = copy.copy(above)
                    cell.insert_before(new) if cell is not None else row.append(new)
                    if left > 1:
                        waiting[-column - 1] = (above, left - 1)
                column += 1
            if cell is None:
                break
            down, across = _spanned(cell, "rowspan"), _spanned(cell, "colspan")
            for further in range(across):
                if further and copied < _MOST_CELLS:
                    copied += 1
                    cell.insert_after(copy.copy(cell))
                if down > 1:
                    waiting[-(column + further) - 1] = (cell, down - 1)
            column += across
        waiting = {-at - 1: value for at, value in waiting.items() if at < 0}


def _spanned(cell: Tag, name: str) -> int:
    """How many rows or columns a cell spans; it is not asked again."""
    value = str(cell.attrs.pop(name, "1")).strip()
    if value == "0" and name == "rowspan":  # all that follow
        return _MOST_SPANNED
    return min(max(int(value), 1), _MOST_SPANNED) if value.isdecimal() else 1


# --- definition lists ----------------------------------------------------------------------------


def _define(listed: Tag) -> None:
    """Make of a definition list a list of "term: definition", or paragraphs that begin so where a
    definition has more than one."""
    for tag in listed.find_all("div", recursive=False):
        tag.unwrap()
    parts = listed.find_all(["dt", "dd"], recursive=False)
    long = any(
        len(part.find_all(_BLOCKS)) > 1 or part.find(["pre", "ul", "ol", "table", _HEADINGS])
        for part in parts
    )
    terms: list[Tag] = []
    named: Tag | None = None  # a definition, which a further one of its term goes on with
    last = ""  # what came last to it: to read all of it each time would take a square of time
    for part in parts:
        if part.name == "dd" and named is not None and not long:
            named.append(NavigableString(" " if last.endswith((".", "!", "?", ":", ";")) else "; "))
            last = _words(part) or ";"
            named.extend(list(part.contents))
            part.decompose()
            continue
        named = part if part.name == "dd" else None
        last = _words(part)
        if part.name == "dt" and not part.find(_BLOCKS):
            if terms and terms[-1].find_next_sibling(["dt", "dd"]) is not part:
                terms = []
            terms.append(part)
            continue
        _name(part, terms)
        terms = []
        part.name = "div" if long or part.name == "dt" else "li"
    for term in listed.find_all("dt", recursive=False):  # without a definition
        term.name = "p" if long else "li"
    listed.name = "div" if long else "ul"


def _name(definition: Tag, terms: list[Tag]) -> None:
    """Put terms before the first words of their definition."""
    if not terms:
        return
    inside: Tag = definition
    while isinstance(first := _first(inside), Tag) and _BLOCKS.fullmatch(first.name):
        if first.name not in ("p", "div", "section"):
            break
        inside = first
    if isinstance(first, Tag) and _BLOCKS.fullmatch(first.name):
        new = Tag(name="p")
        first.insert_before(new)
        inside = new
    named_by = ", ".join(_words(term) for term in terms)
    ends = named_by[-1:] if named_by[-1:] in (":", "?", ".", "!") else ":"
    inside.insert(0, NavigableString(" "))
    for number, term in enumerate(reversed(terms)):
        if number:
            inside.insert(0, NavigableString(", "))
        elif not named_by.endswith(ends):
            inside.insert(0, NavigableString(ends))
        if "sig" in (term.get("class") or ()):  # of a function, whose parts are marked up
            code = Tag(name="code")
            code.string = _words(term)
            inside.insert(0, code)
        else:
            inside.insert(0, named := Tag(name="term"))
            named.extend(list(term.contents))
        term.decompose()


def _first(tag: Tag) -> object:
    """The first thing in an element that is not white space."""
    return next((c for c in tag.contents if isinstance(c, Tag) or str(c).strip()), None)


# --- Markdown ------------------------------------------------------------------------------------


# Stand on lines of their own in a browser; markdownify takes them for parts of a line.
_LINES = re.compile(
    "address|aside|center|details|fieldset|figure|form|hgroup|legend|menu|search|summary"
)


class _Converter(MarkdownConverter):
    """Markdown whose paragraphs are lines."""

    def __init__(self) -> None:
        super().__init__(
            heading_style="ATX",
            bullets="-",
            escape_asterisks=False,
            escape_underscores=False,
            table_infer_header=True,
            code_language_callback=_language,
            wrap=True,
            wrap_width=None,
        )

    def convert_br(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        if "pre" in parent_tags:
            return "\n"
        return str(super().convert_br(el, text, parent_tags))  # type: ignore[misc]

    def convert_code(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        after = el.previous_sibling
        if "pre" in parent_tags and isinstance(after, Tag) and after.name == "code":
            return text if after.get_text().endswith("\n") else "\n" + text
        return str(super().convert_code(el, text, parent_tags))  # type: ignore[misc]

    def convert_li(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        if el.parent is None or el.parent.name != "ol" or not text.strip():
            return str(super().convert_li(el, text, parent_tags))  # type: ignore[misc]
        begin = f"{numeral(int(str(el['value'])), str(el.parent.get('type') or '1'))}. "
        lines = re.sub(r"(?m)^(?=.)", " " * len(begin), text.strip())
        return f"{begin}{lines[len(begin) :]}\n"

    def convert_sup(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return text.translate(_RAISED) if _POWER.fullmatch(text) else text

    def convert_term(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return text.strip()

    def convert_td(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        cell = " ".join(text.split()).replace("|", "\\|")
        return f" {cell} |"

    convert_th = convert_td

    def get_conv_fn(self, tag_name: str) -> Any:
        return super().get_conv_fn("div" if _LINES.fullmatch(tag_name) else tag_name)  # type: ignore[misc]


def _number(listed: Tag) -> None:
    """Give the items of an ordered list their numbers, by their own or that of the list."""
    items = listed.find_all("li", recursive=False)
    step = -1 if listed.has_attr("reversed") else 1
    number = _whole(listed.get("start"), len(items) if step < 0 else 1)
    for item in items:
        number = _whole(item.get("value"), number)
        item["value"] = str(number)
        number += step


def _whole(value: object, otherwise: int) -> int:
    return int(str(value)) if re.fullmatch(r"-?\d{1,9}", str(value)) else otherwise


def _language(pre: Tag) -> str:
    """Return the language of a code block, by the class of it, its <code> or what is around it:
    language-…, lang-… and their like; "" where none says so."""
    around = [pre, pre.code, pre.parent, pre.parent.parent if pre.parent else None]
    for tag in around:
        for name in (tag.get("class") or ()) if tag else ():
            if found := _LANGUAGE.fullmatch(name):
                return found[1]
    return ""
