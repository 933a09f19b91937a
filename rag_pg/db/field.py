"""Statements about declared metadata fields."""

from __future__ import annotations

from rag_pg.db.connection import Statements


class Fields(Statements):
    """Metadata fields: declared, taken back, listed."""

    def list_fields(self, collection: str) -> dict[str, str]:
        return dict(self.tuples(("field", "type"), "list_fields", collection=collection))
