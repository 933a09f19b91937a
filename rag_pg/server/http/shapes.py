"""Bodies of the service's own routes. A key that a route does not know is refused.

What is in range is told by SQL, as to every other caller. Lists of options are the client's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from typing import Annotated, Any, Literal, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model, field_validator

from rag_pg.answer import CALLERS_OPTIONS, AskOptions
from rag_pg.search import SearchOptions
from rag_pg.types import (
    CollectionInfo,
    CollectionOptions,
    CollectionStats,
    Document,
    Hit,
    Step,
    Usage,
    to_json,
)

B = TypeVar("B", bound=BaseModel)


class Given(BaseModel):
    """What a request gives, for other programs, too. A boolean is no number."""

    @field_validator("*", mode="wrap")
    @classmethod
    def _is_of_its_kind(cls, value: object, read: Callable[[object], object]) -> object:
        found = read(value)
        given, taken = isinstance(value, bool), isinstance(found, bool)
        if isinstance(value, int | float) and given != taken:
            raise ValueError(f"{json.dumps(value)} is no {'number' if given else 'boolean'}")
        return found


class Body(Given):
    model_config = ConfigDict(extra="forbid")

    def options(self, *without: str) -> dict[str, Any]:
        """Return what is given, but for these."""
        return self.model_dump(exclude_none=True, exclude={"collection", *without})


class Turn(Body):
    role: Literal["user", "assistant"]
    content: str


# What a request gives in another form than a call of the client does, or within a range.
AS_GIVEN: dict[str, Any] = {
    "rerank": bool,
    "cache": bool,
    "history": list[Turn],
    "dimensions": Annotated[int, Field(ge=1, le=65_535)],
}
FOR_CHECKERS = {"Strategy": str, "GivenTool": object}  # kinds that are not imported to run
ASKED = CALLERS_OPTIONS | {"rerank"}
SEARCHED = ASKED & SearchOptions.__optional_keys__ | {"max_tokens", "max_cost"}


def options_of(options: type, names: Collection[str] | None = None) -> dict[str, Any]:
    """Return the options of a TypedDict as fields of a body, none of them required."""
    kinds = get_type_hints(options, localns=FOR_CHECKERS)
    taken = [name for name in kinds if names is None or name in names]
    return {name: (AS_GIVEN.get(name, kinds[name]) | None, None) for name in taken}


def taking(fields: dict[str, Any]) -> Callable[[type[B]], type[B]]:
    """Give a class these fields beside those that are written in it."""

    def made(body: type[B]) -> type[B]:
        return create_model(
            body.__name__, __base__=body, __module__=body.__module__, __doc__=body.__doc__, **fields
        )

    return made


@taking(options_of(AskOptions, SEARCHED))
class SearchBody(Body):
    """See `Collection.search`. rerank: by the reranker that the service was started with."""

    collection: str
    query: str


@taking(options_of(AskOptions, ASKED))
class AskBody(Body):
    """See `Collection.ask`. stream: the answer comes as server-sent events, as it is made."""

    collection: str
    question: str
    stream: bool = False


@taking(options_of(CollectionOptions))
class CollectionBody(Body):
    """See `Rag.collection`."""

    name: str


class DocumentBody(Body):
    """language: a text search configuration; None: that of the collection."""

    content: str
    title: str | None = None
    media_type: str | None = None
    language: str | None = None
    metadata: dict[str, Any] | None = None


@taking({k: (v, ...) for k, v in get_type_hints(Document).items() if k != "embeddings"})
class DocumentRow(Body):
    """See `Document`."""


class DocumentPage(BaseModel):
    """next: what `after` is to be for what follows; None: that was all."""

    documents: Sequence[DocumentRow]
    next: str | None


class SearchResult(BaseModel):
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


class CollectionRow(BaseModel):
    """A collection's settings and its counts."""

    info: CollectionInfo
    stats: CollectionStats | None


class Count(BaseModel):
    """How many there were."""

    count: int


class Health(BaseModel):
    """That the service lives, and what it is."""

    ok: bool
    version: str


def row_of(document: Document) -> dict[str, Any]:
    """Return a document as `DocumentRow` in JSON."""
    row: dict[str, Any] = to_json(document)
    del row["embeddings"]
    return row
