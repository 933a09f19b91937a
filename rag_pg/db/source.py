"""Statements about sources: tables that collections follow, and locations they are synced with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag_pg.db.statements import Statements
from rag_pg.errors import StatementCanceled


@dataclass(frozen=True, kw_only=True, slots=True)
class TakenLocation:
    """A location that this worker alone syncs now."""

    location_id: int
    collection_name: str
    location: str
    options: Mapping[str, Any]


class Sources(Statements):
    """Sources: followed. Locations: taken, and how it went."""

    def follow_sources(self, collections: Sequence[str] | None = None) -> int:
        """One batch of each source that has something to do; each in a transaction of its own."""
        due = self.values(int, "due_sources", collections=collections)
        return sum(self.follow_source(source_id) for source_id in due)

    def follow_source(self, source_id: int) -> int:
        """One batch of one source. An error, or a cancelled statement,
        breaks it and nothing else."""
        try:
            return self.optional(int, "follow_source", of_source=source_id) or 0
        except StatementCanceled as exc:
            self.call("break_source", of_source=source_id, error=str(exc))
            return 0
