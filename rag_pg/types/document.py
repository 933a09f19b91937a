"""Documents, from a file or a caller to what is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

from rag_pg.types.table import brief, shorten
from rag_pg.types.vector import Vectors


@dataclass(frozen=True, kw_only=True, slots=True)
class Original:
    """The file that a document was made from. sha256: of its bytes, in hexadecimal digits."""

    file_name: str
    media_type: str
    size: int
    sha256: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Loaded:
    """A file turned into text. `removed` counts NUL and undecodable characters taken out."""

    uri: str
    title: str
    content: str
    media_type: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    language: str | None = None
    removed: int = 0
    notes: Sequence[str] = ()  # what was left out, and why
    original: Original | None = None  # the file, where it is one document
    other_keys: Sequence[str] = ()  # of a record, that became metadata
    sync_state: Mapping[str, Any] | None = None  # by which a later sync knows the same bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadFailure:
    """A document that could not be loaded, and why; path: of its file, which the error names then.
    As text it is a line that names it once."""

    uri: str
    error: str
    path: Path | None = None

    def __str__(self) -> str:
        return self.error if self.path else f"{self.uri}: {self.error}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Skipped:
    """A file without anything to load; reason: a word."""

    uri: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Unchanged:
    """What need not be read, for the document holds it."""

    uri: str
    document_id: UUID | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """A chunk before it is stored: text == document[start:stop]; heading is a path, 'A > B'.
    parent: start and stop of the larger piece it was cut from, by the method small-to-big."""

    start: int
    stop: int
    text: str
    heading: str = ""
    parent: tuple[int, int] | None = None


Existing = Literal["replace", "skip", "error"]  # what becomes of a document that is there


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Document:
    """A stored document. `state` is ready, pending (work is queued) or failed. embeddings: of its
    chunks in their order, None for one without; () where they were not asked for."""

    document_id: UUID
    uri: str
    title: str
    content: str | None
    media_type: str
    language: str | None
    metadata: Mapping[str, Any]
    version: int
    chunks: int
    state: str
    error: str | None
    created_at: datetime
    updated_at: datetime
    embeddings: Sequence[Vectors | None] = field(
        default=(), compare=False, metadata={"column": False}
    )

    def __repr__(self) -> str:
        content = shorten(self.content)
        return brief(self, "uri", "title", "state", "chunks", content=content)


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Chunk:
    """A chunk as it is stored. start_offset, stop_offset: in characters of the document; None where
    the chunks were brought ready-made."""

    chunk_id: int
    document_id: UUID
    uri: str
    ordinal: int
    start_offset: int | None
    stop_offset: int | None
    heading: str
    content: str
    metadata: Mapping[str, Any]

    def __repr__(self) -> str:
        return brief(self, "chunk_id", "uri", "ordinal", content=shorten(self.content))


@dataclass(frozen=True, kw_only=True, slots=True)
class Facet:
    """A value of a metadata field, and how many documents hold it; total_values: how many values
    there are in all."""

    value: Any
    documents: int
    total_values: int = field(default=0, compare=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class AddReport:
    """What `Collection.add` did: counts of documents, the uris of those that were read, and what
    failed, each with its reason. `skipped` counts files that were passed over: "empty", or by their
    suffix; `notes` tell what was left out of a document."""

    added: int = 0
    unchanged: int = 0
    uris: Sequence[str] = ()
    failures: Sequence[LoadFailure] = ()
    removed_characters: Mapping[str, int] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)
    notes: Sequence[str] = ()
    document_ids: Sequence[UUID] = ()  # for `search(…, wait_for=…)`


class ChunkCount(int):
    """How many chunks `Collection.add_chunks` loaded. notes: keys that became metadata and look
    like those of a chunk."""

    notes: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """How far a call is: documents done of those to do (0 of 0 where chunks alone count), chunks
    embedded of about so many; how many there are is known when the last document is cut."""

    documents: int = 0
    of_documents: int = 0
    chunks: int = 0
    of_chunks: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class SyncReport:
    """What a sync did: counts of documents; `changed` are new or have a new text."""

    changed: int = 0
    unchanged: int = 0
    deleted: int = 0
    failures: Sequence[LoadFailure] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)
    notes: Sequence[str] = ()
    gone: Sequence[str] = ()  # the uris deleted


@dataclass(frozen=True, kw_only=True, slots=True)
class AdoptReport:
    """What was found in the table, and what became of it.

    skipped: how many rows were left out, by reason. vectors: chunks that came with their vector;
    without_vector: those that did not; queued: documents that wait for a worker to embed such
    chunks. overlap: of the ten nearest rows of `sampled` stored vectors, the part that is among the
    ten nearest chunks too; None when nothing was compared.
    """

    layout: str
    table: str
    collection: str
    dimensions: int
    rows: int
    skipped: Mapping[str, int]
    documents: int
    chunks: int
    vectors: int
    without_vector: int
    queued: int
    sampled: int = 0
    overlap: float | None = None
    notes: Sequence[str] = ()
