"""What each tool returns as structured content: an object, with a list where there are many."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel


class Result(BaseModel):
    """notice: how its strings are to be read. notes: what was degraded, or cut to fit."""

    notice: str
    notes: list[str] = []


class Page(Result):
    """next_cursor: hand it back for what follows; absent on the last page."""

    next_cursor: str | None = None


class CollectionRow(BaseModel):
    name: str
    description: str
    language: str | None = None
    model: str | None = None
    documents: int | None = None
    chunks: int | None = None


class Collections(Page):
    collections: list[CollectionRow]


class CitationRow(BaseModel):
    """number: as in the answer's [1]. id: for fetch. supports: whether the source says what it is
    cited for, where that can be told."""

    number: int
    id: str
    uri: str
    title: str
    url: str
    heading: str | None = None
    quote: str | None = None
    status: str | None = None
    supports: bool | None = None


class AnswerResult(Result):
    """found: false where the documents do not answer; reason says why."""

    answer: str
    found: bool
    citations: list[CitationRow]
    reason: str | None = None
    strategy: str | None = None
    model: str | None = None
    cost: float | None = None
    seconds: float | None = None


class DocumentRow(BaseModel):
    uri: str
    title: str
    metadata: dict[str, Any] | None = None
    language: str | None = None
    media_type: str | None = None
    characters: int | None = None
    created_at: str | None = None
    updated_at: str | None = None


class DocumentPiece(Page):
    """text: of the document, from character `start`; absent with detail low."""

    uri: str
    title: str
    metadata: dict[str, Any]
    url: str
    language: str | None = None
    media_type: str
    updated_at: str
    characters: int
    start: int | None = None
    text: str | None = None


class Count(BaseModel):
    documents: int


class FacetRow(BaseModel):
    """similarity: 0 to 1, where values like a text were asked for."""

    value: Any
    documents: int
    similarity: float | None = None


class Facets(Page):
    facets: list[FacetRow]


class Documents(Page):
    documents: list[DocumentRow]


class FieldRow(BaseModel):
    """field: as in filters. type: with [] where some documents have an array."""

    field: str
    type: str
    documents: int
    distinct_values: int | None = None
    examples: list[Any] | None = None
    minimum: Any = None
    maximum: Any = None


class Fields(Page):
    fields: list[FieldRow]


class Groups(Page):
    """Each with the names of group_by and aggregates."""

    groups: list[dict[str, Any]]


class ColumnRow(BaseModel):
    name: str
    type: str
    description: str | None = None
    labels: list[str] | None = None


class ViewRow(BaseModel):
    name: str
    description: str
    columns: list[ColumnRow]


class Views(Page):
    views: list[ViewRow]


class Rows(Page):
    rows: list[dict[str, Any]]
