"""Each source that a statement cites has a verdict of its own, as citation precision counts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from fakes import HashEmbedder

from rag_pg.answer.attribution import scores as attribution_scores
from rag_pg.answer.attribution.scores import MOST_OF_ANSWER, Checker, Cited, Verdicts
from rag_pg.answer.edit import without_marks, without_support
from rag_pg.answer.reading.statements import Statement, read_statements
from rag_pg.answer.reading.term_match import are_unlike
from rag_pg.errors import ModelUnavailable, ProviderError
from rag_pg.providers.minilm.embedder import MiniLM
from rag_pg.text import content_words, is_function_word, words
from rag_pg.types import Vectors

PUMP = "The pump runs at 50 bar. It has two valves of steel."
FAN = "The fan of the heater turns at 900 rounds. It warms the hall."
ALARM = "An alarm rings when the tank of the pump is empty."
SOURCES = {
    1: Cited(number=1, text=PUMP),
    2: Cited(number=2, text=FAN),
    3: Cited(number=3, text=ALARM),
    4: Cited(number=4, text="pumps: 7, fans: 12", by_tool=True),
    5: Cited(number=5, text="At 50 bar the pump runs best."),
}


class WordsThatSay(HashEmbedder):
    """Texts are as alike as their words, without those that say nothing by themselves."""

    def _vector(self, text: str) -> Vectors:
        said = [word for word in content_words(text) if not is_function_word(word)]
        return super()._vector(" ".join(said))

    def __init__(self) -> None:
        super().__init__("hash:4096")


def judge(text: str) -> Verdicts:
    (statement,) = read_statements(text)
    here = [SOURCES[number] for number in statement.numbers]
    return Checker(embedder=WordsThatSay).verdicts(statement, here)


@pytest.mark.parametrize(
    ("text", "supports"),
    [
        ("The pump runs at 50 bar [1][2].", {1: True, 2: False}),
        ("The pump runs at 50 bar [2][1].", {1: True, 2: False}),
        ("The pump runs at 50 bar [1, 2, 3].", {1: True, 2: False, 3: False}),
        ("The pump runs at 50 bar [1][5].", {1: True, 5: True}),
        ("The pump runs at 50 bar [1].", {1: True}),
        # each says a part
        ("The pump runs at 50 bar and the fan at 900 rounds [1][2].", {1: True, 2: True}),
        ("The pump runs at 50 bar and the fan at 900 rounds [1][2][3].",
         {1: True, 2: True, 3: False}),
        # of two that say the same part, one is needed
        ("The pump runs at 50 bar and the fan at 900 rounds [1][2][5].",
         {1: True, 2: True, 5: False}),
        # each is cited behind its own clause
        ("The pump runs at 50 bar [1], and the fan turns at 900 rounds [2].", {1: True, 2: True}),
        ("The pump runs at 50 bar [2], and the fan turns at 900 rounds [1].",
         {1: None, 2: None}),
        ("It is so: the pump runs at 50 bar [2], it has valves [1] of steel.",
         {1: True, 2: False}),
        # nothing says it
        ("The pump runs at 95 bar [1][2].", {1: False, 2: False}),
        # results of tools: by their figures
        ("There are 7 pumps [4][2].", {4: True, 2: False}),
        ("The pump runs at 50 bar [1][4].", {1: True, 4: False}),
        # it says too little
        ("Yes [1][2].", {1: None, 2: None}),
    ],
)  # fmt: skip
def test_a_source_that_says_nothing_of_it_does_not_support(
    text: str, supports: dict[int, bool | None]
) -> None:
    assert judge(text).supports == supports


def test_without_an_embedder_other_words_are_left_open() -> None:
    (statement,) = read_statements("The pump runs at high pressure [1][2].")
    found = Checker().verdicts(statement, [SOURCES[1], SOURCES[2]])
    assert found.supports == {1: True, 2: None}


def test_planted_pairs_are_told_apart() -> None:
    chance = Random(5)
    nouns = ["pump", "fan", "boiler", "valve", "filter", "sensor", "motor", "belt", "tank", "hose"]
    verbs = ["was replaced by the fitter in", "is stored near the gate of", "was painted green in",
             "leaked twice during the test of", "is checked by the caretaker of"]  # fmt: skip
    places = ["hall north", "cellar west", "yard east", "tower south", "garage centre"]
    for _ in range(100):
        (noun, other_noun), (verb, other_verb), (place, other_place) = (
            chance.sample(some, 2) for some in (nouns, verbs, places)
        )
        right, wrong = f"The {noun} {verb} the {place}", f"The {other_noun} {other_verb} the yard."
        first = chance.random() < 0.5
        sources = [Cited(number=2 - first, text=f"In {other_place} it rains. {right}."),
                   Cited(number=1 + first, text=wrong)]  # fmt: skip
        (statement,) = read_statements(f"{right} [1][2].")
        found = Checker(embedder=WordsThatSay).verdicts(statement, sources)
        assert found.supports == {2 - first: True, 1 + first: False}, (right, wrong)


def spans(text: str) -> list[tuple[str, list[int]]]:
    return [(text[s.start : s.claim_stop], list(s.numbers)) for s in read_statements(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One is so. [1] Two is so. [2]", [("One is so.", [1]), ("Two is so.", [2])]),
        ("One is so.[1] Two is so.[2]", [("One is so.", [1]), ("Two is so.", [2])]),
        ("**One is so.** [1] Two is so.", [("**One is so.**", [1]), ("Two is so.", [])]),
        ("泵是红的。[1]门是绿的。[2]", [("泵是红的。", [1]), ("门是绿的。", [2])]),
        ("One is so [1]. [2] says two.", [("One is so", [1]), ("[2] says two.", [2])]),
        ("One is so.\n\n[2] says two.", [("One is so.", []), ("[2] says two.", [2])]),
        ("Use it so [1]:\n\n```\nb = a[2]  # [3]\n```", [
            ("Use it so [1]:\n\n```\nb = a[2]  # [3]\n```", [1, 3])]),
        ("Take `a[2]` of it [1].", [("Take `a[2]` of it", [1])]),
    ],
)  # fmt: skip
def test_a_citation_is_of_the_sentence_before_it(
    text: str, found: list[tuple[str, list[int]]]
) -> None:
    assert spans(text) == found


def plain(text: str) -> str:
    return re.sub(r"\s*\[\d[\d, ]*\]", "", text)


def edit(text: str, markers: dict[int, list[int]], action: str, *wrong: int) -> str:
    statements: list[Statement] = read_statements(text)
    edited = without_support(text, statements, {*wrong}, action, markers)  # type: ignore[arg-type]
    for position, one in enumerate(statements):
        if action != "drop" or position not in wrong:
            start, stop = edited.span(one.start, one.claim_stop)
            claim = one.text[: one.claim_stop - one.start]
            assert plain(edited.text[start:stop]) == plain(claim)
    return edited.text


@pytest.mark.parametrize(
    ("text", "markers", "dropped"),
    [
        ("A is so [1][2]. B is.", {0: [2]}, "A is so [1]. B is."),
        ("A is so [1][2]. B is.", {0: [1]}, "A is so [2]. B is."),
        ("A is so [1] [2].", {0: [2]}, "A is so [1]."),
        ("A is so [1, 2, 3].", {0: [1]}, "A is so [2, 3]."),
        ("A is so [1, 2, 3].", {0: [2]}, "A is so [1, 3]."),
        ("A is so [1, 2, 3].", {0: [3, 2]}, "A is so [1]."),
        ("A is so [1, 2][3].", {0: [1, 2]}, "A is so [3]."),
        ("A [2], and so is B [1].", {0: [2]}, "A, and so is B [1]."),
        ("Take `a[2]` of it [1][2].", {0: [2]}, "Take `a[2]` of it [1]."),
        ("A is so.[1][2] B is so.[2]", {0: [2]}, "A is so.[1] B is so.[2]"),
    ],
)
def test_a_single_marker_is_taken_out(
    text: str, markers: dict[int, list[int]], dropped: str
) -> None:
    assert edit(text, markers, "drop") == dropped
    assert edit(text, markers, "keep") == text
    marked = edit(text, markers, "mark")
    listed = ", ".join(map(str, sorted(markers[0])))
    assert f" [unsupported: {listed}]" in marked
    assert without_marks(marked).replace(" ", "") == text.replace(" ", "")


def test_what_stands_around_a_dropped_statement_stays_as_it_is() -> None:
    text = (
        "A is so [1]. B is wrong [1].\n\n```\nx = [1]    # a\n\n\n\n5.\n```\n\n"
        "- C is wrong\n- D is so [1]\n> - E is wrong\n\nF is wrong.  G is so.\n\nH is wrong."
    )
    assert edit(text, {}, "drop", 1, 2, 4, 5, 7) == (
        "A is so [1].\n\n```\nx = [1]    # a\n\n\n\n5.\n```\n\n- D is so [1]\n\nG is so."
    )


@pytest.fixture(scope="module")
def minilm(home: Path) -> MiniLM:
    return MiniLM(cache_dir=home)


@pytest.mark.parametrize(
    ("word", "same", "other"),
    [
        ("attorney", "lawyer", "orchard"),
        ("fortress", "castle", "sandwich"),
        ("purchased", "bought", "painted"),
        ("wealthy", "rich", "northern"),
        ("meadow", "pasture", "barrel"),
    ],
)
def test_a_word_in_the_place_of_one_that_means_the_same_is_no_lie(
    word: str, same: str, other: str, minilm: MiniLM
) -> None:
    source = (
        "The wealthy attorney purchased the old fortress above the meadow in the spring. "
        "Since then its gates have been shut."
    )
    told = []
    for said in (word, same, other):
        (statement,) = read_statements(f"{source.partition('.')[0].replace(word, said)} [1].")
        here = [Cited(number=1, text=source)]
        told.append(Checker(embedder=lambda: minilm).verdicts(statement, here).is_supported)
    assert told == [True, True, False]


@pytest.mark.parametrize(
    ("source", "claim", "is_supported"),
    [
        (
            "Tenants may keep small animals such as hamsters or birds without asking.",
            "Small pets like hamsters and birds can be kept without permission.",
            True,
        ),
        (
            "The bridge over the Tarn is 2,460 metres long. Cyclists are not admitted.",
            "The bridge over the Tarn is painted white and lit by blue lamps at night.",
            False,
        ),
    ],
)
def test_words_near_to_those_of_a_source_are_not_strange(
    source: str, claim: str, is_supported: bool, minilm: MiniLM
) -> None:
    (statement,) = read_statements(claim)
    here = [Cited(number=1, text=source)]
    assert Checker().verdicts(statement, here).is_supported is False
    assert Checker(embedder=lambda: minilm).verdicts(statement, here).is_supported is is_supported


def test_a_space_that_knows_no_words_tells_nothing_of_two() -> None:
    class Down(HashEmbedder):
        def embed_documents(self, texts: Sequence[str]) -> Vectors:
            raise ProviderError("it is down")

    def gone() -> HashEmbedder:
        raise ModelUnavailable("it cannot be opened")

    told: list[str] = []
    for embedder in (lambda: HashEmbedder("hash:4096"), lambda: Down("hash:64"), gone):
        assert are_unlike("lawyer", "baker", "the {} bought", embedder, told.append) is None
    alone = "sentences were compared by their words alone"
    assert told == [f"{alone}: it is down", f"{alone}: it cannot be opened"]


def test_a_statement_tells_that_its_words_were_not_compared() -> None:
    def gone() -> HashEmbedder:
        raise ModelUnavailable("it cannot be opened")

    told: list[str] = []
    (statement,) = read_statements("The wealthy attorney purchased the old orchard in spring [1].")
    here = [Cited(number=1, text="The wealthy attorney purchased the old fortress in spring.")]
    Checker(embedder=gone, note=told.append).verdicts(statement, here)
    assert told == ["sentences were compared by their words alone: it cannot be opened"]


@pytest.mark.parametrize(("told", "count"), [(None, 1), (False, MOST_OF_ANSWER)])
def test_an_answer_of_many_doubts_compares_some_words_and_asks_nobody_who_is_down_again(
    told: bool | None, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compare(*pair: Any) -> bool | None:
        asked.append(pair)
        return told

    asked: list[Any] = []
    monkeypatch.setattr(attribution_scores, "are_unlike", compare)
    checker = Checker(embedder=HashEmbedder)
    source = "The wealthy attorney purchased the old fortress above the meadow in the spring."
    for word in words("orchard sandwich barrel lantern saddle pebble ribbon kettle"):
        for place in ("attorney", "fortress", "meadow"):
            (statement,) = read_statements(f"{source[:-1].replace(place, word)} [1].")
            here = [Cited(number=1, text=source)]
            checker.verdicts(statement, here)
    assert len(asked) == count
