"""PDF, Word, PowerPoint and Excel files as Markdown,
by the libraries of the extra rag-pg[files]."""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from rag_pg.errors import UnsupportedFile
from rag_pg.load.packages import read_epub, read_odt
from rag_pg.load.pdf import read_pdf
from rag_pg.load.tables import Span, _cell, _line, merged, rows_as_list, rows_as_table
from rag_pg.load.word import choose, formula, read_docx

_EXPANSION = 50  # times the file: what a zip file larger than this holds is not read
_EXPANDED = 100_000_000  # bytes; smaller ones are not asked for their expansion

_TAG = re.compile(rb"<(?:\w+:)?(row|col|mergeCell|autoFilter|filterColumn)\b([^<>]*)>")
_ATTRIBUTE = re.compile(r"""(\w+)=["']([^"']*)""")
# A formula without a value; a text that is empty is one.
_UNRECKONED = re.compile(
    rb"""<(?:\w+:)?c\b(?![^<>]*\bt=["']str)[^<>]*>\s*<(?:\w+:)?f\b[^<>]*(?:/>|>[^<]*</(?:\w+:)?f>)"""
    rb"""\s*(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</(?:\w+:)?c>"""
)
_YES = ("1", "true")
_ROWS, _COLUMNS = 1_048_576, 16_384  # of a sheet
_PIECE = 1_000_000  # bytes
_FORMATS = "{http://schemas.openxmlformats.org/"
_DIAGRAM = _FORMATS + "drawingml/2006/diagram}"
_DRAWING = _FORMATS + "drawingml/2006/main}"
_MATHS = "{http://schemas.microsoft.com/office/drawing/2010/main}m"
_DATA = _FORMATS + "officeDocument/2006/relationships}dm"


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
    content, hidden, about = read_docx(file)
    return replace(_described(content, about), hidden=hidden)


def _pptx(file: io.BytesIO) -> Office:
    from pptx import Presentation

    presentation = Presentation(file)
    slides, left_out = [], Counter[str]()
    for number, slide in enumerate(presentation.slides, 1):
        if slide._element.get("show") in ("0", "false"):
            left_out["slide"] += 1
            continue
        choose(slide._element)
        for one in [*slide._element.iter(_MATHS)]:
            run = one.getparent()._new_r()
            run.text = formula(one)
            one.getparent().replace(one, run)
        title = slide.shapes.title
        heading = _line(title.text_frame.text) if title is not None else ""
        parts = [f"# Slide {number}" + (f": {heading}" if heading else "")]
        parts += _shapes(shape for shape in slide.shapes if shape != title)
        frame = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
        if frame is not None and (notes := frame.text.strip()):
            parts.append(f"Notes: {notes}")
        if heading or len(parts) > 1:
            slides.append("\n\n".join(parts))
    return replace(
        _described("\n\n".join(slides), presentation.core_properties), notes=_hidden(left_out)
    )


def _shapes(shapes: Iterable[Any]) -> Iterator[str]:
    for shape in shapes:
        if shape._element._nvXxPr.cNvPr.get("hidden") in _YES:
            continue
        if hasattr(shape, "shapes"):  # a group
            yield from _shapes(shape.shapes)
        elif shape.has_text_frame and (text := shape.text_frame.text.strip()):
            yield _no_heading(text.replace("\v", "\n"))
        elif getattr(shape, "has_chart", False):
            yield _chart(shape.chart)
        elif getattr(shape, "has_table", False):
            yield _slide_table(shape.table)
        else:
            yield _diagram(shape)


def _slide_table(table: Any) -> str:
    """A table in which each cell says what is merged into it."""
    rows = [[cell.text for cell in row.cells] for row in table.rows]
    for n, row in enumerate(table.rows):
        for m, cell in enumerate(row.cells):
            if cell.is_merge_origin:
                for line in rows[n : n + cell.span_height]:
                    line[m : m + cell.span_width] = [cell.text] * cell.span_width
    labels = table.first_col and not table.first_row
    return rows_as_table(rows, head=False if labels else None)


def _diagram(shape: Any) -> str:
    """The texts of a SmartArt diagram as a list, "" for another shape."""
    from pptx.oxml import parse_xml

    texts = []
    for relation in shape._element.iter(_DIAGRAM + "relIds"):
        data = parse_xml(shape.part.related_part(relation.get(_DATA)).blob)
        for point in data.iter(_DIAGRAM + "pt"):
            texts.append(_line("".join(one.text or "" for one in point.iter(_DRAWING + "t"))))
    return "\n".join(f"- {text}" for text in texts if text)


def _chart(chart: Any) -> str:
    """The data of a chart as a table: a row for each category, a column for each series."""
    plots = [plot for plot in chart.plots if len(plot.series)]
    name = (
        chart.chart_title.text_frame.text
        if chart.has_title and chart.chart_title.has_text_frame
        else ""
    )
    tables = [f"Chart: {_line(name)}" if name else "Chart"]
    for plot, series in chain.from_iterable(map(_alike, plots)):
        points = series[0]._element.xpath("./c:xVal//c:pt")
        at = {int(point.get("idx")): _line("".join(point.itertext())) for point in points}
        labels = [_line(label) for label in plot.categories]
        values = [[*one.values] for one in series]
        count = max(len(labels), *map(len, values))
        rows = [["", *(_line(one.name) for one in series)]]
        for n in range(count):
            cells = (_cell(v[n]) if n < len(v) else "" for v in values)
            rows.append([labels[n] if n < len(labels) else at.get(n, str(n + 1)), *cells])
        tables.append(rows_as_table(rows, head=True))
    return "\n\n".join(filter(None, tables))


def _alike(plot: Any) -> Iterator[tuple[Any, list[Any]]]:
    """Yield the series of a plot with the same labels: of points each has its own."""
    series = [*plot.series]
    apart = any(one._element.xpath("./c:xVal") for one in series)
    yield from ((plot, [one]) for one in series) if apart else [(plot, series)]


def _xlsx(file: io.BytesIO) -> Office:
    from openpyxl import load_workbook

    workbook = load_workbook(file, read_only=True, data_only=True)
    try:
        sheets, left_out, notes = [], Counter[str](), set[str]()
        for n, sheet in enumerate(workbook.worksheets, 1):
            if sheet.sheet_state != "visible":
                left_out["sheet"] += 1
                continue
            about = _about(file, sheet)
            width, height = sheet.max_column or _COLUMNS, sheet.max_row or _ROWS
            sheet.reset_dimensions()  # else each row is as wide as one cell far out makes the sheet
            left_out += {  # those beside the data have nothing that is left out
                "row": sum(number <= height for number in about.rows),
                "column": sum(column < width for column in about.columns),
            }
            if about.unreckoned:
                notes.add("formulas without a value are left out: open the file and save it")
            rows = merged(sheet.iter_rows(values_only=True), about.spans, about.rows)
            if text := rows_as_list(_without(row, about.columns) for row in rows):
                sheets.append(f"# Sheet {n}: {_line(sheet.title)}\n\n{text}")
        told = (*_hidden(left_out), *notes)
        return replace(_described("\n\n".join(sheets), workbook.properties), notes=told)
    finally:
        workbook.close()


@dataclass(frozen=True, kw_only=True, slots=True)
class _About:
    """What the reader of a sheet, row by row, does not know: merged cells, hidden rows (from 1) and
    columns (from 0), and whether formulas have no value."""

    spans: Sequence[Span]
    rows: Set[int]
    columns: Set[int]
    unreckoned: bool


def _about(file: io.BytesIO, sheet: Any) -> _About:
    """Rows that a filter leaves out or an outline folds are not hidden: a button opens them."""
    from openpyxl.packaging.relationship import get_dependents, get_rels_path
    from openpyxl.utils import range_boundaries
    from openpyxl.worksheet.table import Table

    spans, rows, columns, filtered = dict[Span, None](), set[int](), set[int](), list[Span]()
    unreckoned = False
    with zipfile.ZipFile(file) as archive:
        path = sheet._worksheet_path
        linked = get_rels_path(path)
        known = get_dependents(archive, linked) if linked in archive.namelist() else None
        tables = [] if known is None else [one.target for one in known.find(Table._rel_type)]
        number = 0
        for tag, about in chain.from_iterable(_tags(archive, part) for part in (path, *tables)):
            if "ref" in about:
                left, top, right, bottom = range_boundaries(about["ref"])
                span = Span(top or 1, bottom or _ROWS, left - 1, right - 1)
            if tag == "mergeCell":
                spans[span] = None
            elif tag == "filterColumn":  # it stands in its autoFilter
                filtered.append(span)
            elif tag == "row":
                number = int(about.get("r", number + 1))
                if _is_hidden(about):
                    rows.add(number)
            elif tag == "col" and _is_hidden(about):
                columns.update(range(int(about["min"]) - 1, min(int(about["max"]), _COLUMNS)))
            unreckoned |= tag == "f"
    for span in {*filtered}:
        rows = {one for one in rows if not span.first < one <= span.last}
    return _About(spans=[*spans], rows=rows, columns=columns, unreckoned=unreckoned)


def _tags(archive: zipfile.ZipFile, name: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the tags of a sheet or table that `_TAG` knows, and their attributes; f for formulas
    without a value."""
    rest = b""
    with archive.open(name) as member:
        while piece := member.read(_PIECE):
            whole, end, rest = (rest + piece).rpartition(b">")
            for tag, about in _TAG.findall(whole + end):
                found = _ATTRIBUTE.findall(about.decode())
                yield tag.decode(), dict(found)
            if _UNRECKONED.search(whole + end):
                yield "f", {}


def _is_hidden(about: Mapping[str, str]) -> bool:
    return about.get("hidden") in _YES and about.get("outlineLevel", "0") == "0"


def _without(row: Sequence[object], columns: Set[int]) -> Sequence[object]:
    return [cell for n, cell in enumerate(row) if n not in columns] if columns else row


def _hidden(counts: Mapping[str, int]) -> Sequence[str]:
    """What is told of hidden parts of a file, by what they are called."""
    parts = [f"{n:,} {name}{'s' * (n > 1)}" for name, n in counts.items() if n]
    return (f"left out, as hidden: {', '.join(parts)}",) if parts else ()


def _package(read: Callable[[zipfile.ZipFile], tuple[str, str, str, int]]) -> _Reader:
    def reader(file: io.BytesIO) -> Office:
        with zipfile.ZipFile(file) as archive:
            content, title, author, hidden = read(archive)
        about = _kept({"author": author})
        return Office(content=content, title=title, hidden=hidden, metadata=about)

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
