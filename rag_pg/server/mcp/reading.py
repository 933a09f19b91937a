"""The tools that find and read documents, and answer from them."""

from __future__ import annotations

from typing import Any

from mcp_types import CallToolResult

from rag_pg.server.mcp.address import item_id
from rag_pg.server.mcp.render import (
    build_result,
    count_tokens,
    longest_piece,
    quoted,
    render_object,
    render_page,
    shorten_object,
)
from rag_pg.server.mcp.search import TextTools
from rag_pg.server.mcp.tool import (
    CURSOR,
    NAME,
    PAGE,
    Offered,
    object_schema,
    page_schema,
)
from rag_pg.text import Fence, neutralise
from rag_pg.tools import (
    DETAIL,
    FILTER,
    INTEGER,
    LIMIT,
    METADATA_TOOLS,
    TEXT,
    VIEW_TOOLS,
    Filter,
    listed,
    make_tool,
    row,
)

ANSWERED = 0.95  # of the time of a call, for the answer


NUMBER = {"type": "number"}
BOOLEAN = {"type": "boolean"}
CITATION = row(
    {"heading": TEXT, "quote": TEXT, "status": TEXT, "supports": BOOLEAN},
    number=INTEGER,
    id=TEXT,
    uri=TEXT,
    title=TEXT,
    url=TEXT,
)
ANSWER = row(
    {"reason": TEXT, "strategy": TEXT, "model": TEXT, "cost": NUMBER, "seconds": NUMBER},
    answer=TEXT,
    found={**BOOLEAN, "description": "false where the documents do not answer; reason says why."},
    citations=listed(CITATION),
)
DOCUMENT = row(
    {"language": TEXT, "start": INTEGER, "text": TEXT},
    uri=TEXT,
    title=TEXT,
    metadata={"type": "object"},
    url=TEXT,
    media_type=TEXT,
    updated_at=TEXT,
    characters=INTEGER,
)
COLLECTION = row(
    {"language": TEXT, "model": TEXT, "documents": INTEGER, "chunks": INTEGER},
    name=TEXT,
    description=TEXT,
)
_SEARCH = """\
Find passages by meaning and keywords, best first, as JSON. Without a collection, in all. \
detail low: 300 characters of each; full: the whole passage. fetch reads on by id."""
_FETCH = """\
Read the document of a search result by its id, as JSON; of a long one the piece around the \
result. metadata.rag_pg.next_id is the id of the next piece."""
_ASK = """\
Answer a question from the documents, with citations, or say that they do not answer. detail \
full: also what each citation quotes."""
_GET_DOCUMENT = """\
Read a document by its uri: metadata and text, a long one in pieces. detail low: without the \
text."""
_LIST_COLLECTIONS = """\
Collections of documents, with what they are about. detail full: also language, model and counts."""


class Tools(TextTools):
    """Search, fetch, ask, get_document, list_collections, and the tools that others offer too."""

    def tools(self) -> list[Offered]:
        """Return them as a client is offered them; all descriptions together stay below 2,000
        tokens."""
        beside: dict[str, Any] = {"collection": NAME, "filter": FILTER}
        offset = {"type": "integer", "minimum": 0, "maximum": 900, "default": 0}
        return [
            Offered(
                tool=make_tool(
                    "search", _SEARCH, self.search,
                    query=TEXT, **beside, limit={**LIMIT, "default": 10}, offset=offset,
                    detail=DETAIL,
                ),
                output=None,
            ),
            Offered(tool=make_tool("fetch", _FETCH, self.fetch, id=TEXT), output=None),
            Offered(
                tool=make_tool("ask", _ASK, self.ask, question=TEXT, **beside, detail=DETAIL),
                output=object_schema(ANSWER),
            ),
            Offered(
                tool=make_tool(
                    "get_document", _GET_DOCUMENT, self.get_document,
                    uri=TEXT, collection=NAME, detail={**DETAIL, "default": "full"},
                    cursor=CURSOR,
                ),
                output=object_schema(DOCUMENT, PAGE),
            ),
            Offered(
                tool=make_tool(
                    "list_collections", _LIST_COLLECTIONS, self.list_collections,
                    detail=DETAIL, cursor=CURSOR,
                ),
                output=page_schema("collections", COLLECTION),
            ),
            *(self._offer_shared(one, "fields") for one in METADATA_TOOLS.values()),
            *(self._offer_shared(one) for one in VIEW_TOOLS.values()),
        ]  # fmt: skip

    def ask(
        self,
        question: str,
        collection: str | None = None,
        filter: Filter = None,
        detail: str = "low",
    ) -> CallToolResult:
        opened = self._reader.collection(collection)
        seconds = ANSWERED * self._reader.timeout
        answer = opened.ask(question, filter=filter, timeout=seconds)
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
                    **({} if c.supports is None else {"supports": c.supports}),
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

    def get_document(
        self,
        uri: str,
        collection: str | None = None,
        detail: str = "full",
        cursor: str | None = None,
    ) -> CallToolResult:
        opened = self._reader.collection(collection)
        start, after = self._pages("get_document", cursor, opened, uri=uri, detail=detail)
        document = opened.get(uri)
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

    def list_collections(self, detail: str = "low", cursor: str | None = None) -> CallToolResult:
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
