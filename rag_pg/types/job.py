"""Jobs of the queue."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """A claimed unit of work. Store and finish with its `lease`."""

    job_id: int
    lease: UUID
    kind: str
    collection_id: int
    collection_name: str
    document_id: UUID
    attempts: int
    space_id: int | None = None  # of an embed job


@dataclass(frozen=True, kw_only=True, slots=True)
class JobCounts:
    """Jobs of a collection; lag: seconds since the oldest unfinished one was due; delayed: waiting
    and not due yet; reason: why none is taken; rate: jobs a second of late;
    eta: seconds to the end."""

    collection_name: str
    waiting: int
    running: int
    dead: int
    lag: float
    delayed: int
    reason: str | None
    rate: float
    eta: float | None
