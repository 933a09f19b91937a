"""Word files: their text in order, with notes, text boxes, fields and what was inserted, lists with
their numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import IO, Any

from rag_pg.load.tables import _line, rows_as_table

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_AROUND = {  # elements whose content stands where they do
    _W + name
    for name in (
        *("hyperlink", "ins", "moveTo", "smartTag", "fldSimple", "sdt", "sdtContent", "customXml"),
        *("dir", "bdo"),
    )
}
_NOTES = {"footnoteReference": "footnotes", "endnoteReference": "endnotes"}
_BEHIND = ("shd", "highlight")
_LEVEL = re.compile(r"heading (\d)", re.IGNORECASE)


def read_docx(file: IO[bytes]) -> tuple[str, int, Any]:
    """Return (Markdown, hidden characters left out, core properties) of a .docx file."""
    from docx import Document

    document = Document(file)
    word = _Word(document)
    content = "\n\n".join(filter(None, word.blocks(document.element.body)))
    return content, word.hidden, document.core_properties


class _Word:
    """hidden: characters that no reader sees, left out so far."""

    def __init__(self, document: Any) -> None:
        self.hidden = 0
        self._document = document
        self._lists = _Lists(document)
        self._notes = {reference: _notes_of(document, kind) for reference, kind in _NOTES.items()}

    def blocks(self, element: Any) -> Iterator[str]:
        """Yield the paragraphs, list items and tables in an element, each as Markdown."""
        from docx.table import Table
        from docx.text.paragraph import Paragraph

        for child in element:
            if child.tag == _W + "tbl":
                yield self._table(Table(child, self._document))
            elif child.tag == _W + "p":
                yield self._paragraph(Paragraph(child, self._document))
                for box in child.iter(_W + "txbxContent"):
                    if next(box.iterancestors(_FALLBACK), None) is None:
                        yield from self.blocks(box)
            elif child.tag in _AROUND and not _is_contents(child):
                yield from self.blocks(child)

    def _table(self, table: Any) -> str:
        return rows_as_table([[self._in_cell(cell) for cell in row.cells] for row in table.rows])

    def _in_cell(self, cell: Any) -> str:
        """The text of a cell; a table in it is its rows, with commas and semicolons."""
        from docx.table import Table
        from docx.text.paragraph import Paragraph

        parts = []
        for block in cell.iter_inner_content():
            if isinstance(block, Table):
                rows = ([self._in_cell(inner) for inner in row.cells] for row in block.rows)
                parts.append("; ".join(", ".join(filter(None, row)) for row in rows))
            elif isinstance(block, Paragraph):
                parts.append(self._text(block, mark_bold=False))
        return "\n".join(parts)

    def _paragraph(self, paragraph: Any) -> str:
        style = str(paragraph.style.name if paragraph.style else "")
        level = 1 if style == "Title" else int(m[1]) if (m := _LEVEL.match(style)) else 0
        text = self._text(paragraph, mark_bold=not level)
        if text and level:
            return f"{'#' * min(level, 6)} {_line(text)}"
        if text and (mark := self._lists.mark(paragraph, style)):
            return f"{mark} {_line(text)}"
        return text

    def _text(self, paragraph: Any, *, mark_bold: bool) -> str:
        """The text of a paragraph with its bold words marked, where not all are."""
        parts: list[tuple[bool, str]] = []
        for bold, text in self._runs(paragraph._p, paragraph):
            if parts and parts[-1][0] == bold:
                parts[-1] = (bold, parts[-1][1] + text)
            else:
                parts.append((bold, text))
        if not mark_bold or all(bold for bold, text in parts if text.strip()):
            return "".join(text for _, text in parts).strip()
        return "".join(_bold(text) if bold else text for bold, text in parts).strip()

    def _runs(self, element: Any, paragraph: Any) -> Iterator[tuple[bool, str]]:
        """Yield the texts of an element in their order, and whether they are bold."""
        from docx.text.run import Run

        for child in element:
            if child.tag == _W + "r":
                run = Run(child, paragraph)
                if _is_unseen(run):
                    self.hidden += len(run.text.strip())
                else:
                    yield bool(run.bold), run.text + self._note(child)
            elif child.tag in _AROUND:
                yield from self._runs(child, paragraph)
            elif child.tag in (_M + "oMath", _M + "oMathPara"):
                yield False, _formula(child)

    def _note(self, run: Any) -> str:
        """The notes that a run refers to, in brackets."""
        found = (
            notes.get(str(one.get(_W + "id")), "")
            for reference, notes in self._notes.items()
            for one in run.iter(_W + reference)
        )
        return "".join(f" ({note})" for note in found if note)


def _notes_of(document: Any, kind: str) -> Mapping[str, str]:
    """The texts of footnotes or endnotes by their ids."""
    from docx.oxml import parse_xml

    return {
        str(note.get(_W + "id")): _line("".join(one.text or "" for one in note.iter(_W + "t")))
        for relation in document.part.rels.values()
        if relation.reltype.endswith(f"/{kind}") and not relation.is_external
        for note in parse_xml(relation.target_part.blob)
    }


def _is_contents(element: Any) -> bool:
    """Whether an element is the table of contents, which says the headings twice."""
    kinds = element.iterfind(f"{_W}sdtPr/{_W}docPartObj/{_W}docPartGallery")
    return any(kind.get(_W + "val") == "Table of Contents" for kind in kinds)


def _is_unseen(run: Any) -> bool:
    """Whether a run is hidden, or white on white."""
    paragraph = next(run._r.iterancestors(_W + "p"))
    shaded = any(next(paragraph.iter(_W + name), None) is not None for name in _BEHIND)
    return bool(run.font.hidden) or (str(run.font.color.rgb) == "FFFFFF" and not shaded)


def _formula(element: Any) -> str:
    """A formula in one line, as a/b, x^2 and x_1."""
    name = str(element.tag).removeprefix(_M)
    if name == "t":
        return element.text or ""
    parts = [_formula(child) for child in element]
    if name in ("num", "den", "sup", "sub") and len("".join(parts)) > 1:
        parts = ["(", *parts, ")"]
    before = {"den": "/", "sup": "^", "sub": "_", "rad": "√"}
    return before.get(name, "") + "".join(parts)


def _bold(text: str) -> str:
    inner = text.strip()
    return text.replace(inner, f"**{inner}**", 1) if inner and "*" not in inner else text


class _Lists:
    """The marks of a Word file's list items: their numbers, or dashes."""

    def __init__(self, document: Any) -> None:
        self._next: dict[tuple[str, int], int] = {}
        self._kinds: dict[tuple[str, int], str] = {}  # by list and level
        try:
            numbering = document.part.numbering_part.element
        except (KeyError, NotImplementedError):  # a file without lists
            return
        abstract = {e.get(_W + "abstractNumId"): e for e in numbering.iter(_W + "abstractNum")}
        for one in numbering.iter(_W + "num"):
            of = one.find(_W + "abstractNumId")
            levels = abstract.get(of.get(_W + "val")) if of is not None else None
            for level in levels.iter(_W + "lvl") if levels is not None else ():
                kind = level.find(_W + "numFmt")
                key = (str(one.get(_W + "numId")), int(level.get(_W + "ilvl") or 0))
                self._kinds[key] = str(kind.get(_W + "val")) if kind is not None else "decimal"

    def mark(self, paragraph: Any, style: str) -> str:
        """What stands before a paragraph: "2." or "-", behind two spaces for each level; "" before
        one that is no item."""
        found = (paragraph._p.pPr, getattr(paragraph.style, "element", None))
        for properties in (found[0], found[1].pPr if found[1] is not None else None):
            number = properties.numPr if properties is not None else None
            if number is not None and number.numId is not None:
                break
        else:
            return "-" if style.startswith("List") else ""
        level = number.ilvl.val if number.ilvl is not None else 0
        key = (str(number.numId.val), level)
        kind = self._kinds.get(key, "none")
        if key[0] == "0":  # a style's list, taken off this paragraph
            return ""
        for other in [one for one in self._next if one[0] == key[0] and one[1] > level]:
            del self._next[other]
        self._next[key] = self._next.get(key, 0) + 1
        mark = "-" if kind in ("bullet", "none") else f"{self._next[key]}."
        return "  " * min(level, 8) + mark
