"""Connections to the database and its standbys.

They come from a pool, are in autocommit mode and keep no session state, so transaction poolers
work. So they have no search_path of their own either: each statement names the schema of what it
calls, for a function or operator of another role's that fits better would run with the rights
of this one.
"""

from __future__ import annotations

import logging
import selectors
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import psycopg
from pgvector.psycopg.halfvec import register_halfvec_info
from psycopg import sql
from psycopg.types import TypeInfo
from psycopg_pool import PoolTimeout

from rag_pg.config import SCHEMA
from rag_pg.db.cancel import cancelled_in_time, given_up_in_time
from rag_pg.db.connect import (
    CONNECT_SECONDS,
    Pool,
    PoolConnection,
    check_encoding,
    connect,
    connection_options,
    names_standbys,
    node_of,
    placed,
    use_iso_dates,
)
from rag_pg.db.errors import database_errors
from rag_pg.db.replica import AWAY_SECONDS, RENEW_SECONDS, Standbys, may_read_again
from rag_pg.db.schema import ensure
from rag_pg.deadline import seconds_left
from rag_pg.errors import DatabaseUnavailable, RagError, SchemaMismatch
from rag_pg.fault import Fault, fault_of

# Raised, with rag.api_version(), when this program calls what older schemas have not.
API_VERSION = 4
PING_SECONDS = 2
ASK_SECONDS = 1.0  # between questions where Citus has our schema
log = logging.getLogger(__name__)


class SchemaNode:
    """The node to which Citus has given our schema. It may move it, and the node passes statements
    on then, by a longer way and with notices that nobody hears. The copies of a database share it,
    and so do threads."""

    def __init__(self, schema: str, node: tuple[str, int]) -> None:
        self._schema = schema
        self._node: tuple[str, int] | None = node
        self._due = time.monotonic() + ASK_SECONDS
        self._lock = threading.Lock()

    def is_left(self, connection: psycopg.Connection[Any]) -> bool:
        """Whether the schema has moved since this asked last, which it does every second."""
        with self._lock:
            if time.monotonic() < self._due:
                return False
            self._due = time.monotonic() + ASK_SECONDS
        try:
            node = node_of(connection, self._schema)
        except psycopg.Error:  # it ended
            return True
        left, self._node = node != self._node, node
        return left


class Connections:
    """A pool of connections to where our schema lies, and where the connection string names several
    hosts, one to a standby, for what reads; see `rag_pg.db.replica`. Opens nothing until `open`;
    the copies of a database share it, and so do threads."""

    def __init__(self, dsn: str, size: int, schema: str) -> None:
        self.dsn = dsn
        self._schema = schema
        self._schema_node: SchemaNode | None = None  # given by Citus
        self._standbys: Standbys | None = None
        if names_standbys(dsn):
            reading = _new_pool(dsn, dsn, size, reads=True, max_lifetime=RENEW_SECONDS)
            self._standbys = Standbys(reading)
        self._pool = _new_pool(
            self._found, dsn, size, configure=self._reached, reconnect_failed=self._lost
        )

    def open(
        self, begin: Callable[[psycopg.Connection[Any]], None], *, upgrade: bool = False
    ) -> None:
        """Connect and compare versions.

        Args:
            begin: is given the first connection, when the versions fit.
            upgrade: bring the schema in step with this program first; see `schema.ensure`.
        Raises: DatabaseUnavailable, SchemaMismatch.
        """
        with database_errors(), ExitStack() as stack:
            connection = stack.enter_context(connect(self.dsn, autocommit=True, reads=True))
            check_encoding(connection)
            if upgrade:
                ensure(self.dsn, connection, self._schema)
            check_api_version(*_api_versions(connection, self._schema), self._schema)
            begin(connection)
            node = node_of(connection, self._schema)
            if node is not None:
                self._schema_node = SchemaNode(self._schema, node)
                self._standbys = None  # where those of the node are is not known
            elif self._standbys is None:
                self._pool.ready[:] = [connection]
                # Whoever asks a pool that has none yet makes it open another one.
                self._pool.open(wait=True, timeout=CONNECT_SECONDS)
                stack.pop_all()  # it is the pool's
        for pool in self._pools:
            pool.open(wait=False)

    def close(self) -> None:
        for pool in self._pools:
            pool.close()

    def _found(self) -> str:
        """The connection string that leads to our schema now."""
        if self._schema_node is None:
            return self.dsn
        with connect(self.dsn, autocommit=True) as connection:
            return placed(self.dsn, connection, self._schema)

    @property
    def _pools(self) -> list[Pool]:
        return [self._pool, *([self._standbys.pool] if self._standbys else ())]

    def _reached(self, connection: psycopg.Connection[Any]) -> None:
        _configure(connection)
        if self._standbys is not None:
            self._standbys.primary_away = False

    def _lost(self, pool: Pool) -> None:
        if self._standbys is not None:
            self._standbys.primary_away = True

    @contextmanager
    def connection(
        self, *, reads: bool = False, moves: bool = True
    ) -> Iterator[psycopg.Connection[Any]]:
        """A pooled connection; its errors are translated. Raises: as `Scope.check` when the scope
        of its work ends, which cancels what it runs.

        Args:
            reads: to a standby that has all that this client has seen, where there is one.
            moves: whether this client has seen what the primary has then.
        """
        if reads and self._standbys is not None:
            with self._connected(self._standbys.pool) as connection:
                if self._standbys.has_all(connection):
                    yield connection
                    return
        is_away = self._standbys is not None and self._standbys.primary_away
        seconds = AWAY_SECONDS if is_away else CONNECT_SECONDS
        with self._connected(self._pool, seconds) as connection:
            yield connection
            if moves and self._standbys is not None:
                self._standbys.remember(connection)

    @contextmanager
    def _connected(
        self, pool: Pool, seconds: float = CONNECT_SECONDS
    ) -> Iterator[psycopg.Connection[Any]]:
        with database_errors(), self._explaining(pool), given_up_in_time():
            connection = self._open_connection(pool, seconds)
            try:
                with cancelled_in_time(connection), connection:
                    yield connection
            finally:
                pool.putconn(connection)

    def _open_connection(self, pool: Pool, seconds: float) -> psycopg.Connection[Any]:
        """Take a connection of a pool that the server has not closed meanwhile, as after
        idle_session_timeout or a restart, and that leads to where our schema is."""
        for _ in range(pool.max_size):
            connection = pool.getconn(seconds_left(seconds))
            if not _is_open(connection):
                connection.close()
            elif self._schema_node is not None and self._schema_node.is_left(connection):
                pool.drain()
            else:
                return connection
            pool.putconn(connection)  # which opens another
        return pool.getconn(seconds_left(seconds))

    @contextmanager
    def _explaining(self, pool: Pool) -> Iterator[None]:
        """Let a pool that gave no connection in time say why: it does not by itself."""
        try:
            yield
        except PoolTimeout as exc:
            told = (
                f"no database connection became free in time: all {pool.max_size} of this program"
                " are in use, or ended by the server (idle_session_timeout); raise RAG_PG_POOL_SIZE"
                " or that, or ask for less at once"
            )
            reads = pool is not self._pool
            try:
                dsn = self.dsn if reads else self._found()
                with database_errors(), connect(dsn, seconds=PING_SECONDS, reads=reads):
                    pass
            except RagError as cause:
                told = str(cause)
            raise PoolTimeout(told) from exc

    def grow(self, connections: int) -> None:
        """Let the pools hold at least so many connections."""
        for pool in self._pools:
            if connections > pool.max_size:
                pool.resize(pool.min_size, connections)

    def is_reachable(self) -> bool:
        """Whether the database can be reached now, by a connection of its own."""
        try:
            with connect(self.dsn, seconds=PING_SECONDS) as connection:
                connection.execute("SELECT 1")
        except psycopg.Error:
            return False
        return True

    @contextmanager
    def listen(self, *channels: str) -> Iterator[psycopg.Connection[Any]]:
        """A connection of its own that hears of these channels of our schema, as jobs.

        Behind a pooler it hears nothing: NOTIFY does not pass,
        and LISTEN would stay with a connection of others.
        """
        with database_errors(), connect(self._found(), autocommit=True) as connection:
            if is_pooled(connection):
                log.warning(
                    "a pooler stands before the database, which passes no NOTIFY: %s is looked for"
                    " every few seconds instead; give workers a direct connection when that is too"
                    " slow",
                    ", ".join(channels),
                )
            else:
                for channel in channels:
                    name = sql.Identifier(f"{self._schema}_{channel}")
                    connection.execute(sql.SQL("LISTEN {}").format(name))
            yield connection

    def renew(self, exc: DatabaseUnavailable) -> bool:
        """Whether a read that failed is worth another try, which gets another connection."""
        if not may_read_again(exc):
            return False
        if self._standbys is None:
            self._pool.check()
        elif fault_of(exc) is Fault.AWAY:  # others may hang in a pooler whose server is gone
            self._standbys.pool.drain()
        return True


def _new_pool(
    found: str | Callable[[], str], dsn: str, size: int, *, reads: bool = False, **options: Any
) -> Pool:
    """A pool that is not open yet, of connections to what is found, with the options of `dsn`."""
    ready: list[psycopg.Connection[Any]] = []
    pool = Pool(
        found,
        connection_class=PoolConnection,
        min_size=1,
        max_size=size,
        open=False,
        timeout=CONNECT_SECONDS,
        reconnect_timeout=CONNECT_SECONDS,  # then whoever asks begins anew: its pauses double
        kwargs={"autocommit": True, "ready": ready, **connection_options(dsn, reads=reads)},
        **{"configure": _configure, **options},
    )
    pool.ready = ready
    return pool


def is_pooled(connection: psycopg.Connection[Any]) -> bool:
    """Whether a pooler stands between: the process that answers is not the one that was greeted."""
    row = connection.execute("SELECT pg_catalog.pg_backend_pid()").fetchone()
    return row is not None and row[0] != connection.info.backend_pid


def halfvec_type(connection: psycopg.Connection[Any]) -> TypeInfo:
    """In one statement: TypeInfo.fetch would open a transaction, however short."""
    row = connection.execute(
        "SELECT y.oid, y.typarray, y.oid::pg_catalog.regtype::pg_catalog.text "
        "FROM pg_catalog.pg_extension AS e "
        "JOIN pg_catalog.pg_type AS y ON y.typnamespace OPERATOR(pg_catalog.=) e.extnamespace "
        "WHERE e.extname OPERATOR(pg_catalog.=) 'vector' "
        "AND y.typname OPERATOR(pg_catalog.=) 'halfvec'"
    ).fetchone()
    if row is None:
        raise SchemaMismatch('this database has no pgvector: run "rag-pg db upgrade"')
    return TypeInfo("halfvec", row[0], row[1], regtype=row[2])


def _configure(connection: psycopg.Connection[Any]) -> None:
    use_iso_dates(connection)
    register_halfvec_info(connection, halfvec_type(connection))


def _is_open(connection: psycopg.Connection[Any]) -> bool:
    """Whether the server has not closed it, as far as is known here: nothing is sent."""
    with selectors.DefaultSelector() as selector:
        selector.register(connection.fileno(), selectors.EVENT_READ)
        try:
            while selector.select(timeout=0):  # what is left to read, and then the end
                connection.pgconn.consume_input()
        except psycopg.OperationalError:
            return False
    return True


def _api_versions(connection: psycopg.Connection[Any], schema: str) -> tuple[int, int]:
    try:
        row = connection.execute(
            sql.SQL("SELECT {rag}.min_api_version(), {rag}.api_version()").format(
                rag=sql.Identifier(schema)
            )
        ).fetchone()
    except psycopg.errors.InvalidSchemaName as exc:
        raise SchemaMismatch(
            f'this database has no schema {schema} yet: run "rag-pg db upgrade" (or Rag.upgrade())'
        ) from exc
    except psycopg.errors.UndefinedFunction as exc:
        raise SchemaMismatch(
            f"schema {schema} is not what this program works with: run"
            ' "rag-pg db upgrade" (or Rag.upgrade()), or "rag-pg db check" to see why'
        ) from exc
    assert row is not None
    return int(row[0]), int(row[1])


def check_api_version(oldest: int, newest: int, schema: str = SCHEMA) -> None:
    """Raise SchemaMismatch unless the schema serves this program: it serves clients from
    rag.min_api_version() to rag.api_version()."""
    if newest < API_VERSION:
        raise SchemaMismatch(
            f"schema {schema} has api version {newest}, this program needs {API_VERSION}: run"
            ' "rag-pg db upgrade"'
        )
    if oldest > API_VERSION:
        raise SchemaMismatch(
            f"schema {schema} serves programs of api version {oldest} to {newest}, this one has"
            f" {API_VERSION}: upgrade rag-pg"
        )
