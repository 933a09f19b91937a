"""A question and its search -> Answer.

An answer with citations is written, or quoted, from what was found: by a strategy.
"""

from rag_pg.answer.assess import SHORTFALL
from rag_pg.answer.context import AnswerContext
from rag_pg.answer.edit import without_marks
from rag_pg.answer.examine import Evidence, examine
from rag_pg.answer.extractive import compose_answer
from rag_pg.answer.features import FEATURES, measure
from rag_pg.answer.ground import OWN_WORDS
from rag_pg.answer.judgement import (
    JUDGEMENT,
    JUDGEMENT_SCHEMA,
    JUDGEMENT_VERSION,
    Judgement,
    judgement_messages,
    read_judgement,
    shown_texts,
)
from rag_pg.answer.late import without_time
from rag_pg.answer.prompt import BUDGET_TOKENS, least_prompt
from rag_pg.answer.statements import check_unsupported, read_statements
from rag_pg.answer.strategy import (
    Strategy,
    answer_question,
    find_strategy,
    import_strategy,
    is_built_in,
    register_strategy,
    strategy_with_tools,
)
from rag_pg.answer.stream import stream_events
from rag_pg.answer.tools import (
    BUILT_IN,
    GivenTool,
    GivenTools,
    McpTools,
    SqlFunction,
    dates_tool,
    function_tool,
    structured_tools,
    view_tools,
)

__all__ = [
    "BUDGET_TOKENS",
    "BUILT_IN",
    "FEATURES",
    "JUDGEMENT",
    "JUDGEMENT_SCHEMA",
    "JUDGEMENT_VERSION",
    "OWN_WORDS",
    "SHORTFALL",
    "AnswerContext",
    "Evidence",
    "GivenTool",
    "GivenTools",
    "Judgement",
    "McpTools",
    "SqlFunction",
    "Strategy",
    "answer_question",
    "check_unsupported",
    "compose_answer",
    "dates_tool",
    "examine",
    "find_strategy",
    "function_tool",
    "import_strategy",
    "is_built_in",
    "judgement_messages",
    "least_prompt",
    "measure",
    "read_judgement",
    "read_statements",
    "register_strategy",
    "shown_texts",
    "strategy_with_tools",
    "stream_events",
    "structured_tools",
    "view_tools",
    "without_marks",
    "without_time",
]
