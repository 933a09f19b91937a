"""The statement about live queries that searches make: a sample of them is kept."""

from __future__ import annotations

from rag_pg.db.connection import Statements


class LiveQueries(Statements):
    """The sample of live queries."""
