"""PDF files, written with pypdf's own objects: texts, rules and pictures where a test asks."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence


def pdf_of(
    *pages: str, size: tuple[int, int] = (595, 842), title: str = "", password: str = ""
) -> bytes:
    """A PDF file of pages, each a content stream whose font is /F1."""
    from pypdf import PdfWriter
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = PdfWriter()
    names = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    font = DictionaryObject({NameObject(key): NameObject(name) for key, name in names.items()})
    for content in pages:
        page = writer.add_blank_page(*size)
        stream = DecodedStreamObject()
        stream.set_data(content.encode("cp1252"))
        page[NameObject("/Resources")] = DictionaryObject(
            {NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})}
        )
        page[NameObject("/Contents")] = writer._add_object(stream)
    if title:
        writer.add_metadata({"/Title": title, "/Author": "Ann"})
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def pdf(*pages: str, title: str = "", password: str = "") -> bytes:
    """A PDF of lines of text."""
    shown = (
        "".join(f"({line}) Tj 0 -14 Td " for line in text.split("\n") if line) for text in pages
    )
    streams = [f"BT /F1 12 Tf 20 250 Td {lines}ET" for lines in shown]
    return pdf_of(*streams, size=(300, 300), title=title, password=password)


def at(x: float, y: float, text: str, size: float = 10) -> str:
    """A piece of text; y from the foot of the page."""
    for character in "\\()":
        text = text.replace(character, "\\" + character)
    return f"BT /F1 {size:g} Tf {x:g} {y:g} Td ({text}) Tj ET\n"


def columns(*texts: Sequence[str], x: float = 50, y: float = 700, width: float = 260) -> str:
    """Columns of lines, drawn line by line across all of them."""
    rows = range(max(map(len, texts)))
    return "".join(
        at(x + width * n, y - 13 * row, lines[row])
        for row in rows
        for n, lines in enumerate(texts)
        if row < len(lines)
    )


def ruled(
    rows: Sequence[Sequence[str]], x: float = 50, y: float = 400, widths: Iterable[float] = ()
) -> str:
    """A table with rules round every cell, below y."""
    steps = [*widths] or [120.0] * len(rows[0])
    edges = [x + sum(steps[:n]) for n in range(len(steps) + 1)]
    foot = y - 18 * len(rows)
    rules = [f"{edge:g} {y:g} m {edge:g} {foot:g} l S\n" for edge in edges]
    rules += [
        f"{x:g} {y - 18 * n:g} m {edges[-1]:g} {y - 18 * n:g} l S\n" for n in range(len(rows) + 1)
    ]
    texts = [
        at(edges[n] + 4, y - 18 * number - 13, cell)
        for number, row in enumerate(rows)
        for n, cell in enumerate(row)
    ]
    return "".join([*rules, *texts])


def scanned(data: bytes) -> bytes:
    """A PDF file whose pages are pictures of those of another one."""
    import pypdfium2

    document = pypdfium2.PdfDocument(data)
    pictures = [page.render(scale=200 / 72).to_pil().convert("L") for page in document]
    file = io.BytesIO()
    pictures[0].save(file, "PDF", resolution=200, save_all=True, append_images=pictures[1:])
    return file.getvalue()
