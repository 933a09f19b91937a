"""Which words of a question tell what it is about, and what is refused where one is lacking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from passages import WordEmbedder, hits

from rag_pg.answer.extractive.passage_scores import Evidence, examine
from rag_pg.answer.reading.head import find_names, stands_in
from rag_pg.answer.reading.identifiers import is_identifier
from rag_pg.text import words
from rag_pg.types import CosineSpread, TermMatch, Vectors


class Weighing(WordEmbedder):
    """Words weigh in a text's meaning what is said; all others 1."""

    def __init__(self, **weights: float) -> None:
        super().__init__()
        self.fingerprint = str(weights)
        self._weights = weights

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        rows = []
        for text in texts:
            parts = words(text) or ["-"]
            weighed = [self._weights.get(word, 1.0) for word in parts]
            rows.append(np.array(weighed) @ super().embed_documents(parts))
        found = np.array(rows, np.float32)
        vectors: Vectors = found / np.linalg.norm(found, axis=1, keepdims=True)
        return vectors


def look(
    question: str,
    *texts: str,
    elsewhere: Sequence[str] = (),
    embedder: WordEmbedder | None = None,
    **weights: float,
) -> Evidence:
    """The evidence of texts in a collection, which has some words `elsewhere`."""

    def match(asked: str, parts: Sequence[str]) -> list[TermMatch]:
        own = [words(part) for part in parts]
        found = []
        for word in asked.split():
            term = " ".join(words(word))
            has = [n for n, part in enumerate(own, 1) if term in part]
            df = len(has) or (1 if term in elsewhere else 0)
            found.append(TermMatch(word=word, term=term, df=df, chunk_count=50, found_in=has))
        return found

    model = embedder or Weighing(**weights)
    evidence = examine(question, hits(*texts), embedder=model, match_terms=match)
    assert evidence is not None
    return evidence


def test_a_generic_word_that_no_document_has_refuses_nothing() -> None:
    found = look("error E17 mean", "E17: the tray is open.", e17=5, error=1, mean=0.5)
    assert found.lacking == [] and found.is_enough
    assert found.missing == ["error"]  # "mean" says what is asked, not of what
    assert look("phone number hotline", "The hotline: 55 02.", phone=5, number=5).missing == []
    assert look("telefonnummer der firma", "Firma: Telefon 5502.", telefonnummer=5).missing == []


def test_steps_are_what_is_wanted_and_need_not_be_named() -> None:
    text = "Logs of hosts are split by a program."
    assert look("Steps to split the logs of hosts", text, steps=5).lacking == []
    assert look("Stairs to split the logs of hosts", text, stairs=5).lacking == ["Stairs"]


def test_a_weekday_is_no_name() -> None:
    assert find_names("Who is there on Saturday and in May?") == {"May?"}
    assert find_names("Which dose for a 10-year-old?") == set() != find_names("Which R-134a?")


def test_the_word_that_the_meaning_hangs_on_refuses_where_no_document_has_it() -> None:
    texts = "The vaccine against fever is given once.", "Fever is a rise of temperature."
    found = look("vaccine against yellow fever", *texts, yellow=5, vaccine=2, fever=2)
    assert found.lacking == ["yellow"] and not found.is_enough
    assert found.missing[0] == "yellow"
    light = look("vaccine against severe fever", *texts, severe=0.5, vaccine=2, fever=2)
    assert light.lacking == [] and light.is_enough


@pytest.mark.parametrize(
    ("word", "text", "stands"),
    [
        ("P-300", "The hotel has 300 rooms.", False), ("P-300", "the P-300.", True),
        ("P-300", "type P 300", True), ("P-300", "the P300", True), ("P300", "the P-300", True),
        ("BW-500", "BW500", True), ("V-9", "V-7 and 9", False), ("300", "A 300 page", True),
    ],
)  # fmt: skip
def test_the_parts_of_an_identifier_stand_together(word: str, text: str, stands: bool) -> None:
    assert stands_in(word, text) == stands


def test_an_identifier_of_which_documents_have_the_parts_alone_refuses() -> None:
    texts = ["The pump P-100 costs 80 euros.", "The hotel has 300 rooms."]
    assert look("What does the pump P-300 cost?", *texts).lacking == ["P-300"]
    assert look("What does the pump P-100 cost?", *texts).lacking == []


@pytest.mark.parametrize(
    ("question", "lacking"),
    [
        ("Who is the landlord of the depot in Riga?", ["landlord"]),
        ("Who is the keeper of the depot in Riga?", []),
        ("What is the purpose of the depot in Riga?", []),
        ("Wer ist der Vermieter der Halle in Riga?", ["Vermieter"]),
    ],
)
def test_who_is_asked_for_is_somebody_that_a_document_speaks_of(
    question: str, lacking: list[str]
) -> None:
    texts = ["The keeper of the depot in Riga opens the Halle at nine.", "Trams stop at two."]
    assert look(question, *texts, riga=5).lacking == lacking


def test_a_head_is_not_lacking_where_a_word_of_the_passages_is_as_near_as_a_synonym() -> None:
    class Synonyms(Weighing):
        def embed_query(self, text: str) -> Vectors:
            return super().embed_query("lift" if text == "elevator" else text)

    page = "The lift is cleaned on Mondays."
    question = "the elevator is cleaned on Mondays"
    assert look(question, page, elevator=5).lacking == ["elevator"]
    assert look(question, page, embedder=Synonyms(elevator=5)).lacking == []
    assert look(question, "Stairs are cleaned.", embedder=Synonyms(elevator=5)).lacking != []
    named = look("the Elevator is cleaned on Mondays", page, embedder=Synonyms(elevator=5))
    assert named.lacking == ["Elevator"]


def test_a_word_that_another_document_has_is_no_lacking_head() -> None:
    found = look("big file", "A file is sent in parts.", elsewhere=["big"], big=3)
    assert found.lacking == [] and found.missing == ["big"]


def test_an_identifier_that_the_passages_have_stands_for_what_is_asked() -> None:
    found = look("sheets of the TN2420", "The TN2420 yields 3,000 pages.", sheets=5, tn2420=3)
    assert found.lacking == []


@pytest.mark.parametrize(
    ("question", "lacking"),
    [
        ("pages that the TN3480 yields", ["TN3480"]),
        ("does the yield of Kotlin pages differ", ["Kotlin"]),
        ("pages that max_pages yields", ["max_pages"]),
        ("the yield of print.pages in the a.m.", ["print.pages"]),
        ("Pages That Many Cartridges Yield", []),  # a title, where capitals tell nothing
        ("Kartridges yield pages", []),  # the first word has a capital in any case
    ],
)
def test_names_and_identifiers_that_no_document_has_refuse(
    question: str, lacking: list[str]
) -> None:
    page = "The TN2420 yields 3,000 pages of text, and the pages yield to nobody."
    assert look(question, page, pages=3, yield_=3).lacking == lacking


def test_nouns_of_a_language_that_gives_all_a_capital_are_no_names() -> None:
    assert find_names("Wie hoch ist der Preis der Lampe im Jahr 2024?") == {"2024?"}
    assert find_names("How high is the Preis of the lamp in 2024?") == {"Preis", "2024?"}


def test_in_german_a_noun_is_what_the_meaning_hangs_on() -> None:
    texts = "Die Impfung gegen Fieber ist einmalig.", "Das Fieber ist eine Erhöhung der Temperatur."
    found = look("Was ist die Impfung gegen hohes Fieber", *texts, hohes=5, impfung=2, fieber=2)
    assert found.lacking == []
    found = look("Was ist die Impfung gegen Rotes Fieber", *texts, rotes=5, impfung=2, fieber=2)
    assert found.lacking == ["Rotes"]


def test_a_name_in_an_english_question_to_german_texts_refuses() -> None:
    texts = "Die Lampe leuchtet, und das Papier kommt aus dem Fach in den Drucker.", "The per diem"
    assert look("the per diem for Portugal", *texts).lacking == ["Portugal"]
    assert look("Wie hoch ist das Tagegeld", *texts).lacking == []


def test_a_name_is_no_other_form_of_a_word_and_may_be_a_slip() -> None:
    assert look("pip installs from Perforce", "Pip will perform all installs.").lacking == [
        "Perforce"
    ]
    assert look("exports of a graph to Graphviz", "A graph has exports.").lacking == ["Graphviz"]
    assert look("how Gunicron starts", "Gunicorn starts.").lacking == []


def test_identifiers_stand_in_a_text_in_one_piece() -> None:
    assert (
        is_identifier("E17")
        and is_identifier("cache_size")
        and is_identifier("3.1")
        and not is_identifier("E-Mail")
    )
    assert stands_in("TN-2420?", "The TN 2420 lasts.") and not stands_in("TN-2420", "TN-2410: 2420")
    assert stands_in("3.1", "since 3.1.4") and not stands_in("3.1", "since 13.1")


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("Beausejour?", "The fort of Beauséjour fell."),
        ("Müller", "Herr Muller kam."),
        ("10000", "It has 10,000 parts."),
        ("1.250.000", "It has 1250000 parts."),
        ("10000", "It has 10\u202f000 parts."),
        ("wifi", "The Wi-Fi is free."),
        ("Wi-Fi", "The wifi is free."),
    ],
)
def test_names_and_numbers_are_met_as_they_are_written_elsewhere(word: str, text: str) -> None:
    assert stands_in(word, text) and word not in look(f"fort {word} fell", text).lacking
    assert not stands_in("10000", "It has 10,00 parts of 1,000.") and not stands_in("?", text)
    assert not stands_in("120", "in 1-20 days")


def test_a_question_in_another_language_is_decided_by_meaning_alone() -> None:
    found = look("wie lange backups", "Kept for two weeks.", lange=3)
    assert found.lacking == [] and found.coverage == 0


class Bilingual(WordEmbedder):
    """Knows some German words by their English ones, and is nearer to text in one language."""

    known: Mapping[str, str] = {
        "fressen": "eat", "katzen": "cats", "trinken": "drink", "hunde": "dogs",
    }  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self.fingerprint = "bilingual"

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        parts = [words(text) for text in texts]
        meant = [" ".join(self.known.get(word, word) for word in part) or "-" for part in parts]
        german = [not {"der", "sie", "was", *self.known}.isdisjoint(part) for part in parts]
        language = 0.4 * np.array([[is_so, not is_so] for is_so in german], np.float32)
        found = np.hstack([super().embed_documents(meant)[:, :-2], language])
        vectors: Vectors = found / np.linalg.norm(found, axis=1, keepdims=True)
        return vectors


def test_nouns_of_another_language_than_the_documents_are_no_names_that_they_lack() -> None:
    page = hits("The cats of the house eat mice.", "It is a day of rain.")
    spread = CosineSpread(mean=0.15, spread=0.1)

    def look_for(question: str, spread: CosineSpread | None) -> Evidence:
        found = examine(question, page, embedder=Bilingual(), spread=spread)
        assert found is not None
        return found

    found = look_for("Was fressen Katzen?", spread)
    assert found.lacking == [] and found.is_enough
    assert not look_for("Was trinken Hunde?", spread).is_enough
    assert look_for("Was fressen Katzen?", None).lacking == []
    assert look_for("What do Katzen of the house eat?", spread).lacking == ["katzen"]


def test_a_question_whose_words_all_stand_somewhere_is_embedded_alone() -> None:
    asked: list[Sequence[str]] = []

    class Counting(Weighing):
        def embed_documents(self, texts: Sequence[str]) -> Vectors:
            asked.append(texts)
            return super().embed_documents(texts)

    page = hits("Pandas eat bamboo.")
    for question, parts in (
        ("pandas eat", 0),
        ("pandas eat eggs", 4),
        ("eggs", 2),
        (" ".join(f"egg{n}" for n in range(40)), 0),  # no time without bound for long ones
    ):
        asked.clear()
        examine(question, page, embedder=Counting())
        (texts,) = [call for call in asked if page[0].content in call]
        assert len([t for t in texts if t not in (page[0].content, "")]) == parts
