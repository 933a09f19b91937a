"""The strategies that rag_pg brings, by name."""

from rag_pg.answer.strategies.auto import auto
from rag_pg.answer.strategies.extractive import extractive
from rag_pg.answer.strategies.single import single

BUILT_IN = {function.__name__: function for function in (auto, extractive, single)}

__all__ = ["BUILT_IN"]
