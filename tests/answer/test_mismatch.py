"""A passage that is near to a question and has no value of the kind, or of the year, asked for."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from passages import WordEmbedder, hit

from rag_pg.answer.extractive.answer import answer_extractive
from rag_pg.answer.reading.question_kind import asks_when

TABLE = "| Engine | Torque | Mass |\n|---|---|---|\n| Rook | 90 | 41 |\n| Heron | 120 | 55 |"
REPORT = "The harvest of 2016 was 310 tonnes of barley."


def reason(question: str, *contents: str) -> str:
    """Why it is refused; "": it is answered."""
    found = [hit(text, number=number) for number, text in enumerate(contents, 1)]
    got = answer_extractive(question, found, embedder=WordEmbedder())
    assert got.found or got.reason
    return "" if got.found else got.reason


def test_a_number_is_in_a_row_with_figures() -> None:
    desks = "| Desk | Extension |\n|---|---|\n| Payroll | 4312 |\n| Parking | 4205 |"
    assert not reason("What is the number of the Payroll desk?", desks)
    names = desks.replace("4312", "Miriam").replace("4205", "Tom")
    assert "no number" in reason("What is the number of the Payroll desk?", names)


def test_a_question_about_a_row_alone_is_answered_by_it() -> None:
    assert not reason("What is the Heron?", TABLE)


@pytest.mark.parametrize(
    ("question", "without", "told"),
    [
        ("What colour is the Heron?", "The Heron engine is loud.", "The Heron engine is dark red."),
        ("Welche Farbe hat der Heron?", "Der Heron ist laut.", "Der Heron ist grün."),
        ("What is the phone number of the depot?", "The depot opens at 9 in May.",
         "The depot: call 0341 / 55 02."),
        ("What is the email address of the depot?", "The depot answers each email.",
         "The depot: depot@rail.example."),
        ("What is the price of the Heron?", "The Heron has 12 seats.", "The Heron: 12 euros."),
        ("Was ist der Preis des Heron?", "Der Heron wiegt 12 kg.", "Der Heron kostet 12 Euro."),
        ("What is the price of the Heron?", "# Engines\n\n- Heron: 12 seats",
         "# Prices\n\n- Heron: 12"),
        ("What is the price of the Heron?",
         "| Engine | Seats |\n|---|---|\n| Heron | 12 |\n| Plover | 9 |",
         "| Engine | Price |\n|---|---|\n| Heron | 12 |\n| Plover | 9 |"),
        ("What does the Heron cost in winter?",
         "Seats of engines.\n\n| Engine | Summer | Winter |\n|---|---|---|\n"
         "| Rook | 9 | 7 |\n| Plover | 8 | 6 |\n| Heron | 12 | 8 |",
         "Euros for engines.\n\n| Engine | Summer | Winter |\n|---|---|---|\n"
         "| Rook | 9 | 7 |\n| Plover | 8 | 6 |\n| Heron | 12 | 8 |"),
    ],
)  # fmt: skip
def test_what_is_asked_by_its_kind_is_in_the_answer(question: str, without: str, told: str) -> None:
    assert "the nearest passage has no " in reason(question, without)
    assert not reason(question, told)
    assert not reason(question, without, told)


@pytest.mark.parametrize(
    ("question", "without", "told"),
    [
        ("When is the harvest of barley?", "The harvest of barley takes all hands and 3 carts.",
         "The harvest of barley: 4 July, if it is dry."),
        ("How long is the Heron?", "The Heron is long and narrow.", "The Heron is 9 metres long."),
    ],
)  # fmt: skip
def test_a_passage_with_the_value_goes_before_a_nearer_one_without(
    question: str, without: str, told: str
) -> None:
    found = [hit(without, number=1), hit(told, number=2)]
    answer = answer_extractive(question, found, embedder=WordEmbedder())
    assert answer.citations[0].chunk_id == found[1].chunk_id


def test_a_condition_asks_for_no_time() -> None:
    assert asks_when("Since when is the barn locked?") and asks_when("when does it open")
    assert not asks_when("How do I lock the barn when testing?")


def test_a_passage_of_another_year_is_no_answer() -> None:
    other = "The barn was built in 2012."
    told = "the nearest passage is of 2016, not of 2012"
    assert told in reason("How much was the harvest of barley in 2012?", REPORT, other)
    assert not reason("How much was the harvest of barley in 2016?", REPORT, other)


@pytest.mark.parametrize(
    ("question", "titles", "is_told"),
    [
        ("What was a hotel allowed to cost in 2023?", ("Travel", "Travel"), True),
        ("What was a hotel allowed to cost in 2021?", ("Travel", "Travel"), False),
        ("What was a hotel allowed to cost in 2023?", ("Travel 2022", "Travel 2025"), False),
    ],
)
def test_an_edition_holds_until_the_next_and_a_report_for_its_year(
    question: str, titles: Sequence[str], is_told: bool
) -> None:
    found = [
        hit(f"A hotel may cost {euros} euros a night.", number=n, title=title, uri=f"{year}.md")
        for n, (title, year, euros) in enumerate(
            zip(titles, (2022, 2025), (95, 120), strict=True), 1
        )
    ]
    got = answer_extractive(question, found, embedder=WordEmbedder())
    assert got.found == is_told
    assert not is_told or "95" in got.citations[0].quote


@pytest.mark.parametrize(
    ("question", "content"),
    [
        ("How much was the harvest since 2012?", REPORT),
        ("How high is the toll in 2012?", "From 2010 on the toll is 4 euros."),
        ("How high was the toll in 2012?", "The toll was 4 euros in 2010 and in 2014."),
        ("How many goals in 2012?", "In the season of 2011/12 there were 40 goals."),
    ],
)
def test_years_that_a_passage_spans_are_its_own(question: str, content: str) -> None:
    assert not reason(question, content, "The barn was built in 2012.")


@pytest.mark.parametrize(
    ("question", "content", "is_told"),
    [
        ("How many seats does the tram have?", "Seats in the tram are kept for £3.", False),
        ("How many seats does the tram have?", "The tram of 2019 has seats of wood.", False),
        ("How many seats does the tram have?", "1. Seats of the tram open at 10:30.", False),
        ("How many seats does the tram have?", "The tram has 34 wooden seats.", True),
        ("How many seats does the tram have?", "Seats of the tram: 34", True),
        ("How many seats does the tram have?", "The tram has no seats.", True),
        ("How many seats does the tram have?", "| Tram | Seats |\n|---|---|\n| Red | 34 |", True),
        ("How many seats of the tram are there?", "Seats of the tram:\n\n- red\n- blue", True),
        ("How many seats does the tram have?", "- tram: It is red.\n- bus: It is blue.", False),
        ("How many people sit in the tram?", "34 pupils sit in the tram.", True),
        ("How many people sit in the tram?", "Pupils sit in the tram.", False),
        ("How many weeks does the tram need?", "The tram needs 9 days.", True),
        (
            "How many silos has the farm?",
            "Silos are kept. There can only be four of them.",
            True,
        ),
        ("How many silos has the farm?", "Silos of the farm are old; 22 are leaking.", True),
        ("How many silos has the farm?", "Silos of the farm are old; 22 carts are leaking.", False),
    ],
)
def test_how_many_is_told_beside_what_is_counted(
    question: str, content: str, is_told: bool
) -> None:
    assert ("not say how many" in reason(question, content)) is not is_told


def test_what_rows_of_a_sheet_have_may_be_counted() -> None:
    sheet = (
        "- Dish: Stew; Vegan: yes; Price: 4 euros\n- Dish: Pie; Vegan: on request; Price: 9 euros"
    )
    assert not reason("How many dishes are vegan?", sheet)
    assert "how many guests" in reason("How many guests are vegan?", sheet)


HUTS = {
    "Black Lake Hut": "The hut is kept all year. Showers cost 4 euros, and a shower is warm.",
    "Raven Hut": "The Raven Hut has forty beds. It is kept by Lena Foss. Dogs wait in the shed.",
}


@pytest.mark.parametrize(
    ("question", "of"),
    [
        ("What does a shower cost at the Raven Hut?", None),
        ("What does a shower cost at the Black Lake Hut?", "Black Lake Hut"),
        ("What does a shower cost at a hut?", "Black Lake Hut"),
        ("What does a shower cost at the Black Lake Hut and the Raven Hut?", "Black Lake Hut"),
    ],
)
def test_a_passage_of_another_thing_than_a_document_is_named_by_is_no_answer(
    question: str, of: str | None
) -> None:
    found = [hit(text, number=n, title=title) for n, (title, text) in enumerate(HUTS.items(), 1)]
    got = answer_extractive(question, found, embedder=WordEmbedder())
    assert (got.citations[0].title if got.found else None) == of
    assert got.found or got.reason == "the nearest passage is of Black Lake Hut, not of Raven Hut"


def test_the_document_that_a_question_names_comes_before_another_of_its_kind() -> None:
    lake = hit("Who keeps the hut: the keeper keeps it.", title="Black Lake Hut")
    raven = hit("It has beds. It is Lena who keeps the place.", number=2, title="Raven Hut")
    question = "Who keeps the Raven Hut?"
    got = answer_extractive(question, [lake, raven], embedder=WordEmbedder())
    assert got.citations[0].title == "Raven Hut"


@pytest.mark.parametrize(
    "question",
    [
        "What is the price of a bed in the hut?",
        "What are the Prices of a bed in the Hut?",
        "Was ist der Preis of a bed, in Hut Prices?",
    ],
)
def test_what_another_title_has_is_no_name_where_it_is_a_common_word(question: str) -> None:
    rules = hit("Guests bring a bag. A bed costs 20 euros for members.", title="Hut rules")
    prices = hit("Soup is 6 euros, tea is 2 euros.", number=2, title="Hut prices")
    got = answer_extractive(question, [rules, prices], embedder=WordEmbedder())
    assert "not of Hut prices" not in got.reason


@pytest.mark.parametrize(
    ("decade", "is_told"),
    [("1700s", True), ("1680s", True), ("1690s", False), ("1800s", False), ("1680er", True)],
)
def test_a_decade_or_century_is_known_by_its_years(decade: str, is_told: bool) -> None:
    text = "The Huguenots fled to the towns in 1685 and in 1705 to the villages, 1,890 of them."
    assert (not reason(f"Where did the Huguenots flee to in the {decade}?", text)) is is_told
