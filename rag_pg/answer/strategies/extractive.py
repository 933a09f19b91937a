"""Strategy extractive: search once, and show the passages that answer; no language model."""

from __future__ import annotations

from rag_pg.answer.context import AnswerContext
from rag_pg.answer.extractive.answer import answer_of
from rag_pg.answer.extractive.passage_scores import HITS
from rag_pg.types import Answer


def extractive(question: str, context: AnswerContext) -> Answer:
    """One search, no call of a model but for the judgement of a calibration that has one."""
    hits = context.search(question)
    retriever = context.retriever
    if retriever.expands:
        context.trace.note(
            "expand changes nothing without a language model: a passage is shown with what stands"
            " around it in its section"
        )
    if len(hits) > HITS:
        context.trace.note(f"without a language model the first {HITS} passages are looked at")
    evidence = retriever.examine(question, hits)
    return answer_of(
        question, hits, evidence, judge=context.assessor.judge, read_around=retriever.read_around
    )
