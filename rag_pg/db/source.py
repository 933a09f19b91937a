"""Statements about sources: tables that collections follow, and locations they are synced with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag_pg.db.connection import Statements
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

    def take_location(
        self,
        worker_name: str,
        prefixes: Sequence[str],
        collections: Sequence[str] | None,
        lease_seconds: float,
    ) -> TakenLocation | None:
        return self.row(
            TakenLocation,
            "take_location",
            worker_name=worker_name,
            prefixes=prefixes,
            collections=collections,
            lease_seconds=lease_seconds,
        )

    def extend_location(self, location_id: int, worker_name: str, lease_seconds: float) -> bool:
        return self.value(
            bool,
            "extend_location",
            location_id=location_id,
            worker_name=worker_name,
            lease_seconds=lease_seconds,
        )

    def finish_location(
        self,
        location_id: int,
        worker_name: str,
        result: Mapping[str, Any] | None,
        error: str | None,
    ) -> bool:
        return self.value(
            bool,
            "finish_location",
            location_id=location_id,
            worker_name=worker_name,
            sync_result=result,
            error=error,
        )

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
