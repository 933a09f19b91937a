"""Words as they are compared, in any script."""

import unicodedata

import pytest

from rag_pg.text import words


@pytest.mark.parametrize(
    "text, found",
    [
        ("The Déjà-vu of Straße 7, a B", ["the", "deja", "vu", "of", "strasse", "7"]),
        ("e\u0301\u0323te\u0301 – n\u0303", ["ete"]),
        ("日本語 と 語 が", ["日本", "本語", "と", "語", "か"]),
        ("한국어abc", ["한국", "국어", "abc"]),
    ],
)
def test_words_have_no_accents_and_those_of_cjk_are_pairs(text: str, found: list[str]) -> None:
    assert words(text) == found


def test_no_mark_of_any_script_is_left_in_a_word() -> None:
    own = (c for c in map(chr, range(0x20000)) if c == c.casefold())  # not the iota below
    marks = [*filter(unicodedata.combining, own)]
    assert len(marks) > 900
    assert words("".join(f"a{mark}b " for mark in marks)) == ["ab"] * len(marks)
