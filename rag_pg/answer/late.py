"""Answers when the time is over: of what was found until then, and nothing is asked any more."""

from __future__ import annotations

import secrets

from rag_pg.answer.context import AnswerContext
from rag_pg.answer.extractive.answer import answer_extractive
from rag_pg.answer.extractive.compose import MODEL
from rag_pg.errors import BudgetExceeded
from rag_pg.types import Answer

NO_TIME = "There was no time to find an answer."


def answer_late(question: str, context: AnswerContext) -> Answer:
    """As strategy extractive of what was retrieved, by words alone."""
    if not context.retrieved:
        return Answer(text=NO_TIME, found=False, sufficient=False, model=MODEL)
    return answer_extractive(
        question, [*context.retrieved.values()], embedder=None, judge=context.assessor.judge
    )


def without_time(reason: BudgetExceeded) -> Answer:
    """The answer of a question whose time was over before anything was searched for."""
    return Answer(
        text=NO_TIME,
        found=False,
        sufficient=False,
        reason=f"stopped by {reason.bound}",
        model=MODEL,
        strategy="none",
        notes=(str(reason),),
        trace_id=secrets.token_hex(16),
    )
