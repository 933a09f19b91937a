"""Statements that ask for counts, facets, selections and aggregates of documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from psycopg.types.json import Jsonb

from rag_pg.db.connection import Statements
from rag_pg.db.filters import plain_filter
from rag_pg.types import Document, Facet, MetadataField, ValueMatch


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

    def describe_metadata(
        self,
        collection: str,
        *,
        metadata_filter: Mapping[str, Any],
        examples: int,
        sample_size: int | None = 20_000,
    ) -> list[MetadataField]:
        return self._rows(
            MetadataField,
            """SELECT * FROM rag.describe_metadata(%(collection)s, %(filter)s, %(examples)s,
               %(sample_size)s)""",
            collection=collection,
            filter=Jsonb(plain_filter(metadata_filter)),
            examples=examples,
            sample_size=sample_size,
        )

    def aggregate_documents(
        self,
        collection: str,
        aggregates: Mapping[str, Mapping[str, str]],
        *,
        group_by: Sequence[str],
        metadata_filter: Mapping[str, Any],
        having: Mapping[str, Any],
        order_by: Sequence[str],
        limit: int,
    ) -> list[dict[str, Any]]:
        return self._scalars(
            """SELECT rag.aggregate_documents(%(collection)s, %(aggregates)s, %(group_by)s,
               %(filter)s, %(having)s, %(order)s, %(limit)s)""",
            collection=collection,
            aggregates=Jsonb(plain_filter(aggregates)),
            group_by=group_by,
            filter=Jsonb(plain_filter(metadata_filter)),
            having=Jsonb(plain_filter(having)),
            order=order_by,
            limit=limit,
        )

    def find_values(
        self, collection: str, field: str, query: str, *, limit: int
    ) -> list[ValueMatch]:
        return self._rows(
            ValueMatch,
            "SELECT * FROM rag.find_values(%(collection)s, %(field)s, %(query)s, %(limit)s)",
            collection=collection,
            field=field,
            query=query,
            limit=limit,
        )
