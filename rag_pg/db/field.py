"""Statements about declared metadata fields."""

from __future__ import annotations

from rag_pg.db.connection import Statements


class Fields(Statements):
    """Metadata fields: declared, taken back, listed."""

    def index_field(self, collection: str, field: str, type: str) -> None:
        self.call("index_field", collection=collection, field=field, type=type)

    def unindex_field(self, collection: str, field: str) -> bool:
        return self.value(bool, "unindex_field", collection=collection, field=field)

    def list_fields(self, collection: str) -> dict[str, str]:
        return dict(self.tuples(("field", "type"), "list_fields", collection=collection))
