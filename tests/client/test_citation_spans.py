"""Both spans of every citation, its page, version and verdict, whatever strategy answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

import pytest
from citing import CitingLLM
from fakes import HashEmbedder

from rag_pg import Rag, Settings
from rag_pg.answer import AnswerContext, read_statements, without_marks
from rag_pg.answer.strategies import BUILT_IN
from rag_pg.answer.strategies.single import single
from rag_pg.client.collection import Collection
from rag_pg.types import PROVEN, Answer

MANUAL = (
    "# Page 1\n\nThe **pump** has two valves. Both are made of steel.\n\n# Page 2\n\nThe pump runs "
    "at 50 bar. It stops above 80\xa0degrees,\nand the alarm of the pump rings.\n\n# Page 3\n\n"
    "Service of the pump is due every 400 hours. 泵必须每年检查一次。请先关闭阀门。"
)
HEATER = "The heater warms the pump room. Its fan turns at 900 rounds – “quietly”, says the maker."
OLD = "The guarantee of the pump lasts 24 months after the day of purchase."
NEW = "The guarantee of the pump lasts 36 months after the day of purchase."
TEXTS = {"manual.pdf": MANUAL, "heater.txt": HEATER, "old.txt": OLD, "new.txt": NEW}
STRATEGIES = sorted({*BUILT_IN} - {"extractive", "auto"})

# Statements with the words whose sources they cite, and those of them that do not say it.
TOLD = (
    ("The pump runs at 50 bar", "valves fan", "fan"),
    ("The pump runs at 50 bar", "fan valves", "fan"),
    ("The fan turns at 900 rounds", "fan", ""),
    ("Service is due every 400 hours", "valves", ""),
    ("The pump has two valves {valves} and the fan turns at 900 rounds", "fan", ""),
    ("The guarantee lasts 36 months", "36", ""),
    ("泵必须每年检查一次", "valves", ""),
    ("It “stops above 80 degrees” then", "valves fan", "fan"),
    ("The pump runs at 95 bar", "valves", "valves"),
    ("Nobody knows", "", ""),
)


@pytest.fixture(scope="module")
def docs(
    new_database: Any, template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Collection]:
    home: Path = tmp_path_factory.mktemp("home")
    with Rag(
        new_database(template), settings=Settings(home=home), embedders={"hash": HashEmbedder}
    ) as rag:
        docs = rag.collection("docs", model="hash:32", chunking={"max_tokens": 40})
        docs.add(
            {"uri": "manual.pdf", "content": MANUAL, "media_type": "text/markdown"},
            {"uri": "heater.txt", "content": HEATER},
            {"uri": "old.txt", "content": OLD, "metadata": {"date": "2021-03-01"}},
            {"uri": "new.txt", "content": NEW, "metadata": {"date": "2024-05-01"}},
        )
        yield docs


def own(question: str, context: AnswerContext) -> Answer:
    """A strategy of an application."""
    return single(question, context)


def check_spans(answer: Answer) -> None:
    """Every citation says where its statement and its quote stand, and every marker has one."""
    statements = read_statements(without_marks(answer.text))
    spans = {(s.start, s.claim_stop): set(s.numbers) for s in statements if s.numbers}
    cited: dict[tuple[int, int], set[int]] = {}
    for citation in answer.citations:
        assert citation.start is not None and citation.stop is not None
        cited.setdefault((citation.start, citation.stop), set()).add(citation.number)
        text = TEXTS[citation.uri]
        assert citation.status in PROVEN or citation.supports is False, citation
        if citation.status in PROVEN:
            quoted = text[citation.document_start : citation.document_stop]
            assert quoted == citation.quote or citation.status == "normalised"
            assert letters(quoted) == letters(citation.quote)
            pages = re.findall("^# Page (\\d)", text[: citation.document_start], re.M)
            assert citation.page == (int(pages[-1]) if pages else None)
            assert citation.version == 1
    assert cited == spans


def letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text)


def replies(seed: int) -> tuple[str, list[tuple[str, str, str]]]:
    """A text of statements in random order, as paragraphs, items of a list, with code between."""
    chance = Random(seed)
    chosen = chance.sample(TOLD, 5)
    parts = ["# The pump runs at 50 bar\n"]
    for claim, words, _ in chosen:
        markers = "".join(f"{{{word}}}" for word in words.split())
        parts.append(chance.choice(["{} {}.", "\n\n{} {}.", "\n- {} {}", "{} {}?"]).format(
            claim, markers))  # fmt: skip
        if chance.random() < 0.3:
            parts.append("\n\n```\nif a[0]  >  b:   # x\n1.\n```\n\n")
    return " ".join(parts), chosen


@pytest.mark.parametrize("action", ["keep", "mark", "drop"])
@pytest.mark.parametrize("strategy", [*STRATEGIES, own])
@pytest.mark.few(8)
def test_spans_and_verdicts_are_right(docs: Collection, strategy: Any, action: str) -> None:
    for seed in range(3):
        reply, chosen = replies(seed)
        llm = CitingLLM(reply)
        answer = docs.ask(
            "pump", llm=llm, helper_llm=llm, strategy=strategy, unsupported=action, limit=10
        )
        check_spans(answer)
        assert ("```\nif a[0]  >  b:   # x\n1.\n```" in answer.text) == ("```" in reply)
        if strategy != "verify":  # where the model judges the statements itself
            check_verdicts(answer, chosen, action)


def check_verdicts(answer: Answer, chosen: list[tuple[str, str, str]], action: str) -> None:
    told = [claim for claim, words, wrong in chosen if words and words == wrong]
    assert len(answer.unsupported) == len(told)
    for claim, words, wrong in chosen:
        plain = claim.partition(" {")[0]
        found = [
            c for c in answer.citations
            if answer.text[c.start : c.stop].startswith(plain) and c.start
        ]  # fmt: skip
        if claim in told and action == "drop":
            assert plain not in answer.text and found == []
            continue
        false = {uri(word) for word in wrong.split()}
        assert {c.uri for c in found if c.supports is False} == (
            set() if action == "drop" else false
        ), (claim, action)
        markers = {uri(word) for word in re.findall(r"\w+", words)} - (
            false if action == "drop" else set()
        )
        assert markers <= {c.uri for c in found}
        if wrong and claim not in told and action == "mark":
            numbers = {c.number for c in found if c.supports is False}
            (number,) = numbers
            assert re.search(rf"{re.escape(plain)}[^\n]*? \[unsupported: {number}\]", answer.text)


def uri(word: str) -> str:
    return next(name for name, text in TEXTS.items() if word in text)


def test_the_documents_own_words_have_their_spans_too(docs: Collection) -> None:
    for question in ("At how many bar does the pump run?", "fan rounds", "guarantee of the pump"):
        for strategy in ("extractive", "auto"):
            answer = docs.ask(question, strategy=strategy)
            assert answer.citations
            for citation in answer.citations:
                assert citation.status in PROVEN and citation.supports is True
                shown = answer.text[citation.start : citation.stop]
                assert letters(shown)[-20:] in letters(TEXTS[citation.uri])


def test_sources_that_contradict_each_other_are_told_by_every_strategy(docs: Collection) -> None:
    reply = "The guarantee lasts 36 months {36}. Once it lasted 24 months {24}."
    strategies: list[Any] = [*STRATEGIES, own]
    for strategy in strategies:
        llm = CitingLLM(reply)
        answer = docs.ask("pump", llm=llm, helper_llm=llm, strategy=strategy, limit=10)
        assert answer.freshness is not None, strategy
        assert (answer.freshness.status, answer.freshness.as_of) == (
            "conflicting",
            date(2024, 5, 1),
        ), strategy
