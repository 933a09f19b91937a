"""Bodies of the service's own routes. A key that a route does not know is refused.

What is in range is told by SQL, as to every other caller. Lists of options that the client has are
its own; where a request may say less, the list is written out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model

from rag_pg.types import (
    CollectionInfo,
    CollectionOptions,
    CollectionStats,
    Hit,
    StatementOptions,
    Step,
    Usage,
)


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")

    def options(self, *without: str) -> dict[str, Any]:
        """Return what is given, but for these."""
        return self.model_dump(exclude_none=True, exclude={"collection", *without})


class Turn(Body):
    role: Literal["user", "assistant"]
    content: str


def _fields(options: type) -> dict[str, Any]:
    """The options of a TypedDict as fields of a body, none of them required."""
    return {name: (kind | None, None) for name, kind in get_type_hints(options).items()}


if TYPE_CHECKING:

    class Statement(Body):
        collection: str

    class CollectionBody(Body):
        name: str
else:
    Statement = create_model(
        "Statement",
        __base__=Body,
        __module__=__name__,
        __doc__="The options of a search that the database does; see `Collection.search`.",
        collection=(str, ...),
        **_fields(StatementOptions),
    )
    CollectionBody = create_model(
        "CollectionBody",
        __base__=Body,
        __module__=__name__,
        __doc__="See `Rag.collection`.",
        name=(str, ...),
        **_fields(CollectionOptions) | {"dimensions": (int | None, Field(None, ge=1, le=65_535))},
    )


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


class WhyNotBody(Statement):
    query: str
    chunk_id: int


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


class FeedbackBody(Body):
    """answer_id: the `trace_id` of an answer. rating: 1 or -1. citation: the number of one."""

    collection: str
    answer_id: str
    rating: int
    comment: str | None = None
    citation: int | None = None


class RetryBody(Body):
    """error, uri: only those whose last error, or whose document's uri, is LIKE this."""

    collection: str | None = None
    error: str | None = None
    uri: str | None = None
    kind: str | None = None


class QueriesBody(Body):
    """Questions of an evaluation set; see rag.put_eval_queries."""

    set_name: str
    queries: list[dict[str, Any]] = Field(min_length=1)
    source: str | None = None


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
class DocumentRow:
    """See `Document`."""

    document_id: str
    uri: str
    title: str
    content: str | None
    media_type: str
    language: str | None
    metadata: dict[str, Any]
    version: int
    chunks: int
    state: str
    error: str | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class DocumentPage:
    """next: what `after` is to be for what follows; None: that was all."""

    documents: Sequence[DocumentRow]
    next: str | None


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
class Failure:
    """A document that could not be stored, and why."""

    uri: str
    error: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PutResult:
    """See `AddReport`."""

    added: int
    unchanged: int
    uris: Sequence[str]
    document_ids: Sequence[str]
    failures: Sequence[Failure]
    notes: Sequence[str]


def part_of(kind: type, value: Any) -> Any:
    """Return the fields of a dataclass that another value has, as that dataclass."""
    assert is_dataclass(kind)
    return kind(**{one.name: getattr(value, one.name) for one in fields(kind)})
