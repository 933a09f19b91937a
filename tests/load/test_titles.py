"""A title that a program wrote into a file by itself is none."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from rag_pg.load import load_documents
from rag_pg.load.html import html_to_markdown
from rag_pg.load.titles import given_title
from rag_pg.types import Loaded

MADE = [
    "(anonymous)", "untitled", "Untitled-3", "Microsoft Word - x.docx",
    "Microsoft Word - Document1",
    "Document1", "Document (2)", "PowerPoint Presentation", "PowerPoint-Präsentation", "Slide 1",
    "Présentation PowerPoint", "Presentación de PowerPoint", "Презентация PowerPoint",
    "Unbenannt 1",
    "Book1", "Mappe1", "無題ドキュメント", "Sheet1", "unknown", "none", "Untitled Document",
    "annual report final.docx", "report.pdf", "paper.tex", "main.py", "C:\\Users\\ann\\a b.doc",
    "/home/ann/x", "file:///tmp/x", "https://example.com/print", "", " ", "---", "()", "…", "?!",
    "9f86d081884c7d659a2feaa0c55ad015", "1b4e28ba-2fa1-11d2-883f-0016d3cca427", "layout.indd",
    "[Type the document title]", "[unspecified]", "{{ page.title }}", "about:blank", "Folie 1",
]  # fmt: skip
GIVEN = [
    "The report", "1984", "Node.js", "Introduction to Node.js", "Learning ASP.NET", "Amazon.com",
    "Python 3.11", "Document management", "Presentation skills", "Anonymous functions in SQL",
    "Untitled: a life in pictures", "Word - a history", "C", "R for everyone", "Page layout",
    "What is an unknown?", "Version 2.0", "Über uns", "文書管理", "default values", "3.10",
    "A. Smith", "[Draft] The report", "The report [2]",
]  # fmt: skip


@pytest.mark.parametrize("title", MADE)
def test_what_a_program_writes_is_no_title(title: str) -> None:
    assert given_title(title) == ""


@pytest.mark.parametrize("title", GIVEN)
def test_what_somebody_gave_is_a_title(title: str) -> None:
    assert given_title(title) == title


def test_what_printed_a_document_is_no_part_of_its_title() -> None:
    assert given_title("Microsoft Word - Annual  report") == "Annual report"
    assert given_title("Annual report - Google Docs") == "Annual report"
    assert given_title("Untitled document - Google Docs") == ""


def test_a_page_without_a_title_has_its_first_heading() -> None:
    page = "<title>Untitled Document</title><h1>Pumps</h1><p>They pump.</p>"
    assert html_to_markdown(page)[0] == "Pumps"
    assert html_to_markdown("<title>Document</title><p>They pump.</p>")[0] == ""


@pytest.mark.libraries
@pytest.mark.parametrize("title", ["Word Document", "Microsoft Word - pumps.docx", "Document1", ""])
def test_a_word_file_without_a_title_has_its_heading_or_its_name(
    tmp_path: Path, title: str
) -> None:
    from docx import Document

    for heading, expected in (("How pumps work", "How pumps work"), ("", "pumps")):
        document = Document()
        document.core_properties.title = title
        if heading:
            document.add_heading(heading, 0)
        document.add_paragraph("They pump.")
        file = io.BytesIO()
        document.save(file)
        path = tmp_path / "pumps.docx"
        path.write_bytes(file.getvalue())
        (loaded,) = load_documents(path, "pumps.docx")
        assert isinstance(loaded, Loaded) and loaded.title == expected


@pytest.mark.libraries
def test_slides_without_a_title_have_that_of_the_first(tmp_path: Path) -> None:
    from pptx import Presentation

    presentation = Presentation()
    presentation.core_properties.title = "PowerPoint Presentation"
    slide = presentation.slides.add_slide(presentation.slide_layouts[0])
    slide.shapes.title.text = "How pumps work"
    path = tmp_path / "talk.pptx"
    presentation.save(str(path))
    (loaded,) = load_documents(path, "talk.pptx")
    assert isinstance(loaded, Loaded) and loaded.title == "How pumps work"
