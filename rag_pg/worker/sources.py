"""Follows sources: what changed in a table goes into its collection."""

from __future__ import annotations

from collections.abc import Sequence

from rag_pg.db import Database
from rag_pg.worker.loops import Loop


class SourceFollower(Loop):
    """Keeps collections in step with their sources."""

    thread_name = "rag-pg-follow"

    def __init__(self, database: Database, *, collections: Sequence[str] | None = None) -> None:
        super().__init__()
        self.database = database
        self.collections = collections

    def act(self) -> int:
        """Bring the collections in step with their sources. Returns how many rows were read."""
        total = 0
        while not self._stop.is_set() and (done := self.database.follow_sources(self.collections)):
            total += done
        return total
