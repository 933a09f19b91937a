"""Word files: their text in order, with notes, text boxes, fields and what was inserted, lists with
their numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from rag_pg.load.numerals import numeral
from rag_pg.load.tables import _line, rows_as_table

_WHITE = 0xF0  # red, green and blue of a text that nobody sees on white
_SMALLEST = 2  # points of a text that nobody reads
_MOST_COLUMNS = 63  # of a table of Word
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_ALTERNATIVES = "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"
_AROUND = [  # elements whose content stands where they do, wherever that is
    _W + name
    for name in (
        *("hyperlink", "ins", "moveTo", "smartTag", "fldSimple", "sdt", "sdtContent", "customXml"),
        *("dir", "bdo", "ruby"),
    )
]
_NOTES = {"footnoteReference": "footnotes", "endnoteReference": "endnotes"}
_SHAPE = "{http://schemas.microsoft.com/office/word/2010/wordprocessingShape}spPr/*"
_FILLED = ("}solidFill", "}gradFill", "}blipFill", "}pattFill")
_FIRST_ROW, _FIRST_COLUMN = 0x20, 0x80  # of a table's look
_MOST_STYLES = 20  # that one is based on
_KINDS = {"lowerLetter": "a", "upperLetter": "A", "lowerRoman": "i", "upperRoman": "I"}
_LEVEL = re.compile(r"heading (\d)", re.IGNORECASE)


def read_docx(file: IO[bytes]) -> tuple[str, int, Any]:
    """Return (Markdown, hidden characters left out, core properties) of a .docx file."""
    from docx import Document

    document = Document(file)
    _lay_open(document.element.body)
    word = _Word(document)
    content = "\n\n".join(filter(None, word.blocks(document.element.body)))
    return content, word.hidden, document.core_properties


class _Word:
    """hidden: characters that no reader sees, left out so far."""

    def __init__(self, document: Any) -> None:
        self.hidden = 0
        self._document = document
        self._cells: dict[Any, str] = {}
        self._lists = _Lists(document)
        self._styles = _Styles(document)
        self._notes: Mapping[str, Mapping[str, str]] = {}  # of those within notes
        self._notes = {reference: self._notes_of(kind) for reference, kind in _NOTES.items()}

    def blocks(self, element: Any) -> Iterator[str]:
        """Yield the paragraphs, list items and tables in an element, each as Markdown."""
        from docx.table import Table
        from docx.text.paragraph import Paragraph

        for child in element:
            if child.tag == _W + "tbl":
                yield self._table(Table(child, self._document))
            elif child.tag == _W + "p":
                yield self._paragraph(Paragraph(child, self._document))
                yield from self._boxes(child)

    def _boxes(self, paragraph: Any) -> Iterator[str]:
        """Yield what stands in the text boxes of a paragraph."""
        for box in paragraph.iter(_W + "txbxContent"):
            if next(box.iterancestors(_W + "p")) is paragraph:
                yield from self.blocks(box)

    def _table(self, table: Any) -> str:
        for span in table._tbl.iter(_W + "gridSpan"):
            span.set(_W + "val", str(min(span.val, _MOST_COLUMNS)))
        rows = [[self._in_cell(cell) for cell in row.cells] for row in table.rows]
        return rows_as_table(rows, head=_has_head(table._tbl))

    def _in_cell(self, cell: Any) -> str:
        """The text of a cell; a table in it is its rows, with commas and semicolons."""
        from docx.table import Table
        from docx.text.paragraph import Paragraph

        if cell._tc in self._cells:  # it spans several
            return self._cells[cell._tc]
        parts = []
        for block in cell.iter_inner_content():
            if isinstance(block, Table):
                rows = ([self._in_cell(inner) for inner in row.cells] for row in block.rows)
                parts.append("; ".join(", ".join(filter(None, row)) for row in rows))
            elif isinstance(block, Paragraph):
                mark = self._lists.mark(block, "").strip(" -")
                parts.append(f"{mark} {self._text(block, mark_bold=False)}".strip())
                parts += self._boxes(block._p)
        self._cells[cell._tc] = "\n".join(parts)
        return self._cells[cell._tc]

    def _paragraph(self, paragraph: Any) -> str:
        style = str(paragraph.style.name if paragraph.style else "")
        level = 1 if style == "Title" else int(m[1]) if (m := _LEVEL.match(style)) else 0
        text = self._text(paragraph, mark_bold=not level)
        if text and level:
            number = self._lists.mark(paragraph, "").strip(" -").removesuffix(".")
            return f"{'#' * min(level, 6)} {number + ' ' * bool(number)}{_line(text)}"
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
                if self._is_unseen(run, paragraph):
                    self.hidden += len(run.text.strip())
                else:
                    yield bool(run.bold), run.text + self._note(child)
            elif child.tag in (_M + "oMath", _M + "oMathPara"):
                yield False, formula(child)

    def _is_unseen(self, run: Any, paragraph: Any) -> bool:
        """Whether a run is hidden, too small to read, or as good as white with nothing dark behind,
        by itself or its styles."""
        styles = [*self._styles.of(run._r.style), *self._styles.of(paragraph._p.style)]
        fonts = [run.font, *(style.font for style in styles)]
        hidden = next((font.hidden for font in fonts if font.hidden is not None), False)
        colors = (font.color.rgb for font in fonts if font.color is not None)
        is_white = min(next(filter(None, colors), (0,))) >= _WHITE
        size = next((font.size.pt for font in fonts if font.size is not None), 12)
        unseen = bool(hidden) or size <= _SMALLEST
        return unseen or (is_white and not self._styles.darken(run._r, styles))

    def _notes_of(self, kind: str) -> Mapping[str, str]:
        """The texts of footnotes or endnotes by their ids."""
        from docx.oxml import parse_xml
        from docx.text.paragraph import Paragraph

        texts: dict[str, str] = {}
        for relation in self._document.part.rels.values():
            if relation.reltype.endswith(f"/{kind}") and not relation.is_external:
                notes = parse_xml(relation.target_part.blob)
                _lay_open(notes)
                for note in notes:
                    parts = (Paragraph(one, self._document) for one in note.iter(_W + "p"))
                    text = " ".join(self._text(part, mark_bold=False) for part in parts)
                    texts[str(note.get(_W + "id"))] = _line(text)
        return texts

    def _note(self, run: Any) -> str:
        """The notes that a run refers to, in brackets."""
        found = (
            notes.get(str(one.get(_W + "id")), "")
            for reference, notes in self._notes.items()
            for one in run.iter(_W + reference)
        )
        return "".join(f" ({note})" for note in found if note)


def _has_head(table: Any) -> bool | None:
    """Whether the first row of a table names its columns: yes where it is marked as one to repeat,
    no where the table's look is of labels in its first column alone; else None."""
    if table.find(f"{_W}tr/{_W}trPr/{_W}tblHeader") is not None:
        return True
    look = table.find(f"{_W}tblPr/{_W}tblLook")
    bits = int(look.get(_W + "val") or "0", 16) if look is not None else 0
    return False if bits & _FIRST_COLUMN and not bits & _FIRST_ROW else None


def _lay_open(root: Any) -> None:
    """Put the content of controls, links, what tracking inserted and so on where they stand, and
    take out rows that it deleted."""
    choose(root)
    for about in [*root.iter(_W + "trPr")]:
        if about.find(_W + "del") is not None:
            about.getparent().getparent().remove(about.getparent())
    for around in [*root.iter(*_AROUND)]:
        if around.tag == _W + "ruby":  # the word, not how it is read
            inner = [*around.iterfind(f"{_W}rubyBase//{_W}t")]
        else:
            inner = [] if _is_contents(around) else [*around]
        _replace(around, inner)


def choose(root: Any) -> None:
    """Leave of alternatives, of which a program shows the first that it knows, the first that has
    a text."""
    for one in [*root.iter(_ALTERNATIVES)]:
        _replace(one, next((way for way in one if any(t.text for t in way.iter("{*}t"))), ()))


def _replace(element: Any, by: Iterable[Any]) -> None:
    for child in [*by]:
        element.addprevious(child)
    element.getparent().remove(element)


def _is_contents(element: Any) -> bool:
    """Whether an element is the table of contents, which says the headings twice."""
    kinds = element.iterfind(f"{_W}sdtPr/{_W}docPartObj/{_W}docPartGallery")
    return any(kind.get(_W + "val") == "Table of Contents" for kind in kinds)


def formula(element: Any) -> str:
    """A formula in one line, as a/b, x^2 and x_1."""
    name = str(element.tag).removeprefix(_M)
    if name == "t":
        return element.text or ""
    parts = [formula(child) for child in element]
    if name in ("num", "den", "sup", "sub") and len("".join(parts)) > 1:
        parts = ["(", *parts, ")"]
    before = {"den": "/", "sup": "^", "sub": "_", "rad": "√"}
    return before.get(name, "") + "".join(parts)


def _bold(text: str) -> str:
    inner = text.strip()
    return text.replace(inner, f"**{inner}**", 1) if inner and "*" not in inner else text


class _Styles:
    """The styles of a Word file by their ids, and what stands behind a text."""

    def __init__(self, document: Any) -> None:
        self._named = {style.style_id: style for style in document.styles}
        self._all_dark = next(document.element.iter(_W + "background"), None) is not None

    def of(self, name: str | None) -> list[Any]:
        """The style of that id, and those that it is based on."""
        return [*_chain(self._named.get(name))]

    def darken(self, run: Any, styles: Sequence[Any]) -> bool:
        """Whether the page, a shade, a highlight, or the filling of a cell, table or box stands
        behind a run, which has these styles."""
        if self._all_dark or any(_is_shaded(style.element) for style in styles):
            return True
        for around in run.iterancestors():
            if around.tag == _W + "p" and _is_shaded(around):
                return True
            if around.tag in (_W + "tc", _W + "tbl"):
                about = around.find(f"{around.tag}Pr")
                named = _value(about, "tblStyle")
                parts = [about, *(style.element for style in self.of(named))]
                if any(part is not None and _is_shaded(part) for part in parts):
                    return True
            if any(part.tag.endswith(_FILLED) for part in around.iterfind(_SHAPE)):
                return True
            if around.get("fillcolor", "white") not in ("white", "#fff", "#ffffff"):
                return True
        return False


def _chain(style: Any) -> Iterator[Any]:
    """A style and those that it is based on."""
    for _ in range(_MOST_STYLES):
        if style is None:
            return
        yield style
        style = style.base_style


def _is_shaded(element: Any) -> bool:
    """Whether a shade or highlight that is not white stands in an element."""
    fills = (one.get(_W + "fill", "") for one in element.iter(_W + "shd"))
    marked = next(element.iter(_W + "highlight"), None)
    return marked is not None or any(fill not in ("", "auto", "FFFFFF") for fill in fills)


class _Lists:
    """The marks of a Word file's list items and headings: their numbers as Word shows them, or
    dashes."""

    def __init__(self, document: Any) -> None:
        self._lists: dict[str, _List] = {}
        self._counts: dict[str, dict[int, int]] = {}  # by numbering, which several lists share
        self._begun: set[str] = set()
        try:
            numbering = document.part.numbering_part.element
        except (KeyError, NotImplementedError):  # a file without lists
            return
        abstract = {e.get(_W + "abstractNumId"): e for e in numbering.iter(_W + "abstractNum")}
        linked = {name: e for e in abstract.values() if (name := _value(e, "styleLink"))}
        for one in numbering.iter(_W + "num"):
            shared = _value(one, "abstractNumId")
            of = abstract.get(shared)
            of = linked.get(_value(of, "numStyleLink"), of)
            overrides = [*one.iter(_W + "lvlOverride")]
            levels = [
                e for part in (of, *overrides) if part is not None for e in part.iter(_W + "lvl")
            ]
            starts = {_at(e): _value(e, "startOverride") for e in overrides}
            self._lists[str(one.get(_W + "numId"))] = _List(
                shared=shared,
                levels={_at(level): level for level in levels},
                starts={at: int(start) for at, start in starts.items() if start.isdecimal()},
            )

    def mark(self, paragraph: Any, style: str) -> str:
        """What stands before a paragraph: "2.", "(b)" or "-", behind two spaces for each level; ""
        before one that is no item."""
        number, styled = _numbered(paragraph)
        if number is None:
            return "-" if style.startswith("List") else ""
        name, level = str(number.numId.val), number.ilvl.val if number.ilvl is not None else 0
        if name == "0":  # a style's list, taken off this paragraph
            return ""
        found = self._lists.get(name, _List())
        of_style = (at for at, e in found.levels.items() if styled == _value(e, "pStyle"))
        level = next(of_style, level) if styled else level
        counts = self._counts.setdefault(found.shared, {})
        if name not in self._begun:
            self._begun.add(name)
            counts |= {at: start - 1 for at, start in found.starts.items()}
        counts[level] = counts.get(level, found.start(level) - 1) + 1
        for deeper in [at for at in counts if at > level]:
            del counts[deeper]
        return "  " * min(level, 8) + found.shown(level, counts)


@dataclass(frozen=True, kw_only=True, slots=True)
class _List:
    """shared: the numbering that it goes on with. starts: the numbers that it begins anew with."""

    shared: str = ""
    levels: Mapping[int, Any] = field(default_factory=dict)
    starts: Mapping[int, int] = field(default_factory=dict)

    def start(self, level: int) -> int:
        start = _value(self.levels.get(level), "start")
        return int(start) if start.isdecimal() else 1

    def shown(self, level: int, counts: Mapping[int, int]) -> str:
        """The mark of an item, as the text of its level has it: "%1.%2)"."""
        kind = _value(self.levels.get(level), "numFmt") or "decimal"
        if level not in self.levels or kind in ("bullet", "none"):
            return "-"

        def number(found: re.Match[str]) -> str:
            at = int(found[1]) - 1
            of = _value(self.levels.get(at), "numFmt")
            return numeral(counts.get(at, self.start(at)), _KINDS.get(of, "1"))

        text = re.sub(r"%([1-9])", number, _value(self.levels[level], "lvlText")).strip()
        return f"{text}." if text.isalnum() else text or "-"


def _value(element: Any, name: str) -> str:
    """What a child of an element says, "" without it."""
    child = element.find(_W + name) if element is not None else None
    return str(child.get(_W + "val") or "") if child is not None else ""


def _at(element: Any) -> int:
    return int(element.get(_W + "ilvl") or 0)


def _numbered(paragraph: Any) -> tuple[Any, str]:
    """What numbers a paragraph, None without it, and the id of the style that does, if one does."""
    own = paragraph._p.pPr
    if own is not None and own.numPr is not None and own.numPr.numId is not None:
        return own.numPr, ""
    for style in _chain(paragraph.style):
        properties = style.element.pPr
        number = properties.numPr if properties is not None else None
        if number is not None and number.numId is not None:
            return number, style.style_id
    return None, ""
