"""What a search returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import UUID

from rag_pg.types.table import as_table, html_table, shorten
from rag_pg.types.usage import Step, Usage

SHOWN = 20  # hits in a notebook


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Hit:
    """One search result. `score` is larger-is-better, comparable within one call only.
    Ranks start at 1; a leg that did not find the chunk, or was skipped, has None.
    rerank_score orders reranked hits, larger is better; None where nothing was reranked.
    chunk_ids: the chunks whose text was joined in `content`; () where it is that of chunk_id."""

    chunk_id: int
    document_id: UUID
    uri: str
    title: str
    heading: str
    content: str
    metadata: Mapping[str, Any]
    score: float
    vector_rank: int | None
    vector_distance: float | None
    keyword_rank: int | None
    keyword_score: float | None
    rerank_score: float | None = field(default=None, metadata={"column": False})
    chunk_ids: Sequence[int] = field(default=(), metadata={"column": False})

    def __repr__(self) -> str:
        return (
            f"Hit(chunk_id={self.chunk_id}, uri={self.uri!r}, score={self.score:.4g},"
            f" content={shorten(self.content)!r})"
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """A stretch of a document around chunks, as rag.expand returns it.

    start_offset, stop_offset: in characters of the document; None where its chunks were brought
    ready-made. chunk_keys: the chunks in it, in order. rank: which of the chunks asked for is the
    first in it, from 1.
    """

    document_id: UUID
    uri: str
    title: str
    heading: str
    content: str
    start_offset: int | None
    stop_offset: int | None
    chunk_keys: Sequence[int]
    rank: int


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchCheck:
    """A step of a search that a chunk passes, or does not: stored, filter, vector, keyword, result;
    detail says how."""

    check_name: str
    passed: bool
    detail: str


Leg = Literal["vector", "rerank"]
Method = Literal["hybrid", "vector", "keyword"]


class Hits(list[Hit]):
    """Search results, best first.

    skipped: the steps that a provider's failure left out: "vector" (keywords alone answered),
    "rerank" (the fused order stands). notes: why, for people. method: hybrid, vector or keyword:
    the legs that searched. seconds: the whole search. question: what was searched for, after it was
    made to stand alone. steps: how it was rewritten. usage, cost: tokens of all calls of language
    models, and US dollars, None where a model's price is not known. cached: whether they were found
    before, in the collection as it is.
    """

    def __init__(
        self,
        hits: Iterable[Hit] = (),
        notes: Sequence[str] = (),
        skipped: Iterable[Leg] = (),
        *,
        method: Method = "hybrid",
        count_tokens: Callable[[Sequence[str]], Sequence[int]] = lambda texts: [0] * len(texts),
        seconds: float = 0.0,
        question: str = "",
        steps: Sequence[Step] = (),
        cached: bool = False,
    ) -> None:
        super().__init__(hits)
        self.notes = tuple(notes)
        self.skipped: frozenset[Leg] = frozenset(skipped)
        self.method = method
        self.seconds = seconds
        self.question = question
        self.steps = tuple(steps)
        self.cached = cached
        self.usage = sum((step.usage for step in self.steps), Usage())
        self.cost: float | None = None if self.steps else 0.0
        self._count_tokens = count_tokens

    @property
    def total_tokens(self) -> int:
        """The tokens of all contents, estimated."""
        return sum(self._count_tokens([hit.content for hit in self]))

    def table(self) -> dict[str, list[Any]]:
        """The hits as columns, for pandas and polars; see `as_table`."""
        return as_table(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: the first hits, with their places in both rankings."""
        rows = [
            (rank, f"{hit.score:.4g}", hit.vector_rank, hit.keyword_rank, hit.uri,
             hit.heading or hit.title, shorten(hit.content, 160))
            for rank, hit in enumerate(self[:SHOWN], 1)
        ]  # fmt: skip
        more = [f"and {len(self) - SHOWN} more"] if len(self) > SHOWN else []
        names = ("", "score", "vector rank", "keyword rank", "uri", "heading", "content")
        return html_table(names, rows, [*more, *self.notes])


@dataclass(frozen=True, kw_only=True, slots=True)
class TermMatch:
    """A term of a question. word: what stands in the question; df: chunks of the collection that
    contain the term, of chunk_count; found_in: the numbers, from 1, of the given texts that do."""

    word: str
    term: str
    df: int
    chunk_count: int
    found_in: Sequence[int]
