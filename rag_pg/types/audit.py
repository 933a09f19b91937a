"""What rag.audit says."""

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
