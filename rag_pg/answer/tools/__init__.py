"""Calls of tools that a language model asks for -> their results, as texts to quote and to cite."""

from rag_pg.answer.tools.calculate import calculate
from rag_pg.answer.tools.dates import date_facts, dates_tool
from rag_pg.answer.tools.function import function_tool
from rag_pg.answer.tools.given import BUILT_IN, GivenTool, GivenTools
from rag_pg.answer.tools.mcp import McpTools
from rag_pg.answer.tools.render import RESULT_TOKENS, Rendered, render
from rag_pg.answer.tools.sql_function import SqlFunction
from rag_pg.answer.tools.structured import structured_tools
from rag_pg.answer.tools.text_protocol import MARK, describe_tools, parse_calls
from rag_pg.answer.tools.views import view_tools
from rag_pg.types import AgentTool
