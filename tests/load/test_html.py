"""HTML pages as Markdown: text that flows, definition lists, tables, code, titles. What a page says
is read by another parser (lxml), what the Markdown says by markdown-it."""

from __future__ import annotations

import html
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html as lxml_html  # type: ignore[import-untyped]
from markdown_it import MarkdownIt
from rota import in_turn

from rag_pg.load.html import _Page, html_to_markdown

_WORD = st.text("abcdefghij", min_size=1, max_size=6)
_INLINE = st.one_of(
    _WORD,
    st.builds("<b>{}</b>".format, _WORD),
    st.builds("<code>{}</code>".format, _WORD),
    st.builds('<a href="page.html">{}</a>'.format, _WORD),
)
_TEXT = st.lists(_INLINE, min_size=1, max_size=9).flatmap(
    lambda parts: st.sampled_from([" ", "\n", "\n   ", " \n"]).map(lambda gap: gap.join(parts))
)
_LINES = st.lists(_WORD, min_size=1, max_size=4).map("\n  ".join)


def _list_of(tag: str, items: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(items, min_size=1, max_size=3).map(
        lambda found: f"<{tag}>\n" + "\n".join(found) + f"\n</{tag}>"
    )


def _blocks(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    described = st.one_of(_TEXT, inner, st.lists(inner, min_size=2, max_size=2).map("".join))
    return st.one_of(
        _list_of("ul", st.builds("<li>{}</li>".format, described)),
        _list_of("ol", st.builds("<li>{}</li>".format, described)),
        _list_of("dl", st.builds("<dt>{}</dt>\n<dd>{}</dd>".format, _TEXT, described)),
        st.builds("<div>\n{}\n</div>".format, inner),
    )


_BLOCK = st.recursive(
    st.one_of(
        st.builds("<p>{}</p>".format, _TEXT),
        st.builds("<pre>{}</pre>".format, _LINES),
        st.builds("<h2>{}</h2>".format, _TEXT),
    ),
    _blocks,
    max_leaves=6,
)


@given(st.lists(_BLOCK, min_size=1, max_size=4))
def test_every_word_of_a_page_is_kept_in_order(blocks: list[str]) -> None:
    page = "<html><body>" + "\n".join(blocks) + "</body></html>"
    said = " ".join(lxml_html.fromstring(page).itertext())
    _, text = html_to_markdown(page)
    assert re.findall(r"[a-j]+", text) == re.findall(r"[a-j]+", said)


@given(st.lists(st.builds("<p>{}</p>".format, _TEXT), min_size=1, max_size=4))
def test_a_paragraph_is_one_line(paragraphs: list[str]) -> None:
    _, text = html_to_markdown("\n".join(paragraphs))
    said = [" ".join(p.text_content().split()) for p in map(lxml_html.fromstring, paragraphs)]
    assert [re.sub("[*`]", "", line) for line in text.split("\n\n")] == said


@given(_LINES, st.booleans())
def test_code_keeps_its_lines(code: str, with_breaks: bool) -> None:
    written = code.replace("\n", "<br>") if with_breaks else code
    _, text = html_to_markdown(f'<pre class="lang-sql"><code>{written}</code></pre>')
    (block,) = MarkdownIt().parse(text)
    assert (block.type, block.info, block.content) == ("fence", "sql", f"{code}\n")


@pytest.mark.parametrize("name", ["summary", "legend", "figure", "address", "aside", "menu"])
def test_what_stands_on_lines_of_its_own_is_not_joined_with_the_words_beside_it(name: str) -> None:
    rows = f"<tr><th>H<th>I<tr><td>D<{name}>E</{name}>F<td>x"
    shown = html_to_markdown(f"<div>A<{name}>B</{name}>C</div><table>{rows}</table>")[1]
    assert shown.startswith("A\n\nB\n\nC\n\n") and "| D E F | x |" in shown


def test_a_word_is_not_parted_by_how_it_is_read() -> None:
    page = "<p><ruby>東<rt>とう</rt>京<rp>(<rt>きょう<rp>)</ruby>へ。 <rt>Alone.</rt></p>"
    assert html_to_markdown(page)[1] == "東京へ。 Alone."


def test_a_line_break_breaks() -> None:
    assert html_to_markdown("<p>One\nstreet<br>Two\ntown</p>")[1] == "One street  \nTwo town"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<ul><li>one<li>two <b>b</b><ul><li>three</ul><li>four</ul>",
         "- one\n- two **b**\n  - three\n- four"),
        ("<dl><dt>a<dd>one<dt>b<dd>two</dl>", "- a: one\n- b: two"),
        ("<table><tr><th>a<th>b<tr><td>1<td>2</table>", "| a | b |\n| --- | --- |\n| 1 | 2 |"),
        ("<table><colgroup><col><col><thead><tr><th>a<th>b<tbody><tr><td>1<td>2<tfoot><tr><td>3<td>4</table>",
         "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |"),
    ],
)  # fmt: skip
def test_ends_that_are_not_written_are_where_html_has_them(page: str, text: str) -> None:
    assert html_to_markdown(page)[1] == text


# --- definition lists ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("definitions", "text"),
    [
        (
            "<dt>\n <a name='p'></a><span><code>port</code> (integer) </span>\n</dt>\n"
            "<dd>The TCP port\nto listen on.</dd>"
            "<dt>host</dt><dd><p>The address.</p></dd>",
            "- `port` (integer): The TCP port to listen on.\n- host: The address.",
        ),
        (
            "<dt>-h</dt><dt>--help</dt><dd>Show this.</dd>",
            "- -h, --help: Show this.",
        ),
        (
            "<div><dt>port:</dt><dd>5432</dd></div><div><dt>Why?</dt><dd>It is.</dd></div>",
            "- port: 5432\n- Why? It is.",
        ),
        (
            "<dt>add</dt><dd><p>Adds.</p><pre>add 1\nadd 2</pre></dd><dt>drop</dt><dd>Drops.</dd>",
            "add: Adds.\n\n```\nadd 1\nadd 2\n```\n\ndrop: Drops.",
        ),
        (
            "<dt>run</dt><dd><pre>run it</pre></dd>",
            "run:\n\n```\nrun it\n```",
        ),
        (
            '<dt class="sig">f(<em>a</em>, <em>*b</em>)</dt><dd>Calls it.</dd>',
            "- `f(a, *b)`: Calls it.",
        ),
        (
            "<dt>A</dt><dd>One.</dd><dd>Of 3 kg</dd><dd>Red.</dd>"
            "<dt>B</dt><dd>Two.</dd><dd>Big.</dd>",
            "- A: One. Of 3 kg; Red.\n- B: Two. Big.",
        ),
        ("<dt>lonely</dt>", "- lonely"),
        ("<dd>nameless</dd>", "- nameless"),
        ("<dt><h3>Long</h3></dt><dd>It is.</dd>", "### Long\n\nIt is."),
    ],
)
def test_a_definition_stands_with_its_term(definitions: str, text: str) -> None:
    assert html_to_markdown(f"<dl>{definitions}</dl>")[1] == text


# --- tables --------------------------------------------------------------------------------------


@st.composite
def _tables(draw: st.DrawFn) -> tuple[str, list[list[str]]]:
    """A table in HTML, with cells that span rows and columns, and what stands in each place."""
    rows, columns = draw(st.integers(2, 5)), draw(st.integers(2, 5))
    grid = [["" for _ in range(columns)] for _ in range(rows)]
    lines = []
    number = 0
    for row in range(rows):
        cells = []
        for column in range(columns):
            if grid[row][column]:
                continue
            wide = next(
                (n for n in range(columns - column) if grid[row][column + n]), columns - column
            )
            across = draw(st.integers(1, wide if row else min(wide, columns - 1)))
            down = draw(st.integers(1, rows - row)) if row else 1
            number += 1
            text = draw(st.sampled_from([f"cell {number}", f"a|{number}"]))
            for i in range(down):
                for j in range(across):
                    grid[row + i][column + j] = text
            spans = f' colspan="{across}"' * (across > 1) + f' rowspan="{down}"' * (down > 1)
            tag = "td" if row else "th"
            cells.append(f"<{tag}{spans}>\n<p>{text.replace(' ', draw(_GAPS))}</p></{tag}>")
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>{''.join(lines)}</table>", grid


_GAPS = st.sampled_from([" ", "\n", "<br>"])


@given(_tables())
def test_every_row_and_column_of_a_table_has_its_cell(table: tuple[str, list[list[str]]]) -> None:
    written, grid = table
    _, text = html_to_markdown(f"<p>Before.</p>{written}<p>After.</p>")
    tokens = MarkdownIt().enable("table").parse(text)
    cells = [
        tokens[at + 1].content for at, t in enumerate(tokens) if t.type in ("th_open", "td_open")
    ]
    assert cells == [cell for row in grid for cell in row]
    counts = Counter(token.type for token in tokens)
    assert (counts["tr_open"], counts["paragraph_open"]) == (len(grid), 2)


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        ("<tr><td>Kiel<td>7<tr><td>Bonn<td>9", ["|  |  |", "| Kiel | 7 |", "| Bonn | 9 |"]),
        ("<tr><th>Firm<td>Acme<tr><th>No.<td>47", ["|  |  |", "| Firm | Acme |", "| No. | 47 |"]),
        ("<tr><td>Town<td>Fee<tr><td>Kiel<td>7", ["| Town | Fee |", "| Kiel | 7 |"]),
        ("<tr><th>2<th>3<tr><td>4<td>5", ["| 2 | 3 |", "| 4 | 5 |"]),
        ("<tr><th>a<th colspan=2>Fee<tr><th>b<th>Day<th>Week<tr><td>x<td>9<td>60",
         ["| a b | Fee Day | Fee Week |", "| x | 9 | 60 |"]),
        ("<tr><th>a<th>b<tr><td rowspan=0>x<td>1<tr><td>2",
         ["| a | b |", "| x | 1 |", "| x | 2 |"]),
    ],
)  # fmt: skip
def test_a_table_has_a_head_where_it_is_marked_or_its_first_row_is_none_of_data(
    rows: str, lines: list[str]
) -> None:
    head, _, *others = html_to_markdown(f"<table>{rows}</table>")[1].splitlines()
    assert [head, *others] == lines


def test_a_head_of_two_lines_names_each_column_by_both() -> None:
    _, text = html_to_markdown(
        "<table><thead><tr><th rowspan=2>Shop</th><th colspan=2>2024</th></tr>"
        "<tr><th>June</th><th>July</th></tr></thead><tbody><tr><td>A<td>1<td>2</tbody></table>"
    )
    assert text.splitlines()[0] == "| Shop | 2024 June | 2024 July |"


def test_a_table_that_arranges_a_page_is_none() -> None:
    code = "<pre>one\n  two</pre>"
    rows = f"<tr><td class='linenos'><pre>1\n2</pre></td><td>{code}</td></tr>"
    assert html_to_markdown(f"<table>{rows}</table>")[1] == "```\none\n  two\n```"
    inner = "<table><tr><th>a<th>b</tr><tr><td>1<td>2</table>"
    _, text = html_to_markdown(f"<table><tr><td>Menu</td><td>{inner}</td></tr></table>")
    assert text.split("\n\n") == ["Menu", "| a | b |\n| --- | --- |\n| 1 | 2 |"]


def test_the_icon_of_a_note_makes_no_table_of_it() -> None:
    icon = '<td rowspan="2"><img alt="[Tip]" src="tip.png"/></td>'
    note = f"<table><tr>{icon}<th>Tip</th></tr><tr><td><p>Oil the pump.</p></td></tr></table>"
    assert html_to_markdown(note)[1] == "Tip\n\nOil the pump."
    real = note.replace("</table>", "<tr><td>a</td><td>b</td></tr></table>")
    assert "| [Tip] | Oil the pump. |" in html_to_markdown(real)[1]


def test_a_foot_is_the_end_of_its_table_and_a_power_is_raised() -> None:
    rows = "<tbody><tr><td>Day<td>3<tbody><tr><td>Year<td>10<sup>6</sup></tbody>"
    page = f"<table><tfoot><tr><td>All<td>x<sup>n</sup></tfoot>{rows}</table>"
    lines = ["| Day | 3 |", "| --- | --- |", "| Year | 10⁶ |", "| All | xn |"]
    assert html_to_markdown(page)[1] == "\n".join(lines)


def test_the_foot_of_a_quotation_says_whose_it_is_and_that_of_a_page_is_left_out() -> None:
    quoted = "<blockquote><p>It moves.</p><footer>Galileo</footer></blockquote>"
    page = f"<main><p>Text</p>{quoted}<footer>Imprint</footer></main>"
    assert html_to_markdown(page)[1] == "Text\n\n> It moves.\n>\n> Galileo"


def test_spans_without_bound_are_bounded() -> None:
    wide = '<td colspan="99999" rowspan="99999">x</td>'
    _, text = html_to_markdown(f"<table>{f'<tr>{wide}</tr>' * 300}</table>")
    assert len(text) < 2_000_000


# --- titles and contents -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("title", "heading", "found"),
    [
        ("Ports | Acme Manual", "Ports", "Ports"),
        ("Acme: Ports", "Ports", "Ports"),
        ("20.1. Ports — PostgreSQL 16", "20.1. Ports", "20.1. Ports"),
        ("os.path — Path names — Python 3", "os.path — Path names", "os.path — Path names"),
        ("Well-known ports", "ports", "Well-known ports"),
        ("Ports and hosts", "Ports", "Ports and hosts"),
        ("Ports | Acme Manual", "Something else", "Ports | Acme Manual"),
    ],
)
def test_a_title_is_that_of_the_page_not_of_its_site(title: str, heading: str, found: str) -> None:
    page = f"<title>{html.escape(title)}</title><h1>{heading}<a href='#x'>¶</a></h1><p>Text.</p>"
    assert html_to_markdown(page)[0] == found


def test_the_name_that_a_site_gives_itself_is_not_of_the_title() -> None:
    meta = '<meta property="og:site_name" content="Acme Manual">'
    for title in ("Ports | Acme Manual", "Acme Manual - Ports"):
        assert html_to_markdown(f"{meta}<title>{title}</title><p>Text.</p>")[0] == "Ports"
    assert html_to_markdown(f"{meta}<title>Acme Manual</title><p>x</p>")[0] == "Acme Manual"


def test_an_arrow_to_the_top_is_left_out_and_a_described_image_is_kept() -> None:
    page = """<body><h1 id="start">A</h1><p>Text.</p>
    <div><a href="#start"><img alt="top" src="up.gif"></a></div>
    <p><a href="#start"><img src="up.gif"> Top of all</a></p>
    <p><a href="#big"><img alt="Sales by year" src="sales.png"></a></p>
    <p><img alt="Chart" src="chart.png"></p></body>"""
    content = html_to_markdown(page)[1]
    assert "Sales by year" in content and "Chart" in content and "Top of all" in content
    assert not re.search(r"\btop\b", content)


def test_the_contents_of_a_page_are_left_out_and_other_lists_of_links_are_kept() -> None:
    contents = "<ul><li><a href='#a'>First</a></li><li><a href='#b'>Second</a></li></ul>"
    links = "<ul><li><a href='a.html'>Other</a></li><li><a href='b.html'>Pages</a></li></ul>"
    text = "<h2 id='a'>First</h2><p>One.</p><h2 id='b'>Second<a href='#b'>#</a></h2><p>Two.</p>"
    assert html_to_markdown(contents + text + links)[1] == (
        "## First\n\nOne.\n\n## Second\n\nTwo.\n\n- Other\n- Pages"
    )


def test_a_line_of_links_between_bars_is_a_menu() -> None:
    links = " |\n".join(f"<a href='{n}.html'>&nbsp;{n}&nbsp;</a>" for n in ("en", "fr", "ko"))
    said = "<p>Three are known: <a href='a'>A</a>, <a href='b'>B</a> and <a href='c'>C</a>.</p>"
    page = (
        f"<h1>Ports</h1><div><p><span>Languages: </span>{links}</p></div>{said}<div>{links}</div>"
    )
    assert html_to_markdown(page)[1] == "# Ports\n\nThree are known: A, B and C."


def test_a_table_of_one_row_of_links_is_a_menu() -> None:
    cells = "".join(
        f"<td><img alt='{n}' src='{n}.gif'><a href='{n}.html'>{n} page</a></td>"
        for n in ("home", "map", "mail")
    )
    row = "<tr><td>Port</td><td><a href='a'>123</a></td></tr>"
    kept = f"<table>{row}</table><table><tr>{cells}</tr>{row}</table>"
    content = html_to_markdown(f"<p>Text</p><table><tr>{cells}</tr></table>{kept}")[1]
    assert content.count("home page") == 1 and "| Port | 123 |" in content


@pytest.mark.parametrize(
    "piece",
    in_turn(
        ["<td>", "<li>", "<b>", "<dl><dt>", "<table>", "<tr><td>", "<a href='#x'><img alt=t></a>"],
        *("<td>", "<b>", "<dl><dt>"),
    ),
)
@pytest.mark.few(1)
def test_thousands_of_one_unclosed_element_lose_no_word(piece: str) -> None:
    _, text = html_to_markdown(f"<p>first</p>{piece * (8_000 // len(piece))}last")
    assert text.startswith("first")
    assert "last" in text


def test_an_arrow_within_an_arrow_goes_with_it() -> None:
    page = "<p>a</p><a href='#'><img alt><b><a href='#'><img alt></a></b></a><p>b</p>"
    assert html_to_markdown(page)[1] == "a\n\nb"


@pytest.mark.parametrize(
    "line",
    [
        "<div class='pn'><a href='a'>« Previous</a> | <a href='b'>Next »</a></div>",
        "<p><a href='a'>← Anchoring in mud</a></p>",
        "<ul><li><a href='a'>Before</a></li><li><a rel='next' href='b'>Behind</a></li></ul>",
    ],
)
def test_a_line_that_leads_to_the_next_page_is_a_menu(line: str) -> None:
    kept = "<p>See <a rel='next' href='b'>the next page</a>, or <a href='c'>Knots</a>.</p>"
    page = f"<h1>Anchors</h1><p>Two are on board.</p>{kept}{line}"
    assert html_to_markdown(page)[1].endswith("on board.\n\nSee the next page, or Knots.")


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<ol><li>one<li value=7>seven<li>eight</ol>", "1. one\n7. seven\n8. eight"),
        ("<ol start=3 type=a><li>see<li>do</ol>", "c. see\nd. do"),
        ("<ol reversed><li>late<li>early</ol>", "2. late\n1. early"),
        ("<ol type=I><li>x<ol type=i><li>y</ol></ol>", "I. x\n   i. y"),
        ("<ol start=0><li>none<li>some</ol>", "0. none\n1. some"),
        (
            "<ol><li value=99>x<li>y<ul><li>z</ul></ol>",
            "99. x\n100. y\n     - z",
        ),
        ("<ol><li><p>para</p><p>more</p></ol>", "1. para\n\n   more"),
        ("<ul><li value=4>dash</ul>", "- dash"),
    ],
)
def test_items_have_the_numbers_that_a_browser_shows(page: str, text: str) -> None:
    assert html_to_markdown(page)[1] == text


def test_marks_that_word_writes_for_itself_are_no_text() -> None:
    page = """<p><![if !supportLists]><span style='mso-list:Ignore'>1.<span>&nbsp; </span></span>
<![endif]>Bring your badge</p><?xml:namespace prefix = o /><!--[if mso]>x<![endif]-->"""
    assert html_to_markdown(page)[1].split() == ["1.", "Bring", "your", "badge"]


def test_the_title_of_a_drawing_is_not_that_of_the_page() -> None:
    page = "<body><svg><title>Arrow</title></svg><h1>Opening hours</h1><p>Nine to five.</p>"
    assert html_to_markdown(page) == ("Opening hours", "# Opening hours\n\nNine to five.")


@pytest.mark.parametrize(
    "hidden",
    [
        '<p style="position:absolute; left:-9999px">secret</p>',
        '<p style="text-indent: -999em">secret</p>',
        "<style>.sr{position:absolute;clip:rect(0 0 0 0)}</style><p class=sr>secret</p>",
        '<p style="clip-path: inset(50%)">secret</p>',
        "<dialog>secret</dialog>",
        "<div popover>secret</div>",
        '<div class="topNav">secret</div>',
    ],
)
def test_what_stands_beside_the_page_or_opens_later_is_not_read(hidden: str) -> None:
    assert html_to_markdown(f"<p>Seen.</p>{hidden}")[1] == "Seen."


@pytest.mark.parametrize(
    "shown",
    [
        '<p style="left:-2px; text-indent:-18pt; clip:rect(10px, 200px, 90px, 0)">seen</p>',
        "<dialog open>seen</dialog>",
    ],
)
def test_what_only_looks_like_it_is_read(shown: str) -> None:
    assert html_to_markdown(shown)[1] == "seen"


class _Counting(list[Any]):
    read = 0

    def __getitem__(self, at: Any) -> Any:
        self.read += 1
        return super().__getitem__(at)


def test_to_take_out_many_siblings_looks_at_each_of_them_few_times() -> None:
    soup = _Page("<p>a</p><div>b</div>" * 100, "html.parser")
    soup.contents = children = _Counting(soup.contents)
    for tag in soup.find_all("div"):
        tag.extract()
    assert soup.get_text() == "a" * 100 and children.read < 1000  # 15,000 from the first on


@pytest.mark.parametrize("cut", ["<a href='x", "<!-- y", "<b", "</p", "< z <b c='d"])
def test_a_tag_that_a_page_ends_in_is_its_text(cut: str) -> None:
    assert html_to_markdown(f"<p>kept</p>{cut}")[1].split() == ["kept", *cut.split()]


def test_definitions_that_end_otherwise_are_joined_by_a_semicolon() -> None:
    page = "<dl><dt>t<dd>a.<dd>b<dd><dd>c?<dd>d</dl>"
    assert html_to_markdown(page)[1] == "- t: a. b;  c? d"
