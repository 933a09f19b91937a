"""What a question compares, and that a long one takes no longer than it has to."""

from __future__ import annotations

import pytest

from rag_pg.answer.reading.question_kind import question_parts
from rag_pg.text import compared_things


@pytest.mark.parametrize(
    ("question", "sides"),
    [
        ("What is the difference  between\na list and a tuple?", ["a list", "a tuple"]),
        ("Compare HNSW with IVFFlat", ["HNSW", "IVFFlat"]),
        ("psycopg vs. asyncpg", ["psycopg", "asyncpg"]),
        ("How does the NF-200 compare with the NF-350?", ["the NF-200", "the NF-350"]),
        ("What is the difference between red and red?", []),
        ("Should I use threads or processes?", ["threads", "processes"]),
        ("Which pump is quieter, the NF-200 or the NF-350?", ["NF-200", "the NF-350"]),
        ("Welche Pumpe ist leiser: die NF-200 oder die NF-350?", ["NF-200", "die NF-350"]),
        ("What is the difference in noise level between A4 and A5?", ["A4", "A5"]),
        ("Which days are free, and who or what pays?", []),
        ("What is a list?", []),
    ],
)
def test_things_compared(question: str, sides: list[str]) -> None:
    assert compared_things(question) == sides


@pytest.mark.parametrize(
    "piece", ["a", "a ", " ", "\n", ".", "compare ", "compare x ", "how do ", "use a ", "and what "]
)
def test_a_hostile_question_has_no_sides(piece: str) -> None:
    question = "a" + piece * (100_000 // len(piece))
    assert compared_things(question) == []
    assert question_parts(question)[0] in ([], question_parts(" ".join(question.split()))[0])
