"""Word files: the numbers of their lists and headings, and what is white or hidden in them."""

from __future__ import annotations

from typing import Any

import pytest
from docx import Document
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.shared import Pt, RGBColor
from file_kinds import saved

from rag_pg.load import load_bytes
from rag_pg.load.numerals import numeral
from rag_pg.types import Loaded

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
NOTES = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
WHITE = RGBColor(255, 255, 255)


def read(document: Any) -> Loaded:
    return load_bytes("a.docx", saved(document))


def numbering(document: Any, name: int, *levels: tuple[str, str, str], more: str = "") -> None:
    """Define a list of levels, each a kind of numbers, a text and the style that it is of."""
    parts = "".join(
        f'<w:lvl w:ilvl="{at}"><w:start w:val="1"/><w:numFmt w:val="{kind}"/>'
        f'<w:pStyle w:val="{style}"/><w:lvlText w:val="{text}"/></w:lvl>'
        for at, (kind, text, style) in enumerate(levels)
    )
    element = document.part.numbering_part.element
    shared = f'<w:abstractNum {W} w:abstractNumId="{name}">{parts}</w:abstractNum>'
    element.insert(0, parse_xml(shared))
    for number, inside in ((name, ""), (name + 1, ""), (name + 2, more)):
        of = f'<w:abstractNumId w:val="{name}"/>'
        element.append(parse_xml(f'<w:num {W} w:numId="{number}">{of}{inside}</w:num>'))


def item(document: Any, text: str, name: int, level: int = 0) -> None:
    of = f'<w:ilvl w:val="{level}"/><w:numId w:val="{name}"/>'
    paragraph = document.add_paragraph(text)
    paragraph._p.get_or_add_pPr().append(parse_xml(f"<w:numPr {W}>{of}</w:numPr>"))


def test_lists_have_the_marks_that_word_shows() -> None:
    document = Document()
    again = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride>'
    levels = (("lowerLetter", "%1)", ""), ("lowerRoman", "(%2)", ""), ("decimal", "%1.%3", ""))
    numbering(document, 90, *levels, more=again)
    items = [("log", 90, 0), ("wind", 90, 0), ("radio", 90, 1), ("mail", 90, 1), ("far", 90, 2)]
    items += [("lock", 91, 0), ("call", 91, 1), ("pay", 92, 0), ("renew", 92, 0)]
    for text, name, level in items:
        item(document, text, name, level)
    assert read(document).content.split("\n\n") == [
        *("a) log", "b) wind", "  (i) radio", "  (ii) mail", "    b.1 far"),
        *("c) lock", "  (i) call", "a) pay", "b) renew"),
    ]


def test_headings_have_the_numbers_of_their_styles() -> None:
    document = Document()
    numbering(document, 90, ("upperRoman", "%1.", "Heading1"), ("decimal", "%1.%2", "Heading2"))
    for style in ("Heading 1", "Heading 2"):
        of = parse_xml(f'<w:numPr {W}><w:numId w:val="90"/></w:numPr>')
        document.styles[style].element.get_or_add_pPr().append(of)
    for text, level in (("Scope", 1), ("Duties", 1), ("Owner", 2), ("Tenant", 2)):
        document.add_heading(text, level)
    found = read(document).content.split("\n\n")
    assert found == ["# I Scope", "# II Duties", "## II.1 Owner", "## II.2 Tenant"]


def test_items_in_cells_are_numbered_once() -> None:
    document = Document()
    numbering(document, 90, ("decimal", "%1.", ""))
    table = document.add_table(3, 2)
    for row, name in zip(table.rows, ("Bolt", "Nut", "Pin"), strict=True):
        item(row.cells[0], "", 90)
        row.cells[0]._tc.remove(row.cells[0].paragraphs[0]._p)
        row.cells[1].text = name
    wide = document.add_table(1, 2)
    item(wide.cell(0, 0).merge(wide.cell(0, 1)), "both", 90)
    assert read(document).content.splitlines() == [
        *("|  |  |", "| --- | --- |", "| 1. | Bolt |", "| 2. | Nut |", "| 3. | Pin |", ""),
        *("| 4. both | 4. both |", "| --- | --- |"),
    ]


@pytest.mark.parametrize(
    ("number", "kind", "written"),
    [
        *((1, "a", "a"), (26, "a", "z"), (28, "A", "BB"), (4, "i", "iv"), (1994, "I", "MCMXCIV")),
        *((7, "1", "7"), (0, "a", "0"), (-1, "i", "-1"), (5000, "i", "5000"), (3, "x", "3")),
    ],
)
def test_numbers_of_lists_are_written_as_their_kind(number: int, kind: str, written: str) -> None:
    assert numeral(number, kind) == written


SHADE = f'<w:shd {W} w:val="clear" w:fill="{{}}"/>'
NONE, DARK, LIGHT = "", SHADE.format("1F3864"), SHADE.format("FFFFFF")
SHAPE = "http://schemas.microsoft.com/office/word/2010/wordprocessingShape"
PAINT = "http://schemas.openxmlformats.org/drawingml/2006/main"
BOX = (
    f'<w:r {W}><s:wsp xmlns:s="{SHAPE}" xmlns:a="{PAINT}"><s:spPr>{{}}</s:spPr><s:txbx>'
    '<w:txbxContent><w:p><w:r><w:rPr><w:color w:val="FFFFFF"/></w:rPr><w:t>Boxed</w:t></w:r></w:p>'
    "</w:txbxContent></s:txbx></s:wsp></w:r>"
)


@pytest.mark.parametrize(("shade", "is_seen"), [(NONE, False), (DARK, True), (LIGHT, False)])
def test_white_words_are_seen_in_a_dark_cell(shade: str, is_seen: bool) -> None:
    document = Document()
    table = document.add_table(2, 2)
    for cell, text in zip(table._cells, ("Region", "Sales", "North", "12"), strict=True):
        run = cell.paragraphs[0].add_run(text)
        if text in ("Region", "Sales"):
            run.font.color.rgb = WHITE
            if shade:
                cell._tc.get_or_add_tcPr().append(parse_xml(shade))
    found = read(document)
    assert found.content.startswith("| Region | Sales |") is is_seen
    assert bool(found.notes) is not is_seen


def test_white_words_are_seen_on_what_a_style_a_box_or_the_page_fills() -> None:
    document = Document()
    table = document.add_table(1, 1, style="Medium Shading 1 Accent 1")
    table.cell(0, 0).paragraphs[0].add_run("Styled").font.color.rgb = WHITE
    for filling in ("<a:solidFill/>", "<a:noFill/>"):
        document.add_paragraph("x")._p.append(parse_xml(BOX.format(filling)))
    found = read(document)
    assert found.content.count("Boxed") == 1 and found.content.startswith("| Styled |")
    document.element.insert(0, parse_xml(f'<w:background {W} w:color="000000"/>'))
    assert read(document).content.count("Boxed") == 2


def test_what_a_style_hides_is_left_out() -> None:
    document = Document()
    secret = document.styles.add_style("Secret", 2)
    secret.font.hidden = True
    deeper = document.styles.add_style("Deeper", 2)
    deeper.base_style = secret
    pale = document.styles.add_style("Pale", 1)
    pale.font.color.rgb = WHITE
    paragraph = document.add_paragraph("Seen")
    paragraph.add_run(" hidden", style="Secret")
    paragraph.add_run(" too", style="Deeper")
    paragraph.add_run(" shown", style="Secret").font.hidden = False
    document.add_paragraph("white", style="Pale")
    found = read(document)
    assert (found.content, found.notes) == (
        "Seen shown",
        ("14 characters that a reader does not see are left out",),
    )
    paragraph.add_run(" tiny").font.size = Pt(1)
    paragraph.add_run(" pale").font.color.rgb = RGBColor(0xFE, 0xFD, 0xF0)
    paragraph.add_run(" grey").font.color.rgb = RGBColor(0xE0, 0xE0, 0xE0)
    assert read(document).content == "Seen shown grey"
    secret.base_style = deeper  # each is based on the other
    assert read(document).content == "Seen shown grey"


def test_a_cell_is_as_wide_as_a_table_can_be() -> None:
    document = Document()
    table = document.add_table(1, 1)
    table.cell(0, 0).text = "wide"
    table.cell(0, 0)._tc.grid_span = 2_000_000_000
    assert read(document).content.count("| wide ") == 63


MORE = (
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    ' xmlns:v="urn:schemas-microsoft-com:vml"'
)


def run(text: str, look: str = "") -> str:
    return f"<w:r><w:rPr>{look}</w:rPr><w:t>{text}</w:t></w:r>"


def paragraph(inside: str) -> str:
    return f"<w:p>{inside}</w:p>"


def box(inside: str) -> str:
    shape = f"<v:textbox><w:txbxContent>{inside}</w:txbxContent></v:textbox>"
    return f"<w:p><w:r><w:pict><v:shape>{shape}</v:shape></w:pict></w:r></w:p>"


def cell(inside: str) -> str:
    return f"<w:tc><w:p>{inside}</w:p></w:tc>"


def control(inside: str) -> str:
    return f"<w:sdt><w:sdtPr/><w:sdtContent>{inside}</w:sdtContent></w:sdt>"


def test_controls_and_boxes_in_a_table_are_read_and_deleted_rows_are_not() -> None:
    document = Document()
    gone = f"<w:tr><w:trPr><w:del/></w:trPr>{cell('')}{cell('')}</w:tr>"
    rows = (
        f"<w:tr>{cell(run('Owner'))}{control(cell(run('Ann')))}</w:tr>{gone}",
        control(f"<w:tr>{cell(run('Room'))}{cell(run('12'))}</w:tr>"),
        f"<w:tr>{cell(run('Rent'))}<w:tc>{control(paragraph(run('900')))}"
        f"{box(paragraph(run('monthly')))}</w:tc></w:tr>",
    )
    table = f"<w:tbl {W} {MORE}><w:tblPr/><w:tblGrid/>{''.join(rows)}</w:tbl>"
    document.element.body.insert(0, parse_xml(table))
    found = read(document).content
    assert found.split("\n") == [
        *("| Owner | Ann |", "| --- | --- |", "| Room | 12 |", "| Rent | 900 monthly |")
    ]


@pytest.mark.parametrize(
    ("inside", "text"),
    [
        (f"<mc:Choice><w:t/></mc:Choice><mc:Fallback>{run('late')}</mc:Fallback>", "late"),
        (f"<mc:Choice>{run('new')}</mc:Choice><mc:Fallback>{run('old')}</mc:Fallback>", "new"),
        ("<mc:Choice/><mc:Fallback/>", ""),
    ],
)
def test_one_of_the_alternatives_is_read(inside: str, text: str) -> None:
    document = Document()
    one = f"{run('It is ')}<mc:AlternateContent>{inside}</mc:AlternateContent>{run('.')}"
    document.element.body.insert(0, parse_xml(f"<w:p {W} {MORE}>{one}</w:p>"))
    assert read(document).content == f"It is {text}."


def test_a_word_is_read_without_its_reading() -> None:
    document = Document()
    ruby = f"<w:rt>{run('kanji')}</w:rt><w:rubyBase>{run('漢字')}</w:rubyBase>"
    one = parse_xml(f"<w:p {W}><w:r><w:ruby>{ruby}</w:ruby></w:r>{run('の')}</w:p>")
    document.element.body.insert(0, one)
    assert read(document).content == "漢字の"


def test_what_is_hidden_in_a_note_is_left_out_and_its_paragraphs_are_parted() -> None:
    document = Document()
    note = f"<w:p>{run('See')}</w:p><w:p>{run('page 2')}{run('ignore this', '<w:vanish/>')}</w:p>"
    data = f'<w:footnotes {W}><w:footnote w:id="2">{note}</w:footnote></w:footnotes>'
    document.part.relate_to(
        Part(PackURI("/word/footnotes.xml"), NOTES, data.encode(), document.part.package),
        "http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes",
    )
    refers = '<w:r><w:footnoteReference w:id="2"/></w:r>'
    document.element.body.insert(0, parse_xml(f"<w:p {W}>{run('Rent.')}{refers}</w:p>"))
    found = read(document)
    assert found.content == "Rent. (See page 2)"
    assert found.notes == ("11 characters that a reader does not see are left out",)


def test_boxes_in_boxes_are_read_once() -> None:
    document = Document()
    inside = f"<w:p>{run('The innermost')}</w:p>"
    for _ in range(25):
        inside = box(inside)
    document.element.body.insert(0, parse_xml(inside.replace("<w:p>", f"<w:p {W} {MORE}>", 1)))
    assert read(document).content == "The innermost"
