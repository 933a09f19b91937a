"""Follows sources: what changed in a table goes into its collection."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from rag_pg.db import Database
from rag_pg.worker.loops import Loop

log = logging.getLogger(__name__)


class SourceFollower(Loop):
    """Keeps collections in step with their sources."""

    thread_name = "rag-pg-follow"

    def __init__(self, database: Database, *, collections: Sequence[str] | None = None) -> None:
        super().__init__()
        self.database = database
        self.collections = collections
        self._told: dict[tuple[str, str], str] = {}

    def act(self) -> int:
        """Bring the collections in step with their sources. Returns how many rows were read."""
        total = 0
        while not self._stop.is_set() and (done := self.database.follow_sources(self.collections)):
            total += done
        return total

    def tell_broken(self) -> None:
        """Log the sources that broke since the last call, or for another reason than then."""
        listed = self.database.dicts("list_sources")
        broken = {
            (one["source_table"], one["collection_name"]): str(one["last_error"])
            for one in listed
            if one["state"] == "broken"
        }
        for (table, collection), error in broken.items() - self._told.items():
            about = {"source": table, "collection": collection}
            log.error("source %s is broken: %s", table, error, extra=about)
        self._told = broken
