"""PDF, Word, PowerPoint and Excel files as Markdown,
by the libraries of the extra rag-pg[files]."""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rag_pg.errors import UnsupportedFile
from rag_pg.load.packages import read_epub, read_odt
from rag_pg.load.pdf import read_pdf
from rag_pg.load.tables import _cell, _line, rows_as_list, rows_as_table

_EXPANSION = 50  # times the file: what a zip file larger than this holds is not read
_EXPANDED = 100_000_000  # bytes; smaller ones are not asked for their expansion
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_BEHIND = ("shd", "highlight")
_LEVEL = re.compile(r"heading (\d)", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Office:
    """What a file holds: Markdown, its title ("" without one), and metadata."""

    content: str
    title: str = ""
    hidden: int = 0  # characters of hidden text that was left out
    metadata: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()


_Reader = Callable[[io.BytesIO], Office]


def load_office(data: bytes, suffix: str, ocr: str = "") -> Office:
    """Return the text of a .pdf, .docx, .pptx, .xlsx, .odt or .epub file.

    ocr: see `load_file`.
    Raises: UnsupportedFile (the library is missing, the file is damaged, encrypted or without
    text); the message does not name the file.
    """
    try:
        if suffix != ".pdf":
            _check_size(data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the libraries' remarks on odd files
            file = io.BytesIO(data)
            return _pdf(file, ocr) if suffix == ".pdf" else _READERS[suffix](file)
    except UnsupportedFile:
        raise
    except ImportError as exc:
        raise UnsupportedFile(
            f"needs the library {exc.name}, which is not installed; "
            'pip install "rag-pg[files]", or convert the file to Markdown'
        ) from exc
    except Exception as exc:  # of a damaged file: these libraries raise whatever comes
        problem = " ".join(str(exc).split()) or type(exc).__name__
        raise UnsupportedFile(
            f"is no {suffix} file that can be read: {problem}; open and save it anew"
        ) from exc


def _pdf(file: io.BytesIO, ocr: str) -> Office:
    """Each page is a section, so that a chunk's heading says on which page it stands."""
    found = read_pdf(file.getvalue(), ocr)
    pages = []
    for number, lines in enumerate(found.pages, 1):
        if text := "\n".join(lines).strip():
            pages.append(f"# Page {number}\n\n{_no_heading(text)}")
    return Office(
        content="\n\n".join(pages),
        title=found.title,
        hidden=found.hidden,
        notes=found.notes,
        metadata={
            "pages": len(found.pages),
            **_kept({"author": found.author}),
            **({"ocr": True} if found.ocr else {}),
        },
    )


def _docx(file: io.BytesIO) -> Office:
    from docx import Document
    from docx.table import Table

    document = Document(file)
    lists = _Lists(document)
    blocks, hidden = list[str](), 0
    for block in document.iter_inner_content():
        if isinstance(block, Table):
            cells = [[_cell_text(cell) for cell in row.cells] for row in block.rows]
            hidden += sum(unseen for row in cells for _, unseen in row)
            blocks.append(rows_as_table([[text for text, _ in row] for row in cells]))
            continue
        style = str(block.style.name if block.style else "")
        level = 1 if style == "Title" else int(m[1]) if (m := _LEVEL.match(style)) else 0
        text, unseen = _runs(block, mark_bold=not level)
        hidden += unseen
        if not text:
            continue
        if level:
            text = f"{'#' * min(level, 6)} {_line(text)}"
        elif mark := lists.mark(block, style):
            text = f"{mark} {_line(text)}"
        blocks.append(text)
    found = _described("\n\n".join(filter(None, blocks)), document.core_properties)
    return replace(found, hidden=hidden)


def _runs(paragraph: Any, *, mark_bold: bool) -> tuple[str, int]:
    """The text of a paragraph with its bold words marked, where not all are, and how many
    characters of it are hidden."""
    parts: list[tuple[bool, str]] = []
    hidden = 0
    for run in paragraph.iter_inner_content():
        bold = mark_bold and bool(getattr(run, "bold", False))
        if _unseen(run):
            hidden += len(run.text.strip())
        elif parts and parts[-1][0] == bold:
            parts[-1] = (bold, parts[-1][1] + run.text)
        else:
            parts.append((bold, run.text))
    if all(bold for bold, text in parts if text.strip()):
        parts = [(False, text) for _, text in parts]
    return "".join(_bold(text) if bold else text for bold, text in parts).strip(), hidden


def _cell_text(cell: Any) -> tuple[str, int]:
    """The text of a cell, and how many characters of it are hidden."""
    found = [_runs(paragraph, mark_bold=False) for paragraph in cell.paragraphs]
    return "\n".join(text for text, _ in found), sum(unseen for _, unseen in found)


def _unseen(run: Any) -> bool:
    """Whether a run is hidden, or white on white."""
    font = getattr(run, "font", None)
    if font is None:  # a link
        return False
    shaded = any(next(run._r.getparent().iter(_W + name), None) is not None for name in _BEHIND)
    return bool(font.hidden) or (str(font.color.rgb) == "FFFFFF" and not shaded)


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


def _pptx(file: io.BytesIO) -> Office:
    from pptx import Presentation

    presentation = Presentation(file)
    slides = []
    for number, slide in enumerate(presentation.slides, 1):
        title = slide.shapes.title
        heading = _line(title.text_frame.text) if title is not None else ""
        parts = [f"# Slide {number}" + (f": {heading}" if heading else "")]
        parts += _shapes(shape for shape in slide.shapes if shape != title)
        frame = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
        if frame is not None and (notes := frame.text.strip()):
            parts.append(f"Notes: {notes}")
        if heading or len(parts) > 1:
            slides.append("\n\n".join(parts))
    return _described("\n\n".join(slides), presentation.core_properties)


def _shapes(shapes: Iterable[Any]) -> Iterator[str]:
    for shape in shapes:
        if hasattr(shape, "shapes"):  # a group
            yield from _shapes(shape.shapes)
        elif shape.has_text_frame and (text := shape.text_frame.text.strip()):
            yield _no_heading(text.replace("\v", "\n"))
        elif getattr(shape, "has_chart", False):
            yield _chart(shape.chart)
        elif getattr(shape, "has_table", False):
            yield rows_as_table([[cell.text for cell in row.cells] for row in shape.table.rows])


def _chart(chart: Any) -> str:
    """The data of a chart as a table: a row for each category, a column for each series."""
    plots = [plot for plot in chart.plots if len(plot.series)]
    name = (
        chart.chart_title.text_frame.text
        if chart.has_title and chart.chart_title.has_text_frame
        else ""
    )
    tables = [f"Chart: {_line(name)}" if name else "Chart"]
    for plot in plots:
        series = [*plot.series]
        labels = [_line(label) for label in plot.categories]
        values = [[*one.values] for one in series]
        count = max(len(labels), *map(len, values))
        rows = [["", *(_line(one.name) for one in series)]]
        for n in range(count):
            cells = (_cell(v[n]) if n < len(v) else "" for v in values)
            rows.append([labels[n] if n < len(labels) else str(n + 1), *cells])
        tables.append(rows_as_table(rows))
    return "\n\n".join(filter(None, tables))


def _xlsx(file: io.BytesIO) -> Office:
    from openpyxl import load_workbook

    workbook = load_workbook(file, read_only=True, data_only=True)
    try:
        sheets = [
            (f"Sheet {n}: {_line(sheet.title)}", rows_as_list(sheet.iter_rows(values_only=True)))
            for n, sheet in enumerate(workbook.worksheets, 1)
        ]
        return _described(
            "\n\n".join(f"# {name}\n\n{rows}" for name, rows in sheets if rows),
            workbook.properties,
        )
    finally:
        workbook.close()


def _package(read: Callable[[zipfile.ZipFile], tuple[str, str, str]]) -> _Reader:
    def reader(file: io.BytesIO) -> Office:
        with zipfile.ZipFile(file) as archive:
            content, title, author = read(archive)
        return Office(content=content, title=title, metadata=_kept({"author": author}))

    return reader


_READERS: dict[str, _Reader] = {
    ".docx": _docx,
    ".pptx": _pptx,
    ".xlsx": _xlsx,
    ".odt": _package(read_odt),
    ".epub": _package(read_epub),
}


# --- shared --------------------------------------------------------------------------------------


def _described(content: str, about: Any) -> Office:
    author = getattr(about, "author", None) or getattr(about, "creator", None)
    author = None if author in ("python-docx", "openpyxl") else author
    return Office(content=content, title=_line(about.title), metadata=_kept({"author": author}))


def _no_heading(text: str) -> str:
    """Return the text of a page in which no line passes for the heading of another page."""
    return re.sub(r"(?m)^(?=# (?:Page|Slide|Sheet) \d)", r"\\", text)


def _kept(values: Mapping[str, object]) -> dict[str, str]:
    return {key: line for key, value in values.items() if (line := _line(value))}


def _check_size(data: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
    if size > max(_EXPANDED, _EXPANSION * len(data)):
        raise UnsupportedFile(
            f"unpacks to {size:,} bytes from {len(data):,}, which no document does; "
            "save it anew if it is one"
        )
