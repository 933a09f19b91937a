"""Small files of every kind that is read, as programs write them, from a title and a text."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from email.message import EmailMessage
from html import escape
from pathlib import Path
from typing import Any

from pdfs import at, pdf_of

Rows = Sequence[Sequence[str]]
ODF = "urn:oasis:names:tc:opendocument:xmlns"
SPACES = "".join(f' xmlns:{name}="{ODF}:{name}:1.0"' for name in ("office", "text", "table"))


def packed(files: Mapping[str, str | bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return file.getvalue()


def saved(document: Any) -> bytes:
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def docx(title: str, *texts: str, items: Sequence[str] = (), rows: Rows = ()) -> bytes:
    from docx import Document

    document = Document()
    document.add_heading(title, 1)
    for text in texts:
        document.add_paragraph(text)
    for item in items:
        document.add_paragraph(item, style="List Number")
    if rows:
        table = document.add_table(len(rows), len(rows[0]))
        for row, line in zip(rows, table.rows, strict=True):
            for text, cell in zip(row, line.cells, strict=True):
                cell.text = text
    return saved(document)


def pptx(
    title: str,
    text: str,
    series: Mapping[str, Sequence[float]] | None = None,
    names: Sequence[str] = (),
) -> bytes:
    from pptx import Presentation
    from pptx.chart import data as charts
    from pptx.enum.chart import XL_CHART_TYPE
    from pptx.util import Inches

    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    slide.shapes.title.text = title
    where = [Inches(n) for n in (1, 2, 4, 2)]
    slide.shapes.add_textbox(*where).text_frame.text = text
    if series:
        data: Any = charts.CategoryChartData()  # type: ignore[no-untyped-call]
        data.categories = names
        for name, values in series.items():
            data.add_series(name, values)
        slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *where, data)
    return saved(presentation)


def xlsx(title: str, rows: Sequence[Sequence[object]]) -> bytes:
    from openpyxl import Workbook

    workbook = Workbook()
    workbook.active.title = title[:30]
    for row in rows:
        workbook.active.append([*row])
    return saved(workbook)


def odt(title: str, text: str, items: Sequence[str] = (), rows: Rows = ()) -> bytes:
    def cell(text: str) -> str:
        return f"<table:table-cell><text:p>{escape(text)}</text:p></table:table-cell>"

    listed = "".join(
        f"<text:list-item><text:p>{escape(i)}</text:p></text:list-item>" for i in items
    )
    lines = "".join(f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in rows)
    body = f"<text:h>{escape(title)}</text:h><text:p>{escape(text)}</text:p>"
    body += f"<text:list>{listed}</text:list><table:table>{lines}</table:table>"
    content = f"<a{SPACES}><office:body><office:text>{body}</office:text></office:body></a>"
    return packed({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content})


def epub(title: str, *chapters: str) -> bytes:
    names = [f"c{n}.xhtml" for n in range(len(chapters))]
    items = "".join(f'<item id="{name}" href="{name}"/>' for name in names)
    spine = "".join(f'<itemref idref="{name}"/>' for name in names)
    head = f'<metadata xmlns:dc="x"><dc:title>{escape(title)}</dc:title></metadata>'
    pages = (f"<html><body><p>{escape(text)}</p></body></html>" for text in chapters)
    return packed(
        {
            "META-INF/container.xml": '<c><rootfiles><rootfile full-path="b.opf"/></rootfiles></c>',
            "b.opf": f"<package>{head}<manifest>{items}</manifest><spine>{spine}</spine></package>",
            **dict(zip(names, pages, strict=True)),
        }
    )


def mail(
    subject: str, text: str, attached: Mapping[str, bytes | EmailMessage] | None = None
) -> EmailMessage:
    message = EmailMessage()
    message["Subject"], message["From"] = subject, "ann@example.org"
    message.set_content(text)
    for name, data in (attached or {}).items():
        if isinstance(data, EmailMessage):
            message.add_attachment(data)
        else:
            message.add_attachment(data, maintype="application", subtype="x", filename=name)
    return message


def notebook(title: str, text: str, printed: str = "") -> bytes:
    code = {"cell_type": "code", "source": "show()", "outputs": [{"text": printed}]}
    return json.dumps(
        {"cells": [{"cell_type": "markdown", "source": f"# {title}\n{text}"}, code]}
    ).encode()


def page(title: str, text: str, rows: Rows = ()) -> bytes:
    lines = "".join(f"<tr>{''.join(f'<td>{escape(c)}</td>' for c in row)}</tr>" for row in rows)
    main = f"<main><h1>{title}</h1><p>{text}</p><table>{lines}</table></main>"
    head = f"<head><title>{title}</title></head>"
    return f"<html>{head}<body><nav>Home</nav>{main}</body></html>".encode()


# Suffix -> what writes a file of it from a title and a text.
WRITERS: dict[str, Callable[[str, str], bytes]] = {
    ".md": lambda title, text: f"# {title}\n\n{text}\n".encode(),
    ".markdown": lambda title, text: f"---\ntitle: {title}\n---\n{text}\n".encode(),
    ".html": page,
    ".htm": page,
    ".rst": lambda title, text: f"{title}\n{'=' * len(title)}\n\n{text}\n".encode(),
    ".txt": lambda title, text: f"{title}\n\n{text}\n".encode("utf-16"),
    ".pdf": lambda title, text: pdf_of(at(50, 700, title) + at(50, 680, text)),
    ".docx": docx,
    ".pptx": pptx,
    ".xlsx": lambda title, text: xlsx(title, [["Subject", "Rule"], [title, text]]),
    ".odt": odt,
    ".epub": epub,
    ".ipynb": notebook,
    ".vtt": lambda title, text: f"WEBVTT\n\n00:01.000 --> 00:04.000\n{text}\n".encode(),
    ".srt": lambda title, text: f"1\n00:00:01,000 --> 00:00:04,000\n{text}\n".encode(),
    ".xml": lambda title, text: f"<a><title>{title}</title><p>{text}</p></a>".encode(),
    ".rtf": lambda title, text: f"{{\\rtf1\\ansi {title}\\par {text}}}".encode(),
    ".csv": lambda title, text: f"subject,rule\n{title},{text}\n".encode(),
    ".tsv": lambda title, text: f"subject\trule\n{title}\t{text}\n".encode(),
    ".json": lambda title, text: json.dumps({title: text}).encode(),
    ".jsonl": lambda title, text: json.dumps({"uri": f"records/{title}", "content": text}).encode(),
    ".eml": lambda title, text: mail(title, text).as_bytes(),
    **{
        suffix: lambda title, text: f"# {title}: {text}\n".encode()
        for suffix in (".py", ".sh", ".yaml", ".toml", ".rb")
    },
    **{suffix: lambda title, text: f"/* {title}: {text} */\n".encode() for suffix in (".js", ".c")},
    ".sql": lambda title, text: f"-- {title}: {text}\nSELECT 1;\n".encode(),
}


def make(folder: Path, *names: str) -> None:
    """Small files in a folder."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("text")
