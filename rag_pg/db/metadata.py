"""Statements that ask for counts, facets, selections and aggregates of documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from rag_pg.db.statements import Statements
from rag_pg.types import Document, Facet, Grouping, MetadataField, ValueMatch, without_none


class Metadata(Statements):
    """Questions over the metadata of documents."""

    def list_fields(self, collection: str) -> dict[str, str]:
        """The declared fields with their types."""
        return dict(self.tuples(("field", "type"), "list_fields", collection=collection))

    def count_documents(self, collection: str, *, metadata_filter: Mapping[str, Any]) -> int:
        return self.value(int, "count_documents", collection=collection, filter=metadata_filter)

    def facets(
        self, collection: str, field: str, *, metadata_filter: Mapping[str, Any], limit: int
    ) -> list[Facet]:
        return self.rows(
            Facet, "facets", collection=collection, field=field, filter=metadata_filter, limit=limit
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
        return self.rows(
            Document,
            "select_documents",
            collection=collection,
            filter=metadata_filter,
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
        return self.rows(
            MetadataField,
            "describe_metadata",
            collection=collection,
            filter=metadata_filter,
            example_limit=examples,
            sample_size=sample_size,
        )

    def aggregate_documents(
        self,
        collection: str,
        aggregates: Mapping[str, Mapping[str, str]],
        **options: Unpack[Grouping],
    ) -> list[dict[str, Any]]:
        return self.values(
            dict,
            "aggregate_documents",
            collection=collection,
            aggregates=aggregates,
            **without_none(options),
        )

    def find_values(
        self, collection: str, field: str, query: str, *, limit: int
    ) -> list[ValueMatch]:
        return self.rows(
            ValueMatch, "find_values", collection=collection, field=field, query=query, limit=limit
        )
