"""A model's text carries no image, link, element or key that its sources do not have."""

from __future__ import annotations

from collections import Counter

import pytest
from hostile_completions import CANARY, HARMLESS, HOSTILE, SOURCE, K

from rag_pg.answer.fit import clean_text, removal_note
from rag_pg.answer.reading.addresses import Known

KNOWN = Known([SOURCE])


def test_there_are_sixty() -> None:
    assert len(set(HOSTILE)) == len(HOSTILE) >= 60


@pytest.mark.parametrize(("text", "shown"), HOSTILE)
def test_what_no_source_has_is_taken_out_and_counted(text: str, shown: str) -> None:
    told: Counter[str] = Counter()
    got = clean_text(text.replace("¤", "[1]"), {1}, KNOWN, told)
    assert got == shown
    assert CANARY not in got and K not in got
    assert told.total() >= 1 and removal_note(told)
    assert clean_text(got, {1}, KNOWN) == got


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_true_stays(text: str) -> None:
    told: Counter[str] = Counter()
    assert clean_text(text, {1}, KNOWN, told) == text
    assert not told.total()


def test_the_note_names_kinds_and_numbers() -> None:
    told: Counter[str] = Counter()
    clean_text("![a](b) ![c](d) [e](f) [7]", {1}, KNOWN, told)
    assert removal_note(told) == (
        "taken out of the answer, as no source has it: 1 citation, 2 images, 1 link"
    )
