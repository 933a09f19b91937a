"""Strategy single: search once, and let the model answer from what was found."""

from __future__ import annotations

from rag_pg.answer.context import AnswerContext
from rag_pg.answer.write import write_answer
from rag_pg.types import Answer


def single(question: str, context: AnswerContext) -> Answer:
    """One search, one call of the model."""
    return write_answer(question, context.search(question), context)
