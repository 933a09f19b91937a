"""The strategies that rag_pg brings, by name."""

from rag_pg.answer.strategies.agent import agent
from rag_pg.answer.strategies.auto import auto
from rag_pg.answer.strategies.evidence import evidence
from rag_pg.answer.strategies.extractive import extractive
from rag_pg.answer.strategies.full_context import full_context
from rag_pg.answer.strategies.iterative import iterative
from rag_pg.answer.strategies.self_ask import self_ask
from rag_pg.answer.strategies.single import single
from rag_pg.answer.strategies.verify import verify

BUILT_IN = {
    function.__name__: function
    for function in (
        agent, auto, evidence, extractive, full_context, iterative, self_ask, single, verify
    )
}  # fmt: skip
