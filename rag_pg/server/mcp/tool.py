"""What the tools share: the names of their arguments, and pages with cursors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from mcp_types import CallToolResult
from pydantic import Field

from rag_pg.client import Collection
from rag_pg.server.mcp.address import DocumentUrls
from rag_pg.server.mcp.cursor import decode, encode, fingerprint
from rag_pg.server.mcp.reader import Reader
from rag_pg.server.mcp.render import render_page

Name = Annotated[str | None, Field(description="Needed where there are several.")]
Filter = Annotated[
    dict[str, Any] | None,
    Field(description='Metadata, e.g. {"lang": "en", "year": {"$gte": 2024}}; $in, $like, $or…'),
]
Limit = Annotated[int, Field(ge=1, le=100)]
Detail = Literal["low", "full"]
Cursor = Annotated[str | None, Field(description="next_cursor of the page before.")]


class ToolBase:
    """Tools over what a server may read. cap: tokens of an answer at most."""

    def __init__(self, reader: Reader, urls: DocumentUrls, cap: int) -> None:
        self._reader = reader
        self._urls = urls
        self._cap = cap

    def _pages(
        self, tool: str, cursor: str | None, opened: Collection | None, **arguments: Any
    ) -> tuple[int, Callable[[int], str]]:
        """Return where a page begins, and what makes the cursor of a position."""
        name = None if opened is None else opened.name
        call = fingerprint(tool, {"collection": name, **arguments})
        return decode(call, cursor), lambda position: encode(call, position)

    def _page(
        self,
        kind: str,
        rows: list[dict[str, Any]],
        limit: int,
        start: int,
        after: Callable[[int], str],
        notes: Sequence[str] = (),
    ) -> CallToolResult:
        """Return the first `limit` of the rows; there is one more where others follow."""
        return render_page(
            kind,
            rows[:limit],
            cap=self._cap,
            start=start,
            cursor=after,
            more=len(rows) > limit,
            all_keys=kind not in ("rows", "groups"),
            notes=notes,
        )
