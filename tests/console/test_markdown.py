"""Answers on a terminal: wrapped, with bold, lists, tables and code; every word as it is."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from rag_pg.console import NARROWEST, LiveMarkdown, Part, markdown_lines, visible

WIDTHS = st.sampled_from([20, 60, 80, 140])
WORD = st.sampled_from(
    [
        "a",
        "word",
        "漢字",
        "[bold]x[/]",
        "2**3",
        "_x_",
        "\x1b[31m",
        "\u202e",
        "e\u0301",
        "<b>",
        "`c`",
    ]
)
LINE = st.lists(WORD, min_size=1, max_size=40).map(" ".join)
BLOCK = st.one_of(
    LINE,
    st.builds("- {}".format, LINE),
    st.builds("12. {}".format, LINE),
    st.builds("**{}** [1]".format, LINE),
    st.just(""),
)


def text_of(line: list[Part]) -> str:
    return "".join(part if isinstance(part, str) else part[0] for part in line)


def shown(text: str, width: int) -> list[str]:
    return [text_of(line) for line in markdown_lines(text, width)]


@given(st.lists(BLOCK, min_size=1, max_size=6).map("\n".join), WIDTHS)
def test_every_line_fits_and_every_word_is_kept(text: str, width: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_COLOR", "1")
        lines = shown(text, width)
    assert max(map(cell_len, lines)) <= max(width, NARROWEST)
    flat = visible(text.replace("\n", " "), cell=True)
    assert "".join("".join(lines).split()) == "".join(flat.split())


PARTS = st.one_of(
    BLOCK, st.just("| a | b |\n| --- | --- |\n| 1 | 2 |"), st.just("```\nx\n\ny\n```")
)


@given(st.lists(PARTS, min_size=1, max_size=6).map("\n".join), WIDTHS, st.integers(1, 30))
def test_what_comes_in_pieces_is_shown_as_the_whole(text: str, width: int, size: int) -> None:
    live, lines = LiveMarkdown(), []
    for at in range(0, len(text), size):
        lines += live.feed(text[at : at + size], width)
    lines += live.close(width)
    whole = [text_of(line) for line in markdown_lines(text, width)]
    assert "\n".join(map(text_of, lines)).rstrip("\n") == "\n".join(whole).rstrip("\n")


def test_a_long_paragraph_is_shown_while_it_is_written() -> None:
    lines = LiveMarkdown().feed("one two three four five six", 20)
    assert list(map(text_of, lines)) == ["one two three four"]


def test_bold_is_rendered_across_lines_and_other_asterisks_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    text = "Now **it is two words** [1] and 2**3**4 or a ** b ** c."
    lines = list(markdown_lines(text, 20))
    bold = " ".join(p[0] for line in lines for p in line if isinstance(p, tuple) and p[1] == "bold")
    assert bold == "it is two words"
    assert " ".join(map(text_of, lines)) == "Now it is two words [1] and 2**3**4 or a ** b ** c."


def test_items_hang_and_headings_are_bold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert shown("1. one two three four five six", 20) == ["1. one two three", "   four five six"]
    assert list(markdown_lines("## Head", 40)) == [[("Head", "bold")]]


def test_code_keeps_its_lines_without_fences() -> None:
    code = "x = 1  # " + "long " * 30
    assert shown(f"Do:\n\n```py\n{code}\n\n| a |\n```\n\nEnd.", 40) == [
        "Do:", "", f"    {code}", "", "    | a |", "", "End.",
    ]  # fmt: skip
    assert shown("```py\nopen", 40) == ["```py", "open"]


def test_a_table_is_aligned_and_its_cited_row_bold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    table = "| Plan | Price |\n| --- | --- |\n| A \\| B | 5 |\n| **Pro** | **29 €** [1] |\n\nEnd."
    lines = list(markdown_lines(table, 40))
    assert [text_of(line) for line in lines] == [
        "Plan   Price", "A | B  5", "Pro    29 € [1]", "", "End.",
    ]  # fmt: skip
    assert lines[0] == [("Plan   Price", "bold")] and lines[2] == [("Pro    29 € [1]", "bold")]
    wide = f"| Plan | Text |\n| --- | --- |\n| A | {'word ' * 20} |"
    assert max(map(len, shown(wide, 30))) <= 30 and not re.search(r"\|", "".join(shown(wide, 30)))


@pytest.mark.parametrize("piece", ["**a ", "**a** ", "*a *", "|a", "# ", "`", "1. "])
def test_much_of_one_piece_is_shown_whole(piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    text = piece * (100_000 // len(piece)) + "end"
    lines = shown(text + "\n" + "|-" * text.count("|"), 80)
    assert any("end" in line for line in lines)
    assert sum(line.count("a") for line in lines) == text.count("a")
