"""Strategy auto: chooses another one."""

from __future__ import annotations

from dataclasses import replace

from rag_pg.answer.context import AnswerContext
from rag_pg.answer.strategies.extractive import extractive
from rag_pg.answer.strategies.single import single
from rag_pg.types import Answer


def auto(question: str, context: AnswerContext) -> Answer:
    """`single` where there is a language model, else `extractive`."""
    chosen = extractive if context.llm is None else single
    context.step("route", strategy=chosen.__name__)
    return replace(chosen(question, context), strategy=chosen.__name__)
