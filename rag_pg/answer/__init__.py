"""A question and what is found for it -> Answer.

An answer with citations is written, or quoted, from what was found: by a strategy. What is named
here is read from its module when it is first used: a program that only searches loads none of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rag_pg.answer.answerability import SHORTFALL
    from rag_pg.answer.ask import ask_question
    from rag_pg.answer.attribute import OWN_WORDS
    from rag_pg.answer.context import AnswerContext
    from rag_pg.answer.edit import without_marks
    from rag_pg.answer.extractive.compose import compose_answer
    from rag_pg.answer.extractive.passage_scores import Evidence
    from rag_pg.answer.features import FEATURES, RERANKED, measure
    from rag_pg.answer.llm_relevance import (
        JUDGEMENT,
        JUDGEMENT_SCHEMA,
        JUDGEMENT_VERSION,
        Judgement,
        judgement_messages,
        read_judgement,
        shown_texts,
    )
    from rag_pg.answer.options import CALLERS_OPTIONS, AskOptions, read_request
    from rag_pg.answer.question import PASSAGES
    from rag_pg.answer.reading.statements import read_statements
    from rag_pg.answer.retriever import Retriever
    from rag_pg.answer.strategy import (
        Strategy,
        answer_question,
        find_strategy,
        import_strategy,
        register_strategy,
    )
    from rag_pg.answer.stream import EventStream
    from rag_pg.answer.tools import BUILT_IN, McpTools, SqlFunction, function_tool

_NAMES = """
ask: ask_question
answerability: SHORTFALL
extractive.compose: compose_answer
context: AnswerContext
edit: without_marks
extractive.passage_scores: Evidence
features: FEATURES RERANKED measure
attribute: OWN_WORDS
llm_relevance: JUDGEMENT JUDGEMENT_SCHEMA JUDGEMENT_VERSION Judgement
llm_relevance: judgement_messages read_judgement shown_texts
options: CALLERS_OPTIONS AskOptions read_request
question: PASSAGES
retriever: Retriever
reading.statements: read_statements
strategy: Strategy answer_question find_strategy import_strategy register_strategy
stream: EventStream
tools: BUILT_IN McpTools SqlFunction function_tool
"""
_MODULES = {
    name: module
    for module, names in (line.split(": ") for line in _NAMES.strip().splitlines())
    for name in names.split()
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
