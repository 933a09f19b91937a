"""OpenDocument texts: the numbers of lists and headings, merged cells, what is hidden."""

from __future__ import annotations

import io
import zipfile

import pytest

from rag_pg.load import load_bytes
from rag_pg.types import Loaded

SPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for name in ("office", "text", "table", "style", "fo")
)


def read(body: str, styles: str = "", more: str = "") -> Loaded:
    """Read a text; styles: its own; more: what styles.xml holds."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        inner = f"<office:automatic-styles>{styles}</office:automatic-styles>"
        inner += f"<office:body><office:text>{body}</office:text></office:body>"
        archive.writestr("content.xml", f"<office:a {SPACES}>{inner}</office:a>")
        if more:
            archive.writestr("styles.xml", f"<office:a {SPACES}>{more}</office:a>")
    return load_bytes("a.odt", file.getvalue())


def listed(*items: str, about: str = 'text:style-name="L1"') -> str:
    inner = "".join(
        f"<text:list-item>{i if i[:1] == '<' else f'<text:p>{i}</text:p>'}</text:list-item>"
        for i in items
    )
    return f"<text:list {about}>{inner}</text:list>"


LEVELS = """<text:list-style style:name="L1">
<text:list-level-style-number text:level="1" style:num-format="a" style:num-suffix=")"/>
<text:list-level-style-number text:level="2" style:num-format="i" style:num-prefix="("
 style:num-suffix=")"/>
<text:list-level-style-bullet text:level="3"/></text:list-style>"""


def test_items_have_the_numbers_of_their_lists() -> None:
    inner = "<text:p>wind</text:p>" + listed("radio", "mail" + "", about="")
    deeper = listed("lock", "<text:p>call</text:p>" + listed(listed("far", about=""), about=""))
    body = listed("log", inner) + deeper
    body += listed("sell", about='text:style-name="L1" text:continue-numbering="true"')
    body += listed("new").replace("<text:list-item>", '<text:list-item text:start-value="5">')
    assert read(body, LEVELS).content.split("\n") == [
        *("a) log", "b) wind", "  (i) radio", "  (ii) mail", ""),
        *("a) lock", "b) call", "    - far", "", "c) sell", "", "e) new"),
    ]


def test_headings_have_the_numbers_of_the_outline() -> None:
    outline = """<text:outline-style style:name="Outline">
<text:outline-level-style text:level="1" style:num-format="1" style:num-suffix="."/>
<text:outline-level-style text:level="2" style:num-format="A" text:display-levels="2"/>
<text:outline-level-style text:level="3" style:num-format=""/></text:outline-style>"""
    headings = [("Scope", 1), ("Duties", 1), ("Owner", 2), ("Note", 3), ("Tenant", 2)]
    body = "".join(f'<text:h text:outline-level="{n}">{text}</text:h>' for text, n in headings)
    body += '<text:h text:outline-level="1" text:is-list-header="true">Annex</text:h>'
    assert read(body, more=outline).content.split("\n\n") == [
        *("# 1 Scope", "# 2 Duties", "## 2.A Owner", "### Note", "## 2.B Tenant", "# Annex"),
    ]


def cell(text: str, about: str = "") -> str:
    return f"<table:table-cell {about}><text:p>{text}</text:p></table:table-cell>"


COVERED = "<table:covered-table-cell/>"


def table(*rows: str) -> str:
    inner = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows[1:])
    head = f"<table:table-row>{rows[0]}</table:table-row>"
    head = f"<table:table-header-rows>{head}</table:table-header-rows>"
    return f"<table:table>{head}{inner}</table:table>"


def test_what_spans_several_cells_stands_in_each() -> None:
    down = cell("North", 'table:number-rows-spanned="2"')
    across = cell("closed", 'table:number-columns-spanned="2"') + COVERED
    inner = cell("x").replace("<text:p>x</text:p>", table(cell("Plan") + cell("Gold")))
    rows = [cell("Region") + cell("Car") + cell("Card"), down + cell("Mini") + inner]
    rows += [COVERED + cell("Estate") + cell("7"), cell("South") + across]
    assert read(table(*rows)).content.splitlines() == [
        *("| Region | Car | Card |", "| --- | --- | --- |", "| North | Mini | Plan, Gold |"),
        *("| North | Estate | 7 |", "| South | closed | closed |"),
    ]


HIDDEN = (
    '<style:style style:name="T1" style:family="text"><style:text-properties {}/></style:style>'
)
BASED = '<style:style style:name="T2" style:family="text" style:parent-style-name="T1"/>'
GROUND = (
    '<style:style style:name="C" style:family="table-cell"><style:table-cell-properties'
    ' fo:background-color="#000080"/></style:style>'
)


@pytest.mark.parametrize(
    ("look", "more", "is_hidden"),
    [
        ('text:display="none"', "", True),
        ('fo:color="#ffffff"', "", True),
        ('fo:color="#ffffff"', GROUND, False),
        ('fo:color="#000000"', "", False),
    ],
)
def test_what_a_style_hides_is_left_out(look: str, more: str, is_hidden: bool) -> None:
    body = '<text:p>Seen<text:span text:style-name="T2"> not seen</text:span>.</text:p>'
    found = read(body, BASED, HIDDEN.format(look) + more)
    notes = ("8 characters that a reader does not see are left out",) if is_hidden else ()
    assert (found.content, found.notes) == ("Seen." if is_hidden else "Seen not seen.", notes)
