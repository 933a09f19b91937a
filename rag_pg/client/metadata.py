"""The metadata of a collection's documents: fields, counts, facets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rag_pg.client.opened import OpenCollection
from rag_pg.types import Document, Facet


class Metadata(OpenCollection):
    """The methods of `Collection` about metadata."""

    def index_field(self, field: str, type: str) -> None:
        """Declare a metadata field, so that an index serves ranges and prefixes of it in filters.

        Args:
            field: a path as in filters, e.g. "year" or "author.name".
            type: text, numeric, timestamptz or boolean.
        Raises: CollectionMismatch when it is declared with another type. Writers wait meanwhile.
        """
        self.rag.database.index_field(self.name, field, type)
        self._searcher.refresh()

    def unindex_field(self, field: str) -> bool:
        """Take back a declaration. False when there was none."""
        found = self.rag.database.unindex_field(self.name, field)
        self._searcher.refresh()
        return found

    def fields(self) -> dict[str, str]:
        """The declared metadata fields and their types."""
        return self.rag.database.list_fields(self.name)

    def count(self, *, filter: Mapping[str, Any] | None = None) -> int:
        """How many documents there are whose metadata pass the filter."""
        return self.rag.database.count_documents(self.name, metadata_filter=filter or {})

    def facets(
        self, field: str, *, filter: Mapping[str, Any] | None = None, limit: int = 20
    ) -> list[Facet]:
        """The values of a metadata field and how many documents hold each, the most frequent first.

        Of an array each element counts, once per document; documents without the field do not.
        """
        return self.rag.database.facets(self.name, field, metadata_filter=filter or {}, limit=limit)

    def select(
        self,
        *,
        filter: Mapping[str, Any] | None = None,
        order_by: str = "uri",
        descending: bool = False,
        limit: int = 20,
        offset: int = 0,
    ) -> list[Document]:
        """Return the first documents in some order, without their content;
        `documents` yields them all.

        Args:
            order_by: uri, title, created_at, updated_at, or a metadata field. Numbers sort by
                value, ISO dates by time, texts by code point;
                documents without the field come last, descending or not.
            limit: 1 to 1000 documents.
            offset: how many to leave out, as the pages before had.
        """
        return self.rag.database.select_documents(
            self.name,
            metadata_filter=filter or {},
            order_by=order_by,
            descending=descending,
            limit=limit,
            offset=offset,
        )
