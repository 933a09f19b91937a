"""OpenDocument texts and e-books, which are zip files of XML and HTML, as Markdown."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from rag_pg.errors import UnsupportedFile
from rag_pg.load.decode import decode_text
from rag_pg.load.markup import parse_xml
from rag_pg.load.tables import rows_as_table

_REPEATED = 50  # times that an empty cell is written at most
_HIDDEN = {"tracked-changes", "hidden-text", "hidden-paragraph", "annotation", "sequence-decls"}


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


def read_odt(archive: zipfile.ZipFile) -> tuple[str, str, str]:
    """Return (Markdown, title, author) of an .odt file: headings, lists, tables and notes."""
    body = next(e for e in parse_xml(_member(archive, "content.xml")).iter() if _name(e) == "text")
    about = parse_xml(archive.read("meta.xml")) if "meta.xml" in archive.namelist() else None
    titles, authors = (
        (_texts(about, "title"), _texts(about, "creator")) if about is not None else ([], [])
    )
    return "\n\n".join(filter(None, _odt_blocks(body))), "".join(titles[:1]), "".join(authors[:1])


def _odt_blocks(element: Element, indent: str = "") -> Iterator[str]:
    for child in element:
        name = _name(child)
        if name in _HIDDEN:
            continue
        if name == "h":
            level = _attribute(child, "outline-level")
            hashes = "#" * min(int(level) if level.isdecimal() else 1, 6)
            yield f"{hashes} {_flow(child)}" if _flow(child) else ""
        elif name == "p":
            yield indent + _flow(child) if _flow(child) else ""
        elif name == "list":
            yield "\n".join(_odt_items(child, indent))
        elif name == "table":
            yield _odt_table(child)
        else:  # a section, a frame, an index
            yield from _odt_blocks(child, indent)


def _odt_items(element: Element, indent: str) -> Iterator[str]:
    for item in element:
        for number, part in enumerate(item):
            if _name(part) == "list":
                yield from _odt_items(part, indent + "  ")
            elif text := _flow(part):
                yield f"{indent}{'  ' if number else '- '}{text}"


def _odt_table(element: Element) -> str:
    rows = []
    for row in (e for e in element.iter() if _name(e) == "table-row"):
        cells: list[str] = []
        for cell in (e for e in row if _name(e) in ("table-cell", "covered-table-cell")):
            text = " ".join(filter(None, map(_flow, cell)))
            count = _attribute(cell, "number-columns-repeated")
            cells += [text] * (min(int(count), _REPEATED) if count.isdecimal() else 1)
        rows.append(cells)
    rows = [row for row in rows if any(row)]
    if not rows:
        return ""
    width = max(max(n for n, cell in enumerate(row, 1) if cell) for row in rows)
    return rows_as_table([(row + [""] * width)[:width] for row in rows])


def _flow(element: Element) -> str:
    return " ".join("".join(_pieces(element)).split())


def _pieces(element: Element) -> Iterator[str]:
    if _name(element) in _HIDDEN:
        return
    yield element.text or ""
    for child in element:
        name = _name(child)
        if name in ("s", "tab", "line-break"):
            yield " "
        elif name == "note":
            yield " (" + " ".join(_flow(e) for e in child if _name(e) == "note-body") + ")"
        else:
            yield from _pieces(child)
            yield " " if name in ("p", "list", "list-item") else ""
        yield child.tail or ""


# --- e-books -------------------------------------------------------------------------------------


def read_epub(archive: zipfile.ZipFile) -> tuple[str, str, str]:
    """Return (Markdown, title, author) of an .epub file: its chapters in the order of the book."""
    from rag_pg.load.html import declared_encoding, html_to_markdown

    container = parse_xml(_member(archive, "META-INF/container.xml"))
    path = next(
        (_attribute(e, "full-path") for e in container.iter() if _name(e) == "rootfile"), ""
    )
    package = parse_xml(_member(archive, path))
    items = {_attribute(e, "id"): e for e in package.iter() if _name(e) == "item"}
    chapters = []
    for reference in (e for e in package.iter() if _name(e) == "itemref"):
        item = items.get(_attribute(reference, "idref"))
        if item is None or "nav" in _attribute(item, "properties").split():
            continue
        href = unquote(_attribute(item, "href"))
        name = posixpath.normpath(posixpath.join(posixpath.dirname(path), href))
        page = _member(archive, name)
        text = decode_text(page, declared=declared_encoding(page)).text
        chapters.append(html_to_markdown(text)[1])
    titles, authors = _texts(package, "title"), _texts(package, "creator")
    return "\n\n".join(filter(None, chapters)), "".join(titles[:1]), ", ".join(authors)
