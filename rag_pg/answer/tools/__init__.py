"""Calls of tools that a language model asks for -> their results, as texts to quote and to cite."""

from rag_pg.answer.tools.calculate import calculate
from rag_pg.answer.tools.dates import date_facts
from rag_pg.answer.tools.figures import unfounded_figures
from rag_pg.answer.tools.render import RESULT_TOKENS, Rendered, render
from rag_pg.answer.tools.schema import check_tool, make_tool
from rag_pg.answer.tools.text_protocol import MARK, describe_tools, parse_calls
from rag_pg.answer.tools.toolbox import ToolBox
from rag_pg.types import AgentTool

__all__ = [
    "MARK",
    "RESULT_TOKENS",
    "AgentTool",
    "Rendered",
    "ToolBox",
    "calculate",
    "check_tool",
    "date_facts",
    "describe_tools",
    "make_tool",
    "parse_calls",
    "render",
    "unfounded_figures",
]
