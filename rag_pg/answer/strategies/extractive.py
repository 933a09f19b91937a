"""Strategy extractive: search once, and show the passages that answer; no language model."""

from __future__ import annotations

from rag_pg.answer.context import AnswerContext
from rag_pg.answer.extractive import answer_extractive
from rag_pg.types import Answer


def extractive(question: str, context: AnswerContext) -> Answer:
    """One search, no call of a model but for the judgement of a calibration that has one."""
    hits = context.search(question)
    without = context.embedder is None or "vector" in hits.skipped
    return answer_extractive(
        question,
        hits,
        embedder=None if without or context.embedder is None else context.embedder(),
        match_terms=context.match_terms,
        read_around=context.read_around,
        judge=context.judge,
        spread=context.cosine_spread(),
    )
