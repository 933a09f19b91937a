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
from psycopg.rows import class_row, dict_row, scalar_row
from psycopg.types import TypeInfo
from psycopg.types.json import Jsonb
from psycopg_pool import ConnectionPool, PoolTimeout

from rag_pg.db_structured import Structured
from rag_pg.errors import (
    SQLSTATES,
    DatabaseUnavailable,
    InvalidInput,
    RagError,
    SchemaMismatch,
)
from rag_pg.filters import plain_filter
from rag_pg.models import CollectionInfo, CollectionStats, Document, Hit, Job, Space, Vectors

API_VERSION = 1
CONNECT_SECONDS = 10
PING_SECONDS = 2
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
    space_id: int


@dataclass(frozen=True, kw_only=True, slots=True)
class SpaceSettings:
    """What makes the vectors of a space."""

    space_id: int
    model: str
    dimensions: int
    distance: str
    fingerprint: str | None
    state: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """What one space finds for one query: a row of rag.compare_spaces."""

    place: int
    query_text: str
    space_id: int
    chunk_ids: Sequence[int]
    overlap: float | None
    rank_difference: float | None
    recall: float | None
    ndcg: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Unfinished:
    """A document that is not searchable in the wanted version: state pending or failed."""

    document_id: UUID
    uri: str
    wanted_version: int
    state: str
    error: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class JobCounts:
    """Jobs of a collection; lag: seconds since the oldest unfinished one was due; delayed: waiting
    and not due yet; reason: why none is taken; rate: jobs a second of late; eta: seconds to the end."""

    collection_name: str
    waiting: int
    running: int
    dead: int
    lag: float
    delayed: int
    reason: str | None
    rate: float
    eta: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadCounts:
    """What rag.load_staged took over."""

    loaded_documents: int
    loaded_chunks: int
    queued: Sequence[UUID]


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """A row of rag.doctor: status is ok, warn or fail; remedy says what to do where it is not ok."""

    check: str
    status: str
    detail: str
    remedy: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What rag.take_request hands to a worker: somebody waits for the answer."""

    request_id: int
    kind: str
    collection_name: str
    arguments: Mapping[str, Any]


class Database(Structured):
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
        _check_api_version(found)
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

    def _dicts(self, statement: LiteralString, /, **values: object) -> list[dict[str, Any]]:
        with (
            self.connection() as connection,
            connection.cursor(row_factory=dict_row) as cursor,
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

    def set_fingerprint(
        self, collection: str, fingerprint: str, space_id: int | None = None
    ) -> None:
        self._scalar(
            "SELECT rag.set_fingerprint(%(collection)s, %(fingerprint)s, %(space_id)s)",
            collection=collection,
            fingerprint=fingerprint,
            space_id=space_id,
        )

    def set_chunking(self, collection: str, chunking: Mapping[str, Any]) -> int:
        return int(
            self._scalar(
                "SELECT rag.set_chunking(%(collection)s, %(chunking)s)",
                collection=collection,
                chunking=Jsonb(chunking),
            )
        )

    def drop_collection(self, name: str) -> None:
        self._scalar("SELECT rag.drop_collection(%(name)s)", name=name)

    def remove_dropped(self) -> int:
        return int(self._scalar("SELECT rag.remove_dropped()"))

    def maintain(self) -> None:
        self._scalar("SELECT count(*) FROM rag.maintain()")

    def queue_backlog(self, collections: Sequence[str] | None) -> int:
        return int(
            self._scalar(
                "SELECT rag.queue_backlog(collections => %(collections)s::text[])",
                collections=None if collections is None else list(collections),
            )
        )

    def build_indexes(self, collections: Sequence[str] | None) -> int:
        """Make the indexes of spaces whose vectors are in, beside readers and writers; return how many."""
        made = 0
        with self.connection() as connection:
            while True:
                row = connection.execute(
                    "SELECT statement FROM rag.pending_indexes(%(collections)s::text[]) LIMIT 1",
                    {"collections": None if collections is None else list(collections)},
                ).fetchone()
                if row is None:
                    return made
                connection.execute(row[0])
                made += 1

    def collection_stats(self, name: str | None = None) -> list[CollectionStats]:
        return self._rows(
            CollectionStats, "SELECT * FROM rag.collection_stats(%(name)s)", name=name
        )

    # --- embedding spaces

    def create_space(
        self,
        collection: str,
        *,
        model: str,
        dimensions: int,
        distance: str,
        index_options: Mapping[str, Any],
    ) -> int:
        return int(
            self._scalar(
                """SELECT rag.create_space(%(collection)s, %(model)s, %(dimensions)s, %(distance)s,
                   %(index_options)s)""",
                collection=collection,
                model=model,
                dimensions=dimensions,
                distance=distance,
                index_options=Jsonb(index_options),
            )
        )

    def list_spaces(self, collection: str | None = None) -> list[Space]:
        return self._rows(
            Space, "SELECT * FROM rag.list_spaces(%(collection)s)", collection=collection
        )

    def space_settings(self, collection: str, space_id: int | None = None) -> SpaceSettings:
        return self._rows(
            SpaceSettings,
            "SELECT * FROM rag.space_settings(%(collection)s, %(space_id)s)",
            collection=collection,
            space_id=space_id,
        )[0]

    def compare_spaces(
        self, collection: str, queries: Sequence[Mapping[str, Any]], limit: int
    ) -> list[Compared]:
        return self._rows(
            Compared,
            "SELECT * FROM rag.compare_spaces(%(collection)s, %(queries)s, %(limit)s)",
            collection=collection,
            queries=Jsonb(queries),
            limit=limit,
        )

    def activate_space(self, space_id: int, *, forced: bool = False) -> int:
        return int(
            self._scalar(
                "SELECT rag.activate_space(%(space_id)s, %(forced)s)",
                space_id=space_id,
                forced=forced,
            )
        )

    def rollback_space(self, collection: str, *, forced: bool = False) -> int:
        return int(
            self._scalar(
                "SELECT rag.rollback_space(%(collection)s, %(forced)s)",
                collection=collection,
                forced=forced,
            )
        )

    def drop_space(self, space_id: int) -> None:
        self._scalar("SELECT rag.drop_space(%(space_id)s)", space_id=space_id)

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

    def unfinished(
        self, collection: str, ids: Sequence[UUID], versions: Sequence[int] | None = None
    ) -> list[Unfinished]:
        return self._rows(
            Unfinished,
            "SELECT * FROM rag.unfinished(%(collection)s, %(ids)s::uuid[], %(versions)s::integer[])",
            collection=collection,
            ids=list(ids),
            versions=None if versions is None else list(versions),
        )

    # --- jobs

    def take_jobs(
        self,
        *,
        limit: int,
        lease_seconds: float,
        collections: Sequence[str] | None,
        worker: str,
        kinds: Sequence[str] | None = None,
    ) -> list[Job]:
        return self._rows(
            Job,
            """SELECT * FROM rag.take_jobs(%(limit)s, %(seconds)s, %(collections)s::text[], %(worker)s,
               %(kinds)s::text[])""",
            limit=limit,
            seconds=lease_seconds,
            collections=None if collections is None else list(collections),
            worker=worker,
            kinds=None if kinds is None else list(kinds),
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

    def store_chunks(self, job: Job, work: IngestWork, chunks: Sequence[Mapping[str, Any]]) -> str:
        return str(
            self._scalar(
                """SELECT rag.store_chunks(%(job_id)s, %(lease)s, %(version)s, %(chunks)s,
                   embedded_space => %(space_id)s)""",
                job_id=job.job_id,
                lease=job.lease,
                version=work.document_version,
                chunks=Jsonb(chunks),
                space_id=work.space_id,
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

    def extend_jobs(self, jobs: Sequence[Job], lease_seconds: float) -> list[int]:
        """Return the ids of the jobs whose lease is lost."""
        lost: list[int] = self._scalar(
            "SELECT rag.extend_jobs(%(ids)s, %(leases)s, %(seconds)s)",
            ids=[job.job_id for job in jobs],
            leases=[job.lease for job in jobs],
            seconds=lease_seconds,
        )
        return lost

    def finish_job(self, job: Job) -> None:
        self._scalar(
            "SELECT rag.finish_job(%(job_id)s, %(lease)s)", job_id=job.job_id, lease=job.lease
        )

    def fail_job(
        self,
        job: Job,
        error: str | None,
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
                error=None if error is None else error.replace("\0", ""),
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
        return self._dicts(
            "SELECT * FROM rag.list_jobs(%(collection)s, %(state)s, %(limit)s)",
            collection=collection,
            state=state,
            limit=limit,
        )

    def explain_job(self, job_id: int) -> dict[str, Any]:
        return self._dicts("SELECT * FROM rag.explain_job(%(job_id)s)", job_id=job_id)[0]

    def retry_jobs(
        self,
        collection: str | None,
        error_like: str | None,
        *,
        kind: str | None = None,
        uri_like: str | None = None,
        job_ids: Sequence[int] | None = None,
        include_waiting: bool = False,
    ) -> int:
        return int(
            self._scalar(
                """SELECT rag.retry_jobs(%(collection)s, %(error_like)s, %(kind)s, %(uri_like)s,
                   %(job_ids)s::bigint[], %(include_waiting)s)""",
                collection=collection,
                error_like=error_like,
                kind=kind,
                uri_like=uri_like,
                job_ids=None if job_ids is None else list(job_ids),
                include_waiting=include_waiting,
            )
        )

    # --- workers and budgets

    def beat_worker(
        self,
        name: str,
        *,
        version: str,
        collections: Sequence[str] | None,
        concurrency: int,
        held: int,
        rates: Mapping[str, float],
    ) -> None:
        """Report a worker. Raises SchemaMismatch when the schema is no longer this program's."""
        found = self._scalar(
            """SELECT rag.beat_worker(%(name)s, %(version)s, %(collections)s::text[], %(concurrency)s,
               %(held)s, %(rates)s)""",
            name=name,
            version=version,
            collections=None if collections is None else list(collections),
            concurrency=concurrency,
            held=held,
            rates=Jsonb(rates),
        )
        _check_api_version(int(found))

    def forget_worker(self, name: str) -> None:
        self._scalar("SELECT rag.forget_worker(%(name)s)", name=name)

    def list_workers(self) -> list[dict[str, Any]]:
        return self._dicts("SELECT * FROM rag.list_workers()")

    def take_budget(self, provider: str, requests: int, tokens: int) -> float:
        """Return how many seconds to wait before asking again; 0: go."""
        return float(
            self._scalar(
                "SELECT rag.take_budget(%(provider)s, %(requests)s, %(tokens)s)",
                provider=provider,
                requests=requests,
                tokens=tokens,
            )
        )

    def block_provider(self, provider: str, seconds: float, reason: str) -> None:
        self._scalar(
            "SELECT rag.block_provider(%(provider)s, %(seconds)s, %(reason)s)",
            provider=provider,
            seconds=seconds,
            reason=reason.replace("\0", ""),
        )

    def reserve(self, connections: int) -> None:
        """Let the pool hold at least so many connections."""
        if connections > self._pool.max_size:
            self._pool.resize(self._pool.min_size, connections)

    def answers(self) -> bool:
        """Whether the database can be reached now, by a connection of its own."""
        try:
            with psycopg.connect(self.dsn, connect_timeout=PING_SECONDS) as connection:
                connection.execute("SELECT 1")
        except psycopg.Error:
            return False
        return True

    @contextmanager
    def listen(self, *channels: str) -> Iterator[psycopg.Connection[Any]]:
        """A connection of its own that hears of new jobs, or of other channels; NOTIFY does not pass
        transaction poolers."""
        with database_errors(), psycopg.connect(
            self.dsn, autocommit=True, connect_timeout=CONNECT_SECONDS
        ) as connection:  # fmt: skip
            for channel in channels or ("rag_jobs",):
                connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
            yield connection

    # --- requests and sources

    def take_request(self, worker: str, collections: Sequence[str] | None) -> Request | None:
        rows = self._rows(
            Request,
            "SELECT * FROM rag.take_request(%(worker)s, %(collections)s::text[])",
            worker=worker,
            collections=None if collections is None else list(collections),
        )
        return rows[0] if rows else None

    def answer_request(
        self, request_id: int, result: Mapping[str, Any] | None, error: str | None
    ) -> None:
        self._scalar(
            "SELECT rag.answer_request(%(request_id)s, %(result)s, %(error)s)",
            request_id=request_id,
            result=None if result is None else Jsonb(result),
            error=error,
        )

    def follow_sources(self, collections: Sequence[str] | None = None) -> int:
        return int(
            self._scalar(
                "SELECT rag.follow_sources(collections => %(collections)s::text[])",
                collections=None if collections is None else list(collections),
            )
        )

    def doctor(self) -> list[Finding]:
        return self._rows(Finding, "SELECT * FROM rag.doctor()")

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
        space_id: int | None = None,
    ) -> list[Hit]:
        return self._rows(
            Hit,
            """SELECT * FROM rag.search(
                   CASE WHEN %(space_id)s::integer IS NULL THEN %(collection)s
                        ELSE rag.expect_space(%(collection)s, %(space_id)s) END, %(query)s, %(embedding)s, result_limit => %(limit)s,
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
            space_id=space_id,
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


def _check_api_version(found: int) -> None:
    if found != API_VERSION:
        remedy = 'run "rag-pg db upgrade"' if found < API_VERSION else "upgrade rag-pg"
        raise SchemaMismatch(
            f"schema rag has api version {found}, this program needs {API_VERSION}: {remedy}"
        )


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
