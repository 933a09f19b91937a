"""A question and what is found for it -> Answer.

An answer with citations is written, or quoted, from what was found: by a strategy. What is named
here is read from its module when it is first used: a program that only searches loads none of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rag_pg.answer.answerability import SHORTFALL as SHORTFALL
    from rag_pg.answer.ask import ask_question as ask_question
    from rag_pg.answer.attribution import OWN_WORDS as OWN_WORDS
    from rag_pg.answer.compose import compose_answer as compose_answer
    from rag_pg.answer.context import AnswerContext as AnswerContext
    from rag_pg.answer.edit import without_marks as without_marks
    from rag_pg.answer.features import FEATURES as FEATURES
    from rag_pg.answer.features import RERANKED as RERANKED
    from rag_pg.answer.features import measure as measure
    from rag_pg.answer.llm_relevance import JUDGEMENT as JUDGEMENT
    from rag_pg.answer.llm_relevance import JUDGEMENT_SCHEMA as JUDGEMENT_SCHEMA
    from rag_pg.answer.llm_relevance import JUDGEMENT_VERSION as JUDGEMENT_VERSION
    from rag_pg.answer.llm_relevance import Judgement as Judgement
    from rag_pg.answer.llm_relevance import judgement_messages as judgement_messages
    from rag_pg.answer.llm_relevance import read_judgement as read_judgement
    from rag_pg.answer.llm_relevance import shown_texts as shown_texts
    from rag_pg.answer.options import CALLERS_OPTIONS as CALLERS_OPTIONS
    from rag_pg.answer.options import AskOptions as AskOptions
    from rag_pg.answer.options import read_request as read_request
    from rag_pg.answer.passage_scores import Evidence as Evidence
    from rag_pg.answer.passage_scores import examine as examine
    from rag_pg.answer.question import PASSAGES as PASSAGES
    from rag_pg.answer.statements import read_statements as read_statements
    from rag_pg.answer.strategy import Strategy as Strategy
    from rag_pg.answer.strategy import answer_question as answer_question
    from rag_pg.answer.strategy import find_strategy as find_strategy
    from rag_pg.answer.strategy import import_strategy as import_strategy
    from rag_pg.answer.strategy import register_strategy as register_strategy
    from rag_pg.answer.stream import EventStream as EventStream
    from rag_pg.answer.tools import BUILT_IN as BUILT_IN
    from rag_pg.answer.tools import McpTools as McpTools
    from rag_pg.answer.tools import SqlFunction as SqlFunction
    from rag_pg.answer.tools import function_tool as function_tool

_NAMES = """
ask: ask_question
answerability: SHORTFALL
compose: compose_answer
context: AnswerContext
edit: without_marks
passage_scores: Evidence examine
features: FEATURES RERANKED measure
attribution: OWN_WORDS
llm_relevance: JUDGEMENT JUDGEMENT_SCHEMA JUDGEMENT_VERSION Judgement
llm_relevance: judgement_messages read_judgement shown_texts
options: CALLERS_OPTIONS AskOptions read_request
question: PASSAGES
statements: read_statements
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
