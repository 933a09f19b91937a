"""Statements about sources: tables that collections follow."""

from __future__ import annotations

from collections.abc import Sequence

from rag_pg.db.connection import Statements
from rag_pg.errors import StatementCanceled


class Sources(Statements):
    """Sources: followed."""

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
