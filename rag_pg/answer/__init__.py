"""A question and its search -> Answer.

An answer with citations is written, or quoted, from what was found: by a strategy.
"""

from rag_pg.answer.context import AnswerContext
from rag_pg.answer.strategy import (
    Strategy,
    answer_question,
    find_strategy,
    import_strategy,
    register_strategy,
)

__all__ = [
    "AnswerContext",
    "Strategy",
    "answer_question",
    "find_strategy",
    "import_strategy",
    "register_strategy",
]
