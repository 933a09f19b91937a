"""Keys of the HTTP service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime


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
