"""What rag.doctor, rag.status and rag.metrics say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """A row of rag.doctor: status is ok, warn or fail;
    remedy says what to do where it is not ok."""

    check_name: str
    status: str
    detail: str
    remedy: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class StatusLine:
    """A line of rag.status: topic is release, collection, queue, worker or finding; name says of
    what; state is a word, detail the numbers."""

    topic: str
    name: str | None
    state: str
    detail: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Metric:
    """A row of rag.metrics: a figure for monitoring. kind: gauge or counter."""

    name: str
    kind: str
    help: str
    labels: Mapping[str, str]
    value: float
