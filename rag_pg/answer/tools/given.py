"""The tools that a caller gives -> tools of one question, under names that are free."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rag_pg.answer.tools.function import function_tool
from rag_pg.answer.tools.mcp import McpTools, mcp_tools
from rag_pg.answer.tools.mcp_connection import CONNECT_SECONDS
from rag_pg.answer.tools.sql_function import SqlFunction, sql_function_tool
from rag_pg.db import Database
from rag_pg.deadline import seconds_left
from rag_pg.errors import InvalidInput
from rag_pg.threads import start_thread
from rag_pg.tools import check_tool
from rag_pg.types import AgentTool

GivenTool = AgentTool | SqlFunction | McpTools | Callable[..., Any] | str
MOST_TOOLS = 100
BUILT_IN = ("search", "get_document", "expand", "compare", "calculate")  # names of passage tools


class GivenTools:
    """The tools of `ask(…, tools=[…])`: checked when they are given, opened when they are needed.

    given: an `AgentTool`, a Python function, `SqlFunction` or its name "schema.function",
    `McpTools` or its server, "stdio:…" or "https://…". What was opened for a text is closed at
    the end of its `with` block.
    Raises: InvalidInput (what is no tool, two tools of one name).
    """

    def __init__(self, given: Sequence[GivenTool], database: Database) -> None:
        if isinstance(given, str) or not isinstance(given, Sequence):
            raise InvalidInput(f"tools is {given!r:.100}; use a list of tools")
        self._tools: list[AgentTool] = []
        self._servers: list[McpTools] = []
        self._to_close: list[McpTools] = []
        for item in given:
            self._add(item, database)
        for tool in self._tools:
            if [other.name for other in self._tools].count(tool.name) > 1:
                raise InvalidInput(f"two tools have the name {tool.name}; give one another name")

    def _add(self, given: GivenTool, database: Database) -> None:
        match given:
            case AgentTool():
                self._tools.append(check_tool(given))
            case SqlFunction():
                self._tools.append(sql_function_tool(given, database))
            case McpTools():
                self._servers.append(given)
            case str() if given.startswith(("stdio:", "https://", "http://")):
                server = McpTools(given)
                self._servers.append(server)
                self._to_close.append(server)
            case str():
                self._tools.append(sql_function_tool(SqlFunction(name=given), database))
            case _ if callable(given):
                self._tools.append(function_tool(given))
            case _:
                raise InvalidInput(
                    f"{given!r:.100} is no tool; use a function, an AgentTool, the name of a SQL"
                    " function, or McpTools"
                )

    def offer(self, built_in: Sequence[str]) -> tuple[list[AgentTool], list[str]]:
        """Return the tools, and notes of those that could not be had.

        Args:
            built_in: names that are taken.
        Raises: InvalidInput (a given tool has one of them), ModelUnavailable.
        """
        tools, notes = list(self._tools), []
        for tool in tools:
            if tool.name in built_in:
                raise InvalidInput(f"there is a tool {tool.name} already; give yours another name")
        taken = {*built_in, *(tool.name for tool in tools)}
        for server in self._servers:
            found, failed = mcp_tools(server, taken)
            tools += found
            notes += failed
        if len(tools) > MOST_TOOLS:
            notes.append(f"the first {MOST_TOOLS} of {len(tools)} tools are offered")
        return tools[:MOST_TOOLS], notes

    def __bool__(self) -> bool:
        return bool(self._tools or self._servers)

    def __enter__(self) -> GivenTools:
        return self

    def __exit__(self, *error: object) -> None:
        for server in self._to_close:
            closing = start_thread(server.close, "rag-pg-mcp-close")
            closing.join(seconds_left(CONNECT_SECONDS))
