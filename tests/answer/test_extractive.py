"""Answers made of the documents' own text: one passage, its marked sentence, further sources."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from fakes import WordReranker
from hypothesis import example, given
from hypothesis import strategies as st
from passages import Broken, WordEmbedder, around, hit, hits

from rag_pg.answer.extractive.answer import NOT_FOUND, answer_extractive
from rag_pg.answer.reading.display import display
from rag_pg.answer.reading.identifiers import Identifiers
from rag_pg.answer.reading.passage import Page, following_code, window
from rag_pg.answer.reading.question_kind import has_number, question_kind
from rag_pg.answer.reading.term_match import compare_meaning, find_words, is_one_slip
from rag_pg.search import Scorer
from rag_pg.text import split_sentences
from rag_pg.types import Answer, CosineSpread, Hit, TermMatch, Usage, Vectors

PASSWORD = hit(
    "# Accounts\n\nAn account belongs to one person. To **reset your password**, open "
    "[Settings](s.md) and choose *Reset*. The mail takes a minute. Passwords expire yearly.",
    title="Handbook",
    heading="Accounts > Passwords",
    uri="handbook.md",
)
LUNCH = hit("Lunch is served at noon. The canteen closes at two.", number=2, title="Canteen")
RESET = "**To reset your password, open Settings and choose Reset.** [1]"


@pytest.fixture(params=[0.0, 1.5], ids=["cosines from 0", "cosines near 1"])
def embedder(request: pytest.FixtureRequest) -> WordEmbedder:
    return WordEmbedder(request.param)


def ask(question: str, *contents: str | Hit, text: str | None = None) -> Answer:
    found = [
        hit(c, number=number) if isinstance(c, str) else c for number, c in enumerate(contents, 1)
    ]
    read = None if text is None else lambda chunk_id: around(text)
    return answer_extractive(question, found, embedder=WordEmbedder(), read_around=read)


# --- the whole answer ----------------------------------------------------------------------------


def test_passage_stands_under_its_headings_with_the_answering_sentence_marked(
    embedder: WordEmbedder,
) -> None:
    got = answer_extractive("How do I reset my password?", [LUNCH, PASSWORD], embedder=embedder)
    assert got.text == (
        "Handbook › Accounts › Passwords\n\n"
        f"An account belongs to one person. {RESET} The mail takes a minute. "
        "Passwords expire yearly."
    )
    assert (got.found, got.model, got.usage, list(got.notes)) == (True, "extractive", Usage(), [])
    (citation,) = got.citations
    assert (citation.number, citation.uri, citation.title) == (1, "handbook.md", "Handbook")
    assert citation.quote == "To **reset your password**, open [Settings](s.md) and choose *Reset*."


def test_a_question_for_a_fact_gets_the_paragraph_of_its_sentence_first() -> None:
    before = replace(PASSWORD, content=PASSWORD.content.replace("An acc", "Read this.\n\nAn acc"))
    got = ask("Where can I reset my password?", before)
    shown = got.text.split("\n\n")[1]
    assert shown.startswith(f"An account belongs to one person. {RESET}")


def test_nothing_that_fits_is_said_with_the_nearest_document(embedder: WordEmbedder) -> None:
    got = answer_extractive("Which vaccines does Thailand require?", [PASSWORD], embedder=embedder)
    assert (got.found, list(got.citations)) == (False, [])
    assert got.text == f"{NOT_FOUND} The nearest is “Handbook”."


def test_no_hits_are_not_found(embedder: WordEmbedder) -> None:
    got = answer_extractive("Why?", [], embedder=embedder)
    assert (got.found, got.text) == (False, NOT_FOUND)


@pytest.mark.parametrize("broken", [None, Broken()])
def test_words_alone_answer_without_an_embedder(broken: WordEmbedder | None) -> None:
    got = answer_extractive("How do I reset my password?", [PASSWORD, LUNCH], embedder=broken)
    assert RESET in got.text
    noted = [] if broken is None else ["sentences were compared by their words alone: slow down"]
    assert list(got.notes) == noted
    assert not answer_extractive("Which vaccines are due?", [PASSWORD], embedder=broken).found


def test_error_that_is_not_the_providers_is_not_hidden() -> None:
    class Wrong(WordEmbedder):
        def embed_query(self, text: str) -> Vectors:
            raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        answer_extractive("reset password", [PASSWORD], embedder=Wrong())


def test_two_further_sources_are_named_with_their_best_sentence() -> None:
    pages = [hit(f"Pandas {what}. Rain fell.", number=n, title=f"Zoo {n}") for n, what in
             enumerate(("eat bamboo", "eat eggs", "eat fruit", "eat grass"), 1)]  # fmt: skip
    got = answer_extractive("What do pandas eat?", pages, embedder=WordEmbedder())
    first, *further = got.text.split("\n\n")[1:]
    assert first == "**Pandas eat bamboo.** [1] Rain fell."
    assert further == [
        "Zoo 2: Pandas eat eggs. Rain fell. [2]",
        "Zoo 3: Pandas eat fruit. Rain fell. [3]",
    ]
    assert [c.chunk_id for c in got.citations] == [1, 2, 3]
    assert got.citations[1].quote == "Pandas eat eggs. Rain fell."


def test_a_source_that_says_nothing_to_the_question_is_not_named() -> None:
    got = ask("How do I reset my password?", PASSWORD, LUNCH)
    assert "Canteen" not in got.text and len(got.citations) == 1


def test_a_source_that_says_less_than_the_first_one_is_not_named() -> None:
    less = hit("Some pandas are grey. Rain fell.", number=2, title="Colours")
    got = ask("What do pandas eat?", hit("Pandas eat bamboo.", title="Zoo"), less)
    assert [c.title for c in got.citations] == ["Zoo"]


def test_a_sentence_is_compared_under_its_heading() -> None:
    page = "## Bamboo\n\nThey like it.\n\n## Pandas eat\n\nOnly when awake, at dawn."
    got = ask("What do pandas eat?", page)
    assert got.citations[0].quote == "Only when awake, at dawn."


def test_every_sentence_of_the_best_passages_is_compared() -> None:
    compared: list[str] = []

    class Noting(WordEmbedder):
        def embed_documents(self, texts: Sequence[str]) -> Vectors:
            compared.extend(texts)
            return super().embed_documents(texts)

    pages = hits(*(f"Fact {n} is one. Rain {n} fell. Snow {n} lies. Fog {n} came." for n in "123"))
    answer_extractive("fact", pages, embedder=Noting())
    counts = [sum(text in page.content for text in compared) for page in pages]
    assert counts == [4, 4, 1]


def test_one_other_section_of_the_same_document_may_be_named() -> None:
    page = [
        hit(f"Pandas eat {what}.", number=1, title="Zoo", heading=what)
        for what in ("bamboo", "eggs", "fruit")
    ]
    got = answer_extractive("What do pandas eat?", page, embedder=WordEmbedder())
    assert [c.heading for c in got.citations] == ["bamboo", "eggs"]


@pytest.mark.parametrize(
    ("question", "row"),
    [
        ("What is the gross price of KX-231?", "KX-231 Teapot with strainer 46.22 55.00"),
        ("What is the net price of KX-100?", "KX-100 Bowl, blue 14.20 16.90"),
        ("What is the gross price of the pitcher?", "KX-220 Pitcher, large 29.41 35.00"),
    ],
)
def test_a_short_row_of_figures_is_no_label_and_that_of_the_code_answers(
    question: str, row: str
) -> None:
    prices = (
        "Price list 2026\nArticle Net Gross\nKX-100 Bowl, blue 14.20 16.90\n"
        "KX-220 Pitcher, large 29.41 35.00\nKX-231 Teapot with strainer 46.22 55.00\n"
        "KX-404 Garden urn for the terrace, frost-proof 125.21 149.00\n"
        "Shipping is free from 80 euros."
    )
    assert f"**{row}** [1]" in ask(question, prices).text


def test_a_section_of_another_version_does_not_answer() -> None:
    notes = (
        "## 4.2.0 – 12 May 2025\n\n- New: alarms by SMS.\n\n"
        "## 4.0.0 – 9 September 2024\n\n- What is new in PumpControl: it is licensed per site.\n"
    )
    got = ask("What is new in PumpControl 4.2.0?", hit(notes, title="PumpControl"))
    assert "**New: alarms by SMS.** [1]" in got.text and "**What" not in got.text


def test_a_line_with_a_number_alone_heads_what_stands_below_it() -> None:
    says = {
        1: "Leave is thirty days.",
        3: "Leave is paid.",
        4: "It may be long.",
        14: "Leave ends.",
    }
    text = "\n\n".join(f"Article {n}\n{said}" for n, said in says.items())
    assert ask("What does article 4 say on leave?", text).citations[0].quote == says[4]
    assert ask("What does article 14 say on leave?", text).citations[0].quote == says[14]


def test_a_numbered_title_is_no_answer() -> None:
    minutes = "1. New warehouse\nThe site of the warehouse is Halle.\n\n2. Party\nIt is in July."
    got = ask("Where will the new warehouse be?", minutes).text
    assert "**The site of the warehouse is Halle.** [1]" in got and "**New" not in got
    assert "**Rinse it.** [1]" in ask("What to rinse it with?", "1. Fill it\n2. Rinse it.").text


def test_a_sentence_of_another_number_is_not_marked_beside_the_answer() -> None:
    errors = "Error 691: the password of the tunnel is wrong. Error 809: the tunnel is blocked."
    got = ask("What does error 809 of the tunnel mean?", errors).text
    assert "**Error 809: the tunnel is blocked.** [1]" in got and "**Error 691" not in got


def test_two_things_are_compared_by_what_is_asked() -> None:
    small = hit("The NF-200 is red. Its noise is 38 decibels.", title="NF-200")
    large = hit("The NF-350 is blue. The NF-200 is not. The noise is 41 decibels.", number=2,
                title="NF-350")  # fmt: skip
    got = ask("What is the difference in noise between the NF-200 and the NF-350?", small, large)
    assert "**Its noise is 38 decibels.** [1]" in got.text
    assert "**The noise is 41 decibels.** [2]" in got.text
    got = ask("What is the difference between the NF-200 and the NF-350?", small, large)
    assert "**The NF-200 is red.** [1]" in got.text and "**The NF-350 is blue.** [2]" in got.text


def test_a_document_of_another_type_is_no_further_source() -> None:
    pumps = [
        hit(f"The BW-300 pump weighs {kg} kg.", number=number, title=f"BW-{number}00 manual")
        for number, kg in ((3, 5), (5, 9))
    ]
    assert len(ask("What does the BW-300 pump weigh?", *pumps).citations) == 1


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("BW-300", {"BW-300"}), ("Is version 4.2.0 out?", {"4.2.0"}),
        ("What does error 809 mean?", {"error 809"}), ("Was it sold in 2024?", set()),
        ("Is A4 paper allowed?", {"A4"}), ("Who opens room 12?", {"room 12"}),
        ("What says §5?", {"§ 5"}), ("Wer wohnt in Nr. 12?", {"Nr 12"}), ("No. 7?", {"No 7"}),
    ],
)  # fmt: skip
def test_codes_of_a_question(question: str, found: set[str]) -> None:
    assert {name for name, *_ in Identifiers.of(question).forms} == found


@pytest.mark.parametrize(
    ("question", "text", "is_another"),
    [
        ("BW-300?", "the BW-500", True), ("BW-300?", "the BW-500 and bw-300", False),
        ("BW-300?", "the BW-3000-X", False), ("4.2.0?", "4.1.3 – May", True),
        ("4.2.0?", "on 4.2", False), ("error 809?", "Error\n691: no", True),
        ("error 809?", "809 is new", False), ("pump?", "BW-500", False),
        ("pump 70?", "Pump 700", True), ("pump 70?", "Pump: 70", False), ("Nr 7?", "Nr. 77", True),
        ("§ 5?", "§15", True), ("§ 5?", "§5", False), ("floor 5?", "Floors 1–3", True),
        ("floor 5?", "Floors 4 to 6", False), ("floor 5?", "4 to 6", False),
        ("season 2021?", "Season 2021-22", False),
    ],
)  # fmt: skip
def test_another_code_of_the_form_that_is_asked_for(
    question: str, text: str, is_another: bool
) -> None:
    assert Identifiers.of(question).differ_in(text) == is_another


def test_the_greeting_of_a_mail_is_no_part_of_its_answer() -> None:
    mail = "Dear all,\n\nit was held at customs, but batch 88 will arrive on 22 April.\n\nInes"
    delivery = hit(mail, title="Re: Delivery of glaze batch 88")
    got = ask("When is the delivery of glaze batch 88?", delivery).text
    assert "batch 88 will arrive on 22 April.** [1]" in got and "**Dear" not in got


def test_question_in_a_document_is_answered_by_what_follows() -> None:
    faq = "How do I reset my password?\n\nPress the green button.\n\nOther things follow."
    got = ask("How do I reset my password?", faq)
    assert "How do I reset my password?\n\n**Press the green button.** [1]" in got.text


@pytest.mark.parametrize("asked", ["What is a path parameter?", "what is the path parameter"])
def test_a_heading_that_asks_within_a_chunk_is_answered_by_what_follows(asked: str) -> None:
    questions = (
        "## What is a path parameter?\n\nThe part of an address that changes.\n\n"
        "## What is a query parameter?\n\nWhatever stands behind the mark. It is no path parameter."
    )
    other = "A path parameter is declared here. Each path has a parameter."
    found = [hit(questions, title="Questions"), hit(other, number=2, title="Path")]
    got = ask(asked, *found, text=questions)
    assert got.citations[0].quote == "The part of an address that changes."


def test_reference_numbers_of_a_document_are_not_citations() -> None:
    assert ask("When did Rome fall?", "Rome did fall in 476.[7]").text == (
        "**Rome did fall in 476.** [1]"
    )


def test_chinese_is_answered(embedder: WordEmbedder) -> None:
    chinese = hit("数据库在凌晨备份。午餐在中午供应。")
    got = answer_extractive("数据库备份在什么时候？", [chinese], embedder=embedder)
    assert got.text.startswith("**数据库在凌晨备份。** [1]")


def test_german_words_are_found_in_other_forms() -> None:
    page = "Jedes Passwort wird jährlich geändert.\n\nDie Kantine öffnet um elf."
    got = answer_extractive("Wann öffnet die Kantine?", hits(page), embedder=None)
    assert got.text == "**Die Kantine öffnet um elf.** [1]"


@pytest.mark.parametrize(
    ("asked", "told", "meant"),
    [
        ("geprüft", "Prüfung", "Prüfung"), ("Kündigung", "gekündigt", "gekündigt"),
        ("zahlst", "Zahlung", "Zahlung"), ("geprüft", "Prüfgerät", "geprüft"),
        ("getan", "Tanung", "getan"), ("yours", "young", "yours"),
    ],
)  # fmt: skip
def test_a_german_verb_is_found_by_its_noun(asked: str, told: str, meant: str) -> None:
    page = f"Leiter: {told} im Februar."
    assert find_words(f"Leiter {asked}?", [page], None).question == f"Leiter {meant}?"


def test_a_question_how_much_wants_a_number() -> None:
    priced = ask("How much does the cloud cost?", "The cloud cost is 5 euros. It is new.")
    assert "**The cloud cost is 5 euros.**" in priced.text
    question = "How much does the cloud cost per month?"
    with_number = ask(question, "The cloud cost per month is 5. We like it.")
    without = ask(question, "The cloud cost per month is paid by them. We like it.")
    assert with_number.found and not without.found


@given(st.text(max_size=60), st.lists(st.text(max_size=200), max_size=4))
@example(question=":", contents=["0", "?"])
@example(question="0", contents=["0:\n\n- 0"])
def test_any_text_is_answered_or_not_found(question: str, contents: list[str]) -> None:
    got = answer_extractive(question, hits(*contents), embedder=WordEmbedder())
    assert got.found == bool(got.citations)
    for citation in got.citations:
        assert citation.quote in contents[citation.chunk_id - 1]
        assert f"[{citation.number}]" in got.text


# --- the passage ---------------------------------------------------------------------------------


def shown(text: str, best: int, *, limit: int = 200, lead: bool = False) -> str:
    page = Page.read(text)
    return page.show(window(page, [best], limit=limit, lead=lead))


def test_window_stays_in_the_section_of_the_sentence() -> None:
    text = "# A\n\nOne is here.\n\n## B\n\nTwo is here. Three is here.\n\n## C\n\nFour is here."
    assert shown(text, 2) == "Two is here. Three is here."


def test_a_short_section_takes_in_its_subsections() -> None:
    text = "## B\n\nTwo is here.\n\n### C\n\nThree is here.\n\n## D\n\nFour is here."
    assert shown(text, 0) == "Two is here.\n\nC\n\nThree is here."


def test_introduction_brings_its_list_beyond_the_limit() -> None:
    steps = "To install:\n\n- fetch it\n- start `it[0]`\n\nDone."
    assert shown(steps, 0, limit=20) == "To install:\n- fetch it\n- start `it[0]`"
    steps = "To install the server:\n\n- fetch it\n- start `it[0]`\n\nDone."
    got = ask("How do I install the server?", steps)
    assert got.text.startswith("**To install the server:** [1]\n- fetch it\n- start `it[0]`")


def test_numbers_of_a_list_and_its_levels_are_kept() -> None:
    assert shown("Do this:\n\n1. Fetch.\n    * quickly\n2. Start.", 0) == (
        "Do this:\n1. Fetch.\n  - quickly\n2. Start."
    )


def test_code_is_shown_whole_or_not_at_all() -> None:
    text = "Install it:\n\n```sh\nmake\n\nmake install\n```\n\nDone."
    assert shown(text, 0, limit=12) == "Install it:\n\n```sh\nmake\n\nmake install\n```"
    long = "First words.\n\n```sh\n" + "make\n" * 100 + "```"
    assert shown(long, 0, limit=60) == "First words.\n\n" + long.partition("\n\n")[2]
    longer = "First words.\n\n```sh\n" + "make\n" * 200 + "```"
    assert shown(longer, 0, limit=60) == "First words."


def test_no_passage_ends_with_a_colon_that_introduces_nothing() -> None:
    text = "First is here. Second is here. This follows:\n\n- " + "a long item " * 80
    assert shown(text, 0, limit=60) == "First is here. Second is here."


def test_a_list_that_does_not_fit_is_left_out_with_its_introduction() -> None:
    text = "First is here.\n\nThese follow:\n\n- one\n- two\n- three\n\nLast is here."
    assert shown(text, 0, limit=36) == "First is here."
    assert shown(text, 0, limit=60) == "First is here.\n\nThese follow:\n- one\n- two\n- three"


def test_code_that_a_chunk_cut_in_two_is_fenced_again() -> None:
    got = ask("install_server", "install_server(1)\n\nx = 2\n```\n\nThe end.")
    assert got.text.startswith("```\ninstall_server(1)\n\nx = 2\n```\n[1]")


def test_the_page_around_a_hit_is_shown_with_it() -> None:
    page = "## Files\n\nUpload many files at once.\n\nThey arrive as a list.\n\n## Other\n\nRain."
    got = ask("Where do I upload many files?", "Upload many files at once.", text=page)
    assert got.text == "Files\n\n**Upload many files at once.** [1]\n\nThey arrive as a list."


def test_a_how_to_without_code_goes_on_to_the_code_that_fits_best() -> None:
    page = (
        "## Settings file\n\nYou can read settings from a file.\n\n"
        "### The file\n\n```sh\nA=1\n```\n\n"
        "### Read the settings\n\nCall this:\n\n```python\nread()\n```\n"
    )
    got = ask("How do I read settings?", "You can read settings from a file.", text=page)
    assert got.text.endswith("Read the settings\n\nCall this:\n\n```python\nread()\n```")
    assert "A=1" not in got.text
    assert following_code(Page.read(page), 1, "file") == 2


@given(st.text(alphabet="ab#*-:`1. \n{}<>|?", max_size=300), st.integers(20, 300))
def test_a_window_holds_its_sentence_and_its_limit(text: str, limit: int) -> None:
    page = Page.read(text)
    for best in range(len(page.sentences)):
        span = window(page, [best], limit=limit, lead=False)
        assert best in span
        assert len(page.show(span)) <= limit + 1100 + len(display(page.sentences[best]))


# --- residue of markup ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("markdown", "plain"),
    [
        ("{* ../../docs_src/a.py hl[2] *}\n\nText.", "Text."),
        ("Text.\n\n{!../src/a.py!}", "Text."),
        ("/// tip | Note\n\nText.\n\n///", "Text."),
        ('!!! note "Note"\n\nText.', "Text."),
        (":::warning\nText.\n:::", "Text."),
        ('import Tabs from "@theme/Tabs";\n\n<Tabs>\n\nText.\n\n</Tabs>', "Text."),
        ("## Head { #head }\n\nText.", "Text."),
        ('--8<-- "a.md"\n\nText.', "Text."),
        ("[TOC]\n\nText.", "Text."),
        ("{{< note >}}\n\nText.", "Text."),
        ('<div class="termy">\n\nText.\n\n</div>', "Text."),
        ('The <abbr title="x">CLI</abbr> is <kbd>Q</kbd>.', "The CLI is Q."),
    ],
)
def test_residue_of_markup_is_not_shown(markdown: str, plain: str) -> None:
    assert [display(s) for s in split_sentences(markdown)] == [plain]


def test_colours_of_a_terminal_are_taken_out_of_code_and_tags_of_code_are_not() -> None:
    coloured = '```console\n$ <font color="#4E9A06">run</font> --it &amp; go\n```'
    (sentence,) = split_sentences(coloured)
    assert display(sentence) == "```console\n$ run --it & go\n```"
    page = "```html\n<b>bold</b> &amp; more\n```"
    (sentence,) = split_sentences(page)
    assert display(sentence) == page


# --- evidence ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "slip"),
    [
        ("recieve", "receive", True),
        ("embeding", "embedding", True),
        ("pasword", "password", True),
        ("passwort", "password", True),
        ("captcha", "capture", False),
        ("server", "sever", True),
    ],
)
def test_one_slip_is_a_letter_or_two_neighbours(one: str, other: str, slip: bool) -> None:
    assert is_one_slip(one, other) == is_one_slip(other, one) == slip


def test_a_typing_error_is_answered() -> None:
    got = ask("How do I reset my pasword?", PASSWORD)
    assert RESET in got.text


def test_a_word_that_the_collection_has_is_no_typing_error() -> None:
    asked: list[str] = []

    def match(question: str, texts: Sequence[str]) -> list[TermMatch]:
        asked.append(question)
        df = {"severs": 3, "recieve": 0, "receive": 5}
        return [
            TermMatch(word=w, term=w, df=df[w], chunk_count=10, found_in=[]) for w in
            question.split()
        ]  # fmt: skip

    find_words("severs recieve", ["servers receive"], match)
    assert asked == ["severs recieve", "severs receive"]


def test_rare_words_weigh_more_and_unknown_ones_most() -> None:
    terms = [
        TermMatch(word=w, term=w, df=df, chunk_count=100, found_in=[1])
        for w, df in (("common", 90), ("rare", 2), ("captcha", 0))
    ]
    found = find_words("common rare captcha", ["text"], lambda question, texts: terms)
    assert list(found.weights) == sorted(found.weights) and found.weights.sum() == pytest.approx(1)
    assert found.unknown == found.weights[2] and found.coverage(0) == pytest.approx(1)


def test_single_letters_and_function_words_are_no_unknown_words() -> None:
    terms = [
        TermMatch(word=w, term=w.lower(), df=df, chunk_count=9, found_in=[1] if df else [])
        for w, df in (("How", 0), ("do", 0), ("I", 0), ("reset", 2), ("\u5728\u4ec0", 0))
    ]
    found = find_words("How do I reset", ["Reset it."], lambda question, texts: terms)
    assert (found.unknown, found.coverage(0)) == (0, 1)


def test_a_single_digit_that_no_document_has_is_an_unknown_word() -> None:
    terms = [
        TermMatch(word="FG-8", term=term, df=df, chunk_count=9, found_in=[1] if df else [])
        for term, df in (("fg", 2), ("8", 0))
    ]
    assert not find_words("FG-8", ["FG-2"], lambda question, texts: terms).is_known("FG-8")


def test_a_compound_is_known_where_all_of_its_parts_are() -> None:
    terms = [
        TermMatch(word="zstd-level", term=term, df=df, chunk_count=9, found_in=[1] if df else [])
        for term, df in (("zstd", 0), ("level", 2))
    ]
    found = find_words("zstd-level", ["the level"], lambda question, texts: terms)
    assert not found.is_known("zstd-level") and not found.have("zstd-level", [0])


def test_words_that_the_collection_does_not_have_cost_evidence() -> None:
    page = "Clients with requests are welcome. Requests come by mail."
    question = "How do I throttle clients with requests?"

    def answered(df: int) -> bool:
        terms = [
            TermMatch(word="throttle", term="throttle", df=df, chunk_count=1000, found_in=[]),
            *(
                TermMatch(word=w, term=w, df=250, chunk_count=1000, found_in=[3])
                for w in ("clients", "requests")
            ),
        ]
        return answer_extractive(
            question, hits(page), embedder=None, match_terms=lambda q, texts: terms
        ).found

    assert answered(250) and not answered(0)


# --- the kind of a question ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How do I reset it?", "how_to"),
        ("how to reset it", "how_to"),
        ("Wie setze ich es zurück?", "how_to"),
        ("¿Cómo lo hago?", "how_to"),
        ("Comment faire ?", "how_to"),
        ("Как это сделать?", "how_to"),
        ("如何重置密码？", "how_to"),
        ("What are the steps of a reset?", "how_to"),
        ("list all steps", "how_to"),
        ("Welche Schritte gibt es?", "how_to"),
        ("What is CORS?", "definition"),
        ("Was ist CORS?", "definition"),
        ("Qu'est-ce que CORS ?", "definition"),
        ("How many are there?", "quantity"),
        ("For how long is it kept?", "quantity"),
        ("Wie viele gibt es?", "quantity"),
        ("有多少个？", "fact"),
        ("多少个？", "quantity"),
        ("Which one should I use?", "fact"),
        ("Does it work?", "fact"),
        # for a value, and no definition
        ("What does the service cost?", "quantity"),
        ("What is the maximum number of workers?", "quantity"),
        ("What is the price of the service?", "quantity"),
        ("What is the default port?", "quantity"),
        ("What is the default value of shared_buffers?", "fact"),
        ("What is the latest version?", "fact"),
        ("Was kostet das?", "quantity"),
        ("What is a port?", "definition"),
        ("What is the Number class?", "definition"),
        ("What does autovacuum do?", "definition"),
        ("", "fact"),
    ],
)
def test_kind_is_told_by_the_opening_words(question: str, kind: str) -> None:
    assert question_kind(question) == kind


def test_numbers_are_digits_and_small_words() -> None:
    assert has_number("It costs 5.") and has_number("a single process") and has_number("drei Tage")
    assert not has_number("It is cheap.")


def test_similarities_of_a_measured_space_are_those_of_the_space_that_was_squeezed() -> None:
    question, texts = "What do pandas eat?", ["Pandas eat bamboo.", "Lunch is at noon."]
    wide, narrow = WordEmbedder(), WordEmbedder(1.5)  # whose cosines are 1 - r + r * cosine
    r = 1 / (1 + 1.5**2)
    known = compare_meaning(question, texts, wide, CosineSpread(mean=0.1, spread=0.1)).near
    assert known[0] > 0.5 and known[1] == 0
    squeezed = CosineSpread(mean=1 - r + 0.1 * r, spread=0.1 * r)
    assert compare_meaning(question, texts, narrow, squeezed).near == pytest.approx(known, abs=1e-5)
    high = CosineSpread(mean=0.3, spread=0.1)  # texts of the collection are near to each other
    assert compare_meaning(question, texts, wide, high).near[0] == pytest.approx(
        known[0] - 1 / 6,
        abs=0.05,  # half of .2 in 6 spreads
    )


# --- a reranker decides ---------------------------------------------------------------------------


def reranked(
    question: str, *contents: str, act: Callable[[str, Sequence[str]], Any]
) -> tuple[Answer, WordReranker]:
    """The answer where the search has put hits into this order by a reranker."""
    reranker = WordReranker(act)
    found = [
        replace(hit(c, number=n), rerank_score=1.0 / n, score=0.1 * n)
        for n, c in enumerate(contents, 1)
    ]
    scorer = Scorer(reranker, 60)
    return answer_extractive(question, found, embedder=WordEmbedder(), scorer=scorer), reranker


BAMBOO = "Pandas are bears. They live on shoots of a grass. Nobody knows why pandas eat so slowly."
EATEN = "What pandas eat was asked in May. Pandas eat, pandas sleep, and pandas eat again."


def knows(query: str, texts: Sequence[str]) -> list[float]:
    """Of one who knows the answer, on a scale of its own."""
    return [-3.0 if "shoots of a grass" in text else -11.5 for text in texts]


def test_a_reranker_chooses_passage_and_sentence() -> None:
    plain = ask("What do pandas eat?", BAMBOO, EATEN)
    assert "**They live on shoots" not in plain.text
    got, reranker = reranked("What do pandas eat?", BAMBOO, EATEN, act=knows)
    assert "**They live on shoots of a grass.** [1]" in got.text and len(got.citations) == 1
    ((query, texts),) = reranker.seen
    assert query == "What do pandas eat?" and len(texts) == len(set(texts))


def test_a_reranker_refuses_what_is_no_better_than_text_about_something_else() -> None:
    assert ask("What do pandas eat?", EATEN).found
    got, _ = reranked("What do pandas eat?", EATEN, BAMBOO, act=lambda q, t: [-11.5] * len(t))
    assert not got.found
    assert got.reason == "words finds no passage better than text about something else"


def test_what_no_document_has_is_refused_whatever_a_reranker_finds() -> None:
    got, _ = reranked("What do pandas eat in Uzbekistan?", BAMBOO, act=knows)
    assert not got.found and "“uzbekistan”" in got.reason


@pytest.mark.parametrize("act", [lambda q, t: [1.0], lambda q, t: 1 / 0])
def test_a_reranker_that_fails_leaves_the_choice_and_a_note(act: Any) -> None:
    got, _ = reranked("What do pandas eat?", EATEN, BAMBOO, act=act)
    assert got.found and any("chosen without the reranker: words" in note for note in got.notes)


@pytest.mark.parametrize("seed", range(5))
def test_any_scores_give_an_answer_or_a_refusal(seed: int) -> None:
    chance = np.random.default_rng(seed)
    got, _ = reranked(
        "What do pandas eat?", BAMBOO, EATEN, act=lambda q, t: chance.normal(0, 10**seed, len(t))
    )
    assert got.found == bool(got.citations)


STATUTES = """\
STATUTES OF THE CHOIR

§ 1 Name. The choir sings in Alder Hall.
§ 2 Dues. Every singer pays nine euro a month. Children sing free.
§ 3 Scores are lent for one season.
§ 4 The board. It has three members.
"""
LEASE = """\
LEASE OF A BARN

1. USE
1.1 The barn is for hay.
1.2 Engines are forbidden.

2. END
2.1 The lease ends with two months' notice.
2.2 Keys are handed over then.

3. WATER
3.1 The well is shared.
"""


@pytest.mark.parametrize(
    ("question", "text", "passage"),
    [
        (
            "What does every singer pay a month?",
            STATUTES,
            "§ 2 Dues. **Every singer pays nine euro a month.** [1] Children sing free.",
        ),
        (
            "Which months' notice ends the lease?",
            LEASE,
            "2. END  \n**2.1 The lease ends with two months' notice.** [1]  \n"
            "2.2 Keys are handed over then.",
        ),
        (
            "What is a bell?",
            "rope: What rings.\n\nbell: A cup of bronze. It hangs.\n\nyoke: What carries it.",
            "**bell: A cup of bronze.** [1] It hangs.",
        ),
        (
            "Which bell is cracked?",
            "Ann: It is late.\n\nBen: The bell is cracked.\n\nAnn: Cast it anew.",
            "**Ben: The bell is cracked.** [1]\n\nAnn: Cast it anew.",
        ),
    ],
)
def test_a_clause_is_shown_up_to_its_end(question: str, text: str, passage: str) -> None:
    assert ask(question, text).text.endswith(passage)


MANUAL = """\
RING(1)                      Bells                      RING(1)

NAME
       ring - ring a bell

OPTIONS
       -l, --loud
              strike with the large hammer

       -s, --soft
              strike with felt

   Exit status:
       0      when the bell rang

       3      when the rope is torn

       9      when no bell hangs there

AUTHOR
       Written by Ida Bell.
"""


@pytest.mark.parametrize(
    ("question", "passage"),
    [
        ("strike with felt", "**-s, --soft: strike with felt** [1]"),
        (
            "exit status when the rope is torn",
            "Exit status:  \n0 when the bell rang\n\n**3 when the rope is torn** [1]\n\n"
            "9 when no bell hangs there",
        ),
    ],
)
def test_what_a_manual_page_describes_is_shown_up_to_its_end(question: str, passage: str) -> None:
    assert ask(question, MANUAL).text.endswith(passage)


def test_a_price_is_marked_that_refers_to_the_sentence_before() -> None:
    text = (
        "The field has two gates.\n\nYou may use the shed by the field. For this 30 euro are due."
    )
    got = ask("What does the shed cost?", text)
    assert got.citations[0].quote == "You may use the shed by the field. For this 30 euro are due."


def test_an_item_is_marked_with_all_of_its_sentences() -> None:
    got = ask("fault F7", "- F6: No oil. Add some.\n- F7: The belt slipped. Tighten both screws.")
    assert got.citations[0].quote == "F7: The belt slipped. Tighten both screws."


def test_words_that_the_title_says_do_not_choose_the_sentence() -> None:
    page = "1. Sift the oat flour for the bread, two minutes.\n2. Bake it for forty minutes."
    got = ask("how long to bake oat bread", hit(page, title="Oat bread"))
    assert got.citations[0].quote == "Bake it for forty minutes."


def test_a_list_below_the_next_heading_belongs_to_a_short_section() -> None:
    page = "# Plum cake\n\nServes six guests.\n\n## You need\n\n- nine plums\n- two eggs\n\n## How"
    assert "two eggs" in ask("plum cake guests", page, text=page).text
