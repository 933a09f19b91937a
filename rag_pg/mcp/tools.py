"""The tools: what a client may ask, and in what words it is told so.

A docstring here is a tool's description: all of them together stay below 2,000 tokens.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Annotated, Any, Literal

from mcp_types import CallToolResult, TextContent
from pydantic import Field

from rag_pg.client import Collection
from rag_pg.errors import RagError
from rag_pg.mcp import search as text_only
from rag_pg.mcp.address import DocumentUrls, item_id
from rag_pg.mcp.cursor import decode, encode, fingerprint
from rag_pg.mcp.reader import Reader
from rag_pg.mcp.render import (
    as_json,
    build_result,
    count_tokens,
    longest_piece,
    quoted,
    render_object,
    render_page,
    shorten_object,
)
from rag_pg.mcp.results import (
    AnswerResult,
    Collections,
    Count,
    DocumentPiece,
    Documents,
    Facets,
)
from rag_pg.text import Fence, neutralise
from rag_pg.types import Answer, Document

MOST_FACETS = 1000

Name = Annotated[str | None, Field(description="Needed where there are several.")]
Filter = Annotated[
    dict[str, Any] | None,
    Field(description='Metadata, e.g. {"lang": "en", "year": {"$gte": 2024}}; $in, $like, $or…'),
]
Limit = Annotated[int, Field(ge=1, le=100)]
Detail = Literal["low", "full"]
Cursor = Annotated[str | None, Field(description="next_cursor of the page before.")]

# Set where the client has gone, or the time is over: what can stop stops.
ABANDONED: ContextVar[threading.Event] = ContextVar("abandoned")


class Tools:
    """The tools over what a server may read. cap: tokens of an answer at most."""

    def __init__(self, reader: Reader, urls: DocumentUrls, cap: int) -> None:
        self._reader = reader
        self._urls = urls
        self._cap = cap

    def search(
        self,
        query: str,
        collection: Name = None,
        filter: Filter = None,
        limit: Limit = 10,
        offset: Annotated[int, Field(ge=0, le=900)] = 0,
        detail: Detail = "low",
    ) -> CallToolResult:
        """Find passages by meaning and keywords, best first, as JSON. Without a collection, in all.
        detail low: 300 characters of each; full: the whole passage. fetch reads on by id."""
        return text_only.search(
            self._reader,
            self._urls,
            query,
            collection=collection,
            filter=filter,
            limit=limit,
            offset=offset,
            detail=detail,
            cap=self._cap,
        )

    def fetch(self, id: str) -> CallToolResult:
        """Read the document of a search result by its id, as JSON; of a long one the piece around
        the result. metadata.rag_pg.next_id is the id of the next piece."""
        return text_only.fetch(self._reader, self._urls, id, cap=self._cap)

    def ask(
        self,
        question: str,
        collection: Name = None,
        filter: Filter = None,
        detail: Detail = "low",
    ) -> Annotated[CallToolResult, AnswerResult]:
        """Answer a question from the documents, with citations, or say that they do not answer.
        detail full: also what each citation quotes."""
        opened = self._reader.collection(collection)
        answer = self._answer(opened, question, filter)
        full = detail == "full"
        data: dict[str, Any] = {
            "answer": answer.text,
            "found": answer.found,
            "citations": [
                {
                    "number": c.number,
                    "id": item_id(opened.name, c.chunk_id),
                    "uri": c.uri,
                    "title": c.title,
                    "url": self._urls.of(
                        opened.name, c.uri, document_id=c.document_id, metadata={}
                    ),
                    **({"heading": c.heading, "quote": c.quote} if full else {}),
                    **({"status": c.status} if full and c.status else {}),
                }
                for c in answer.citations
            ],
            "notes": list(answer.notes),
        }
        if answer.reason:
            data["reason"] = answer.reason
        if full:
            data |= {"strategy": answer.strategy, "model": answer.model, "seconds": answer.seconds}
            data |= {} if answer.cost is None else {"cost": answer.cost}
        return render_object("answer", data, cap=self._cap)

    @staticmethod
    def _answer(opened: Collection, question: str, filter: dict[str, Any] | None) -> Answer:
        abandoned = ABANDONED.get(threading.Event())
        events = opened.stream(question, filter=filter)
        for event in events:
            if event.answer is not None:
                return event.answer
            if abandoned.is_set():
                events.close()
                break
        raise RagError("nobody waits for this answer any more")

    def get_document(
        self,
        uri: str,
        collection: Name = None,
        detail: Detail = "full",
        cursor: Cursor = None,
    ) -> Annotated[CallToolResult, DocumentPiece]:
        """Read a document by its uri: metadata and text, a long one in pieces. detail low: without
        the text."""
        opened = self._reader.collection(collection)
        start, after = self._pages("get_document", cursor, opened, uri=uri, detail=detail)
        document = opened.document(uri)
        text = (document.content or "")[start:]
        about: dict[str, Any] = {
            "uri": document.uri,
            "title": document.title,
            "metadata": document.metadata,
            "url": self._urls.of(
                opened.name, uri, document_id=document.document_id, metadata=document.metadata
            ),
            "language": document.language,
            "media_type": document.media_type,
            "updated_at": document.updated_at,
            "characters": len(document.content or ""),
        }
        if detail == "low":
            return render_object("document", about, cap=self._cap)
        fence = Fence()
        about = shorten_object(
            quoted(about),
            lambda one: count_tokens(build_result(fence, "document", one)) < self._cap // 2,
        )

        def build(piece: str) -> CallToolResult:
            data = {**about, "start": start, "text": neutralise(piece)}
            if len(piece) < len(text):
                data["next_cursor"] = after(start + len(piece))
            return build_result(fence, "document", data)

        piece = longest_piece(
            text[: 2 * self._cap], 0, lambda part: count_tokens(build(part)) <= self._cap
        )
        return build(piece)

    def list_collections(
        self, detail: Detail = "low", cursor: Cursor = None
    ) -> Annotated[CallToolResult, Collections]:
        """Collections of documents, with what they are about. detail full: also language, model and
        counts."""
        start, after = self._pages("list_collections", cursor, None, detail=detail)
        rows: list[dict[str, Any]] = []
        for one in self._reader.collections():
            row: dict[str, Any] = {"name": one.name, "description": one.description}
            if detail == "full":
                row |= {"language": one.language, "model": one.model}
            rows.append(row)
        if detail == "full":
            database = self._reader.rag.database
            counts = {s.collection: s for s in database.collection_stats()}
            for row in rows:
                if found := counts.get(row["name"]):
                    row |= {"documents": found.documents, "chunks": found.chunks}
        return render_page("collections", rows[start:], cap=self._cap, start=start, cursor=after)

    def count(
        self, collection: Name = None, filter: Filter = None
    ) -> Annotated[CallToolResult, Count]:
        """How many documents there are, or pass the filter."""
        opened = self._reader.collection(collection)
        found = {"documents": opened.count(filter=filter)}
        return CallToolResult(
            content=[TextContent(type="text", text=as_json(found))], structured_content=found
        )

    def facets(
        self,
        field: str,
        collection: Name = None,
        filter: Filter = None,
        limit: Limit = 20,
        cursor: Cursor = None,
    ) -> Annotated[CallToolResult, Facets]:
        """Values of a metadata field, the most frequent first, and how many documents have each."""
        opened = self._reader.collection(collection)
        start, after = self._pages(
            "facets", cursor, opened, field=field, filter=filter, limit=limit
        )
        most = min(start + limit + 1, MOST_FACETS)
        found = opened.facets(field, filter=filter, limit=most)[start:]
        rows = [{"value": f.value, "documents": f.documents} for f in found]
        return self._page("facets", rows, limit, start, after)

    def select(
        self,
        collection: Name = None,
        filter: Filter = None,
        order_by: Annotated[
            str, Field(description="uri, title, created_at, updated_at or a metadata field")
        ] = "uri",
        descending: bool = False,
        limit: Limit = 20,
        detail: Detail = "low",
        cursor: Cursor = None,
    ) -> Annotated[CallToolResult, Documents]:
        """List documents that pass a filter, in some order: first, last, all. detail low: uri and
        title; full: also metadata and dates."""
        opened = self._reader.collection(collection)
        start, after = self._pages(
            "select", cursor, opened,
            filter=filter, order_by=order_by, descending=descending, limit=limit, detail=detail,
        )  # fmt: skip
        found = opened.select(
            filter=filter,
            order_by=order_by,
            descending=descending,
            limit=limit + 1,
            offset=start,
        )
        rows = [_document_row(one, detail) for one in found]
        return self._page("documents", rows, limit, start, after)

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
    ) -> CallToolResult:
        """Return the first `limit` of the rows; there is one more where others follow."""
        return render_page(
            kind,
            rows[:limit],
            cap=self._cap,
            start=start,
            cursor=after,
            more=len(rows) > limit,
        )


def _document_row(document: Document, detail: str) -> dict[str, Any]:
    row: dict[str, Any] = {"uri": document.uri, "title": document.title}
    if detail == "full":
        row |= {
            "metadata": document.metadata,
            "language": document.language,
            "media_type": document.media_type,
            "created_at": document.created_at,
            "updated_at": document.updated_at,
        }
    return row
