"""The tools of another MCP server, called through the official SDK.

What the server writes is not trusted: descriptions and results are bounded and quoted, of schemas
only what checks arguments is kept.
"""

from __future__ import annotations

import json
import re
import shlex
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rag_pg.answer.tools.mcp_connection import CONNECT_SECONDS, Connection, http_transport
from rag_pg.errors import InvalidInput, ModelUnavailable, RagError
from rag_pg.extras import extra
from rag_pg.tools import check_tool
from rag_pg.types import TOOL_SECONDS, AgentTool

MOST_TOOLS = 50
DESCRIPTION_CHARACTERS = 500
_ARGUMENT_CHARACTERS = 100  # of an argument's description
_LARGEST_RESULT = 200_000  # characters
_KEPT = frozenset(
    {"type", "properties", "required", "items", "enum", "const", "anyOf", "oneOf", "allOf", "$ref",
     "$defs", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength",
     "maxLength", "minItems", "maxItems", "additionalProperties", "format"}
)  # fmt: skip
_NAMED = ("properties", "$defs")  # whose keys are names
_ODD = re.compile(r"[^A-Za-z0-9_-]+")


class McpTools:
    """The tools of an MCP server, for `ask(…, tools=[McpTools("https://example.com/mcp")])`.

    It connects when its tools are first needed and stays connected until `close`, or the end of its
    `with` block; a connection that broke is made anew.

    Args:
        server: "stdio:command arguments" starts a program and speaks over its standard input and
            output; "https://…" is a server of streamable HTTP. Also what `mcp.Client` takes.
        name: stands before the names of its tools where these are taken.
        only: names of the tools that may be called; None: all, the first 50.
        timeout: seconds for a call. headers: of each request of HTTP, such as Authorization.
        environment: variables of the program beside the few that the SDK passes on.
    Raises: InvalidInput (a server that is none).
    """

    def __init__(
        self,
        server: Any,
        *,
        name: str = "",
        only: Sequence[str] | None = None,
        timeout: float = TOOL_SECONDS,
        headers: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._headers = dict(headers or {})
        self._environment = dict(environment or {})
        self._server = server
        self.shown_server = server.split("?")[0] if isinstance(server, str) else "an MCP server"
        if isinstance(server, str):
            _check_server(server)
        self.name = _ODD.sub("_", name or _name_of(server)).strip("_")[:30] or "mcp"
        self._only = None if only is None else frozenset(only)
        self._timeout = timeout
        self._lock = threading.Lock()
        self._connection: Connection | None = None

    def __enter__(self) -> McpTools:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def tools(self) -> list[AgentTool]:
        """Return the server's tools.

        Raises: RagError (it cannot be reached, or gives no list), ModelUnavailable (the extra mcp
            is not installed).
        """
        try:
            return self._list()
        except RagError:
            raise
        except Exception:  # a connection that broke since
            self.close()
        try:
            return self._list()
        except RagError:
            raise
        except Exception as exc:
            self.close()
            raise RagError(f"{self.shown_server} gives no list of tools: {_told(exc)}") from exc

    def close(self) -> None:
        """End the connection, and with it the program that was started."""
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _list(self) -> list[AgentTool]:
        found: list[Any] = []
        cursor = None
        while len(found) < MOST_TOOLS:
            page = self._ask("list_tools", cursor=cursor)
            found += page.tools
            cursor = page.next_cursor
            if cursor is None or not page.tools:
                break
        wanted = [t for t in found if self._only is None or t.name in self._only]
        return [self._tool(tool) for tool in wanted[:MOST_TOOLS]]

    def _tool(self, tool: Any) -> AgentTool:
        def run(**arguments: Any) -> Any:
            return self._call(tool.name, arguments, again=read_only)

        read_only = bool(tool.annotations and tool.annotations.read_only_hint)
        return AgentTool(
            name=_ODD.sub("_", tool.name)[:64],
            description=_description(tool),
            parameters=_plain_schema(tool.input_schema),
            run=run,
            read_only=read_only,
            timeout=self._timeout + CONNECT_SECONDS,
            trusted=False,
        )

    def _call(self, name: str, arguments: Mapping[str, Any], *, again: bool) -> Any:
        """Return a tool's result. again: a call that met a broken connection is made once more."""
        from mcp import MCPError

        try:
            result = self._ask(
                "call_tool", name, dict(arguments), read_timeout_seconds=self._timeout
            )
        except (RagError, TimeoutError):
            raise
        except Exception as exc:
            if isinstance(exc, MCPError) and self._is_alive():
                raise RagError(_told(exc)) from exc
            self.close()
            if not again:
                raise RagError(f"the connection broke: {_told(exc)}") from exc
            return self._call(name, arguments, again=False)
        value = _value(result)
        if result.is_error:
            raise RagError(str(value)[:2000])
        return value

    def _is_alive(self) -> bool:
        """Whether the server answers, so that an error was its own."""
        try:
            self._ask("list_tools", cache_mode="bypass")
        except Exception:
            return False
        return True

    def _ask(self, method: str, *args: Any, **options: Any) -> Any:
        with self._lock:
            if self._connection is None:
                self._connection = self._connect()
            connection = self._connection
        return connection.call(method, *args, **options)

    def _connect(self) -> Connection:
        with extra("mcp", "calling tools of an MCP server needs"):
            import mcp
        try:
            return Connection(mcp.Client(self._transport(), read_timeout_seconds=CONNECT_SECONDS))
        except Exception as exc:
            raise RagError(f"cannot connect to {self.shown_server}: {_told(exc)}") from exc

    def _transport(self) -> Any:
        if not isinstance(self._server, str):
            return self._server
        if self._server.startswith("stdio:"):
            from mcp import StdioServerParameters
            from mcp.client.stdio import get_default_environment

            command, *arguments = shlex.split(self._server.removeprefix("stdio:"))
            environment = {**get_default_environment(), **self._environment}
            return StdioServerParameters(command=command, args=arguments, env=environment)
        if not self._headers:
            return self._server
        return http_transport(self._server, self._headers)


def _check_server(server: str) -> None:
    try:
        known = server.startswith(("https://", "http://")) or (
            server.startswith("stdio:") and shlex.split(server.removeprefix("stdio:"))
        )
    except ValueError as exc:
        raise InvalidInput(f"{server!r:.200} is no command line: {exc}") from exc
    if not known:
        raise InvalidInput(
            f'{server!r:.200} is no MCP server; use "stdio:command arguments" or "https://…"'
        )


def _name_of(server: Any) -> str:
    if not isinstance(server, str):
        return "mcp"
    if server.startswith("stdio:"):
        return shlex.split(server.removeprefix("stdio:"))[0].rpartition("/")[2]
    return server.split("//")[1].split("/")[0].rpartition("@")[2].partition(":")[0]


def _description(tool: Any) -> str:
    """Return what a server says of a tool and its arguments, bounded."""
    lines = [str(tool.description or "")[:DESCRIPTION_CHARACTERS]]
    properties = tool.input_schema.get("properties")
    for key, kind in properties.items() if isinstance(properties, Mapping) else ():
        told = kind.get("description") if isinstance(kind, Mapping) else None
        if isinstance(told, str) and sum(map(len, lines)) < 2 * DESCRIPTION_CHARACTERS:
            lines.append(f"{key:.64}: {told:.{_ARGUMENT_CHARACTERS}}")
    return "\n".join(filter(None, lines))


def _plain_schema(schema: Any, *, named: bool = False) -> Any:
    """Return a schema without texts for people, and without patterns, which may take for ever."""
    if isinstance(schema, list):
        return [_plain_schema(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    if named:
        return {key: _plain_schema(value) for key, value in schema.items()}
    return {
        key: value if key in ("enum", "const", "required")
        else _plain_schema(value, named=key in _NAMED)
        for key, value in schema.items()
        if key in _KEPT and not (key == "$ref" and not str(value).startswith("#"))
    }  # fmt: skip


def _value(result: Any) -> Any:
    """Return what a result holds: its structure, else its texts."""
    texts = [
        block.text if block.type == "text" else f"({block.type} left out)"
        for block in result.content
    ]
    value = result.structured_content
    if isinstance(value, Mapping) and set(value) == {"result"}:
        value = value["result"]
    if value is not None and not result.is_error:
        return value
    text = "\n".join(texts)[:_LARGEST_RESULT]
    try:
        return json.loads(text) if text.startswith(("{", "[")) else text
    except (ValueError, RecursionError):
        return text


def _told(exc: BaseException) -> str:
    """Return what an error says, of several the first."""
    while isinstance(exc, BaseExceptionGroup):
        exc = exc.exceptions[0]
    return f"{exc}"[:500] or type(exc).__name__


def mcp_tools(server: McpTools, taken: set[str]) -> tuple[list[AgentTool], list[str]]:
    """Return a server's tools under names that are free, and what could not be had.

    A name that is taken gets that of the server before it.
    """
    try:
        found = server.tools()
    except ModelUnavailable:
        raise
    except RagError as exc:
        return [], [f"tools of {server.shown_server} are left out: {exc}"]
    tools: list[AgentTool] = []
    notes: list[str] = []
    for tool in found:
        name = tool.name if tool.name not in taken else f"{server.name}_{tool.name}"[:64]
        try:
            if name in taken:
                raise InvalidInput("its name is taken")
            tools.append(check_tool(replace(tool, name=name)))
        except InvalidInput as exc:
            notes.append(f"tool {name} of {server.shown_server} is left out: {exc}")
            continue
        taken.add(name)
    return tools, notes
