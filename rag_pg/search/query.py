"""What one search is asked for, and what its stages find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from rag_pg.db import Database
from rag_pg.errors import InvalidQuery
from rag_pg.protocols import Reranker
from rag_pg.search.options import SearchOptions, StatementOptions
from rag_pg.search.rerank import SECONDS, reranked_limit
from rag_pg.search.rewrite import Rewritten, Variant, combine
from rag_pg.types import Hit, Leg, Method, Vectors


@dataclass(frozen=True, kw_only=True, slots=True)
class Reranking:
    """reranker: or its name. timeout: in seconds, None: as long as it takes. weight: of its score
    beside the fused one, 0 to 1."""

    reranker: str | Reranker
    timeout: float | None
    weight: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """One search. statement: what rag.search is given, the rewrites' filter and boosts among it.
    rerank: None: the fused order stands. page: which of its hits are returned."""

    rewritten: Rewritten
    statement: StatementOptions
    rerank: Reranking | None
    page: slice

    @property
    def variants(self) -> Sequence[Variant]:
        return self.rewritten.variants

    @property
    def has_vector(self) -> bool:
        """Whether the caller brought the vector."""
        return self.variants[0].vector is not None

    @property
    def wants_vectors(self) -> bool:
        return self.statement.get("vector_weight") != 0


@dataclass(kw_only=True, slots=True)
class Found:
    """What was found, best first. notes: what has to be said of it. skipped: legs that a provider's
    failure left out. embeddings: that were searched with, None: keywords alone; space_id: theirs.
    seconds: how long the statement took with its embedding; parts: each of these by itself, and
    what reranked. is_short: fewer than were asked for.
    """

    hits: list[Hit]
    method: Method
    notes: list[str] = field(default_factory=list)
    skipped: set[Leg] = field(default_factory=set)
    embeddings: Sequence[Vectors] | None = None
    space_id: int | None = None
    seconds: float = 0.0
    parts: dict[str, float] = field(default_factory=dict)
    is_short: bool = False
    is_cached: bool = False


def read_query(rewritten: Rewritten, options: SearchOptions, database: Database) -> Query:
    """Return the search for a question with the options of `Collection.search` but for those of a
    rewrite and the cache. Raises: InvalidInput, InvalidQuery."""
    given = {**options}
    reranker = cast("str | Reranker | None", given.pop("rerank", None))
    timeout = cast("float | None", given.pop("rerank_timeout", SECONDS))
    weight = cast(float, given.pop("rerank_weight", 1.0))
    if rewritten.filter:
        given["filter"] = combine(options.get("filter"), rewritten.filter)
    if rewritten.boosts:
        given["boosts"] = [*(options.get("boosts") or ()), *rewritten.boosts]
    statement = cast(StatementOptions, database.plain_arguments("search", given))
    limit = statement.setdefault("limit", 10)
    if reranker is None:
        return Query(rewritten=rewritten, statement=statement, rerank=None, page=slice(limit))
    offset = statement.pop("offset", 0)
    count = reranked_limit(limit, statement.get("candidate_limit"), timeout, weight)
    if not 0 <= offset < count:
        raise InvalidQuery(
            f"offset {offset} is out of range: {count} candidates are reranked; "
            "raise candidate_limit"
        )
    statement["limit"] = statement["candidate_limit"] = count
    return Query(
        rewritten=rewritten,
        statement=statement,
        rerank=Reranking(reranker=reranker, timeout=timeout, weight=weight),
        page=slice(offset, offset + limit),
    )
