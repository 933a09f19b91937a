"""Everyday questions about real documentation, and how an answer to one is graded."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rag_pg import Rag
from rag_pg.client.collection import Collection
from rag_pg.types import Answer, Loaded

QUESTIONS = Path(__file__).parents[1] / "quality"


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A question with the pages that answer it (the ends of their uris) and the fact (a regular
    expression). unanswerable: near (about the same matters) or far, where no page does."""

    question: str
    collection: str
    pages: Sequence[str]
    fact: str | None
    unanswerable: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Grade:
    """right: a gold page is cited and the fact is shown. first: the first source is a gold page.
    in_first: it is, and the fact stands in the first passage. length: characters of all that is
    shown, passage: of the first passage."""

    answered: bool
    right: bool
    first: bool
    in_first: bool
    length: int
    passage: int


def read_questions(name: str) -> list[Question]:
    """The questions of tests/quality/<name>.jsonl."""
    lines = (QUESTIONS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [Question(**json.loads(line)) for line in lines]


def open_collection(rag: Rag, data: Path, name: str) -> Collection:
    """A collection of the pages of the evaluation set `name`, filled on the first call."""
    docs = rag.collection(name)
    if not docs.stats().documents:
        if (data / name / "files").is_dir():
            docs.add(data / name / "files")
        else:
            lines = (data / name / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
            pages = [json.loads(line) for line in lines]
            docs.add(
                *[
                    Loaded(
                        uri=page["_id"],
                        title=page["title"],
                        content=page["text"],
                        media_type="text/markdown",
                    )
                    for page in pages
                ]
            )
    return docs


def grade(question: Question, answer: Answer) -> Grade:
    """Grade an answer as a reader sees it: its text, its sources."""
    gold = [any(c.uri.endswith(page) for page in question.pages) for c in answer.citations]
    passage = re.split(r"\n\n(?=[^\n]*\[2\])", answer.text)[0]
    fact = question.fact
    return Grade(
        answered=answer.found,
        right=bool(fact and any(gold) and re.search(fact, answer.text)),
        first=bool(gold and gold[0]),
        in_first=bool(fact and gold and gold[0] and re.search(fact, passage)),
        length=len(answer.text),
        passage=len(passage),
    )
