"""Sampled live queries that were asked again, and how much of the nearest the index finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayedQuery:
    """A sampled query, asked of a collection and of a candidate; query_text is None where words
    are not kept.

    overlap: the share of hits that both have, 0 to 1; rank_change: by how many ranks they differ on
    average. gained, lost, moved: hits that only the candidate has, that it has no more, or has
    elsewhere: uri, chunk_id, rank, and rank_after of those moved. error: why it could not be asked;
    overlap is None then.
    """

    query_id: int
    searched_at: datetime
    query_text: str | None
    legs: str
    overlap: float | None
    rank_change: float | None
    gained: Sequence[Mapping[str, Any]]
    lost: Sequence[Mapping[str, Any]]
    moved: Sequence[Mapping[str, Any]]
    error: str | None

    @property
    def is_unchanged(self) -> bool:
        """Whether both found the same in the same order."""
        return self.overlap == 1 and not self.moved


@dataclass(frozen=True, kw_only=True, slots=True)
class Replay:
    """A sample of live queries, asked of a collection and of a candidate: the first k hits
    compared. notes: what the comparison leaves out."""

    k: int
    queries: Sequence[ReplayedQuery]
    notes: Sequence[str]

    @property
    def compared(self) -> Sequence[ReplayedQuery]:
        """The queries that both were asked."""
        return [query for query in self.queries if query.error is None]

    @property
    def unchanged(self) -> int:
        """Of how many the hits and their order are the same."""
        return sum(query.is_unchanged for query in self.compared)

    @property
    def overlap(self) -> float | None:
        """The mean overlap, 0 to 1; None: nothing was compared."""
        values = [query.overlap for query in self.compared if query.overlap is not None]
        return sum(values) / len(values) if values else None

    @property
    def gained(self) -> int:
        """How many hits only the candidate found."""
        return sum(len(query.gained) for query in self.compared)

    @property
    def lost(self) -> int:
        """How many hits only the collection found."""
        return sum(len(query.lost) for query in self.compared)


@dataclass(frozen=True, kw_only=True, slots=True)
class RecallMeasure:
    """How much of the nearest k vector searches found, 0 to 1, with the 95 % interval.

    source: live (sampled queries) or stored (vectors of chunks); of walked_count of the query_count
    queries the index was walked, the others are searched exactly. ef_search: of searches without a
    filter; advised_ef_search: the first doubled value with which advised_recall reaches the target,
    or the last that was tried, None: none was. is_current: of the active space, as it is set now.
    """

    measure_id: int
    collection_name: str
    measured_at: datetime
    source: str
    query_count: int
    walked_count: int
    k: int
    recall: float
    lower_bound: float
    upper_bound: float
    target: float
    chunk_count: int
    ef_search: int
    advised_ef_search: int | None
    advised_recall: float | None
    space_id: int
    is_current: bool

    @property
    def is_enough(self) -> bool:
        """Whether the recall reaches its target."""
        return self.recall >= self.target
