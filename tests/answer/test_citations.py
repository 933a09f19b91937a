"""Citations of a text that comes in pieces."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_pg.answer.citations import CitedText
from rag_pg.answer.prompt import MARKER

PARTS = [
    "[1]", "[2]", "[9]", "[1, 3]", "[1-3]", "【2】", "［３］", "[Source 2]", "[^3]", "[12", "[",
    "]", " ", "\n", "a", "word. ", "`", "``", "```", "`a[1]`", "```\nb[2]\n```", MARKER, "NOT",
    MARKER[:7], "NOT IN DOCUMENTS", "**", "N", "S", "[so", "[1,", "[1234567890]", "_", '"', "(",
    ":", ".",
]  # fmt: skip


def read(pieces: Sequence[str], sources: int = 3) -> tuple[CitedText, list[str | int]]:
    text = CitedText(sources)
    events = [event for piece in pieces for event in text.feed(piece)]
    return text, [*events, *text.close()]


def shown(events: Sequence[str | int]) -> str:
    return "".join(event for event in events if isinstance(event, str))


@given(st.lists(st.sampled_from(PARTS), max_size=14), st.lists(st.integers(1, 7), max_size=40))
@example(["a ", "`", "[1]", "`"], [])
@example(["`a", "\n", "[1]"], [1])
def test_pieces_show_what_the_whole_shows(parts: list[str], sizes: list[int]) -> None:
    whole = "".join(parts)
    pieces, rest = [], whole
    for size in sizes:
        pieces.append(rest[:size])
        rest = rest[size:]
    at_once, _ = read([whole])
    text, events = read([*pieces, rest])
    assert (text.text, text.found, text.cited) == (at_once.text, at_once.found, at_once.cited)
    assert shown(events) == at_once.text
    assert sorted(event for event in events if isinstance(event, int)) == sorted(text.cited)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_a_marker_split_over_pieces_is_never_shown_in_part(size: int) -> None:
    whole = "Yes [1], and no [9]. Both [2, 3]."
    text = CitedText(3)
    for start in range(0, len(whole), size):
        for event in text.feed(whole[start : start + size]):
            if isinstance(event, str):
                assert not re.search(r"\[[\d, ]*$|^[\d, ]*\]", event), event
    list(text.close())
    assert text.text == "Yes [1], and no. Both [2, 3]."


def test_a_citation_is_told_after_the_text_that_has_it() -> None:
    _, events = read(["One [", "1] and t", "wo [2][1]."])
    assert events == ["One", " [1] and t", 1, "wo [2][1].", 2]


def test_the_marker_for_nothing_found_is_never_shown() -> None:
    text, events = read(["NOT_IN", "_DOCUM", "ENTS: Nothing ", "says so."])
    assert (shown(events), text.found) == ("Nothing says so.", False)


def test_a_text_that_was_cut_loses_its_half_citation() -> None:
    text = CitedText(3)
    events = [*text.feed("It is so [1]. And [2"), *text.close(was_cut=True)]
    assert shown(events) == text.text == "It is so [1]. And"


def test_a_citation_that_never_ends_is_shown_at_the_end() -> None:
    assert shown(read(["See [1", ", 2"])[1]) == "See [1, 2"
