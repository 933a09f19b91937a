"""The metadata of a collection as a rewrite may see it: declared fields with their values."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from rag_pg.db import Database
from rag_pg.search.rewrite import MOST_VALUES, Field, combine
from rag_pg.types import Document, MetadataField, MetadataQuery, MetadataResult

CHUNK_TOKENS = 300  # of a chunk with its heading, at most, as long as chunking is the default
EXAMPLES = 5  # values of a field
DESCRIBE_SECONDS = 5.0
SECONDS = 60.0  # that they are remembered


class CollectionMetadata:
    """The fields that `index_field` declared, read at most once a minute; counts of documents,
    always."""

    def __init__(self, database: Database, collection: str) -> None:
        self._database = database
        self._collection = collection
        self._fields: Sequence[Field] = ()
        self._read_at = float("-inf")
        self._described: tuple[tuple[int, str], Sequence[MetadataField]] | None = None
        self._lock = threading.Lock()

    def fields(self) -> Sequence[Field]:
        """The declared fields by name. Raises: as the database."""
        with self._lock:
            if time.monotonic() - self._read_at > SECONDS:
                declared = self._database.list_fields(self._collection)
                self._fields = [self._read(name, type_) for name, type_ in declared.items()]
                self._read_at = time.monotonic()
            return self._fields

    def count(self, filter: Mapping[str, Any]) -> int:
        """How many documents pass a filter. Raises: InvalidQuery (it does not compile)."""
        return self._database.count_documents(self._collection, metadata_filter=filter)

    def tokens(self) -> int:
        """The tokens of all chunks, at most."""
        (stats,) = self._database.collection_stats(self._collection)
        return stats.chunks * CHUNK_TOKENS

    def answer(
        self, query: MetadataQuery, within: Mapping[str, Any] | None = None
    ) -> MetadataResult:
        """Return what a question asks of the metadata. within: the caller's own filter.

        Raises: InvalidQuery (the filter does not compile).
        """
        wanted = combine(within, query.filter)
        if query.kind == "values":
            found = self._database.facets(
                self._collection, query.values_of, metadata_filter=wanted, limit=MOST_VALUES
            )
            return MetadataResult(query=query, total=len(found), values=found[: query.limit])
        documents: Sequence[Document] = ()
        if query.kind == "list":
            documents = self._database.select_documents(
                self._collection,
                metadata_filter=wanted,
                order_by=query.order_by,
                descending=query.descending,
                limit=query.limit,
                offset=0,
            )
        return MetadataResult(query=query, total=self.count(wanted), documents=documents)

    def describe(self, within: Mapping[str, Any] | None = None) -> Sequence[MetadataField]:
        """Return the fields of the documents that pass a filter; remembered until the collection
        changes.

        Raises: StatementCanceled (it takes more than 5 seconds), InvalidQuery.
        """
        state = (self._database.collection_version(self._collection), repr(within))
        with self._lock:
            if self._described is None or self._described[0] != state:
                found = self._database.limited(DESCRIBE_SECONDS).describe_metadata(
                    self._collection, metadata_filter=within or {}, examples=EXAMPLES
                )
                self._described = (state, found)
            return self._described[1]

    def _read(self, name: str, type_: str) -> Field:
        found = self._database.facets(self._collection, name, metadata_filter={}, limit=MOST_VALUES)
        return Field(name=name, type=type_, values=tuple(facet.value for facet in found))
