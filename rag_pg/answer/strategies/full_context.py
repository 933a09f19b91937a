"""Strategy full_context: show the model all passages of the collection, where they fit."""

from __future__ import annotations

from dataclasses import replace

from rag_pg.answer.context import AnswerContext
from rag_pg.answer.strategies.single import single
from rag_pg.answer.write import write_answer
from rag_pg.types import Answer

MOST = 1000  # passages that one search returns
SHARE = 0.75  # of what the model reads, for the sources


def full_context(question: str, context: AnswerContext) -> Answer:
    """One search for everything, one call; `single` where it does not fit."""
    hits = context.search(question, limit=MOST, per_document=None, diversity=None, rerank=None)
    reads = context.llm.capabilities.context_tokens if context.llm else None
    budget = max(context.budget_tokens, int(SHARE * (reads or 0)) - context.answer_tokens)
    whole = hits.method != "keyword" and len(hits) < MOST
    tokens = sum(context.count_tokens([hit.content for hit in hits]))
    if not whole or tokens > budget:
        size = f"{tokens} tokens" if whole else f"{len(hits)} passages or more"
        context.note(f"full_context: {size} do not fit into {budget} tokens; answered by single")
        return replace(single(question, context), strategy="single")
    ordered = sorted(hits, key=lambda hit: (hit.uri, hit.chunk_id))
    context.budget_tokens = 2 * budget  # titles come on top
    return write_answer(question, ordered, context)
