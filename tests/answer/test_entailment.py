"""Statements and what their sources say of them, without a language model."""

from __future__ import annotations

import pytest
from fakes import HashEmbedder

from rag_pg.answer.attribution.entailment import find_support
from rag_pg.answer.attribution.judge import Judge
from rag_pg.answer.edit import without_support
from rag_pg.answer.reading.comparisons import is_reckoned_wrongly
from rag_pg.answer.reading.negation import is_negated
from rag_pg.answer.reading.statements import read_statements
from rag_pg.text import has_word, same_word
from rag_pg.types import Citation

PASSAGE = (
    "# Backups\n\nA backup of every database is made at night. Copies are kept for thirty days. "
    "They are not encrypted. About 15 % of all restores fail on old disks."
)


def judge(claim: str, passage: str = PASSAGE) -> tuple[bool | None, str]:
    (found,) = find_support(claim, [(passage, "Handbook > Backups")], HashEmbedder)
    return found.is_supported, found.quote


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        ("Copies are kept for 30 days.", "Copies are kept for thirty days."),
        ("The copies are kept thirty days", "Copies are kept for thirty days."),
        ("They are not encrypted", "They are not encrypted."),
        ("Restores fail for 15% on old disks.", "About 15 % of all restores fail on old disks."),
        ("Every night a backup of the database is made.",
         "A backup of every database is made at night."),
    ],
)  # fmt: skip
def test_a_statement_is_led_to_its_sentence(claim: str, quote: str) -> None:
    assert judge(claim) == (True, quote)


@pytest.mark.parametrize(
    "claim",
    [
        "Copies are kept for 50 days.",
        "Copies are kept for ninety days.",
        "About 50 % of all restores fail on old disks.",
        "Copies are not kept for thirty days.",
        "Copies are never kept for 30 days.",
        "The backup is made by 7 operators at night.",
    ],
)
def test_another_number_or_the_opposite_is_not_supported(claim: str) -> None:
    assert judge(claim)[0] is False


def test_of_sentences_that_are_equally_near_the_one_that_agrees_is_cited() -> None:
    passage = "The policy covers damage by fire. Damage that is meant is never covered."
    assert judge("Intended damage is not covered.", passage) == (True, passage[34:])


def test_what_many_sentences_measure_is_not_compared() -> None:
    one = "Elm costs 90 euros, oak costs 60 euros."
    assert is_reckoned_wrongly("Elm is cheaper than oak.", [one])
    assert not is_reckoned_wrongly("Elm is cheaper than oak.", [f"{one} " * 101])


def test_a_text_has_a_word_where_one_of_its_words_is_a_form_of_it() -> None:
    found = [f"{'abc' * size}{end}" for size in range(1, 5) for end in ("", "ab", "bb", "cccc")]
    found += ["abcd1", "abcd2", "abcd12", "abcd1ef", "abcd", "abcs", "abces", "abce"]
    for word in found:
        for other in found:
            assert has_word(f"{other} zz", word) == same_word(word, other)


def test_a_statement_that_says_too_little_is_not_judged() -> None:
    assert judge("Yes.")[0] is None


def test_without_an_embedder_other_words_are_not_judged() -> None:
    claim = "Penguins breed on rocky southern islands."
    assert find_support(claim, [(PASSAGE, "")], None)[0].is_supported is None


def test_negations_that_deny_nothing_are_none() -> None:
    assert is_negated("It does not run.") and is_negated("Es läuft nicht.")
    assert not is_negated("No later than noon, not only today.")


ANSWER = "One holds [1]. Two fails [2].\n\n- Three fails [1, 2]\n- Four holds\n"


def test_statements_know_their_citations() -> None:
    statements = read_statements(ANSWER)
    assert [s.numbers for s in statements] == [[1], [2], [1, 2], []]
    assert [ANSWER[s.start : s.claim_stop] for s in statements] == [
        "One holds", "Two fails", "Three fails", "Four holds",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("action", "text"),
    [
        ("keep", ANSWER),
        ("drop", "One holds [1].\n\n- Four holds\n"),
        ("mark", "One holds [1]. Two fails [2]. [unsupported]\n\n"
                 "- Three fails [1, 2] [unsupported]\n- Four holds\n"),
    ],
)  # fmt: skip
def test_statements_without_support_are_treated_as_wanted(action: str, text: str) -> None:
    edited = without_support(ANSWER, read_statements(ANSWER), {1, 2}, action)  # type: ignore[arg-type]
    assert edited.text == text


def test_what_is_said_of_a_statement_does_not_depend_on_those_before_it() -> None:
    shown = [Citation(number=1, chunk_id=1, uri="a", title="Backups", heading="", quote=PASSAGE)]
    text = "Copies are kept for 30 days [1]. Copies are kept for 90 days [1]. They are encrypted."
    statements = read_statements(text)

    def verdicts(*order: int) -> list[tuple[bool | None, list[str]]]:
        judge = Judge("", shown, embedder=HashEmbedder, locate=lambda c: [(one, None) for one in c])
        found = {n: judge.ground(statements[n]) for n in order}
        return [(found[n].is_supported, [c.quote for c in found[n].citations]) for n in range(3)]

    told = verdicts(0, 1, 2)
    assert [supported for supported, _ in told] == [True, False, False]
    assert verdicts(2, 1, 0) == verdicts(1, 2, 0) == told
