"""The tools search and fetch, in the form that ChatGPT reads: one text that is JSON, no schema.

https://developers.openai.com/apps-sdk/build/mcp-server: results of id, title and url; a document of
id, title, text, url and metadata. Nothing can stand around such an answer: titles, urls
and metadata are JSON strings, neutralised, and each text is quoted between marked lines in itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import zip_longest
from typing import Any

from mcp_types import CallToolResult, TextContent

from rag_pg.client import Collection
from rag_pg.errors import CollectionMismatch, NotFound
from rag_pg.server.mcp.address import item_id, read_id
from rag_pg.server.mcp.render import (
    count_tokens,
    longest_piece,
    quoted,
    shorten,
    shorten_object,
)
from rag_pg.server.mcp.tool import ToolBase
from rag_pg.text import Fence
from rag_pg.tools import Filter, as_json
from rag_pg.types import Hit

SNIPPET = 300  # characters of a passage with detail low
TITLE = 200  # characters


class TextTools(ToolBase):
    """Search and fetch."""

    def search(
        self,
        query: str,
        collection: str | None = None,
        filter: Filter = None,
        limit: int = 10,
        offset: int = 0,
        detail: str = "low",
    ) -> CallToolResult:
        """Return the best passages of one collection or, in turn, of several."""
        fence, notes = Fence(), list[str]()
        ranked: list[list[dict[str, Any]]] = []
        for opened in self._reader.searched_collections(collection):
            try:
                hits = opened.search(query, limit=min(offset + limit, 1000), filter=filter)
            except CollectionMismatch as exc:  # the others answer
                if collection is not None:
                    raise
                notes.append(f"{opened.name} was not searched: {exc}")
                continue
            notes += hits.notes
            texts = [hit.content for hit in hits]
            if detail == "low":
                texts = opened.chunks.snippets(
                    query, hits, max_length=SNIPPET, start_mark="", stop_mark=""
                )
            ranked.append(
                [
                    {
                        "id": item_id(opened.name, hit.chunk_id),
                        "title": _title(hit),
                        "url": self._url(opened, hit),
                        "text": fence.quote("passage", text),
                    }
                    for hit, text in zip(hits, texts, strict=True)
                ]
            )
        turns = [one for turn in zip_longest(*ranked) for one in turn if one is not None]
        return _fitting(turns[offset : offset + limit], self._cap, notes)

    def fetch(self, id: str) -> CallToolResult:
        """Return a document, or the piece of it around a passage that fits below the cap.

        metadata.rag_pg tells where the piece begins, and the id of the next one.
        """
        reader, cap = self._reader, self._cap
        name, chunk_id, start = read_id(id)
        opened = reader.collection(name)
        passages = reader.rag.database.expand(name, [chunk_id], upto="window")
        if not passages:
            raise NotFound(f"{id!r:.60} is gone: its document was changed or deleted; search again")
        document = opened.get(passages[0].uri)
        text = document.content
        if not text:  # its chunks were brought ready-made
            whole = reader.rag.database.expand(name, [chunk_id], upto="document")
            text = "\n\n".join(passage.content for passage in whole)
        fence = Fence()
        known = shorten_object(
            quoted({"metadata": document.metadata}), lambda one: _size(one) <= cap // 4
        )
        title, url = document.title or document.uri, self._urls.of(
            name, document.uri, document_id=document.document_id, metadata=document.metadata
        )  # fmt: skip

        def build(at: int, piece: str) -> CallToolResult:
            metadata = dict(known["metadata"])
            stop = at + len(piece)
            if at > 0 or stop < len(text):
                span: dict[str, Any] = {"start": at, "stop": stop, "characters": len(text)}
                if stop < len(text):
                    span["next_id"] = item_id(name, chunk_id, stop)
                metadata["rag_pg"] = span
            return _text_only(
                {
                    "id": id,
                    "title": quoted(shorten(title, TITLE, 0, 0)),
                    "text": fence.quote("document", piece),
                    "url": url,
                    "metadata": metadata,
                }
            )

        if start is None and count_tokens(build(0, text[: 3 * cap + 1])) > cap:
            start = passages[0].start_offset or 0
        at = min(start or 0, len(text))
        stop = at + 3 * cap  # a token is three letters at most
        piece = longest_piece(text[:stop], at, lambda part: count_tokens(build(at, part)) <= cap)
        return build(at, piece)

    def _url(self, collection: Collection, hit: Hit) -> str:
        return self._urls.of(
            collection.name, hit.uri, document_id=hit.document_id, metadata=hit.metadata
        )


def _fitting(rows: list[dict[str, Any]], cap: int, notes: Iterable[str]) -> CallToolResult:
    """Return as many results as stay below the cap, at least one."""
    meta = {"notes": list(dict.fromkeys(notes))}

    def build(shown: list[dict[str, Any]]) -> CallToolResult:
        return _text_only({"results": shown}, meta if meta["notes"] else None)

    while len(rows) > 1 and count_tokens(build(rows)) > cap:
        # Rows are about as long as each other: what is over tells how many to leave out.
        share = cap / count_tokens(build(rows))
        rows = rows[: max(1, min(len(rows) - 1, int(len(rows) * share)))]
    if rows and count_tokens(build(rows)) > cap:
        rows = [shorten_object(rows[0], lambda one: count_tokens(build([one])) <= cap)]
    return build(rows)


def _text_only(data: Mapping[str, Any], meta: dict[str, Any] | None = None) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=as_json(data))], _meta=meta)


def _size(value: Any) -> int:
    return count_tokens(_text_only(value))


def _title(hit: Hit) -> str:
    heading = hit.heading if hit.heading.startswith(hit.title) else f"{hit.title} > {hit.heading}"
    title = (heading if hit.heading else hit.title) or hit.uri
    shown: str = quoted(shorten(title, TITLE, 0, 0))
    return shown
