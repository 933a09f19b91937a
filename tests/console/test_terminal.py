"""What is printed is what is stored: through every helper, for any text."""

import io
import json
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from rag_pg.console import Column, copy_field, table_lines, terminal, visible
from rag_pg.console import output as show
from rag_pg.types import Answer, Citation, Progress, Usage

PIECES = (
    ":smile:", ":date:", "2001:db8:a:b:1", "[bold]", "[/]", "[red]x[/red]", "[link=x]", "\\[",
    "\x1b[31m", "\x1b]0;title\x07", "\x9b2J", "\r", "\b", "\t", "\n", "\\t", "\\", "…", "漢字",
    "שלום", "\u202eevil", "\u2066", "👩‍👩‍👧", "e\u0301", "\ufe0f", "http://x.example/?a=1", "None",
    "123", "'q'", "  ",
)  # fmt: skip
TEXT = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=6)), max_size=8).map("".join)


class Stream(io.StringIO):
    """A pipe, or a terminal."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.mark.parametrize("columns", ["60", "80", "140"])
def test_an_answer_is_rendered_on_a_terminal_and_markdown_in_a_pipe(
    monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("COLUMNS", columns)
    source = Citation(
        number=1, chunk_id=1, uri="a.pdf", title="A", heading="B", quote="", page=3,
        page_kind="page", as_of=date(2024, 5, 1),
    )  # fmt: skip
    marked = f"**It is 2**3.** [1] So it {'really ' * 30}says."
    answer = Answer(text=marked, found=True, citations=[source], model="m", usage=Usage())
    monkeypatch.setattr("sys.stdout", stream := Stream(True))
    show.print_answer(answer)
    got = stream.getvalue()
    assert got.startswith("\x1b[1mIt is 2**3.\x1b[0m [1] So it really")
    assert "\x1b[1mSources\x1b[0m\n[1] A · B · page 3 · 2024-05-01 · a.pdf\n" in got
    assert max(map(len, got.splitlines())) <= int(columns) + len("\x1b[1m\x1b[0m")
    monkeypatch.setattr("sys.stdout", stream := Stream(False))
    show.print_answer(answer)
    assert stream.getvalue() == f"{answer.markdown()}\n"


def printed(action: Callable[..., None], *args: Any, seen: bool = False) -> str:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("FORCE_COLOR", "NO_COLOR"):
            patch.delenv(name, raising=False)
        if seen:
            patch.setenv("NO_COLOR", "1")
        stream = Stream(seen)
        patch.setattr("sys.stdout", stream)
        patch.setattr("sys.stderr", Stream(seen))
        action(*args)
        return stream.getvalue()


def read_copy(field: str) -> str:
    """COPY's text format, read by its own rules."""
    pairs = {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}
    text, escaped = "", False
    for character in field:
        if escaped:
            text, escaped = text + pairs[character], False
        elif character == "\\":
            escaped = True
        else:
            text += character
    assert not escaped
    return text


@given(TEXT)
def test_a_pipe_gets_data_character_by_character(text: str) -> None:
    assert printed(terminal.write, text) == text + "\n"
    assert printed(terminal.write, (text, "bold"), text) == text * 2 + "\n"
    answer = Answer(
        text=text,
        found=True,
        citations=[Citation(number=1, chunk_id=1, uri=text, title="", heading=text, quote="")],
        model="m",
        usage=Usage(),
    )
    printed_answer = printed(show.print_answer, answer)
    assert printed_answer.startswith(f"{answer.markdown()}\n") and answer.text == text
    assert printed(show.print_fields, {"uri": text}) == f"uri  {text}\n"


@given(TEXT)
def test_json_is_the_same_data_and_harmless_on_a_terminal(text: str) -> None:
    for seen in (False, True):
        line = printed(terminal.write_json, {"uri": text, "in": [text]}, seen=seen)
        assert json.loads(line) == {"uri": text, "in": [text]}
        assert visible(line) == line and line.count("\n") == 1


@given(TEXT)
def test_a_terminal_is_told_of_control_characters_and_sees_the_rest_as_it_is(text: str) -> None:
    line = printed(terminal.write, text, seen=True)
    assert visible(line) == line  # nothing is left to act on
    assert "\x1b" not in line and "\r" not in line and "\u202e" not in line
    if visible(text) == text:
        assert line == text + "\n"


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=4))
def test_fields_of_a_piped_table_are_read_back_as_they_were(rows: list[tuple[str, str]]) -> None:
    lines = printed(terminal.write_table, [Column("a"), Column("b")], rows).split("\n")
    assert lines.pop() == ""
    assert [tuple(map(read_copy, line.split("\t"))) for line in lines] == rows


@given(st.lists(st.tuples(TEXT, TEXT, st.integers()), min_size=1, max_size=4), st.integers(1, 120))
def test_every_line_fits_and_no_field_is_cut_at_any_width(
    rows: list[tuple[str, str, int]], columns_there: int
) -> None:
    columns = [Column("a"), Column("b"), Column("c", optional=True)]
    lines = [
        "".join(part if isinstance(part, str) else part[0] for part in line)
        for line in table_lines(columns, rows, columns_there)
    ]
    assert all("\n" not in line for line in lines)
    assert max(map(cell_len, lines)) <= max(columns_there, terminal.NARROWEST)
    together = squeezed("".join(lines))
    for a, b, c in rows:
        for value in (a, b):
            assert squeezed(visible(value, cell=True)) in together
        assert str(c) in together or c == 0


def squeezed(text: str) -> str:
    """A text without its spaces: lines are parted at them."""
    return text.replace(" ", "")


@given(TEXT, st.integers(1, 60), st.integers(0, 8), st.integers(0, 8))
def test_a_text_in_lines_has_all_but_spaces(text: str, line: int, before: int, indent: int) -> None:
    text = visible(text, cell=True)
    first, *others = terminal.wrapped(text, line, before=before, indent=indent)
    fits = max(line, terminal.NARROWEST)
    assert before + cell_len(first) <= fits
    assert all(indent + cell_len(one) <= fits for one in others)
    assert squeezed("".join([first, *others])) == squeezed(text)


def test_a_word_that_fits_a_line_is_not_cut() -> None:
    uri = "handbooks/of/the/whole/house/settings.md"
    assert terminal.wrapped(f"Settings {uri}", 45) == ["Settings", uri]
    assert terminal.wrapped(f"Settings {uri}", 30)[0].startswith("Settings handbooks")


def test_a_column_that_may_shrink_is_shortened_before_a_table_is_paragraphs() -> None:
    columns = [Column("name"), Column("text", shrinks=True), Column("n")]
    rows = [["docs", "漢字" * 20, 5], ["d", "short", 6]]
    lines = ["".join(p if isinstance(p, str) else p[0] for p in line)
             for line in table_lines(columns, rows, 40)]  # fmt: skip
    assert [cell_len(line) for line in lines[:2]] == [40, 40] and "…" in lines[1]
    assert lines[2].split() == ["d", "short", "6"]
    assert len(list(table_lines(columns, rows, 20))) > 5  # paragraphs


def test_columns_without_news_are_left_out_of_a_narrow_table() -> None:
    columns = [Column("name"), Column("failed", optional=True)]
    narrow = list(table_lines(columns, [["a document of ours", 0]], 20))
    assert narrow == [[("name", "bold")], ["a document of ours"]]
    kept = list(table_lines(columns, [["a document of ours", 3]], 20))
    assert kept == [[("a document of ours", "bold")], ["    failed: 3"]]


def test_numbers_and_missing_values_are_plain_in_a_pipe() -> None:
    row = [copy_field(value) for value in (None, 3, 0.5, True, {"a": "é"}, "")]
    assert row == ["", "3", "0.5", "true", '{"a": "é"}', ""]
    assert printed(terminal.write_json, {"distance": float("nan")}) == '{"distance": null}\n'


def test_progress_counts_chunks_and_tells_rate_and_time_left() -> None:
    now = 100.0
    text = show.ProgressText(lambda: now)
    one = Progress(documents=0, of_documents=9, chunks=0, of_chunks=1000)
    assert text.sentence(one) == "0 of about 1000 chunks, 0 of 9 documents"
    text.sentence(Progress(chunks=100, of_chunks=1000))  # the model was loaded until here
    now += 10
    assert text.sentence(Progress(chunks=300, of_chunks=1100)) == (
        "300 of about 1100 chunks, 20.0 a second, 40 s left"
    )
    assert not text.due()
    now += 50
    assert text.due() and not text.due()
