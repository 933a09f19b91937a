"""Calls of an MCP server as the SDK's own client makes them."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from mcp import Client
from mcp_types import CallToolResult, TextContent

T = TypeVar("T")


def with_client(server: Any, use: Callable[[Client], Awaitable[T]], *, mode: str = "auto") -> T:
    """Return what `use` makes of a client of `server`: a server, a URL, or a command."""

    async def main() -> T:
        async with Client(server, mode=mode) as client:
            return await use(client)

    return asyncio.run(main())


def call(server: Any, tool: str, *, mode: str = "auto", **arguments: Any) -> CallToolResult:
    """Return the result of one call."""
    return with_client(server, lambda client: client.call_tool(tool, arguments), mode=mode)


def data(result: CallToolResult) -> dict[str, Any]:
    """Return the structured content of a call that succeeded."""
    assert not result.is_error, text_of(result)
    assert result.structured_content is not None
    return {k: v for k, v in result.structured_content.items() if k != "notice"}


def text_of(result: CallToolResult) -> str:
    """Return the only text of a result."""
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def pages(server: Any, tool: str, kind: str, **arguments: Any) -> list[dict[str, Any]]:
    """Return the rows of all pages of a call."""
    rows: list[dict[str, Any]] = []
    while True:
        page = data(call(server, tool, **arguments))
        rows += page[kind]
        if "next_cursor" not in page:
            return rows
        assert page[kind], "a page without a row never ends"
        arguments["cursor"] = page["next_cursor"]


FENCED = re.compile(r"^--- (\w+) ([0-9a-f]{16})\n(.*?)^--- end of \1 \2$", re.MULTILINE | re.DOTALL)


def quoted_json(result: CallToolResult) -> dict[str, Any]:
    """Return what stands in the fence of a result's text."""
    (found,) = FENCED.findall(text_of(result))
    value: dict[str, Any] = json.loads(found[2])
    return value


def outside(text: str) -> str:
    """Return what of a text stands in no fence."""
    return FENCED.sub("", text)
