"""Statements that ask for counts, facets and selections of documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psycopg.types.json import Jsonb

from rag_pg.db.connection import Statements
from rag_pg.db.filters import plain_filter
from rag_pg.types import Document, Facet


class Metadata(Statements):
    """Questions over the metadata of documents."""

    def count_documents(self, collection: str, *, metadata_filter: Mapping[str, Any]) -> int:
        return int(
            self._scalar(
                "SELECT rag.count_documents(%(collection)s, %(filter)s)",
                collection=collection,
                filter=Jsonb(plain_filter(metadata_filter)),
            )
        )

    def facets(
        self, collection: str, field: str, *, metadata_filter: Mapping[str, Any], limit: int
    ) -> list[Facet]:
        return self._rows(
            Facet,
            "SELECT * FROM rag.facets(%(collection)s, %(field)s, %(filter)s, %(limit)s)",
            collection=collection,
            field=field,
            filter=Jsonb(plain_filter(metadata_filter)),
            limit=limit,
        )

    def select_documents(
        self,
        collection: str,
        *,
        metadata_filter: Mapping[str, Any],
        order_by: str,
        descending: bool,
        limit: int,
        offset: int,
    ) -> list[Document]:
        return self._rows(
            Document,
            """SELECT * FROM rag.select_documents(%(collection)s, %(filter)s, %(order_by)s,
               %(descending)s,
               %(limit)s, %(offset)s)""",
            collection=collection,
            filter=Jsonb(plain_filter(metadata_filter)),
            order_by=order_by,
            descending=descending,
            limit=limit,
            offset=offset,
        )
