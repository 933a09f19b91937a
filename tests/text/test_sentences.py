"""Sentences and words: pure functions over any text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pg.text.blocks import find_tables, head_above, is_head, read_cells
from rag_pg.text.plain import plain
from rag_pg.text.sentences import LONGEST, find_terms, split_sentences
from rag_pg.text.tokens import content_words, estimate_tokens, same_word, words

MARKUP = st.text(
    alphabet=st.sampled_from("aB1 .!?:;,\n\t`~#-*_|>[](){}<>/=\\$。！中é…\u0000\U0001f600"),
    max_size=300,
)


def texts(document: str) -> list[str]:
    return [sentence.text for sentence in split_sentences(document)]


@given(st.one_of(MARKUP, st.text(max_size=300)))
def test_sentences_are_spans_in_order(document: str) -> None:
    end = 0
    for sentence in split_sentences(document):
        assert end <= sentence.start < sentence.stop <= len(document)
        assert document[sentence.start : sentence.stop] == sentence.text
        assert sentence.text == sentence.text.strip() or sentence.kind == "code"
        end = sentence.stop


@given(st.one_of(MARKUP, st.text(max_size=300)))
def test_plain_text_never_fails_and_prose_is_one_line(document: str) -> None:
    shown = plain(document)
    assert "\n" not in shown.split("\n\n")[0] or "```" in document or "~~~" in document


@given(st.integers(1, 5 * LONGEST // 4))
def test_stretch_without_full_stop_is_cut(size: int) -> None:
    pieces = texts("word " * size)
    assert all(len(piece) <= LONGEST for piece in pieces)
    assert " ".join(pieces).split() == ["word"] * size


@pytest.mark.parametrize(
    "hostile", [" ", ".", "`", "[", "<a", "#", "*", "- ", "| ", "\n", "(", "."]
)
def test_hostile_text_takes_linear_time(hostile: str) -> None:
    document = hostile * 20_000 + "x"
    assert sum(map(len, texts(document))) <= len(document)
    assert len(plain(document[:5_000])) <= 5_000 + len("\n```")  # a fence is closed


@pytest.mark.parametrize(
    "sentence",
    [
        "Dr. Smith met J. K. Rowling, e.g. in the U.S. Senate, at approx. 3.5 km.",
        "See Fig. 2 and Sec. 4.1 in Miller et al. (2019).",
        "Im 10. Jahrhundert, z. B. in der Normandie, gab es ca. 100 davon.",
        "Version 1.2.3 of `pip.conf` reads https://example.com/a.html first.",
        "Yahoo! is a company.",
        "Take 1 tablet, max. 4 a day, mind. 6 Stunden apart, for min. 3 days.",
    ],
)
def test_full_stop_inside_a_sentence_ends_nothing(sentence: str) -> None:
    assert texts(f"Before. {sentence} After.") == ["Before.", sentence, "After."]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ("Wait 5 min. 3 lamps blink.", ["Wait 5 min.", "3 lamps blink."]),
        (
            "Use oil of class 46. The pump is for patients over 70. Das gilt ab dem 3. Mai.",
            [
                "Use oil of class 46.",
                "The pump is for patients over 70.",
                "Das gilt ab dem 3. Mai.",
            ],
        ),
        ("1. The pump", ["The pump"]),
        ("One. Two! Three? Four… Five", ["One.", "Two!", "Three?", "Four…", "Five"]),
        ('He said "No." She left.', ['He said "No."', "She left."]),
        (
            "这是第一句。第二句！“第三句？”第四句",
            ["这是第一句。", "第二句！", "“第三句？”", "第四句"],
        ),
        ("यह पहला है। यह दूसरा है।", ["यह पहला है।", "यह दूसरा है।"]),
        ("هل هذا سؤال؟ نعم.", ["هل هذا سؤال؟", "نعم."]),
        ("# Heading\n\nText.\n\n---\n\n<div>\n\n/// tip\n\nMore.", ["Text.", "More."]),
        (
            "Choose:\n\n- one\n- two,\n  and a half\n1. three",
            ["Choose:", "one", "two,\n  and a half", "three"],
        ),
        ("| a | b |\n|---|---|\n| 1 | 2 |", ["| a | b |", "| 1 | 2 |"]),
        ("🚀\n\nReal.", ["Real."]),
        ("", []),
    ],
)
def test_sentences_of_prose_and_markdown(document: str, expected: list[str]) -> None:
    assert texts(document) == expected


def test_lines_that_were_wrapped_at_a_great_width_are_joined() -> None:
    words = ["So", "wide", "that", "few", "People", "ever", "wrap", "Prose"]
    line = " ".join(words * 4)[:124].rsplit(" ", 1)[0]
    wide = "\n".join([line + " in", "July " + line, "August " + line, "September."])
    assert texts(wide) == [wide]
    apart = "\n".join(["July " + line * 2, "August " + line * 4, "September " + line])
    assert len(texts(apart)) > 1


def test_wrapped_lines_are_joined_and_short_lines_are_not() -> None:
    wrapped = "This sentence was wrapped by an editor at seventy-two columns, as\nsome do."
    assert texts(wrapped) == [wrapped]
    assert texts("Get started\nIntro to Claude\nQuickstart") == [
        "Get started",
        "Intro to Claude",
        "Quickstart",
    ]


TIMETABLE = """\
    No.  | boat    | hour
    -----+---------+------
    7    | Maid    | 9:05
    12   | Sgt. A. | 10:30"""
MENU = """\
======  =====  ========
Dish    Price  With soup
======  =====  ========
Cod     8.50   10.00
Beans   6.20   7.70
======  =====  ========"""
SIZES = "small   10 cm    1.5 kg\nlarge  200 cm   12.0 kg\nhuge  3000 cm  100.0 kg"


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        (TIMETABLE, [["No.", "boat", "hour"], ["7", "Maid", "9:05"], ["12", "Sgt. A.", "10:30"]]),
        (MENU, [["Dish", "Price", "With soup"], ["Cod", "8.50", "10.00"],
                ["Beans", "6.20", "7.70"]]),
        (SIZES, [["small", "10 cm", "1.5 kg"], ["large", "200 cm", "12.0 kg"],
                 ["huge", "3000 cm", "100.0 kg"]]),
        ("a\tb\nc d\te. F\ng\th", [["a", "b"], ["c d", "e. F"], ["g", "h"]]),
    ],
)  # fmt: skip
def test_lines_in_columns_are_rows_of_a_table(table: str, rows: list[list[str]]) -> None:
    found = split_sentences(f"It says this.\n\n{table}\n\nThat was it.")
    assert [read_cells(s.text) for s in found if s.kind == "row"] == rows
    assert [s.text for s in found if s.kind != "row"] == ["It says this.", "That was it."]


@pytest.mark.parametrize(
    "text",
    [
        "It is so.  And that is all\nthat there is.  Nobody knows\nwhat comes.  Perhaps a boat.",
        "Pipe it as a | b does.\nThe rest is easy.\nNobody reads it.",
        "1  Quiet. From ten on.\n2  Stairs. Nothing stands there.\n3  Laundry. Two slots.",
    ],
)
def test_prose_and_numbered_rules_are_no_table(text: str) -> None:
    assert {s.kind for s in split_sentences(text)} <= {"prose", "item"}


def test_a_row_is_whole_whatever_stops_its_cells_have() -> None:
    row = "| `%O` | Bytes sent. May be zero. See below. |"
    assert texts(f"| Sign | Meaning |\n|---|---|\n{row}") == ["| Sign | Meaning |", row]


def test_lines_that_could_have_taken_more_words_stand_alone() -> None:
    lines = [f"CONFIG_{word} (for the {word.lower()} of every kind)" for word in
             ("NET", "SIGNALS_AND_TIMERS", "FILES", "USERS")]  # fmt: skip
    found = split_sentences("\n".join(lines))
    assert [s.text for s in found] == lines and all(s.own_line for s in found[1:])
    rule = (
        "9  Waste. Paper is collected every Thursday, glass on Fridays, and cloth never at all.\n"
    )
    last = split_sentences(f"1  Doors.\n2  Stairs.\n{rule}10 Moving. Tell us.")[-2]
    assert (last.text, last.own_line) == ("10 Moving.", True)


def test_what_stands_deeper_below_a_term_is_of_its_sentence() -> None:
    assert texts("E9\n    The pump stands. Clean it.")[0] == "E9\n    The pump stands."
    assert plain("Grade B\n: over 80") == "Grade B: over 80"


MANUAL = """OPTIONS
       -q, --quick
              Pumps without a pause between the strokes, as
              the old model did. It is louder.

       --slow Pumps with care, and stops where the pres\u2010
              sure is too high.
"""


def test_terms_of_a_manual_name_what_stands_below_them() -> None:
    found = split_sentences(MANUAL)
    assert [(s.text.split("\n")[0], s.terms) for s in found] == [
        ("OPTIONS", 2),
        ("It is louder.", 0),
        ("--slow Pumps with care, and stops where the pres\u2010", 0),
    ]
    assert [term for _, _, term in find_terms(MANUAL)] == ["OPTIONS", "-q, --quick"]
    start, stop, _ = find_terms(MANUAL)[1]
    assert "louder" in MANUAL[start:stop] and "--slow" not in MANUAL[start:stop]
    assert plain(found[2].text).endswith("where the pressure is too high.")
    assert find_terms("The pump is not to be\n    opened.") == []  # the line was full
    assert find_terms("If the\n    pump stands, it is to be cleaned at once.") == []  # cut off
    assert find_terms("- one\n      more and more words of it") == []


def test_a_rule_below_a_heading_opens_no_code() -> None:
    assert texts("Title\n~~~~~\nBody.\n\nNext\n~~~~\n\nMore.") == ["Body.", "More."]
    assert [s.kind for s in split_sentences("Do:\n\n~~~\nmake\n~~~")] == ["prose"]


def test_rows_of_a_grid_that_rules_cut_off_are_no_heads() -> None:
    rule, row = "+-----+-----+\n", "| {} | {} |\n"
    rows = [row.format(f"-{c}", f"does {c}") for c in "abc"]
    grid = rule + rule.join(rows) + rule
    found = split_sentences(grid)
    assert find_tables(grid, found) == [] and not is_head(grid, found[-2:], 0)
    headed = rule + rows[0] + rule.replace("-", "=") + rule.join(rows[1:]) + rule
    (table,) = find_tables(headed, split_sentences(headed))
    assert list(table.names) == ["-a", "does a"]


def test_words_that_were_spread_to_fill_a_line_are_no_cells() -> None:
    spread = "the pump  stops  when\nthe tank  is all  out\nand a red  light  on."
    assert {s.kind for s in split_sentences(spread)} == {"prose"}


def test_what_rest_hands_on_raw_is_not_read() -> None:
    page = "One.\n\n.. raw:: html\n\n    <script>\n    run(1)\n\n    stop(2)\n\nTwo."
    assert texts(page) == ["One.", "Two."]


@pytest.mark.parametrize("line", ["a  b", "a | b", "a\tb", "A b c.", "= =", "1  a", "a" * 90,
                                  "::", "<!---->", ".. raw:: html"])  # fmt: skip
@pytest.mark.few(4)
def test_many_lines_of_a_kind_take_linear_time(line: str) -> None:
    document = f"{line}\n" * (100_000 // len(line))
    assert sum(map(len, texts(document))) <= len(document)
    assert find_tables(document, split_sentences(document)) is not None


def test_code_block_belongs_to_the_sentence_that_introduces_it() -> None:
    document = "Run this:\n\n```sh\nmake. Install\n```\n\nThen wait.\n\n```\nalone\n```"
    introduced, then, alone = split_sentences(document)
    assert introduced.text.startswith("Run this:") and introduced.text.endswith("```")
    assert then.text == "Then wait."
    assert (alone.kind, alone.text) == ("code", "```\nalone\n```")


def test_chunk_that_begins_inside_a_code_block_begins_with_code() -> None:
    document = "x = 1\nprint(x)\n```\n\nThis prints one."
    code, prose = split_sentences(document)
    assert (code.kind, prose.text) == ("code", "This prints one.")


def test_unclosed_code_block_reaches_to_the_end() -> None:
    assert [s.kind for s in split_sentences("Look.\n\n```python\na = 1. B\n\nb = 2")] == [
        "prose",
        "code",
    ]


@pytest.mark.parametrize(
    ("marked", "shown"),
    [
        ("See [the **docs**](https://x.org/a_(b)) now.", "See the docs now."),
        ("An ![image](a.png) and <b>bold</b> &amp; _soft_ text.", "An image and bold & soft text."),
        ("Keep `a[1]`, `**kw` and snake_case_name.", "Keep `a[1]`, `**kw` and snake_case_name."),
        ("Rome fell in 476 [1][2, 3].", "Rome fell in 476."),
        ("> quoted\n> on two lines", "quoted on two lines"),
        ("Title { #anchor }", "Title"),
        ("a < b and c > d, 2 * 3 * 4", "a < b and c > d, 2 * 3 * 4"),
        ("| a | b |", "a | b"),
        ("**Be careful; this", "Be careful; this"),
        ('=== "Threads"', "Threads:"),
        ("<td>a</td><td>b</td>", "a b"),
        ("Give <int><char>, <user name> or <N>.", "Give `<int><char>`, `<user name>` or `<N>`."),
        ("<Tabs><TabItem>One</TabItem></Tabs>", "One"),
    ],
)
def test_plain_removes_markup_and_nothing_else(marked: str, shown: str) -> None:
    assert plain(marked) == shown


def test_plain_closes_a_code_block_that_was_cut() -> None:
    assert plain("Run:\n\n~~~\nmake inst") == "Run:\n\n~~~\nmake inst\n~~~"


def test_plain_keeps_code_blocks_as_they_are() -> None:
    assert plain("**Run** this:\n\n```sh\nmake **x**\n```") == "Run this:\n\n```sh\nmake **x**\n```"


# --- words -------------------------------------------------------------------------------------


def test_words_are_folded_and_cjk_is_paired() -> None:
    assert words("Crème brûlée, a 7-Up!") == ["creme", "brulee", "7", "up"]
    assert words("数据库PG") == ["数据", "据库", "pg"]


def test_content_words_leave_question_words_out_unless_nothing_is_left() -> None:
    assert content_words("How do I reset my password?") == ["reset", "password"]
    assert content_words("Was ist für Über-Nacht wichtig?") == ["nacht", "wichtig"]
    assert content_words("Who is it?") == ["who", "is", "it"]
    assert content_words("?!") == []


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("create", "creating", True),
        ("evaluate", "evaluation", True),
        ("normans", "norman", True),
        ("contain", "contract", False),
        ("use", "using", False),
        ("cat", "catalogue", False),
        ("room12", "room14", False),
        ("room12", "room", False),
        ("20000", "20001", False),
        ("1990s", "1990", True),
        ("a", "a", True),
    ],
)
def test_forms_of_one_word_are_the_same(one: str, other: str, same: bool) -> None:
    assert same_word(one, other) is same and same_word(other, one) is same


@given(st.lists(st.text(max_size=100), max_size=3))
def test_token_estimate_is_at_least_two_each(some: list[str]) -> None:
    assert len(estimate_tokens(some)) == len(some)
    assert all(2 <= n <= 2 + len(text) for n, text in zip(estimate_tokens(some), some, strict=True))


# --- comments, reStructuredText, MyST ------------------------------------------------------------


def test_a_comment_of_html_says_nothing_and_one_in_code_is_code() -> None:
    comment = "<!-- YAML\nadded: v1.2\nchanges:\n  - x: y\n-->"
    page = f"One.\n\n{comment}\n\nTwo.\n\n```html\n<!-- kept -->\n```"
    assert texts(page) == ["One.", "Two.", "```html\n<!-- kept -->\n```"]
    assert texts("added: v1.2\n-->\n\nTwo.") == ["Two."]  # a chunk cut it in two
    assert texts("An arrow --> b.") == ["An arrow --> b."]


def test_directives_of_rest_are_no_prose_and_code_below_them_is_code() -> None:
    page = (
        "Examples\n========\n\n.. _start:\n\n.. tab:: Unix\n\n   .. code-block:: console\n"
        "      :linenos:\n\n      $ make\n      done\n\nRun it::\n\n    go\n      on\n\nEnd.\n\n"
        ".. note:: Read this first.\n"
    )
    assert [(s.kind, s.text) for s in split_sentences(page)] == [
        ("code", "      $ make\n      done"),
        ("prose", "Run it::"),
        ("code", "    go\n      on"),
        ("prose", "End."),
        ("prose", ".. note:: Read this first."),
    ]
    assert plain("Run it::") == "Run it:" and plain(".. note:: Read it.") == "Read it."
    assert texts("std::vector\n\nis fast.") == ["std::vector", "is fast."]


def test_what_a_directive_of_myst_holds_is_prose_and_code_in_it_is_code() -> None:
    tab = "````{tab} Linux\n```\n~/.cache\n```\n\nOr elsewhere.\n````\n\n"
    page = f"{tab}```{{pip-cli}}\n$ pip\n```\n\nEnd."
    assert [(s.kind, s.text) for s in split_sentences(page)] == [
        ("code", "```\n~/.cache\n```"),
        ("prose", "Or elsewhere."),
        ("code", "```{pip-cli}\n$ pip\n```"),
        ("prose", "End."),
    ]
    assert texts("```{note}\nMind it.\n```\n\nEnd.") == ["Mind it.", "End."]


def test_roles_and_links_of_rest_and_myst_keep_their_text() -> None:
    assert plain(
        "See {ref}`the guide <guide>`, :doc:`pip install`, `Docs <https://x.org>`_ and `more`_."
    ) == ("See the guide, pip install, Docs and more.")
    assert plain("`a < b` stays, as does ``x``.") == "`a < b` stays, as does `x`."


def test_columns_without_a_rule_have_a_head_where_numbers_stand_below_words() -> None:
    page = "Country   day      night\nPoland    34 EUR   124 EUR\nNorway    75 EUR   139 EUR"
    (table,) = find_tables(page, split_sentences(page))
    assert table.is_headed and list(table.names) == ["Country", "day", "night"]
    assert table.row(1) == "Country: Norway; day: 75 EUR; night: 139 EUR"
    plain_rows = "Anna     Bremen\nBernd    Leeds\nClara    Oslo"
    assert find_tables(plain_rows, split_sentences(plain_rows)) == []


def test_the_head_above_rows_is_that_of_their_table() -> None:
    head = "| No. | Fee |\n|:---|---:|\n"
    assert head_above(f"Fees:\n\n{head}| A | 1 |\n| - | - |\n") == head
    assert head_above(f"{head}| A | 1 |\n\n| B | 2 |\n") == ""
    assert head_above("| A | 1 |\n| B | 2 |\n") == head_above("") == ""


def test_files_and_addresses_between_angle_brackets_are_no_tags() -> None:
    said = "Include <bell.h>, read </etc/bells> and write to <help@bells.example>."
    assert plain(said) == said
    assert plain("A <b>bold</b> <br/>word <Tabs.Item id='x'>here</Tabs.Item>") == "A bold word here"
    assert [s.text for s in split_sentences("FILES\n\n<bell.h>\n\n<div>\n")] == [
        "FILES",
        "<bell.h>",
    ]
