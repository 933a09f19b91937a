"""Bodies of the service's own routes. A key that a route does not know is refused.

What is in range is told by SQL, as to every other caller. Lists of options that the client has are
its own; where a request may say less, the list is written out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model

from rag_pg.types import (
    CollectionInfo,
    CollectionOptions,
    CollectionStats,
    Document,
    Hit,
    StatementOptions,
    Step,
    Usage,
    to_json,
)


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")

    def options(self, *without: str) -> dict[str, Any]:
        """Return what is given, but for these."""
        return self.model_dump(exclude_none=True, exclude={"collection", *without})


class Turn(Body):
    role: Literal["user", "assistant"]
    content: str


def options_of(options: type) -> dict[str, Any]:
    """Return the options of a TypedDict as fields of a body, none of them required."""
    return {name: (kind | None, None) for name, kind in get_type_hints(options).items()}


def _model(name: str, doc: str, /, **more: Any) -> Any:
    return create_model(name, __base__=Body, __module__=__name__, __doc__=doc, **more)


if TYPE_CHECKING:

    class Statement(Body):
        collection: str

    class CollectionBody(Body):
        name: str

    DocumentRow = Document
else:
    told = "The options of a search that the database does; see `Collection.search`."
    Statement = _model("Statement", told, collection=(str, ...), **options_of(StatementOptions))
    made_with = options_of(CollectionOptions)
    made_with["dimensions"] = (int | None, Field(None, ge=1, le=65_535))
    CollectionBody = _model("CollectionBody", "See `Rag.collection`.", name=(str, ...), **made_with)
    kinds = get_type_hints(Document)
    del kinds["embeddings"]
    DocumentRow = _model("DocumentRow", "See `Document`.", **{k: (kinds[k], ...) for k in kinds})


class Searching(Statement):
    """rerank: by the reranker that the service was started with."""

    rerank: bool | None = None
    rerank_weight: float | None = None
    rewrite: list[str] | None = None
    history: list[Turn] | None = None
    time_zone: str | None = None
    cache: bool | None = None
    max_tokens: int | None = None
    max_cost: float | None = None


class SearchBody(Searching):
    query: str


class AskBody(Searching):
    """stream: the answer comes as server-sent events, as it is made."""

    question: str
    stream: bool = False
    strategy: str | None = None
    verify: str | None = None
    unsupported: str | None = None
    expand: str | None = None
    max_steps: int | None = None
    min_support: float | None = None
    timeout: float | None = None


class DocumentBody(Body):
    """language: a text search configuration; None: that of the collection."""

    content: str
    title: str | None = None
    media_type: str | None = None
    language: str | None = None
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchResult:
    """See `Hits`."""

    hits: Sequence[Hit]
    notes: Sequence[str]
    skipped: Sequence[str]
    method: str
    seconds: float
    question: str
    steps: Sequence[Step]
    usage: Usage
    cost: float | None
    cached: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectionRow:
    """A collection's settings and its counts."""

    info: CollectionInfo
    stats: CollectionStats | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Count:
    """How many there were."""

    count: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Health:
    """That the service lives, and what it is."""

    ok: bool
    version: str


@dataclass(frozen=True, kw_only=True, slots=True)
class DocumentPage:
    """next: what `after` is to be for what follows; None: that was all."""

    documents: Sequence[DocumentRow]
    next: str | None


def row_of(document: Document) -> dict[str, Any]:
    """Return a document as `DocumentRow` in JSON."""
    row: dict[str, Any] = to_json(document)
    del row["embeddings"]
    return row
