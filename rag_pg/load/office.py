"""PDF, Word, PowerPoint and Excel files as Markdown,
by the libraries of the extra rag-pg[files]."""

from __future__ import annotations

import io
import logging
import re
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rag_pg.errors import UnsupportedFile
from rag_pg.load.tables import _cell, _line, rows_as_list

_EXPANSION = 50  # times the file: what a zip file larger than this holds is not read
_EXPANDED = 100_000_000  # bytes; smaller ones are not asked for their expansion
_LEVEL = re.compile(r"heading (\d)", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Office:
    """What a file holds: Markdown, its title ("" without one), and metadata."""

    content: str
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


def load_office(data: bytes, suffix: str) -> Office:
    """Return the text of a .pdf, .docx, .pptx or .xlsx file.

    Raises: UnsupportedFile (the library is missing, the file is damaged, encrypted or without
    text); the message does not name the file.
    """
    try:
        if suffix != ".pdf":
            _check_size(data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the libraries' remarks on odd files
            return _READERS[suffix](io.BytesIO(data))
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


def _pdf(file: io.BytesIO) -> Office:
    """Each page is a section, so that a chunk's heading says on which page it stands."""
    from pypdf import PdfReader

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    reader = PdfReader(file)
    if reader.is_encrypted and not reader.decrypt(""):
        raise UnsupportedFile("is encrypted: remove its password first")
    pages = []
    for number, page in enumerate(reader.pages, 1):
        lines = (line.strip() for line in page.extract_text().splitlines())
        if text := "\n".join(lines).strip():
            pages.append(f"# Page {number}\n\n{_no_heading(text)}")
    if reader.pages and not pages:
        raise UnsupportedFile(
            f"has no text on its {len(reader.pages)} pages, only images: run OCR over it first, "
            "for example ocrmypdf"
        )
    about = reader.metadata
    return Office(
        content="\n\n".join(pages),
        title=_line(about.title if about else None),
        metadata={
            "pages": len(reader.pages),
            **_kept({"author": about.author if about else None}),
        },
    )


def _docx(file: io.BytesIO) -> Office:
    from docx import Document
    from docx.table import Table

    document = Document(file)
    blocks = []
    for block in document.iter_inner_content():
        if isinstance(block, Table):
            blocks.append(_table([[cell.text for cell in row.cells] for row in block.rows]))
            continue
        text, style = block.text.strip(), str(block.style.name if block.style else "")
        if not text:
            continue
        level = 1 if style == "Title" else int(m[1]) if (m := _LEVEL.match(style)) else 0
        if level:
            text = f"{'#' * min(level, 6)} {_line(text)}"
        elif style.startswith("List"):
            text = f"- {_line(text)}"
        blocks.append(text)
    return _described("\n\n".join(filter(None, blocks)), document.core_properties)


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
        elif getattr(shape, "has_table", False):
            yield _table([[cell.text for cell in row.cells] for row in shape.table.rows])


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


_READERS: dict[str, Callable[[io.BytesIO], Office]] = {
    ".pdf": _pdf,
    ".docx": _docx,
    ".pptx": _pptx,
    ".xlsx": _xlsx,
}


# --- tables --------------------------------------------------------------------------------------


def _table(rows: Sequence[Sequence[str]]) -> str:
    lines = [" | ".join(_cell(cell).replace("|", "\\|") for cell in row) for row in rows]
    if not any(line.strip(" |") for line in lines):
        return ""
    rule = " | ".join("---" for _ in rows[0])
    return "\n".join(f"| {line} |" for line in (lines[0], rule, *lines[1:]))


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
