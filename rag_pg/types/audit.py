"""What an audit and advice say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditFinding:
    """A row of rag.audit: status is ok, warn, fail, or skip where nothing could be measured; remedy
    says what to do where it is not ok; figures are what the detail is made of."""

    check_name: str
    status: str
    detail: str
    remedy: str | None
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
