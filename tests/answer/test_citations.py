"""Citations of a text that comes in pieces."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from passages import hit

from rag_pg.answer import citations
from rag_pg.answer.citations import CitedText, _read_citations
from rag_pg.answer.prompt import MARKER, build_prompt
from rag_pg.text import KEY, new_keys

PARTS = [
    "[1kfqm1]", "[2BCDF2]", "[9]", "[1kfqm1, 3ghjk3]", "[1-3]", "【2bcdf2】", "［3ghjk3］",
    "1kfqm1", "[Source 2bcdf2]", "[^3ghjk3]", "[12", "[[1kfqm1]]", "(3ghjk3)", "(", ")", "[",
    "2bc", "df2",
    "`2bcdf2`", "x", "7zzzz7", "[7zzzz7]", "]", " ", "\n", "a", "word. ", "`", "``", "```",
    "`a[1]`", "```\nb[2]\n```", MARKER, "NOT",
    MARKER[:7], "NOT IN DOCUMENTS", "**", "N", "S", "[so", "[1,", "[1234567890]", "_", '"', "(",
    ":", ".", ".\n", "]\n", "?\n\n- ", "    ",
]  # fmt: skip


KEYS = ("1kfqm1", "2bcdf2", "3ghjk3")


def read(pieces: Sequence[str]) -> tuple[CitedText, list[str]]:
    """The text, and what could be shown after each piece."""
    text = CitedText(KEYS)
    shown = []
    for piece in pieces:
        text.feed(piece)
        shown.append(text.text)
    text.close()
    return text, shown


@given(st.lists(st.sampled_from(PARTS), max_size=14), st.lists(st.integers(1, 7), max_size=40))
@example(["a ", "`", "[1kfqm1]", "`"], [])
@example(["`a", "\n", "[1kfqm1]"], [1])
@example(["```", "1kfqm1", "x"], [3, 3, 3])
def test_pieces_show_what_the_whole_shows(parts: list[str], sizes: list[int]) -> None:
    whole = "".join(parts)
    pieces, rest = [], whole
    for size in sizes:
        pieces.append(rest[:size])
        rest = rest[size:]
    at_once, _ = read([whole])
    text, shown = read([*pieces, rest])
    assert (text.text, text.found, text.cited) == (at_once.text, at_once.found, at_once.cited)
    for now, then in pairwise([*shown, text.text]):
        assert then.startswith(now)


def test_lines_of_a_long_text_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "It is 214 metres long [1kfqm1]. It was built in 1932, says [9].\n" * 500
    lengths: list[int] = []

    def read_citations(text: str, *others: Any) -> str:
        lengths.append(len(text))
        return _read_citations(text, *others)

    monkeypatch.setattr(citations, "_read_citations", read_citations)
    text, _ = read([lines[start : start + 5] for start in range(0, len(lines), 5)])
    assert text.text == lines.replace("1kfqm1", "1").replace(" [9]", "").strip()
    assert (text.cited, text.dropped) == ({1}, ["9"])
    assert len(lengths) > len(lines) / 5 and sum(lengths) < 30 * len(lines)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_a_marker_split_over_pieces_is_never_shown_in_part(size: int) -> None:
    whole = "Yes [1kfqm1], and no [9]. Both [2bcdf2, 3ghjk3]. As 1kfqm1 says."
    text = CitedText(KEYS)
    for start in range(0, len(whole), size):
        text.feed(whole[start : start + size])
        assert not re.search(r"\[[\d, ]*$|kfqm|bcdf", text.text), text.text
    text.close()
    assert text.text == "Yes [1], and no. Both [2, 3]. As [1] says."


def test_what_comes_is_shown_as_far_as_it_is_certain() -> None:
    text, shown = read(["One [", "1kfqm1] and t", "wo [2bcdf2][1kfqm1]."])
    assert shown == ["One", "One [1] and t", "One [1] and two [2][1]."]
    assert text.cited == {1, 2}


def test_the_marker_for_nothing_found_is_never_shown() -> None:
    text, shown = read(["NOT_IN", "_DOCUM", "ENTS: Nothing ", "says so."])
    assert shown == ["", "", "Nothing", "Nothing says so."] and not text.found


def test_a_text_that_was_cut_loses_its_half_citation() -> None:
    text = CitedText(KEYS)
    text.feed("It is so [1kfqm1]. And [2bcd")
    text.close(was_cut=True)
    assert text.text == "It is so [1]. And"


def test_a_citation_that_never_ends_is_shown_at_the_end() -> None:
    text, shown = read(["See [1", ", 2"])
    assert (shown, text.text) == (["See", "See"], "See [1, 2")


@pytest.mark.parametrize(
    ("raw", "text", "cited", "dropped"),
    [
        ("Yes [2BCDF2][1kfqm1, 3ghjk3].", "Yes [2][1, 3].", {1, 2, 3}, []),
        ("是的［2bcdf2］。还有【3ghjk3】。", "是的[2]。还有[3]。", {2, 3}, []),
        ("Yes [source 2bcdf2], [^3ghjk3], [[1kfqm1]].", "Yes [2], [3], [1].", {1, 2, 3}, []),
        ("Source 2bcdf2 says so (3ghjk3).", "Source [2] says so [3].", {2, 3}, []),
        ("Yes [1kfqm1, 9] and [0].", "Yes [1] and.", {1}, ["9", "0"]),
        ("Yes [1-3] [12-99].", "Yes.", set(), ["1-3", "12-99"]),
        ("Yes [1]. No [2].", "Yes. No.", set(), ["1", "2"]),
        ("Yes [7zzzz7].", "Yes.", set(), ["7zzzz7"]),
        ("A part 7zzzz7 is sold.", "A part 7zzzz7 is sold.", set(), []),
        ("Not x1kfqm1 nor 1kfqm1x.", "Not x1kfqm1 nor 1kfqm1x.", set(), []),
        ("`a[7]`, ```\nb[8] # [1kfqm1]\n```", "`a[7]`, ```\nb[8] # [1]\n```", {1}, []),
        ("See [the docs](x) and [sic].", "See [the docs](x) and [sic].", set(), []),
    ],
)
def test_keys_become_numbers(raw: str, text: str, cited: set[int], dropped: list[str]) -> None:
    got, _ = read([raw])
    assert (got.text, got.cited, got.dropped) == (text, cited, dropped)


ITEMS = st.one_of(
    st.integers(0, 10**6).map(str),
    st.from_regex(KEY, fullmatch=True),
    st.from_regex(r"[0-9a-z]{4,6}", fullmatch=True),
    st.from_regex(r"[0-9]{1,2}-[0-9]{1,2}", fullmatch=True),
)


@given(st.lists(ITEMS, min_size=1, max_size=8), st.integers(1, 40), st.sampled_from(["[{}]", "{}"]))
def test_an_invented_number_or_key_is_never_a_citation(
    items: list[str], sources: int, form: str
) -> None:
    prompt = build_prompt(
        "Why?", [hit(f"text {n} of {n}", number=n) for n in range(1, sources + 1)]
    )
    text = CitedText(prompt.keys)
    whole = " and ".join(form.format(item) for item in items)
    text.feed(whole)
    text.close()
    assert text.cited == set()
    assert not re.search(r"\[\d{1,6}\]", text.text)


def test_keys_are_as_many_as_they_seem_to_be_and_none_is_in_the_texts() -> None:
    keys = [key for _ in range(3000) for key in new_keys(1)]
    assert all(KEY.fullmatch(key) for key in keys)
    assert len(set(keys)) >= 2990  # of 19 million; by chance one pair in four runs
    for place in range(6):
        assert len({key[place] for key in keys}) == (10 if place in (0, 5) else 21)
    texts = " ".join(f"{a}bbbb{b}" for a in range(10) for b in range(10))
    (key,) = new_keys(1, [texts])
    assert key not in texts and len(set(new_keys(1000))) == 1000
    prompt = build_prompt("Why?", [hit("one"), hit("two", number=2)])
    assert not any(key in prompt.system for key in prompt.keys)


@pytest.mark.parametrize("piece", [" ", "\n", "- ", "[", "[b", "`", "_", "(a)"])
@pytest.mark.few(3)
def test_a_model_that_loses_its_way_is_read_to_its_end(piece: str) -> None:
    text = CitedText(["2bcdf3"])
    text.feed("First [2bcdf3]." + piece * (50_000 // len(piece)))
    text.feed(" Last [2bcdf3].")
    text.close()
    assert text.text.startswith("First [1].") and text.text.endswith("Last [1].")
    assert text.cited == {1}
