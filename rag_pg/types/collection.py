"""Collections and their embedding spaces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectionInfo:
    """A collection's settings. description: what its documents are and what they answer;
    keep_versions, keep_answers: for how many seconds texts that were replaced or deleted stay, and
    answers are logged; sample_queries: the share of searches that is kept to be replayed, with
    their words where keep_query_text, for keep_queries seconds, max_queries at most; recall_target:
    the share of the nearest that vector searches are to find, 0: not measured; ef_search: how
    widely the active space's index is searched, None: chosen by size; keep_original:
    whether the files themselves are stored."""

    collection_id: int
    name: str
    model: str
    dimensions: int
    distance: str
    language: str
    chunking: Mapping[str, Any]
    fingerprint: str | None
    space_id: int
    description: str = ""
    keep_versions: float = 0.0
    keep_answers: float = 0.0
    sample_queries: float = 0.0
    keep_query_text: bool = False
    keep_queries: float = 0.0
    max_queries: int = 0
    recall_target: float = 0.0
    ef_search: int | None = None
    keep_original: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class CosineSpread:
    """Mean and standard deviation of the cosines between a space's own vectors, by a sample."""

    mean: float
    spread: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Space:
    """An embedding space: state building, active or retired; `embedded` of `chunks` have their
    vector, `share` of them; `waiting` and `failed` are its embed jobs; index_state is ready,
    building, missing, invalid or none."""

    space_id: int
    collection_name: str
    model: str
    dimensions: int
    distance: str
    state: str
    embedded: int
    chunks: int
    share: float
    waiting: int
    failed: int
    bytes: int
    index_state: str
    fingerprint: str | None
    created_at: datetime
    activated_at: datetime | None
    similarity_mean: float | None
    similarity_spread: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class SpaceComparison:
    """What one space finds for a set of queries, on average: `overlap` with the active space's
    first hits, `rank_difference` of those that both have; `recall` and `ndcg` where queries have
    judgements. `hits` are the chunk ids by query, in the order asked."""

    space_id: int
    model: str
    state: str
    share: float
    overlap: float | None
    rank_difference: float | None
    recall: float | None
    ndcg: float | None
    hits: Sequence[Sequence[int]]


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectionStats:
    """Counts of documents and chunks; embedded: chunks with a vector in the active space, which is
    of `model`; pending: jobs waiting or running, of which so many are `running`, and `delayed`: not
    due yet; failed: dead jobs; bytes on disk; lag: seconds since the oldest put that is not
    searchable yet, 0 when all are; rate, eta, reason: as of `JobCounts`."""

    collection: str
    model: str
    documents: int
    chunks: int
    embedded: int
    pending: int
    running: int
    delayed: int
    failed: int
    bytes: int
    lag: float
    rate: float
    eta: float | None
    reason: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Transfer:
    """What `Rag.export_collection` wrote into a folder, or `Rag.import_collection` read from one.

    versions, originals: 0 where they were not asked for. notes: what is to be known of it.
    """

    collection: str
    documents: int
    chunks: int
    versions: int
    originals: int
    notes: Sequence[str] = ()
