"""OpenDocument texts and e-books, which are zip files of XML and HTML, as Markdown."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator, Sequence
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from rag_pg.errors import UnsupportedFile
from rag_pg.load.decode import decode_text
from rag_pg.load.markup import parse_xml
from rag_pg.load.numerals import numeral
from rag_pg.load.tables import rows_as_table

_REPEATED = 50  # times that an empty cell is written at most
_MOST_STYLES = 20  # that one is based on
_FAMILIES = {"span": "text", "p": "paragraph", "h": "paragraph"}
_HIDDEN = {  # a ruby's text is how its word is read
    *("tracked-changes", "hidden-text", "hidden-paragraph", "annotation", "sequence-decls"),
    "ruby-text",
}


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _attribute(element: Element, name: str) -> str:
    return next((v for k, v in element.attrib.items() if k.rpartition("}")[2] == name), "")


def _texts(element: Element, name: str) -> list[str]:
    found = (" ".join("".join(e.itertext()).split()) for e in element.iter() if _name(e) == name)
    return [text for text in found if text]


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    try:
        return archive.read(name)
    except KeyError as exc:
        raise UnsupportedFile(f"has no {name} in it; open and save it anew") from exc


# --- OpenDocument --------------------------------------------------------------------------------


def read_odt(archive: zipfile.ZipFile) -> tuple[str, str, str, int]:
    """Return (Markdown, title, author, hidden characters left out) of an .odt file: headings,
    lists, tables and notes."""
    content = parse_xml(_member(archive, "content.xml"))
    styles, about = (
        [parse_xml(archive.read(name))] if name in archive.namelist() else []
        for name in ("styles.xml", "meta.xml")
    )
    titles, authors = (
        [text for part in about for text in _texts(part, name)] for name in ("title", "creator")
    )
    body = next(e for e in content.iter() if _name(e) == "text")
    text = _Text([*styles, content])
    blocks = "\n\n".join(filter(None, text.blocks(body)))
    return blocks, "".join(titles[:1]), "".join(authors[:1]), text.hidden


class _Text:
    """hidden: characters that no reader sees, left out so far."""

    def __init__(self, parts: Sequence[Element]) -> None:
        self.hidden = 0
        self._levels: dict[tuple[str, int], Element] = {}  # of the headings: ""
        self._counts: dict[str, dict[int, int]] = {}
        self._based: dict[str, str] = {}
        looks: dict[str, Element] = {}
        grounds = set[str]()
        for element in (e for part in parts for e in part.iter()):
            grounds.add(_attribute(element, "background-color"))
            if _name(element) in ("list-style", "outline-style"):
                name = _attribute(element, "name") if _name(element) == "list-style" else ""
                self._levels |= {(name, _number(e, "level")): e for e in element}
            elif _name(element) == "style":
                family = _attribute(element, "family")
                name = f"{family} {_attribute(element, 'name')}"
                self._based[name] = f"{family} {_attribute(element, 'parent-style-name')}"
                looks.update((name, e) for e in element if _name(e) == "text-properties")
        is_dark = bool(grounds - {"", "transparent", "#ffffff"})
        self._unseen = {
            name: _attribute(look, "display") == "none"
            or (_attribute(look, "color") == "#ffffff" and not is_dark)
            for name, look in looks.items()
            if _attribute(look, "display") or _attribute(look, "color")
        }

    def blocks(self, element: Element) -> Iterator[str]:
        """Yield the headings, paragraphs, lists and tables in an element, each as Markdown."""
        for child in element:
            name = _name(child)
            if name in _HIDDEN or _attribute(child, "display") == "none":
                continue
            if name == "h":
                yield self._heading(child)
            elif name == "p":
                yield self._flow(child)
            elif name == "list":
                yield "\n".join(self._items(child, "", 1))
            elif name == "table":
                yield rows_as_table(self._rows(child))
            else:  # a section, a frame, an index
                yield from self.blocks(child)

    def _heading(self, element: Element) -> str:
        level = _number(element, "outline-level") or 1
        if not (text := self._flow(element)):
            return ""
        is_counted = not _attribute(element, "is-list-header")
        mark = self._mark("", level).removesuffix(".") if is_counted else "-"
        return f"{'#' * min(level, 6)} {'' if mark == '-' else mark + ' '}{text}"

    def _items(self, element: Element, style: str, level: int) -> Iterator[str]:
        style = _attribute(element, "style-name") or style
        goes_on = _attribute(element, "continue-numbering") == "true"
        if level == 1 and not goes_on and not _attribute(element, "continue-list"):
            self._counts.pop(style, None)
        for item in element:
            if start := _number(item, "start-value"):
                self._counts.setdefault(style, {})[level] = start - 1
            indent = "  " * (level - 1)
            before = "" if _name(item) == "list-item" else "- "
            for part in item:
                if _name(part) == "list":
                    yield from self._items(part, style, level + 1)
                elif _name(part) == "h":
                    yield f"\n{self._heading(part)}\n"
                elif text := self._flow(part):
                    before = "  " if before else f"{self._mark(style, level)} "
                    yield f"{indent}{before}{text}"

    def _mark(self, style: str, level: int) -> str:
        """What stands before the next item of a list, or a heading: "2.", "(b)" or "-"."""
        found = self._levels.get((style, level))
        if found is None or not _attribute(found, "num-format"):
            return "-"
        counts = self._counts.setdefault(style, {})
        for deeper in [one for one in counts if one > level]:
            del counts[deeper]
        counts[level] = counts.get(level, (_number(found, "start-value") or 1) - 1) + 1
        shown = max(1, _number(found, "display-levels"))
        numbers = (
            numeral(counts.get(one, 1), kind)
            for one in range(level - shown + 1, level + 1)
            if (of := self._levels.get((style, one))) is not None
            and (kind := _attribute(of, "num-format"))
        )
        around = (_attribute(found, "num-prefix"), _attribute(found, "num-suffix"))
        mark = ".".join(numbers).join(around).strip()
        return f"{mark}." if mark.isalnum() else mark

    def _rows(self, element: Element) -> list[list[str]]:
        """The cells of a table; what spans several stands in each."""
        rows: list[list[str]] = []
        down: dict[int, tuple[int, str]] = {}  # column: for how many rows, and what
        for row in _own(element, "table-row"):
            cells: list[str] = []
            for cell in (e for e in row if _name(e) in ("table-cell", "covered-table-cell")):
                count = min(_number(cell, "number-columns-repeated") or 1, _REPEATED)
                text = " ".join(filter(None, (self._in_cell(part) for part in cell)))
                across = min(_number(cell, "number-columns-spanned"), _REPEATED)
                deep = _number(cell, "number-rows-spanned")
                if max(across, deep) > 1:
                    spanned = range(len(cells), len(cells) + max(count, across))
                    down |= dict.fromkeys(spanned, (max(deep, 1), text))
                for _ in range(count):
                    left, above = down.get(len(cells), (0, ""))
                    cells.append(above if left and _name(cell) == "covered-table-cell" else text)
            down = {at: (left - 1, text) for at, (left, text) in down.items() if left > 1}
            rows.append(cells)
        rows = [row for row in rows if any(row)]
        width = max((n for row in rows for n, cell in enumerate(row, 1) if cell), default=0)
        return [(row + [""] * width)[:width] for row in rows]

    def _in_cell(self, part: Element) -> str:
        """What stands in a cell in one line; a table is its rows, with commas and semicolons."""
        if _name(part) == "table":
            return "; ".join(", ".join(filter(None, row)) for row in self._rows(part))
        return " ".join(
            map(
                str.strip, self._items(part, "", 1) if _name(part) == "list" else [self._flow(part)]
            )
        )

    def _flow(self, element: Element) -> str:
        return " ".join("".join(self._pieces(element)).split())

    def _pieces(self, element: Element) -> Iterator[str]:
        if _name(element) in _HIDDEN:
            return
        if self._is_unseen(element):
            self.hidden += len("".join(element.itertext()).strip())
            return
        yield element.text or ""
        for child in element:
            name = _name(child)
            if name in ("s", "tab", "line-break"):
                yield " "
            elif name == "note":
                body = (self._flow(e) for e in child if _name(e) == "note-body")
                yield f" ({' '.join(body)})"
            else:
                yield from self._pieces(child)
                yield " " if name in ("p", "list", "list-item") else ""
            yield child.tail or ""

    def _is_unseen(self, element: Element) -> bool:
        """Whether the style of an element hides it, or the one that this is based on."""
        family = _FAMILIES.get(_name(element))
        style = f"{family} {_attribute(element, 'style-name')}"
        for _ in range(_MOST_STYLES if family else 0):
            if style in self._unseen:
                return self._unseen[style]
            style = self._based.get(style, "")
        return False


def _own(table: Element, name: str) -> Iterator[Element]:
    """The elements of a name in a table, not in the cells of it."""
    for child in table:
        if _name(child) == name:
            yield child
        elif _name(child).startswith("table-") and _name(child) != "table-cell":
            yield from _own(child, name)


def _number(element: Element, name: str) -> int:
    value = _attribute(element, name)
    return int(value) if value.isdecimal() else 0


# --- e-books -------------------------------------------------------------------------------------


def read_epub(archive: zipfile.ZipFile) -> tuple[str, str, str, int]:
    """Return (Markdown, title, author, hidden characters left out) of an .epub file: its chapters
    in the order of the book."""
    from rag_pg.load.html import declared_encoding, read_html

    container = parse_xml(_member(archive, "META-INF/container.xml"))
    path = next(
        (_attribute(e, "full-path") for e in container.iter() if _name(e) == "rootfile"), ""
    )
    package = parse_xml(_member(archive, path))
    items = {_attribute(e, "id"): e for e in package.iter() if _name(e) == "item"}
    chapters, hidden = list[str](), 0
    for reference in (e for e in package.iter() if _name(e) == "itemref"):
        item = items.get(_attribute(reference, "idref"))
        if item is None or "nav" in _attribute(item, "properties").split():
            continue
        href = unquote(_attribute(item, "href"))
        name = posixpath.normpath(posixpath.join(posixpath.dirname(path), href))
        page = _member(archive, name)
        text = decode_text(page, declared=declared_encoding(page)).text
        _, chapter, left_out = read_html(text)
        chapters.append(chapter)
        hidden += left_out
    titles, authors = _texts(package, "title"), _texts(package, "creator")
    content = "\n\n".join(filter(None, chapters))
    return content, "".join(titles[:1]), ", ".join(authors), hidden
