"""Strategy full_context: show the model all passages of the collection, where they fit."""

from __future__ import annotations

from dataclasses import replace

from rag_pg.answer.context import AnswerContext
from rag_pg.answer.strategies.single import single
from rag_pg.answer.write import write_answer
from rag_pg.types import Answer

MOST = 1000  # passages that one search returns
MARKS = 60  # tokens around each source
RULES = 700  # tokens of rules and question


def full_context(question: str, context: AnswerContext) -> Answer:
    """One search for everything, one call; `single` where it does not fit."""
    hits = context.search(question, limit=MOST, per_document=None, diversity=None, rerank=None)
    reads = context.asker.prompt_tokens()
    budget = max(context.asker.budget_tokens, reads or 0)
    if reads is not None and context.asker.account.is_bounded:
        budget = reads
    whole = hits.method != "keyword" and len(hits) < MOST
    texts = [f"{hit.title or hit.uri}\n{hit.heading}\n{hit.content}" for hit in hits]
    tokens = sum(context.asker.counter().count(texts)) + MARKS * len(hits) + RULES
    if not whole or tokens > budget:
        size = f"{tokens} tokens" if whole else f"{len(hits)} passages or more"
        context.trace.note(
            f"full_context: {size} do not fit into {budget} tokens; answered by single"
        )
        return replace(single(question, context), strategy="single")
    ordered = sorted(hits, key=lambda hit: (hit.uri, hit.chunk_id))
    return write_answer(question, ordered, context, budget_tokens=budget)
