"""The layouts of other programs' tables: which columns and metadata mean what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rag_pg.adopt.table import NUMBERS, ForeignTable
from rag_pg.errors import InvalidInput

PATHS = ("source", "file_path", "url", "uri")


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """How a program lays out its tables.

    also: further columns by which it is known. order_columns, order_keys: columns and metadata that
    put the chunks of a document into order. uri_keys: metadata that tells a row's document; the
    first there is wins, and a row without any is a document of its own. hidden: metadata keys that
    serve the program alone. extras: columns beyond these are metadata. keyed_beside: the document
    is told by what forms a unique key with this column.
    """

    program: str
    id: str
    content: str
    embedding: str = "embedding"
    metadata: str | None = None
    also: Sequence[str] = ()
    order_columns: Sequence[str] = ()
    order_keys: Sequence[str] = ()
    uri_keys: Sequence[str] = ()
    hidden: Sequence[str] = ()
    extras: bool = False
    keyed_beside: str | None = None

    @property
    def columns(self) -> list[str]:
        named = (self.id, self.content, self.embedding, self.metadata, *self.also)
        return [name for name in named if name]


LAYOUTS = (
    Layout(  # PGVectorStore: a table for each store
        program="langchain",
        id="langchain_id",
        content="content",
        metadata="langchain_metadata",
        order_keys=("source", "page", "start_index"),
        uri_keys=(*PATHS, "doc_id", "document_id"),
        extras=True,
    ),
    Layout(  # PGVector: one table for all collections
        program="langchain",
        id="id",
        content="document",
        metadata="cmetadata",
        also=("collection_id",),
        order_keys=("source", "page", "start_index"),
        uri_keys=(*PATHS, "doc_id", "document_id"),
    ),
    Layout(  # PGVector as it was in langchain-community
        program="langchain",
        id="uuid",
        content="document",
        metadata="cmetadata",
        also=("collection_id", "custom_id"),
        order_keys=("source", "page", "start_index"),
        uri_keys=(*PATHS, "doc_id", "document_id"),
    ),
    Layout(
        program="llamaindex",
        id="node_id",
        content="text",
        metadata="metadata_",
        also=("id",),
        order_columns=("id",),
        uri_keys=("file_path", "url", "uri", "source", "ref_doc_id", "document_id", "doc_id"),
        hidden=("_node_content", "_node_type"),
    ),
    Layout(
        program="haystack",
        id="id",
        content="content",
        metadata="meta",
        also=("blob_data", "blob_meta", "blob_mime_type"),
        order_keys=("source_id", "split_id"),
        uri_keys=("file_path", "url", "uri", "source", "source_id"),
    ),
    Layout(  # the table of a vectorizer, or the view that joins it to the source
        program="pgai",
        id="embedding_uuid",
        content="chunk",
        also=("chunk_seq",),
        order_columns=("chunk_seq",),
        extras=True,
        keyed_beside="chunk_seq",
    ),
)
PROGRAMS = sorted({layout.program for layout in LAYOUTS})


def find_layout(table: ForeignTable, program: str) -> Layout:
    """Return the program's layout that the table has.
    Raises InvalidInput naming the columns it lacks."""

    def missing(layout: Layout) -> list[str]:
        return [name for name in layout.columns if name not in table.columns]

    layout = min((one for one in LAYOUTS if one.program == program), key=lambda o: len(missing(o)))
    if absent := missing(layout):
        likely = sorted({one.program for one in LAYOUTS if not missing(one)})
        remedy = (
            f"it looks like {' or '.join(likely)}: use that layout"
            if likely
            else "for other names, adopt a view that gives the columns these names"
        )
        raise InvalidInput(
            f"{table.name} is not a {program} table: it has no column {', '.join(absent)}; {remedy}"
        )
    column = table.columns[layout.embedding]
    if column.type not in NUMBERS:
        raise InvalidInput(
            f"column {column.name} of {table.name} is of type {column.type}; adopt vector or"
            " halfvec"
        )
    return layout
