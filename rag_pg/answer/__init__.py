"""Hits -> Answer.

An answer with citations is written, or quoted, from what was found.
"""

from rag_pg.answer.single_pass import answer_extractive, answer_with_llm

__all__ = [
    "answer_extractive",
    "answer_with_llm",
]
