"""Statements about declared metadata fields."""

from __future__ import annotations

from typing import Any

from rag_pg.db.connection import Statements


class Fields(Statements):
    """Metadata fields: declared, taken back, listed."""

    def index_field(self, collection: str, field: str, type: str) -> None:
        self._scalar(
            "SELECT rag.index_field(%(collection)s, %(field)s, %(type)s)",
            collection=collection,
            field=field,
            type=type,
        )

    def unindex_field(self, collection: str, field: str) -> bool:
        return bool(
            self._scalar(
                "SELECT rag.unindex_field(%(collection)s, %(field)s)",
                collection=collection,
                field=field,
            )
        )

    def list_fields(self, collection: str) -> dict[str, str]:
        found: list[Any] = self._tuples(
            "SELECT field, type FROM rag.list_fields(%(collection)s)", collection=collection
        )
        return dict(found)
