"""What a model adds is told by words that neither the sources have nor everybody uses."""

from __future__ import annotations

import pytest

from rag_pg.answer.attribution.judge import Judge
from rag_pg.answer.reading.statements import read_statements
from rag_pg.answer.reading.strange import strange_words
from rag_pg.text import words
from rag_pg.types import Citation

SHOP = (
    "Members pick up their boxes on Friday. Boxes that nobody has picked up by noon go to the"
    " neighbours. Leere Kisten werden am Freitag zurückgebracht. We wash them."
)


def judge(text: str) -> bool | None:
    shown = [Citation(number=1, chunk_id=1, uri="shop.md", title="", heading="", quote=SHOP)]
    one = Judge("", shown, embedder=None, locate=lambda found: [(c, None) for c in found])
    (statement,) = read_statements(text)
    return one.ground(statement).is_supported


@pytest.mark.parametrize(
    ("text", "added"),
    [
        ("Members pick up their boxes on Friday.", []),
        ("On Friday the boxes can be taken home by the members.", []),
        ("Whatever is still there at noon is given to the people next door.", []),
        ("Die leeren Kisten bringt man freitags wieder zurück.", []),
        # half of it is true
        ("Members pick up their boxes on Friday, and a notary certifies the receipt.",
         ["notary", "certifies", "receipt"]),
        ("Leere Kisten werden am Freitag zurückgebracht und mit Essig desinfiziert.",
         ["essig", "desinfiziert"]),
        # a little everywhere
        ("Lettuce, kale and members that subscribe.", ["lettuce", "kale", "subscribe"]),
        # in a language whose words are not known nothing is strange
        ("Laatikot haetaan perjantaina kello kaksitoista keskikaupungilta.", []),
        ("箱は金曜日に受け取り、消毒されます。", []),
    ],
)  # fmt: skip
def test_what_is_said_by_strange_words_is_added(text: str, added: list[str]) -> None:
    assert strange_words(text, {*words(SHOP)}) == added
    assert (judge(text) is False) == bool(added)


def test_what_cites_is_not_judged_by_strange_words() -> None:
    assert judge("On Friday the notary of the members certifies their boxes [1].") is not False


def test_a_second_thing_of_strange_words_is_added_also_where_it_cites() -> None:
    text = "Members pick up their boxes on Friday, and a notary certifies the receipt [1]."
    assert judge(text) is False
    assert judge("Members pick up their boxes on Friday and take them home [1].") is not False


def test_what_sources_say_of_themselves_is_judged_as_theirs() -> None:
    assert judge("We wash them on Friday [1].") is True
    assert judge("We never wash them [1].") is False


def test_initials_of_what_a_claim_says_are_no_strange_name() -> None:
    assert judge("Members pick up boxes (MPUB) on Friday [1].") is True
    assert judge("Members pick up boxes (XPUB) on Friday [1].") is False
