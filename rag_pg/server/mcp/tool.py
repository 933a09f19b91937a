"""A tool as an MCP client is offered it: with a collection to name, pages, and a schema of its
result."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_types import CallToolResult, TextContent

from rag_pg.client import Collection
from rag_pg.errors import InvalidInput
from rag_pg.server.mcp.address import DocumentUrls
from rag_pg.server.mcp.reader import Reader
from rag_pg.server.mcp.render import render_page
from rag_pg.tools import TEXT, Schema, SharedTool, Source, as_json, listed
from rag_pg.types import AgentTool

_CURSOR = re.compile(r"([0-9a-f]{1,7})-([0-9a-f]{12})")
NAME: Schema = {**TEXT, "description": "Needed where there are several.", "default": None}
CURSOR: Schema = {**TEXT, "description": "next_cursor of the page before.", "default": None}
RESULT: Mapping[str, Schema] = {
    "notice": {**TEXT, "description": "How its strings are to be read."},
    "notes": listed({**TEXT, "description": "What was degraded, or cut to fit."}),
}
PAGE: Mapping[str, Schema] = {
    **RESULT,
    "next_cursor": {**TEXT, "description": "Hand it back for what follows."},
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Offered:
    """A tool, and the schema of its structured content; None: it returns a text alone."""

    tool: AgentTool
    output: Mapping[str, Any] | None


class ToolBase:
    """Tools over what a server may read. cap: tokens of an answer at most."""

    def __init__(self, reader: Reader, urls: DocumentUrls, cap: int) -> None:
        self._reader = reader
        self._urls = urls
        self._cap = cap

    def _offer_shared(self, shared: SharedTool, *without: str) -> Offered:
        """Return a tool that others offer too, without some of its parameters."""
        of_collection = "filter" in shared.parameters and "name" not in shared.parameters
        beside: dict[str, Any] = {"collection": NAME} if of_collection else {}
        if not shared.rows:
            return Offered(
                tool=shared.offer(self._one(shared), without=without, **beside),
                output=shared.result,
            )
        return Offered(
            tool=shared.offer(
                self._paged(shared, of_collection), without=without, **beside, cursor=CURSOR
            ),
            output=page_schema(shared.rows, shared.result),
        )

    def _one(self, shared: SharedTool) -> Callable[..., CallToolResult]:
        def run(collection: str | None = None, **arguments: Any) -> CallToolResult:
            found = shared.run(self._source(self._reader.collection(collection)), **arguments)
            return CallToolResult(
                content=[TextContent(type="text", text=as_json(found))], structured_content=found
            )

        return run

    def _paged(self, shared: SharedTool, of_collection: bool) -> Callable[..., CallToolResult]:
        default: int | None = shared.parameters.get("limit", {}).get("default")

        def run(
            collection: str | None = None, cursor: str | None = None, **arguments: Any
        ) -> CallToolResult:
            opened = self._reader.collection(collection) if of_collection else None
            start, after = self._pages(shared.name, cursor, opened, **arguments)
            limit: int | None = None
            if default is not None:
                limit = int(arguments.get("limit", default))
                arguments |= {"limit": limit + 1, "offset": start}
            found = shared.run(self._source(opened), **arguments)
            rows = list(found) if limit is not None else found[start:]
            return render_page(
                shared.rows,
                rows[:limit],
                cap=self._cap,
                start=start,
                cursor=after,
                more=limit is not None and len(rows) > limit,
                all_keys="required" in shared.result,
                notes=found.notes,
            )

        return run

    def _source(self, opened: Collection | None) -> Source:
        name = "" if opened is None else opened.name
        return Source(database=self._reader.rag.database, collection=name)

    def _pages(
        self, tool: str, cursor: str | None, opened: Collection | None, **arguments: Any
    ) -> tuple[int, Callable[[int], str]]:
        """Return where a page begins, and what makes the cursor of a position."""
        name = None if opened is None else opened.name
        call = _fingerprint(tool, {"collection": name, **arguments})
        return _position_of(call, cursor), lambda position: _cursor_of(call, position)


def page_schema(kind: str, item: Schema) -> dict[str, Any]:
    """Return the schema of a page of a list under a key."""
    properties = {**PAGE, kind: listed(item)}
    return {"type": "object", "properties": properties, "required": ["notice", kind]}


def object_schema(item: Mapping[str, Any], beside: Mapping[str, Schema] = RESULT) -> dict[str, Any]:
    """Return the schema of an object with a notice."""
    properties = {**beside, **item["properties"]}
    return {**item, "properties": properties, "required": ["notice", *item["required"]]}


def _fingerprint(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return 12 hexadecimal digits for a call, without its cursor: pages of one call share them."""
    given = {name: value for name, value in arguments.items() if name != "cursor"}
    text = json.dumps([tool, given], sort_keys=True, default=str)
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:12]


def _cursor_of(call: str, position: int) -> str:
    """Return the cursor of a position, in rows or characters from 0, of the call with this
    fingerprint."""
    return f"{position:x}-{call}"


def _position_of(call: str, cursor: str | None) -> int:
    """Return a cursor's position, 0 where there is none.

    Raises: InvalidInput for what is no cursor, and for that of a call with other arguments.
    """
    if not cursor:
        return 0
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise InvalidInput(
            f"{cursor!r:.60} is no cursor; hand back next_cursor as it was, or leave it out to"
            " begin anew"
        )
    if match[2] != call:
        raise InvalidInput(
            "the cursor is of a call with other arguments; repeat those, or leave it out to begin"
            " anew"
        )
    return int(match[1], 16)
