"""Jobs of the queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
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
    traceparent: str | None = None  # the span that it was put in, as W3C trace context


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerInfo:
    """A worker that is at work. collections: None: all. rates: documents or chunks a second, by
    kind of job, of late."""

    worker: str
    version: str
    collections: Sequence[str] | None
    concurrency: int
    leased_jobs: int
    rates: Mapping[str, float]
    started_at: datetime
    seen_at: datetime


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
