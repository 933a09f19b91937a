"""A question and its search -> Answer.

An answer with citations is written, or quoted, from what was found: by a strategy.
"""

from rag_pg.answer.context import AnswerContext, Bounds
from rag_pg.answer.prompt import BUDGET_TOKENS
from rag_pg.answer.strategy import (
    Strategy,
    answer_question,
    find_strategy,
    import_strategy,
    register_strategy,
)
from rag_pg.answer.stream import stream_events

__all__ = [
    "BUDGET_TOKENS",
    "AnswerContext",
    "Bounds",
    "Strategy",
    "answer_question",
    "find_strategy",
    "import_strategy",
    "register_strategy",
    "stream_events",
]
