"""What running a database with schema rag tells: findings, figures, keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


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


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditFinding(Finding):
    """A row of rag.audit; its status may be skip, where nothing could be measured. figures are what
    the detail is made of."""

    figures: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Advice:
    """Whether a setting suits the collection.

    topic: "statistics" comes first, with all `figures`; then language, model, chunking, weights,
    index, memory, fields. advised: equal to current where nothing is better. reason: the figures
    that speak for it. evidence: where that was measured, or that it was not. command: what changes
    it, in a shell or in SQL; None where there is nothing to change.
    """

    topic: str
    current: str | None
    advised: str | None
    reason: str
    evidence: str | None
    command: str | None
    figures: Mapping[str, Any] | None


@dataclass(frozen=True, kw_only=True, slots=True)
class CacheStats:
    """The entries of one kind and their uses.

    collection: None for what depends on none. kind: embedding, completion, search or answer.
    entries, bytes: of this role; the owner of the tables sees those of all. hits, misses,
    saved_tokens, saved_cost (US dollars): of all roles since the last crash of the server.
    """

    collection: str | None
    kind: str
    entries: int
    bytes: int
    hits: int
    misses: int
    saved_tokens: int
    saved_cost: float


@dataclass(frozen=True, kw_only=True, slots=True)
class UsedKey:
    """What a key may, or why it is refused, and for how long; see rag.use_service_key."""

    key_name: str
    role_name: str | None
    scopes: Sequence[str]
    settings: Mapping[str, str]
    refused: str | None
    wait_seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ServiceKey:
    """A key without its secret, and what it has used today; see rag.list_service_keys."""

    key_name: str
    role_name: str | None
    scopes: Sequence[str]
    settings: Mapping[str, str]
    limits: Mapping[str, float]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    requests: int
    tokens: int
    cost: float
