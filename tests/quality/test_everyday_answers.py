"""Everyday questions to real documentation, answered without a model: right, and refused.

Two sets: one that the weights of the answer were chosen with, one written after they were fixed.
The folders take minutes to embed: `make test-quality`, or where RAG_PG_TEST_SLOW is set.
"""

import os
from pathlib import Path

import pytest
from everyday import grade, open_collection, read_questions

from rag_pg import Rag, Settings


@pytest.mark.quality
@pytest.mark.minutes
def test_four_of_five_are_right_and_what_is_not_there_is_refused(dsn: str, tmp_path: Path) -> None:
    data = os.environ.get("RAG_PG_EVAL_DATA")
    if not data or not (Path(data) / "docs-fastapi-en").is_dir():
        pytest.skip("no data: RAG_PG_EVAL_DATA with docs-fastapi-en/ is not set")
    with Rag(dsn, settings=Settings(home=tmp_path)) as rag:
        for name, least_right, least_first in (
            ("everyday_questions", 0.85, 0.8),
            ("everyday_questions_held_back", 0.75, 0.75),
        ):
            graded = [
                (q, grade(q, open_collection(rag, Path(data), q.collection).ask(q.question)))
                for q in read_questions(name)
                if (Path(data) / q.collection / "files").is_dir() or "anthropic" in q.collection
            ]
            answerable = [g for q, g in graded if q.pages]
            wrong = [q.question for q, g in graded if q.pages and not g.right]
            answered = [q.question for q, g in graded if not q.pages and g.answered]
            assert 1 - len(wrong) / len(answerable) >= least_right, wrong
            assert sum(g.first for g in answerable) / len(answerable) >= least_first
            assert sum(not g.answered for g in answerable) <= 1
            assert len(answered) <= 1, answered
