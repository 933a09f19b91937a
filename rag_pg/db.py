"""The only runtime file with SQL: one method, one statement, named parameters.

Connections come from a pool, are in autocommit mode and keep no session state, so transaction poolers work.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, LiteralString, TypeVar
from uuid import UUID

import numpy as np
import psycopg
from pgvector import HalfVector
from pgvector.psycopg.halfvec import register_halfvec_info
from psycopg import sql
from psycopg.rows import class_row, scalar_row
from psycopg.types import TypeInfo
from psycopg.types.json import Jsonb
from psycopg_pool import ConnectionPool, PoolTimeout

from rag_pg.errors import (
    SQLSTATES,
    DatabaseUnavailable,
    InvalidInput,
    RagError,
    SchemaMismatch,
)
from rag_pg.filters import plain_filter
from rag_pg.models import CollectionInfo, CollectionStats, Document, Hit, Job, Vectors

API_VERSION = 1
CONNECT_SECONDS = 10
POOL_SIZE = 4
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class IngestWork:
    """What rag.read_job hands to a worker."""

    document_id: UUID
    uri: str
    title: str
    content: str
    media_type: str
    document_version: int
    chunking: Mapping[str, Any]
    embedded_hashes: Sequence[bytes]


@dataclass(frozen=True, kw_only=True, slots=True)
class Unfinished:
    """A document that is not searchable in its last version: state pending or failed."""

    document_id: UUID
    uri: str
    state: str
    error: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class JobCounts:
    """Jobs of a collection; lag: seconds since the oldest unfinished one was due."""

    collection_name: str
    waiting: int
    running: int
    dead: int
    lag: float


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadCounts:
    """What rag.load_staged took over."""

    loaded_documents: int
    loaded_chunks: int
    queued: Sequence[UUID]


class Database:
    """rag_pg's functions as methods. Opens nothing until `open`."""

    def __init__(self, dsn: str, *, pool_size: int = POOL_SIZE) -> None:
        self.dsn = dsn
        self._pool = ConnectionPool(
            dsn,
            min_size=1,
            max_size=pool_size,
            open=False,
            timeout=CONNECT_SECONDS,
            configure=_configure,
            kwargs={
                "autocommit": True,
                "prepare_threshold": None,
                "connect_timeout": CONNECT_SECONDS,
            },
        )
        self._opened = False

    def open(self) -> None:
        """Connect and compare versions.

        Raises DatabaseUnavailable, or SchemaMismatch when the schema is missing, older or newer.
        """
        if self._opened:
            return
        with (
            database_errors(),
            psycopg.connect(self.dsn, connect_timeout=CONNECT_SECONDS) as connection,
        ):
            found = _api_version(connection)
        if found != API_VERSION:
            remedy = 'run "rag-pg db upgrade"' if found < API_VERSION else "upgrade rag-pg"
            raise SchemaMismatch(
                f"schema rag has api version {found}, this program needs {API_VERSION}: {remedy}"
            )
        self._pool.open(wait=False)
        self._opened = True

    def close(self) -> None:
        if self._opened:
            self._pool.close()
            self._opened = False

    @contextmanager
    def connection(self) -> Iterator[psycopg.Connection[Any]]:
        """A pooled connection; its errors are translated."""
        with database_errors(), self._pool.connection() as connection:
            yield connection

    def _rows(self, cls: type[T], statement: LiteralString, /, **values: object) -> list[T]:
        with (
            self.connection() as connection,
            connection.cursor(row_factory=class_row(cls)) as cursor,
        ):
            return cursor.execute(statement, values).fetchall()

    def _scalar(self, statement: LiteralString, /, **values: object) -> Any:
        with self.connection() as connection, connection.cursor(row_factory=scalar_row) as cursor:
            return cursor.execute(statement, values).fetchone()

    # --- collections

    def create_collection(
        self,
        name: str,
        *,
        model: str,
        dimensions: int,
        distance: str,
        language: str,
        chunking: Mapping[str, Any],
        index_options: Mapping[str, Any],
    ) -> int:
        return int(
            self._scalar(
                """SELECT rag.create_collection(%(name)s, %(model)s, %(dimensions)s, %(distance)s,
                   %(language)s::regconfig, %(chunking)s, %(index_options)s)""",
                name=name,
                model=model,
                dimensions=dimensions,
                distance=distance,
                language=language,
                chunking=Jsonb(chunking),
                index_options=Jsonb(index_options),
            )
        )

    def list_collections(self) -> list[CollectionInfo]:
        return self._rows(CollectionInfo, "SELECT * FROM rag.list_collections()")

    def set_fingerprint(self, collection: str, fingerprint: str) -> None:
        self._scalar(
            "SELECT rag.set_fingerprint(%(collection)s, %(fingerprint)s)",
            collection=collection,
            fingerprint=fingerprint,
        )

    def drop_collection(self, name: str) -> None:
        self._scalar("SELECT rag.drop_collection(%(name)s)", name=name)

    def remove_dropped(self) -> int:
        return int(self._scalar("SELECT rag.remove_dropped()"))

    def maintain(self) -> None:
        self._scalar("SELECT count(*) FROM rag.maintain()")

    def collection_stats(self, name: str | None = None) -> list[CollectionStats]:
        return self._rows(
            CollectionStats, "SELECT * FROM rag.collection_stats(%(name)s)", name=name
        )

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
        with self.connection() as connection:
            return dict(
                connection.execute(
                    "SELECT field, type FROM rag.list_fields(%(collection)s)",
                    {"collection": collection},
                ).fetchall()
            )

    # --- documents

    def put_documents(self, collection: str, documents: Sequence[Mapping[str, Any]]) -> list[UUID]:
        with self.connection() as connection, connection.cursor(row_factory=scalar_row) as cursor:
            cursor.execute(
                "SELECT rag.put_documents(%(collection)s, %(documents)s)",
                {"collection": collection, "documents": Jsonb(documents)},
            )
            return list(cursor)

    def put_chunks(
        self,
        collection: str,
        uri: str,
        chunks: Sequence[Mapping[str, Any]],
        *,
        title: str,
        metadata: Mapping[str, Any],
    ) -> UUID:
        found: UUID = self._scalar(
            "SELECT rag.put_chunks(%(collection)s, %(uri)s, %(chunks)s, %(title)s, %(metadata)s)",
            collection=collection,
            uri=uri,
            chunks=Jsonb(chunks),
            title=title,
            metadata=Jsonb(metadata),
        )
        return found

    def delete_document(self, collection: str, uri: str) -> bool:
        return bool(
            self._scalar(
                "SELECT rag.delete_document(%(collection)s, %(uri)s)",
                collection=collection,
                uri=uri,
            )
        )

    def get_document(self, collection: str, uri: str) -> Document | None:
        rows = self._rows(
            Document,
            "SELECT * FROM rag.get_document(%(collection)s, %(uri)s)",
            collection=collection,
            uri=uri,
        )
        return rows[0] if rows else None

    def list_documents(
        self, collection: str, *, metadata_filter: Mapping[str, Any], limit: int, after_uri: str
    ) -> list[Document]:
        return self._rows(
            Document,
            "SELECT * FROM rag.list_documents(%(collection)s, %(filter)s, %(limit)s, %(after)s)",
            collection=collection,
            filter=Jsonb(plain_filter(metadata_filter)),
            limit=limit,
            after=after_uri,
        )

    def load_chunks(
        self, collection: str, records: Iterable[Mapping[str, Any]], dimensions: int
    ) -> LoadCounts:
        """COPY ready-made chunks into a temporary table and take them over, in one transaction."""
        with self.connection() as connection, connection.transaction():
            halfvec = _halfvec(connection)
            connection.execute(
                sql.SQL(
                    "CREATE TEMPORARY TABLE staged_chunks (place bigint, uri text, title text, heading text, "
                    "content text, metadata jsonb, embedding {}) ON COMMIT DROP"
                ).format(sql.Identifier(_vector_schema(connection), "halfvec"))
            )
            with connection.cursor() as cursor, cursor.copy(
                "COPY pg_temp.staged_chunks FROM STDIN WITH (FORMAT binary)"
            ) as copy:  # fmt: skip
                copy.set_types(["int8", "text", "text", "text", "text", "jsonb", halfvec.oid])
                for place, record in enumerate(records):
                    copy.write_row(_staged_row(place, record, dimensions))
            with connection.cursor(row_factory=class_row(LoadCounts)) as rows:
                counts = rows.execute(
                    "SELECT * FROM rag.load_staged(%(collection)s)", {"collection": collection}
                ).fetchone()
            assert counts is not None
            return counts

    def unfinished(self, collection: str, ids: Sequence[UUID]) -> list[Unfinished]:
        return self._rows(
            Unfinished,
            "SELECT * FROM rag.unfinished(%(collection)s, %(ids)s)",
            collection=collection,
            ids=list(ids),
        )

    # --- jobs

    def take_jobs(
        self, *, limit: int, lease_seconds: float, collections: Sequence[str] | None, worker: str
    ) -> list[Job]:
        return self._rows(
            Job,
            "SELECT * FROM rag.take_jobs(%(limit)s, %(seconds)s, %(collections)s::text[], %(worker)s)",
            limit=limit,
            seconds=lease_seconds,
            collections=None if collections is None else list(collections),
            worker=worker,
        )

    def read_job(self, job: Job) -> IngestWork | None:
        rows = self._rows(
            IngestWork,
            "SELECT * FROM rag.read_job(%(job_id)s, %(lease)s)",
            job_id=job.job_id,
            lease=job.lease,
        )
        return rows[0] if rows else None

    def chunks_to_embed(self, job: Job, limit: int) -> list[tuple[int, str]]:
        with self.connection() as connection:
            return connection.execute(
                "SELECT * FROM rag.chunks_to_embed(%(job_id)s, %(lease)s, %(limit)s)",
                {"job_id": job.job_id, "lease": job.lease, "limit": limit},
            ).fetchall()

    def store_chunks(self, job: Job, version: int, chunks: Sequence[Mapping[str, Any]]) -> str:
        return str(
            self._scalar(
                "SELECT rag.store_chunks(%(job_id)s, %(lease)s, %(version)s, %(chunks)s)",
                job_id=job.job_id,
                lease=job.lease,
                version=version,
                chunks=Jsonb(chunks),
            )
        )

    def store_embeddings(self, job: Job, chunk_ids: Sequence[int], vectors: Vectors) -> int:
        return int(
            self._scalar(
                "SELECT rag.store_embeddings(%(job_id)s, %(lease)s, %(chunk_ids)s, %(vectors)s)",
                job_id=job.job_id,
                lease=job.lease,
                chunk_ids=list(chunk_ids),
                vectors=[HalfVector(vector) for vector in vectors],
            )
        )

    def extend_job(self, job: Job, lease_seconds: float) -> bool:
        return bool(
            self._scalar(
                "SELECT rag.extend_job(%(job_id)s, %(lease)s, %(seconds)s)",
                job_id=job.job_id,
                lease=job.lease,
                seconds=lease_seconds,
            )
        )

    def finish_job(self, job: Job) -> None:
        self._scalar(
            "SELECT rag.finish_job(%(job_id)s, %(lease)s)", job_id=job.job_id, lease=job.lease
        )

    def fail_job(
        self,
        job: Job,
        error: str,
        *,
        retry_in: float | None = None,
        permanent: bool = False,
        count_attempt: bool = True,
    ) -> str:
        return str(
            self._scalar(
                """SELECT rag.fail_job(%(job_id)s, %(lease)s, %(error)s, %(retry_in)s,
                   %(permanent)s, %(count_attempt)s)""",
                job_id=job.job_id,
                lease=job.lease,
                error=error.replace("\0", ""),
                retry_in=retry_in,
                permanent=permanent,
                count_attempt=count_attempt,
            )
        )

    def job_stats(self, collection: str | None = None) -> list[JobCounts]:
        return self._rows(
            JobCounts, "SELECT * FROM rag.job_stats(%(collection)s)", collection=collection
        )

    def list_jobs(
        self, collection: str | None, state: str | None, limit: int
    ) -> list[dict[str, Any]]:
        with self.connection() as connection, connection.cursor(
            row_factory=psycopg.rows.dict_row
        ) as cursor:  # fmt: skip
            return cursor.execute(
                "SELECT * FROM rag.list_jobs(%(collection)s, %(state)s, %(limit)s)",
                {"collection": collection, "state": state, "limit": limit},
            ).fetchall()

    def retry_jobs(self, collection: str | None, error_like: str | None) -> int:
        return int(
            self._scalar(
                "SELECT rag.retry_jobs(%(collection)s, %(error_like)s)",
                collection=collection,
                error_like=error_like,
            )
        )

    @contextmanager
    def listen(self) -> Iterator[psycopg.Connection[Any]]:
        """A connection of its own that hears of new jobs; NOTIFY does not pass transaction poolers."""
        with database_errors(), psycopg.connect(
            self.dsn, autocommit=True, connect_timeout=CONNECT_SECONDS
        ) as connection:  # fmt: skip
            connection.execute("LISTEN rag_jobs")
            yield connection

    # --- search

    def search(
        self, collection: str, query: str | None, embedding: Vectors | None, **options: Any
    ) -> list[Hit]:
        """Search in one round trip; asked again once when pooled connections turn out to be dead."""
        try:
            return self._search(collection, query, embedding, **options)
        except DatabaseUnavailable:
            self._pool.check()
            return self._search(collection, query, embedding, **options)

    def _search(
        self,
        collection: str,
        query: str | None,
        embedding: Vectors | None,
        *,
        limit: int,
        metadata_filter: Mapping[str, Any],
        vector_weight: float | None = None,
        keyword_weight: float | None = None,
        fusion: str | None = None,
        rrf_k: int | None = None,
        candidate_limit: int | None = None,
        diversity: float | None = None,
        per_document: int | None = None,
        boosts: Sequence[Mapping[str, Any]] | None = None,
        duplicates: bool | None = None,
    ) -> list[Hit]:
        return self._rows(
            Hit,
            """SELECT * FROM rag.search(%(collection)s, %(query)s, %(embedding)s, result_limit => %(limit)s,
               metadata_filter => %(filter)s, vector_weight => %(vector_weight)s,
               keyword_weight => %(keyword_weight)s, fusion => %(fusion)s, rrf_k => %(rrf_k)s,
               candidate_limit => %(candidate_limit)s, diversity => %(diversity)s,
               per_document => %(per_document)s, boosts => %(boosts)s, duplicates => %(duplicates)s)""",
            collection=collection,
            query=query,
            embedding=None if embedding is None else HalfVector(embedding),
            limit=limit,
            filter=Jsonb(plain_filter(metadata_filter)),
            vector_weight=vector_weight,
            keyword_weight=keyword_weight,
            fusion=fusion,
            rrf_k=rrf_k,
            candidate_limit=candidate_limit,
            diversity=diversity,
            per_document=per_document,
            boosts=None if boosts is None else Jsonb(list(boosts)),
            duplicates=duplicates,
        )


def _staged_row(place: int, record: Mapping[str, Any], dimensions: int) -> Sequence[object]:
    embedding = record.get("embedding")
    if embedding is not None:
        embedding = np.asarray(embedding, dtype=np.float32)
        if embedding.shape != (dimensions,):
            raise InvalidInput(
                f"chunk {place} ({record['uri']}): its embedding has shape {embedding.shape}, "
                f"the collection stores {dimensions} dimensions"
            )
        if not np.isfinite(embedding).all():
            raise InvalidInput(
                f"chunk {place} ({record['uri']}): its embedding holds NaN or infinity"
            )
        embedding = HalfVector(embedding)
    return (
        place,
        record["uri"],
        record.get("title") or "",
        record.get("heading") or "",
        record["content"],
        Jsonb(record.get("metadata") or {}),
        embedding,
    )


def _vector_schema(connection: psycopg.Connection[Any]) -> str:
    row = connection.execute(
        "SELECT n.nspname FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace "
        "WHERE e.extname = 'vector'"
    ).fetchone()
    if row is None:
        raise SchemaMismatch('this database has no pgvector: run "rag-pg db upgrade"')
    return str(row[0])


def _halfvec(connection: psycopg.Connection[Any]) -> TypeInfo:
    name = sql.Identifier(_vector_schema(connection), "halfvec")
    info = TypeInfo.fetch(connection, name)
    assert info is not None
    return info


def _configure(connection: psycopg.Connection[Any]) -> None:
    register_halfvec_info(connection, _halfvec(connection))


def _api_version(connection: psycopg.Connection[Any]) -> int:
    try:
        row = connection.execute("SELECT rag.api_version()").fetchone()
    except (psycopg.errors.UndefinedFunction, psycopg.errors.InvalidSchemaName) as exc:
        raise SchemaMismatch(
            'this database has no schema rag yet: run "rag-pg db upgrade" (or Rag.upgrade())'
        ) from exc
    assert row is not None
    return int(row[0])


@contextmanager
def database_errors() -> Iterator[None]:
    """Turn what psycopg raises into rag_pg's errors: the message, then the remedy."""
    try:
        yield
    except PoolTimeout as exc:
        raise DatabaseUnavailable(
            "no database connection became free in time; check that the server runs and accepts connections"
        ) from exc
    except psycopg.Error as exc:
        raise _translated(exc) from exc


def _translated(exc: psycopg.Error) -> RagError:
    message = exc.diag.message_primary or (str(exc).strip().splitlines() or ["no message"])[0]
    if exc.sqlstate in SQLSTATES:
        hint = f"; {exc.diag.message_hint}" if exc.diag.message_hint else ""
        return SQLSTATES[exc.sqlstate](f"{message}{hint}")
    if isinstance(exc, psycopg.errors.UndefinedFunction | psycopg.errors.UndefinedTable):
        return SchemaMismatch(f'{message}; run "rag-pg db upgrade"')
    if isinstance(exc, psycopg.errors.QueryCanceled | psycopg.errors.InsufficientPrivilege):
        return RagError(message)
    if isinstance(exc, psycopg.OperationalError):
        return DatabaseUnavailable(
            f"the database cannot be reached: {message}; check RAG_PG_DSN and that the server runs"
        )
    if isinstance(exc, psycopg.ProgrammingError) and exc.sqlstate is None:
        return InvalidInput(
            f"not a connection string: {message}; set RAG_PG_DSN like postgresql://user@host/database"
        )
    if isinstance(exc, psycopg.DataError | psycopg.errors.UndefinedObject):
        return InvalidInput(message)
    return RagError(message)
