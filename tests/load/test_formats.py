"""Office files, tables, JSON, e-mail, source code: small real files, made by the libraries."""

from __future__ import annotations

import csv
import io
import re
import sys
import zipfile
from datetime import date, datetime
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import ROOT
from pdfs import pdf
from rota import tries

from rag_pg.chunk.grammars import CUT_BY_FUNCTION
from rag_pg.chunk.pages import pages_of
from rag_pg.errors import InvalidInput, UnsupportedFile
from rag_pg.ingest.add import as_document
from rag_pg.load.files import load_documents, load_file, read_documents
from rag_pg.load.formats import CODE, SUPPORTED
from rag_pg.text import separated_rows
from rag_pg.types import Loaded, LoadFailure, Skipped


def read(name: str, data: bytes | str) -> Loaded:
    (found,) = read_documents(Path(name), name, data.encode() if isinstance(data, str) else data)
    assert isinstance(found, Loaded), found
    return found


def refused(name: str, data: bytes) -> str:
    (found,) = read_documents(Path(name), name, data)
    assert isinstance(found, LoadFailure), found
    assert "\n" not in found.error
    return found.error


# --- PDF -----------------------------------------------------------------------------------------


def test_running_heads_of_a_pdf_are_written_once() -> None:
    texts = [
        f"Yearly report\nInvoice {n}\nText number {n}\nStep {n}\nPage {n} of 6" for n in range(6)
    ]
    content = read("a.pdf", pdf(*texts)).content
    assert content.count("Yearly report") == 1 and content.count("of 6") == 1
    words = ("Invoice", "Text number", "Step")
    assert all(f"{word} {n}\n" in content + "\n" for word in words for n in range(6))
    assert content.index("Yearly report") < content.index("# Page 2")
    few = [f"Yearly report\nText number {n}" for n in range(3)]
    assert read("a.pdf", pdf(*few)).content.count("Yearly report") == 3
    some = [("Yearly report\n" if n % 2 else "") + f"{n} words {'x' * n}\nend" for n in range(8)]
    assert read("a.pdf", pdf(*some)).content.count("Yearly report") == 4


@pytest.mark.parametrize(
    "head", ["Handbook | {}", "{} Handbook", "Handbook, page {} of 6", "Rev. 7 - {}/6"]
)
def test_a_running_head_may_hold_the_number_of_the_page(head: str) -> None:
    texts = [f"{head.format(n)}\nOn the {'x' * n} site\nit is so" for n in range(1, 7)]
    content = read("a.pdf", pdf(*texts)).content
    assert [head.format(n) in content for n in range(1, 7)] == [True] + 5 * [False]


def test_pages_of_a_pdf_are_sections() -> None:
    loaded = read("a/report.pdf", pdf("One line\nanother", "", "Third page", title="The report"))
    assert loaded.content == "# Page 1\n\nOne line\nanother\n\n# Page 3\n\nThird page"
    assert (loaded.title, loaded.media_type) == ("The report", "text/markdown")
    assert loaded.metadata == {"pages": 3, "author": "Ann"}


def test_pages_of_a_piece_are_numbers() -> None:
    text = read("a/report.pdf", pdf("One", "", "Three # Page 9", "# Page 2", "Five")).content
    place = pages_of(text)
    assert place(0, len(text)) == {"page": 1, "last_page": 5}
    third = text.index("Three")
    assert place(third, third + 5) == {"page": 3, "last_page": 3}
    fourth = text.index("# Page 2")  # a line of page 4 that looks like a page before it
    assert place(fourth, fourth + 8) == {"page": 4, "last_page": 4}
    assert pages_of("# Guide\n\n# Page 1\n\nText")(0, 20) == {}
    assert pages_of("# Slide 2: Why\n\nText\n\n# Slide 4\n\nMore")(0, 40) == {
        "slide": 2,
        "last_slide": 4,
    }


def test_a_pdf_that_cannot_be_read_says_why() -> None:
    assert "report.pdf is no .pdf file that can be read" in refused(
        "report.pdf", b"%PDF-1.4 broken"
    )
    assert "has no text on its 1 pages, only images: add it with ocr=True" in refused(
        "scan.pdf", pdf("")
    )
    assert "is encrypted: remove its password" in refused("secret.pdf", pdf("x", password="key"))
    assert read("open.pdf", pdf("text")).title == "open"
    assert read("open.pdf", pdf("text", title="(anonymous)")).title == "open"


# --- Office --------------------------------------------------------------------------------------


def docx() -> bytes:
    from docx import Document

    document = Document()
    document.core_properties.title, document.core_properties.author = "Handbook", "Ann"
    document.add_heading("Guide", 0)
    document.add_heading("Install", 2)
    document.add_paragraph("Run it.")
    document.add_paragraph("first", style="List Bullet")
    table = document.add_table(2, 2)
    for place, text in enumerate(("a", "b|c", "1", "2")):
        table.cell(place // 2, place % 2).text = text
    document.add_paragraph("")
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def test_word_keeps_headings_lists_and_tables() -> None:
    loaded = read("handbook.docx", docx())
    assert loaded.content == (
        "# Guide\n\n## Install\n\nRun it.\n\n- first\n\n| a | b\\|c |\n| --- | --- |\n| 1 | 2 |"
    )
    assert (loaded.title, loaded.metadata) == ("Handbook", {"author": "Ann"})


def test_slides_are_sections_with_their_notes() -> None:
    from pptx import Presentation

    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = "Plan"
    slide.placeholders[1].text = "Do it\nwell"
    slide.notes_slide.notes_text_frame.text = "Smile"
    presentation.slides.add_slide(presentation.slide_layouts[6])
    other = presentation.slides.add_slide(presentation.slide_layouts[6])
    grid = other.shapes.add_table(1, 2, 0, 0, 9, 9).table
    grid.cell(0, 0).text, grid.cell(0, 1).text = "x", "y"
    file = io.BytesIO()
    presentation.save(file)
    loaded = read("talk.pptx", file.getvalue())
    assert loaded.content == (
        "# Slide 1: Plan\n\nDo it\nwell\n\nNotes: Smile\n\n# Slide 3\n\n| x | y |\n| --- | --- |"
    )


def test_mails_in_mails_without_an_end_are_left_out_by_name() -> None:
    mail = b"Subject: x\r\n\r\nhello"
    around = b"Subject: s\r\nContent-Type: message/rfc822\r\n\r\n"
    assert "left out" in read("mail.eml", 20 * around + mail).notes[0]
    told = "has hundreds of mails within each other"
    assert told in refused("mail.eml", 5_000 * around + mail)


def test_a_paragraph_of_many_flowed_lines_is_one_line() -> None:
    head = b"Content-Type: text/plain; format=flowed\r\n\r\n"
    assert read("mail.eml", head + b"word \r\n" * 50_000).content == "word " * 50_000


def test_sheets_are_lists_of_rows_that_name_their_columns() -> None:
    from openpyxl import Workbook

    workbook = Workbook()
    sheet = workbook.active
    assert sheet is not None
    sheet.title = "Staff"
    for row in (["Name", "Since", None], [None], ["Ann", date(2024, 5, 1), "x"], ["Bob", 3.0, ""]):
        sheet.append(row)
    sheet.append(["Eve", datetime(2024, 5, 1, 9, 30)])
    workbook.create_sheet("Empty")
    file = io.BytesIO()
    workbook.save(file)
    assert read("staff.xlsx", file.getvalue()).content == (
        "# Sheet 1: Staff\n\n- Name: Ann; Since: 2024-05-01; x\n- Name: Bob; Since: 3\n"
        "- Name: Eve; Since: 2024-05-01 09:30:00"
    )


def test_merged_cells_of_a_sheet_are_in_each_of_their_rows() -> None:
    from openpyxl import Workbook

    workbook = Workbook()
    sheet: Any = workbook.active
    for row in (
        ["Fees of 2024"],
        ["Boat", "Summer", None, "Winter"],
        [None, "Day", "Week", "Day"],
        ["Ferry", 9, 60, 5],
        [None, 8, 50, None],
        ["All in euros"],
    ):
        sheet.append(row)
    for cells in ("A1:D1", "A2:A3", "B2:C2", "A4:A5", "A6:D6"):
        sheet.merge_cells(cells)
    file = io.BytesIO()
    workbook.save(file)
    assert read("fees.xlsx", file.getvalue()).content == (
        "# Sheet 1: Sheet\n\nFees of 2024\n\n"
        "- Boat: Ferry; Summer Day: 9; Summer Week: 60; Winter Day: 5\n"
        "- Boat: Ferry; Summer Day: 8; Summer Week: 50\n- Boat: All in euros"
    )


def test_a_cell_far_out_makes_no_row_wide() -> None:
    from openpyxl import Workbook

    workbook = Workbook()
    sheet: Any = workbook.active
    for row in (["Boat", "Fee"], ["Ferry", 9], [None, 8]):
        sheet.append(row)
    sheet.merge_cells("A2:A3")
    sheet["XFD1048576"] = "far"
    file = io.BytesIO()
    workbook.save(file)
    assert read("fees.xlsx", file.getvalue()).content == (
        "# Sheet 1: Sheet\n\n- Boat: Ferry; Fee: 9\n- Boat: Ferry; Fee: 8\n- far"
    )


def test_names_of_columns_that_make_a_table_too_long_are_refused() -> None:
    rows = b"%b,b\n" % (b"a" * 100_000) + b"x,y\n" * 1_001
    (found,) = read_documents(Path("a.csv"), "a.csv", rows)
    assert isinstance(found, LoadFailure) and "over 100,000,000 characters" in found.error


HIDDEN = "left out, as hidden: "


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ('<c r="B1"><f>1+1</f><v></v></c>', True),
        ('<c r="B1"><f t="shared" si="0"/></c>', True),
        ('<c r="B1"><f>1+1</f><v>2</v></c>', False),
        ('<c r="B1" t="str"><f>IF(A1,A2)</f><v></v></c>', False),
    ],
)
def test_formulas_that_no_program_has_reckoned_are_told(cell: str, told: bool) -> None:
    from openpyxl import Workbook

    workbook, before, after = Workbook(), io.BytesIO(), io.BytesIO()
    sheet: Any = workbook.active
    sheet.append(["Rent", 12345])
    workbook.save(before)
    with zipfile.ZipFile(before) as old, zipfile.ZipFile(after, "w") as new:
        for name in old.namelist():
            text = old.read(name).decode()
            made = re.sub(r"<c [^>]*><v>12345</v></c>", cell, text)
            assert (made != text) == name.endswith("sheet1.xml")
            new.writestr(name, made)
    notes = read("a.xlsx", after.getvalue()).notes
    assert notes == ("formulas without a value are left out: open the file and save it",) * told


def test_hidden_sheets_rows_and_columns_are_left_out_and_counted() -> None:
    from openpyxl import Workbook

    workbook = Workbook()
    sheet: Any = workbook.active
    for row in (
        ["Region", "City", "Code", "Rent", "Share"],
        ["North", "Kiel", "x1", 650, 5],
        [None, "Husum", "x2", 400, 6],
        ["South", "Bonn", "x3", 800, 7],
    ):
        sheet.append(row)
    sheet.merge_cells("A2:A3")
    sheet.row_dimensions[2].hidden = True
    sheet.column_dimensions["C"].hidden = True
    sheet.column_dimensions.group("E", "E", hidden=True)  # a button above it opens it
    beside = sheet.column_dimensions["G"]  # and all to the right: nothing stands there
    beside.min, beside.max, beside.hidden = 7, 16_384, True
    for state in ("hidden", "veryHidden"):
        workbook.create_sheet(state).append(["secret"])
        workbook[state].sheet_state = state
    filtered: Any = workbook.create_sheet("Filtered")
    for row in (["City", "Rent"], ["Kiel", 650], ["Bonn", 800]):
        filtered.append(row)
    filtered.auto_filter.ref = "A1:B3"
    filtered.auto_filter.add_filter_column(0, ["Bonn"])
    filtered.row_dimensions[2].hidden = True
    file = io.BytesIO()
    workbook.save(file)
    loaded = read("rents.xlsx", file.getvalue())
    assert loaded.content == (
        "# Sheet 1: Sheet\n\n- Region: North; City: Husum; Rent: 400; Share: 6\n"
        "- Region: South; City: Bonn; Rent: 800; Share: 7\n\n"
        "# Sheet 4: Filtered\n\n- City: Kiel; Rent: 650\n- City: Bonn; Rent: 800"
    )
    assert loaded.notes == (HIDDEN + "1 row, 1 column, 2 sheets",)


def test_rows_that_a_filter_of_a_table_leaves_out_are_kept() -> None:
    from openpyxl import Workbook
    from openpyxl.worksheet.table import Table

    workbook = Workbook()
    sheet: Any = workbook.active
    for row in (["City", "Rent"], ["Kiel", 650], ["Bonn", 800]):
        sheet.append(row)
    table = Table(displayName="Rents", ref="A1:B3")
    table._initialise_columns()
    table.autoFilter.add_filter_column(0, ["Bonn"])
    sheet.add_table(table)
    sheet.row_dimensions[2].hidden = True
    file = io.BytesIO()
    workbook.save(file)
    loaded = read("rents.xlsx", file.getvalue())
    assert "- City: Kiel; Rent: 650" in loaded.content
    assert not loaded.notes


def test_hidden_slides_and_shapes_are_left_out() -> None:
    from pptx import Presentation

    presentation = Presentation()
    for text in ("Welcome", "Backup", "End"):
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text, slide.placeholders[1].text = text, f"{text}!"
    presentation.slides[1]._element.set("show", "0")
    presentation.slides[2].placeholders[1]._element.nvSpPr.cNvPr.set("hidden", "1")
    file = io.BytesIO()
    presentation.save(file)
    loaded = read("a.pptx", file.getvalue())
    assert loaded.content == "# Slide 1: Welcome\n\nWelcome!\n\n# Slide 3: End"
    assert loaded.notes == (HIDDEN + "1 slide",)


def test_each_row_of_a_slides_table_says_what_is_merged_into_it() -> None:
    from pptx import Presentation

    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    table = slide.shapes.add_table(4, 3, 0, 0, 99, 99).table
    rows = (["Area", "City", "Rent"], ["North", "Kiel", "1"], ["", "Husum", "2"], ["Sum", "", "3"])
    for n, row in enumerate(rows):
        for m, text in enumerate(row):
            table.cell(n, m).text = text
    table.cell(1, 0).merge(table.cell(2, 0))
    table.cell(3, 0).merge(table.cell(3, 1))
    file = io.BytesIO()
    presentation.save(file)
    lines = read("a.pptx", file.getvalue()).content.splitlines()
    assert lines[-3:] == ["| North | Kiel | 1 |", "| North | Husum | 2 |", "| Sum | Sum | 3 |"]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Bonn,12,800\nKiel,7,650\n", "- Bonn; 12; 800"),
        ("2024-01-05,Ann\n2024-01-06,Bob\n", "- 2024-01-05; Ann"),
        ("ann@example.com,Ann\nbob@example.com,Bob\n", "- ann@example.com; Ann"),
        ("Name:,Ann\nTown:,Kiel\n", "- Name:; Ann"),
        ("Ann,2021\nBob,2019\n", "- Ann; 2021"),
        ("Item,2024-01,2024-02\nRent,800,820\n", "- Item: Rent; 2024-01: 800; 2024-02: 820"),
        ("Region,2021,2022\nNorth,5,6\n", "- Region: North; 2021: 5; 2022: 6"),
        (",10,20\nRed,5,6\n", "- Red; 10: 5; 20: 6"),
        ("Item,Price,1\nRent,800,2\n", "- Item: Rent; Price: 800; 1: 2"),
        ("Rents\nItem,2024-01\nGas,90\n", "Rents\n\n- Item: Gas; 2024-01: 90"),
    ],
)
def test_a_first_row_of_data_names_no_columns(text: str, first: str) -> None:
    assert read("a.csv", text).content.startswith(first)


@pytest.mark.parametrize(
    ("look", "marked", "first"),
    [
        ("0480", False, "|  |  |"),  # labels in the first column, no head
        ("04A0", False, "| Firm | Acme |"),
        ("0400", False, "| Firm | Acme |"),  # programs that know no looks write it
        ("0480", True, "| Firm | Acme |"),
    ],
)
def test_a_table_of_word_has_a_head_unless_its_look_is_of_labels(
    look: str, marked: bool, first: str
) -> None:
    from docx import Document
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    document = Document()
    table = document.add_table(2, 2)
    for n, text in enumerate(("Firm", "Acme", "Number", "4711")):
        table.cell(n // 2, n % 2).text = text
    table._tbl.tblPr.find(qn("w:tblLook")).set(qn("w:val"), look)
    if marked:
        table.rows[0]._tr.get_or_add_trPr().append(OxmlElement("w:tblHeader"))
    file = io.BytesIO()
    document.save(file)
    assert read("a.docx", file.getvalue()).content.startswith(f"{first}\n| --- | --- |")


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("a.docx", b"%PDF-1.7", "is of the kind .pdf, no .docx file; rename it"),
        ("a.txt", b"%PDF-1.7 \xff\xfe\xfd\xfc", "is of the kind .pdf, no .txt file"),
        ("a.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "is encrypted, or of Office before 2007"),
        ("a.xlsx", b" <!DOCTYPE html><p>x", "is of the kind .html, no .xlsx file"),
        ("a.csv", b"PK\x03\x04\0\0xl/\xff" + bytes(99), "is of the kind .xlsx, no .csv file"),
        ("a.zip", b"PK\x03\x04", "is an archive, which is a folder here: rag-pg sync reads it"),
    ],
)
def test_a_file_whose_suffix_lies_says_what_it_is(name: str, data: bytes, told: str) -> None:
    assert f"{name} {told}" in refused(name, data)


@pytest.mark.parametrize("suffix", [".docx", ".pptx", ".xlsx"])
def test_a_damaged_office_file_says_so(suffix: str) -> None:
    assert f"a{suffix} is no {suffix} file that can be read" in refused(f"a{suffix}", b"PK broken")
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("x.xml", "<x/>")
    assert "that can be read" in refused(f"a{suffix}", archive.getvalue())


def test_a_file_that_unpacks_to_far_more_is_refused() -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("word/document.xml", b" " * 101_000_000)
    assert "unpacks to 101,000,000 bytes" in refused("bomb.docx", archive.getvalue())


@pytest.mark.parametrize(
    ("name", "library"),
    [("a.pdf", "pypdf"), ("a.docx", "docx"), ("a.pptx", "pptx"), ("a.xlsx", "openpyxl")],
)
def test_without_its_library_a_file_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, name: str, library: str
) -> None:
    data = pdf("x") if name == "a.pdf" else docx()
    monkeypatch.setitem(sys.modules, library, None)
    error = refused(name, data)
    assert f"{name} needs the library {library}" in error
    assert 'pip install "rag-pg[files]"' in error


@settings(max_examples=tries(60, 24), deadline=None)
@given(data=st.binary(max_size=200), suffix=st.sampled_from(SUPPORTED))
def test_any_bytes_are_read_or_refused_in_one_line(data: bytes, suffix: str) -> None:
    for found in read_documents(Path(f"any{suffix}"), "any", data):
        if isinstance(found, LoadFailure):
            assert "\n" not in found.error and "any" in found.error
        elif isinstance(found, Skipped):
            assert not data.strip()
        else:
            assert found.content.strip() and found.title


# --- tables --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "content"),
    [
        (
            "a.csv",
            'name,city\nAnn,"Oslo, old\ntown"\n\nBob,\n',
            "- name: Ann; city: Oslo, old town\n- name: Bob",
        ),
        ("a.csv", "name;city\nAnn;Oslo\n", "- name: Ann; city: Oslo"),
        ("a.csv", 'a,b\n"say ""hi""",2,3\n', '- a: say "hi"; b: 2; 3'),
        ("a.csv", "word\none\ntwo\n", "- word: one\n- word: two"),
        ("a.csv", "only,names\n", "- only; names"),
        ("a.csv", "sep=;\nname;fee\nAnn;1,5\n", "- name: Ann; fee: 1,5"),
        ("a.csv", "Fees\n\nkind;2023\nBoat;1\n", "Fees\n\n- kind: Boat; 2023: 1"),
        ("a.csv", "name\nAnn,5\nBob,6\n", "- name: Ann; 5\n- name: Bob; 6"),
        (
            "a.csv",
            "note\nIt leaks, we hear.\nRed, wet, old\n",
            "- note: It leaks, we hear.\n- note: Red, wet, old",
        ),
        ("a.csv", "Fees\nkind, 2023\nBoat, 1\n", "Fees\n\n- kind: Boat; 2023: 1"),
        ("a.csv", "a,b\nx,1\n\nc,d\ny,2\n\ne,3\n", "- a: x; b: 1\n- c: y; d: 2\n- c: e; d: 3"),
        ("a.csv", "a,b\nx,z\n\nc,d\ny,2\n", "- a: x; b: z\n- a: c; b: d\n- a: y; b: 2"),
        (
            "a.csv",
            "a,b\nx,1\n\nLate\n\nfees\nc,d\ny,2\n\nend,\n",
            "- a: x; b: 1\n\nLate\nfees\n\n- c: y; d: 2\n- c: end",
        ),
        (
            "a.csv",
            "a,b\nx,1\n\nLate\nc,d\ny,z\n",
            "- a: x; b: 1\n- a: Late\n- a: c; b: d\n- a: y; b: z",
        ),
        (
            "a.csv",
            "item, fee, unit\nBolt, 2.50, piece\nNut, 1.10\nScrew, 3, piece, new\n",
            "- item: Bolt; fee: 2.50; unit: piece\n- item: Nut; fee: 1.10\n"
            "- item: Screw; fee: 3; unit: piece; new",
        ),
        (
            "a.csv",
            "note\nIt leaks, 5.\nRed, 3\nOld, wet, 7\n",
            "- note: It leaks, 5.\n- note: Red, 3\n- note: Old, wet, 7",
        ),
        (
            "a.csv",
            "name, likes, also\nAnn, tea\nBob, milk, ham, eggs\n",
            "- name: Ann; likes: tea\n- name: Bob; likes: milk; also: ham; eggs",
        ),
        ("a.tsv", "name\tcity\nAnn\tOslo, it is\n", "- name: Ann; city: Oslo, it is"),
    ],
)
def test_rows_say_their_columns_names(name: str, text: str, content: str) -> None:
    loaded = read(name, text)
    assert (loaded.content, loaded.media_type) == (content, "text/markdown")


def test_a_long_cell_is_read_and_the_limit_of_the_process_is_as_before() -> None:
    before = csv.field_size_limit()
    long = "x" * 200_000
    text = f'uri,content\na,"{long}"\nb,short\n'
    assert read("a.csv", text).content == f"- uri: a; content: {long}\n- uri: b; content: short"
    rows = separated_rows(text, "excel")
    assert next(rows) == (1, ["uri", "content"]) and csv.field_size_limit() == before
    assert [len(row[1]) for _, row in rows] == [200_000, 5]
    assert csv.field_size_limit() == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('"id,text', "a.csv cannot be read: line 1 is no row of a table: unexpected end of data"),
        ('id,text\n1,"open\n', "a.csv, line 2 is no row of a table: unexpected end of data"),
    ],
)
def test_records_of_a_table_with_an_open_quote_are_refused(text: str, message: str) -> None:
    keys = {"id": "uri", "text": "content"}
    (found,) = read_documents(Path("a.csv"), "a.csv", text.encode(), keys=keys)
    assert isinstance(found, LoadFailure) and message in found.error


# --- JSON ----------------------------------------------------------------------------------------

RECORDS = [
    '{"uri": "a", "content": "Text", "title": "T", "metadata": {"lang": "en"}, "year": 2024}',
    '{"uri": "b", "content": "# B", "media_type": "text/markdown", "language": "german"}',
]


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.jsonl", "\n".join(RECORDS) + "\n\n"), ("a.json", "[" + ",\n".join(RECORDS) + "]")],
)
def test_json_records_with_uri_and_content_are_documents(name: str, text: str) -> None:
    first, second = read_documents(Path(name), name, text.encode())
    assert isinstance(first, Loaded) and isinstance(second, Loaded)
    assert as_document(first) == {
        "uri": "a",
        "title": "T",
        "content": "Text",
        "media_type": "text/plain",
        "metadata": {"lang": "en", "year": 2024},
    }
    assert as_document(second)["language"] == "german"
    assert second.media_type == "text/markdown"


def test_a_bad_record_is_a_failure_and_the_others_are_documents() -> None:
    lines = [
        RECORDS[0],
        "{broken",
        '"text"',
        '{"uri": "c"}',
        '{"uri": 1, "content": "x"}',
        '{"uri": "d", "content": "x", "metadata": {"year": 1, "year": 2}}',
        RECORDS[1],
    ]
    found = list(read_documents(Path("d.jsonl"), "d", "\n".join(lines).encode()))
    assert [one.uri for one in found if isinstance(one, Loaded)] == ["a", "b"]
    errors = [one.error for one in found if isinstance(one, LoadFailure)]
    assert "d.jsonl, line 2 is not JSON" in errors[0]
    assert "d.jsonl, line 3 is a str; write an object with uri and content" in errors[1]
    assert "d.jsonl, line 4: content is missing or of the wrong type" in errors[2]
    assert "d.jsonl, line 5: uri is missing or of the wrong type" in errors[3]
    assert "d.jsonl, line 6: an object of JSON has the key 'year' twice" in errors[4]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonl", '{"id": 7, "text": "One", "lang": "en"}\n{"id": "b", "text": "Two"}'),
        ("a.json", '[{"id": 7, "text": "One", "lang": "en"}, {"id": "b", "text": "Two"}]'),
        ("a.csv", "id;text;lang\n7;One;en\nb;Two;\n"),
        ("a.tsv", "id\ttext\tlang\n7\tOne\ten\nb\tTwo\t\n"),
    ],
)
def test_records_with_other_keys_are_mapped(name: str, text: str) -> None:
    keys = {"id": "uri", "text": "content"}
    found = list(read_documents(Path(name), name, text.encode(), keys=keys))
    assert [(one.uri, one.content, dict(one.metadata)) for one in found] == [  # type: ignore[union-attr]
        ("7", "One", {"lang": "en"}),
        ("b", "Two", {}),
    ]
    (wrong,) = read_documents(Path(name), name, text.encode(), keys={"key": "uri"})
    assert isinstance(wrong, LoadFailure)
    assert f"{name} has no key to map in its first record; it has id, text, lang" in wrong.error
    (half,) = read_documents(Path(name), name, text.encode(), keys={"id": "uri"})
    assert isinstance(half, LoadFailure) and "no uri and content after mapping" in half.error


def test_a_record_with_two_keys_for_one_is_refused() -> None:
    data = b'{"id": "a", "text": "One", "uri": "u"}'
    (found,) = read_documents(Path("a.jsonl"), "a", data, keys={"id": "uri", "text": "content"})
    assert isinstance(found, LoadFailure) and "both id and uri" in found.error


@pytest.mark.parametrize("name", ["__init__.py", "a.md", "b.txt", "c.csv", "d.jsonl", "e.pdf"])
def test_an_empty_file_is_skipped(name: str) -> None:
    for data in (b"", b" \n\t\n"):
        assert list(read_documents(Path(name), name, data)) == [Skipped(uri=name, reason="empty")]


@pytest.mark.parametrize("text", ['{"a": 1}', "[1, 2]", "[]", '[{"uri": "a"}]', "not json", '""'])
def test_other_json_is_one_document_as_it_is(text: str) -> None:
    for name in ("a.json", "a.jsonl"):
        loaded = read(name, text)
        assert (loaded.content, loaded.media_type) == (text, "application/json")


# --- e-mail --------------------------------------------------------------------------------------


def mail(subtype: str = "plain") -> EmailMessage:
    message = EmailMessage()
    message["Subject"], message["From"] = "Grüße aus Oslo", "Ann <ann@example.org>"
    message["To"], message["Date"] = "bob@example.org", "Wed, 01 May 2024 09:30:00 +0200"
    message.set_content("Hello <b>Bob</b>,\n\nsee you.\n", subtype=subtype)
    return message


def test_a_mail_has_its_subject_as_title_and_its_headers_as_metadata() -> None:
    message = mail()
    message.add_attachment(b"PDF", maintype="application", subtype="pdf", filename="a.pdf")
    loaded = read("m.eml", message.as_bytes())
    assert (loaded.title, loaded.media_type) == ("Grüße aus Oslo", "text/plain")
    assert loaded.content == "Hello <b>Bob</b>,\n\nsee you.\n"
    assert loaded.metadata == {
        "from": "Ann <ann@example.org>",
        "to": "bob@example.org",
        "date": "2024-05-01T09:30:00+02:00",
        "attachments": ["a.pdf"],
    }


def test_a_mail_in_html_becomes_markdown() -> None:
    loaded = read("m.eml", mail("html").as_bytes())
    assert (loaded.content, loaded.media_type) == ("Hello **Bob**, see you.", "text/markdown")


def test_a_mail_whose_plain_text_says_less_than_its_page_is_that_page() -> None:
    message = mail()
    message.add_alternative("<p>Hello Bob, see you.</p><img src=x>", subtype="html")
    assert "Hello <b>Bob" in read("a.eml", message.as_bytes()).content
    message = mail()
    message.add_alternative("<table><tr><td>Fee<td>12<tr><td>Days<td>28</table>", subtype="html")
    assert "| Days | 28 |" in read("a.eml", message.as_bytes()).content


@pytest.mark.parametrize(
    ("kind", "body", "content"),
    [
        ("iso-8859-1", "Preis „5 €“ – gut".encode("cp1252"), "Preis „5 €“ – gut"),
        ("iso-8859-1", "Größe".encode(), "Größe"),
        ("us-ascii", "Größe".encode("cp1252"), "Größe"),
        ("gb2312", "会议镕基".encode("gbk"), "会议镕基"),
        ("iso-2022-jp", "会議".encode("iso-2022-jp"), "会議"),
        (
            "utf-8; format=flowed",
            b"Paid on the \nfirst. \n-- \nAnn",
            "Paid on the first. \n-- \nAnn",
        ),
        ("utf-8; format=flowed", b"> When is \n> it?\n> > So \nno", "> When is it?\n> > So \nno"),
        ("utf-8; format=flowed; delsp=yes", b"Pai \nd.\n From", "Paid.\nFrom"),
    ],
)
def test_the_text_of_a_mail_is_read_as_it_was_written(kind: str, body: bytes, content: str) -> None:
    head = f"Content-Type: text/plain; charset={kind}\nContent-Transfer-Encoding: 8bit\n\n"
    assert read("m.eml", head.encode() + body).content == content


def test_headers_of_a_mail_may_be_of_western_europe() -> None:
    loaded = read("m.eml", "From: Jörg <j@x.org>\nSubject: Größe\n\nHallo".encode("cp1252"))
    assert (loaded.title, loaded.metadata["from"]) == ("Größe", "Jörg <j@x.org>")


def test_texts_between_attachments_belong_to_the_body() -> None:
    message = mail()
    message.add_attachment(b"a,b\n1,x\n", maintype="text", subtype="csv")  # without a name
    footer = EmailMessage()
    footer.set_content("Sent by the list.")
    message.attach(footer)
    assert read("m.eml", message.as_bytes()).content == (
        "Hello <b>Bob</b>,\n\nsee you.\n\nSent by the list.\n\n"
        "# Attachment: attachment.csv\n\n- a: 1; b: x"
    )


def test_a_mail_that_is_only_passed_on_is_read() -> None:
    head = b"From: ann@example.org\nSubject: Passed on\nContent-Type: message/rfc822\n\n"
    loaded = read("m.eml", head + mail().as_bytes())
    assert loaded.content.endswith(
        "From: Ann <ann@example.org>\nTo: bob@example.org\nDate: 2024-05-01T09:30:00+02:00\n\n"
        "Hello <b>Bob</b>,\n\nsee you."
    )


def test_odd_mails_are_read() -> None:
    assert read("m.eml", b"Subject: Only this\n\n").content == "Only this"
    assert read("m.eml", b"Date: never\nSubject: =?x?\n\nbody").content == "body"
    latin = b"Content-Type: text/plain; charset=none\n\nGr\xfc\xdfe"
    assert read("m.eml", latin).content == "Grüße"
    assert "is empty" in refused("m.eml", b"From: a\n\n")
    assert read("m.eml", b"\xef\xbb\xbf\r\n\nSubject: Late\n\nbody").title == "Late"
    assert read("m.eml", b"No header at all\n").content == "No header at all\n"
    parts = b"Content-Type: multipart/mixed; boundary=x\n\n--x\n\nWithout headers.\n--x--\n"
    assert read("m.eml", parts).content == "Without headers."


# --- source code ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("a/load.py", "text/x-python"),
        ("a/x.TSX", "text/x-tsx"),
        ("a/x.h", "text/x-c"),
        ("a/x.hpp", "text/x-c++"),
        ("a/x.sql", "text/x-sql"),
        ("a/x.rb", "text/x-ruby"),
    ],
)
def test_source_code_is_kept_as_it_is_under_its_file_name(name: str, media_type: str) -> None:
    loaded = read(name, "x = 1\n")
    assert (loaded.content, loaded.media_type) == ("x = 1\n", media_type)
    assert loaded.title == Path(name).name


def test_the_database_takes_every_type_that_is_loaded() -> None:
    text = (ROOT / "sql" / "document" / "document.sql").read_text()
    for media_type in {*CODE.values(), *CUT_BY_FUNCTION}:
        assert f"'{media_type}'" in text


# --- files ---------------------------------------------------------------------------------------


def test_a_file_gives_its_documents_or_its_failure(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text("\n".join(RECORDS))
    assert len(list(load_documents(path, "d"))) == 2
    (failure,) = load_documents(path, "d", max_bytes=10)
    assert isinstance(failure, LoadFailure) and "the limit is 10" in failure.error
    (missing,) = load_documents(tmp_path / "gone.md", "gone")
    assert isinstance(missing, LoadFailure) and "does not exist" in missing.error
    with pytest.raises(UnsupportedFile, match="is no .pdf file"):
        (tmp_path / "a.pdf").write_bytes(b"x")
        load_file(tmp_path / "a.pdf", "a.pdf")
    with pytest.raises(InvalidInput, match="is empty"):
        (tmp_path / "a.csv").write_text("\n")
        load_file(tmp_path / "a.csv", "a.csv")
