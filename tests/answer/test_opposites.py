"""Opposites: what a near miss of a question often has in place of its word."""

from __future__ import annotations

import pytest

from rag_pg.answer.reading import negation
from rag_pg.answer.reading.opposites import find_opposite
from rag_pg.text import words


@pytest.mark.parametrize(
    ("question", "sentence", "found"),
    [
        ("What triggers a slow response?", "This triggers a rapid response.", ("slow", "rapid")),
        ("Who lost the war?", "The victory of the war was theirs.", ("lost", "victory")),
        ("Which rates are unequal?", "The rates are equal.", ("unequal", "equal")),
        ("What is inflammatory?", "Cortisol is anti-inflammatory.", ("inflammatory",
            "antiinflammatory")),
        ("What increased demand?", "Prices are decreasing demand.", ("increased", "decreasing")),
        ("Wann war die erste Wahl?", "Die letzte Wahl war 1933.", ("erste", "letzte")),
        ("Quel est le premier roi ?", "Le dernier roi est mort.", ("premier", "dernier")),
    ],
)  # fmt: skip
def test_a_word_and_its_opposite_are_found_in_their_forms(
    question: str, sentence: str, found: tuple[str, str]
) -> None:
    assert find_opposite(question, sentence) == found


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("What is slow?", "A slow and a rapid response."),  # the question's own word is there
        ("Is it slow or rapid?", "It is rapid."),  # the question has both
        ("Which response is slow?", "The response takes hours."),
        ("What is important?", "They export wheat."),  # no form of import
        ("Where is the intake?", "The install is done."),
        ("", ""),
        ("谁赢了?", "他输了。"),
    ],
)
def test_what_is_no_opposite_is_none(question: str, sentence: str) -> None:
    assert find_opposite(question, sentence) is None


def test_a_text_of_many_clauses_is_read_once_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def count(text: str) -> list[str]:
        read.append(len(text))
        return words(text)

    monkeypatch.setattr(negation, "words", count)
    claim = " if ".join(f"term{n}" for n in range(500))
    sentence = " unless ".join(f"term{n}" for n in range(500))
    assert not negation.contradicts(claim, sentence)
    assert sum(read) < 20 * len(claim + sentence)  # 1,000 times as many, read for each clause
