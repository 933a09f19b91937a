"""The metadata of a collection's documents: fields, facets, aggregates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from rag_pg.client.opened import OfCollection
from rag_pg.search import check_names
from rag_pg.types import Document, Facet, Grouping, MetadataField, ValueMatch


class Metadata(OfCollection):
    """What the documents of a collection say of themselves: indexed, described, counted, sorted."""

    def index(self, field: str, type: str) -> None:
        """Declare a metadata field, so that an index serves ranges and prefixes of it in filters.

        Args:
            field: a path as in filters, e.g. "year" or "author.name".
            type: text, numeric, timestamptz or boolean.
        Raises: CollectionMismatch when it is declared with another type. Writers wait meanwhile.
        """
        self._database.call("index_field", collection=self._name, field=field, type=type)
        self._opened.searcher.refresh()

    def unindex(self, field: str) -> bool:
        """Take back a declaration. False when there was none."""
        found = self._database.value(bool, "unindex_field", collection=self._name, field=field)
        if found:
            self._database.remove_dropped()
        self._opened.searcher.refresh()
        return found

    def fields(self) -> dict[str, str]:
        """The declared metadata fields and their types."""
        return self._database.list_fields(self._name)

    def describe(
        self,
        *,
        filter: Mapping[str, Any] | None = None,
        examples: int = 5,
        sample_size: int | None = 20_000,
    ) -> list[MetadataField]:
        """The metadata fields of the documents: types, ranges, examples; the most frequent first.

        Args:
            examples: 0 to 100 values of each field.
            sample_size: of more documents so many are read, always the same, and counts are
                estimates (`MetadataField.sampled_documents`); None: every document is read.
        Returns: at most 500 fields.
        """
        return self._database.describe_metadata(
            self._name,
            metadata_filter={} if filter is None else filter,
            examples=examples,
            sample_size=sample_size,
        )

    def facets(
        self, field: str, *, filter: Mapping[str, Any] | None = None, limit: int = 20
    ) -> list[Facet]:
        """The values of a metadata field and how many documents hold each, the most frequent first.

        Of an array each element counts, once per document; documents without the field do not.
        """
        return self._database.facets(
            self._name, field, metadata_filter={} if filter is None else filter, limit=limit
        )

    def merge(
        self,
        filter: Mapping[str, Any],
        patch: Mapping[str, Any],
        *,
        remove: Sequence[str] = (),
    ) -> int:
        """Change the metadata of all documents that pass a filter ({}: of all), in one transaction,
        and return how many they are. Nothing is cut or embedded anew.

        Args:
            patch: the keys to set; a value is replaced whole. remove: keys to take away.
        """
        return self._database.value(
            int,
            "merge_metadata",
            collection=self._name,
            filter=filter,
            patch=patch,
            remove_keys=remove,
        )

    def find_values(self, field: str, query: str, *, limit: int = 10) -> list[ValueMatch]:
        """The values of a metadata field that a text may mean, the most alike first.

        For names that are misspelt, in part, or written in another way. Several values of similar
        `similarity` mean that the text is ambiguous.

        Args:
            query: 1 to 200 characters.
            limit: 1 to 1000 values.
        """
        return self._database.find_values(self._name, field, query, limit=limit)

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
        `Collection.list` yields them all.

        Args:
            order_by: uri, title, created_at, updated_at, or a metadata field. Numbers sort by
                value, ISO dates by time, texts by code point;
                documents without the field come last, descending or not.
            limit: 1 to 1000 documents.
            offset: how many to leave out, as the pages before had.
        """
        return self._database.select_documents(
            self._name,
            metadata_filter={} if filter is None else filter,
            order_by=order_by,
            descending=descending,
            limit=limit,
            offset=offset,
        )

    def aggregate(
        self,
        aggregates: Mapping[str, Mapping[str, str]],
        **options: Unpack[Grouping],
    ) -> list[dict[str, Any]]:
        """Counts, sums, averages and extremes over the metadata of documents.

        Args:
            aggregates: by their names in the result, e.g. {"total": {"sum": "amount"}}; count,
                count_distinct, sum, avg, min or max of a field, and {"count": "*"}.
            group_by: fields, $columns, or parts of their dates: "kind", "month(signed)"
                (year, quarter, month, week, day, hour, weekday; in UTC).
            having: a filter over the names of the aggregates, e.g. {"total": {"$gte": 100}}.
            order_by: names of groups or aggregates; "-total" descends.
            filter: of the documents. limit: 1 to 1000 groups; 100.
        Returns: a mapping per group, of the names of groups and aggregates; one without groups.
        Raises: InvalidQuery, naming what is wrong.
        """
        check_names(options, known=Grouping.__optional_keys__, call="aggregate")
        return self._database.aggregate_documents(self._name, aggregates, **options)
