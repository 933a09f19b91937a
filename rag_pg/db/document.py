"""Statements about documents and their chunks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, LiteralString
from uuid import UUID

import numpy as np
from pgvector.psycopg.halfvec import HalfVector
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from rag_pg.db.arguments import checked_json
from rag_pg.db.connection import halfvec_type
from rag_pg.db.statements import Statements, columns_of
from rag_pg.errors import InvalidInput, InvalidQuery
from rag_pg.types import Document, Existing, Original, Vectors

MOST_IN_A_STATEMENT = 20  # chunks, above which a temporary table costs less
STAGED = ("uri", "title", "heading", "content", "metadata", "embedding")


@dataclass(frozen=True, kw_only=True, slots=True)
class Unfinished:
    """A document that is not searchable in the wanted version: state pending or failed."""

    document_id: UUID
    uri: str
    wanted_version: int
    state: str
    error: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadCounts:
    """What rag.load_staged took over."""

    loaded_documents: int
    loaded_chunks: int
    queued: Sequence[UUID]


@dataclass(frozen=True, kw_only=True, slots=True)
class Synced:
    """A document, and what a sync noted of it."""

    uri: str
    document_id: UUID
    sync_state: Mapping[str, Any] | None


class Documents(Statements):
    """Documents: put, loaded, read, deleted."""

    def put_documents(
        self,
        collection: str,
        documents: Sequence[Mapping[str, Any]],
        existing: Existing = "replace",
        queued: set[UUID] | None = None,
    ) -> list[UUID]:
        """queued: is given the ids of those that are work, before any worker can have done it."""
        own = self.in_trace()
        if queued is None:
            return own.values(
                UUID,
                "put_documents",
                collection=collection,
                documents=documents,
                existing=existing,
            )
        with own.connection() as connection, connection.transaction():
            own._set_local(connection)

            def ids(function: LiteralString, column: str, **arguments: Any) -> list[UUID]:
                statement = own._calls.statement(function, tuple(arguments), (column,))
                found = connection.execute(statement, own._calls.plain(function, arguments))
                return [document_id for (document_id,) in found]

            given = {"collection": collection, "documents": documents, "existing": existing}
            put = ids("put_documents", "put_documents", **given)
            work = {"collection": collection, "document_ids": put}
            pending = ids("pending_documents", "document_id", **work)
        queued.update(pending)
        return put

    def load_chunks(
        self,
        collection: str,
        records: Iterable[Mapping[str, Any]],
        dimensions: int,
        existing: Existing = "replace",
    ) -> LoadCounts:
        """Store ready-made chunks, in one transaction: a few by one statement, many through COPY
        into a temporary table."""
        coming = (_staged_row(i, record, dimensions) for i, record in enumerate(records))
        few = [*islice(coming, MOST_IN_A_STATEMENT + 1)]
        if len(few) <= MOST_IN_A_STATEMENT:
            chunks: list[dict[str, Any]] = [dict(zip(STAGED, row[1:], strict=True)) for row in few]
            for chunk in chunks:
                vector = chunk["embedding"]
                chunk["embedding"] = None if vector is None else vector.to_list()
                chunk["metadata"] = chunk["metadata"].obj
            return self.only(
                LoadCounts, "load_chunks", collection=collection, chunks=chunks, existing=existing
            )
        with self.connection() as connection, connection.transaction():
            self._set_local(connection)
            halfvec = halfvec_type(connection)
            connection.execute(
                "CREATE TEMPORARY TABLE staged_chunks (position bigint, uri pg_catalog.text, "
                "title pg_catalog.text, heading pg_catalog.text, content pg_catalog.text, "
                f"metadata pg_catalog.jsonb, embedding {halfvec.regtype}) ON COMMIT DROP".encode()
            )
            with connection.cursor() as cursor, cursor.copy(
                "COPY pg_temp.staged_chunks FROM STDIN WITH (FORMAT binary)"
            ) as copy:  # fmt: skip
                copy.set_types(["int8", "text", "text", "text", "text", "jsonb", halfvec.oid])
                for row in chain(few, coming):
                    copy.write_row(row)
            with connection.cursor(row_factory=class_row(LoadCounts)) as rows:
                counts = rows.execute(
                    self._calls.statement(
                        "load_staged", ("collection", "existing"), columns_of(LoadCounts)
                    ),
                    {"collection": collection, "existing": existing},
                ).fetchone()
            assert counts is not None
            return counts

    def delete_documents(self, collection: str, uris: Iterable[str]) -> int:
        return self.value(int, "delete_documents", collection=collection, uris=uris)

    def synced_documents(self, collection: str, uri_prefix: str) -> list[Synced]:
        return self.rows(Synced, "_synced_documents", collection=collection, uri_prefix=uri_prefix)

    def note_synced(self, collection: str, states: Mapping[str, Mapping[str, Any]]) -> None:
        self.call("_note_synced", collection=collection, states=states)

    def keep_original(self, collection: str, uri: str, original: Original) -> bool:
        return self.value(
            bool,
            "keep_original",
            collection=collection,
            uri=uri,
            file_name=original.file_name,
            data=original.data,
            media_type=original.media_type,
        )

    def get_document(self, collection: str, uri: str) -> Document | None:
        return self.row(Document, "get_document", collection=collection, uri=uri)

    def get_documents(self, collection: str, uris: Sequence[str]) -> list[Document]:
        return self.rows(Document, "get_documents", collection=collection, uris=uris)

    def get_embeddings(self, collection: str, chunk_ids: Iterable[int]) -> dict[int, Vectors]:
        rows = self.tuples(
            ("chunk_id", "embedding"), "get_embeddings", collection=collection, chunk_ids=chunk_ids
        )
        return {chunk_id: vector.to_numpy().astype(np.float32) for chunk_id, vector in rows}

    def list_documents(
        self,
        collection: str,
        *,
        metadata_filter: Mapping[str, Any],
        limit: int,
        after_uri: str,
        uri_prefix: str | None = None,
        with_content: bool = False,
    ) -> list[Document]:
        return self.rows(
            Document,
            "list_documents",
            collection=collection,
            filter=metadata_filter,
            limit=limit,
            after_uri=after_uri,
            uri_prefix=uri_prefix,
            with_content=with_content,
        )

    def each_document(
        self,
        collection: str,
        *,
        metadata_filter: Mapping[str, Any] | None = None,
        limit: int | None = None,
        uri_prefix: str | None = None,
        with_content: bool = False,
        after: str = "",
    ) -> Iterator[Document]:
        """Yield documents by uri, a page at a time. Raises InvalidQuery."""
        if limit is not None and limit < 0:
            raise InvalidQuery(f"limit {limit} is out of range; use 0 or more")
        left = limit
        while left is None or left > 0:
            page = self.list_documents(
                collection,
                metadata_filter={} if metadata_filter is None else metadata_filter,
                limit=min(500, left or 500),
                after_uri=after,
                uri_prefix=uri_prefix,
                with_content=with_content,
            )
            yield from page
            if len(page) < 500:
                return
            after = page[-1].uri
            left = None if left is None else left - len(page)

    def unfinished(
        self, collection: str, ids: Sequence[UUID], versions: Sequence[int] | None = None
    ) -> list[Unfinished]:
        return self.rows(
            Unfinished,
            "pending_documents",
            collection=collection,
            document_ids=ids,
            versions=versions,
        )


def _staged_row(ordinal: int, record: Mapping[str, Any], dimensions: int) -> Sequence[object]:
    embedding = record.get("embedding")
    if embedding is not None:
        embedding = np.asarray(embedding, dtype=np.float32)
        if embedding.shape != (dimensions,):
            raise InvalidInput(
                f"chunk {ordinal} ({record['uri']}): its embedding has shape {embedding.shape}, "
                f"the collection stores {dimensions} dimensions"
            )
        if not np.isfinite(embedding).all():
            raise InvalidInput(
                f"chunk {ordinal} ({record['uri']}): its embedding holds NaN or infinity"
            )
        embedding = HalfVector(embedding)
    return (
        ordinal,
        record["uri"],
        record.get("title") or "",
        record.get("heading") or "",
        record["content"],
        checked_json(f"chunk {ordinal}: metadata", Jsonb(record.get("metadata") or {})),
        embedding,
    )
