"""The questions of tests/quality/questions: five corpora, each question in one of two halves."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from everyday import QUESTIONS, Question

from rag_pg import Rag
from rag_pg.client.collection import Collection

FOLDER = QUESTIONS / "questions"
CORPORA = ("httpd", "company", "gunicorn", "household", "almanac")

Half = Literal["first", "second"]

_BETWEEN = r"[\s\\*_`|]+"  # white space and marks of Markdown


@dataclass(frozen=True, kw_only=True, slots=True)
class HalvedQuestion(Question):
    """A question of one half. facts: what an answer has to show, each with its spellings, the
    first as on a page; `fact` asks for all. missing: a word that the corpus of a near miss lacks.
    terms: where the fact is their count, what stands on the page in its place."""

    id: str
    half: Half
    kind: str
    language: str
    facts: Sequence[Sequence[str]] = ()
    missing: str | None = None
    terms: Sequence[str] = ()


def spelling_pattern(spelling: str) -> str:
    """A regular expression for a spelling as words of their own, wherever a line breaks and
    whatever marks of Markdown stand in it."""
    words = [
        "".join(rf"\\?{re.escape(c)}" if not c.isalnum() else c for c in word)
        for word in spelling.split()
    ]
    return rf"(?<!\w)(?<!\d[.,]){_BETWEEN.join(words)}(?!\w|[.,]\d)"


def facts_pattern(facts: Sequence[Sequence[str]]) -> str:
    """A regular expression that finds one spelling of every fact, in any order and case."""
    each = ("|".join(map(spelling_pattern, spellings)) for spellings in facts)
    return r"(?is)\A" + "".join(rf"(?=.*?(?:{one}))" for one in each)


def read_halved(
    half: Half | None = None, *, corpora: Sequence[str] = CORPORA
) -> list[HalvedQuestion]:
    """The questions of a half, or of both, on these corpora."""
    rows = [
        json.loads(line)
        for name in corpora
        for line in (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    return [_question(row) for row in rows if half in (None, row["half"])]


def corpus_files(corpus: str) -> list[Path]:
    """The documents of a corpus."""
    return sorted(path for path in (FOLDER / corpus).rglob("*") if path.is_file())


def open_corpus(rag: Rag, corpus: str, model: str = "minilm") -> Collection:
    """A collection of the documents of a corpus, filled on the first call."""
    docs = rag.collection(f"{corpus}-{model}", model=model)
    if not docs.stats().documents:
        docs.add(FOLDER / corpus)
    return docs


def _question(row: dict[str, Any]) -> HalvedQuestion:
    facts = row.get("facts", ())
    return HalvedQuestion(
        question=row["question"],
        collection=row["corpus"],
        pages=[f"{row['corpus']}/{page}" for page in row.get("pages", ())],
        fact=facts_pattern(facts) if facts else None,
        unanswerable=None if facts else "near" if row["near"] else "far",
        id=row["id"],
        half=row["half"],
        kind=row["kind"],
        language=row["language"],
        facts=facts,
        missing=row.get("missing"),
        terms=row.get("terms", ()),
    )
