"""Connections to the database, and what their errors mean.

They come from a pool, are in autocommit mode and keep no session state, so transaction poolers
work. So they have no search_path of their own either: each statement names the schema of what it
calls, for a function or operator of another role's that fits better would run with the rights
of this one.
"""

from __future__ import annotations

import copy
import json
import logging
import re
import selectors
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import fields
from functools import lru_cache
from typing import Any, LiteralString, Self, TypeVar, cast

import psycopg
from pgvector.psycopg.halfvec import register_halfvec_info
from psycopg import sql
from psycopg.rows import BaseRowFactory, class_row, dict_row, scalar_row, tuple_row
from psycopg.types import TypeInfo
from psycopg_pool import PoolTimeout

from rag_pg.config import SCHEMA
from rag_pg.db.arguments import PLAIN, plain_argument
from rag_pg.db.calls import UNLOGGED, Calls
from rag_pg.db.cancel import cancelled_in_time, given_up_in_time
from rag_pg.db.connect import (
    CONNECT_SECONDS,
    Pool,
    PoolConnection,
    away_remedy,
    busy_remedy,
    check_encoding,
    connect,
    connection_options,
    limit_remedy,
    names_standbys,
    node_of,
    placed,
    use_iso_dates,
)
from rag_pg.db.replica import AWAY_SECONDS, RENEW_SECONDS, Standbys, may_read_again
from rag_pg.db.schema import check_name, ensure
from rag_pg.deadline import seconds_left
from rag_pg.errors import (
    SQLSTATES,
    DatabaseUnavailable,
    GateFailed,
    InvalidInput,
    PermissionDenied,
    RagError,
    SchemaMismatch,
    StatementCanceled,
)
from rag_pg.fault import Fault, fault_of, fault_of_sqlstate
from rag_pg.tracing import current_traceparent

# Raised, with rag.api_version(), when this program calls what older schemas have not.
API_VERSION = 4
LONGEST_MESSAGE = 1000  # characters
PING_SECONDS = 2
ASK_SECONDS = 1.0  # between questions where Citus has our schema
POOL_SIZE = 4
# Settings of one transaction: a pooler's next client does not see them.
SET_LOCAL = """SELECT pg_catalog.set_config(s.name, s.value, true)
               FROM ROWS FROM (pg_catalog.unnest(%s::pg_catalog.text[]),
                               pg_catalog.unnest(%s::pg_catalog.text[]))
                   AS s (name, value)"""
T = TypeVar("T")
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


class Statements:
    """A pool of connections, and statements on them. Opens nothing until `open`.

    Where the connection string names several hosts, what reads has a pool of its own, with
    connections to a standby; see `rag_pg.db.replica`.

    Args:
        tenant: whose collections are seen; None: those of the role. It is a setting of each
            transaction, see `with_settings`.
        schema: the name of our schema.
        groups: of the tenant, in which the user is: for a trusted application.
    """

    def __init__(
        self,
        dsn: str,
        *,
        pool_size: int = POOL_SIZE,
        tenant: str | None = None,
        schema: str = SCHEMA,
        groups: Iterable[str] = (),
    ) -> None:
        self.dsn = dsn
        self.schema = check_name(schema)
        self._schema_node: SchemaNode | None = None  # given by Citus
        self._standbys: Standbys | None = None
        if names_standbys(dsn):
            reading = _new_pool(dsn, dsn, pool_size, reads=True, max_lifetime=RENEW_SECONDS)
            self._standbys = Standbys(reading)
        self._pool = _new_pool(
            self._found, dsn, pool_size, configure=self._reached, reconnect_failed=self._lost
        )
        self._reads_on_standbys = True
        self._opened = False
        self._calls = Calls(schema)
        self._tenant = tenant
        self._settings: Mapping[str, str] = {}
        if tenant is not None:
            named = _group_names(groups)
            self._settings = {f"{schema}.tenant": tenant, f"{schema}.groups": named}

    def with_settings(self, settings: Mapping[str, str]) -> Self:
        """Return this database with settings that hold for each of its statements and no longer.

        It shares the connections, and is closed with what it was made from. A setting is sent with
        the statement, in the same transaction and round trip, so nothing stays on the connection:
        as for policies that read current_setting('app.tenant'). They do not hold for
        `build_indexes`, whose statements cannot run in a transaction.
        """
        other = copy.copy(self)
        other._settings = {**self._settings, **settings}
        other._opened = False
        return other

    def on_primary(self) -> Self:
        """Return this database with reads on the primary too, as a worker's are; see
        `with_settings`."""
        other = self.with_settings({})
        other._reads_on_standbys = False
        return other

    def in_trace(self) -> Self:
        """Return this database with the current span as a setting, which jobs that are put take
        along; itself where nothing is traced."""
        traceparent = current_traceparent()
        if traceparent is None:
            return self
        return self.with_settings({f"{self.schema}.traceparent": traceparent})

    def limited(self, seconds: float, *, read_only: bool = True) -> Self:
        """Return this database with statements that are cancelled after so many seconds, and write
        nothing; see `with_settings`."""
        limits = {"statement_timeout": f"{max(1, round(1000 * seconds))}ms"}
        return self.with_settings(
            {**limits, "transaction_read_only": "on"} if read_only else limits
        )

    def open(self, *, upgrade: bool = False) -> None:
        """Connect and compare versions.

        Args:
            upgrade: bring the schema in step with this program first; see `schema.ensure`.
        Raises DatabaseUnavailable, or SchemaMismatch when the schema is missing, older or newer;
        PermissionDenied when this role sees more or less than the tenant.
        """
        if self._opened:
            return
        with database_errors(), ExitStack() as stack:
            connection = stack.enter_context(connect(self.dsn, autocommit=True, reads=True))
            check_encoding(connection)
            if upgrade:
                ensure(self.dsn, connection, self.schema)
            check_api_version(*_api_versions(connection, self.schema), self.schema)
            self._calls.read(connection, halfvec_type(connection))
            node = node_of(connection, self.schema)
            if node is not None:
                self._schema_node = SchemaNode(self.schema, node)
                self._standbys = None  # where those of the node are is not known
            elif self._standbys is None:
                stack.pop_all()
                self._pool.ready.append(connection)
                # Whoever asks a pool that has none yet makes it open another one.
                self._pool.open(wait=True, timeout=CONNECT_SECONDS)
        for pool in self._pools:
            pool.open(wait=False)
        self._opened = True
        self._check_tenant()

    def _check_tenant(self) -> None:
        """Refuse a role that the tenant does not bound, or that is not of it."""
        if self._tenant is None:
            return
        try:
            seen = self.value(list, "visible_tenants")
        except BaseException:
            self.close()
            raise
        if seen != [self._tenant]:
            self.close()
            raise PermissionDenied(
                f"this role sees {', '.join(seen) or 'no tenant'}, not {self._tenant!r:.100} alone:"
                " connect as a role of rag.grant_tenant"
            )

    def _found(self) -> str:
        """The connection string that leads to our schema now."""
        if self._schema_node is None:
            return self.dsn
        with connect(self.dsn, autocommit=True) as connection:
            return placed(self.dsn, connection, self.schema)

    def close(self) -> None:
        if self._opened:
            for pool in self._pools:
                pool.close()
            self._opened = False

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
        if reads and self._standbys is not None and self._reads_on_standbys:
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

    def grow_pool(self, connections: int) -> None:
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
                    name = sql.Identifier(f"{self.schema}_{channel}")
                    connection.execute(sql.SQL("LISTEN {}").format(name))
            yield connection

    def rows(self, cls: type[T], function: LiteralString, /, **arguments: object) -> list[T]:
        """Call a function of our schema and return its rows, whose columns are the fields of a
        dataclass; a column that the class does not have is left out.

        Args:
            arguments: by their names in SQL, or those of `SHORT`. None is NULL.
        Raises: InvalidInput for one of the wrong type.
        """
        return self._call(class_row(cls), function, arguments, columns_of(cast(Hashable, cls)))

    def row(self, cls: type[T], function: LiteralString, /, **arguments: object) -> T | None:
        """Call a function that has one row or none; see `rows`."""
        rows = self.rows(cls, function, **arguments)
        return rows[0] if rows else None

    def values(self, cls: type[T], function: LiteralString, /, **arguments: object) -> list[T]:
        """Call a function that has one column, and return its values; see `rows`."""
        return self._call(_one_column(cls), function, arguments)

    def value(self, cls: type[T], function: LiteralString, /, **arguments: object) -> T:
        """Call a function that has one value, which is never NULL; see `rows`."""
        return self.values(cls, function, **arguments)[0]

    def optional(self, cls: type[T], function: LiteralString, /, **arguments: object) -> T | None:
        """Call a function that has one value, NULL or no row; see `rows`."""
        values: list[T | None] = [*self.values(cls, function, **arguments)]
        return values[0] if values else None

    def only(self, cls: type[T], function: LiteralString, /, **arguments: object) -> T:
        """Call a function that has one row; see `rows`."""
        return self.rows(cls, function, **arguments)[0]

    def tuples(
        self, columns: tuple[str, ...], function: LiteralString, /, **arguments: object
    ) -> list[tuple[Any, ...]]:
        """Call a function and return these columns of its rows; see `rows`."""
        return self._call(tuple_row, function, arguments, columns)

    def dicts(self, function: LiteralString, /, **arguments: object) -> list[dict[str, Any]]:
        """Call a function and return its rows by the names of all its columns; see `rows`."""
        return self._call(dict_row, function, arguments)

    def call(self, function: LiteralString, /, **arguments: object) -> None:
        """Call a function for what it does; see `rows`."""
        self._call(tuple_row, function, arguments)

    def plain_arguments(self, function: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return values with those that are plain arguments of a function, neither JSON nor
        vectors, in Python's own types.

        Raises: InvalidInput for one of the wrong type, before anything is sent.
        """
        return {**values, **self._calls.plain(function, values, given=PLAIN)}

    def _execute(self, statement: LiteralString, /, **values: object) -> list[tuple[Any, ...]]:
        """Run a statement that is more than a call; {rag} stands for our schema."""
        plain = {name: plain_argument(name, value, "") for name, value in values.items()}
        return self._fetch(tuple_row, self.in_schema(statement), plain)

    def _select(self, statement: LiteralString, /, **values: object) -> list[tuple[Any, ...]]:
        """Run one that only reads."""
        plain = {name: plain_argument(name, value, "") for name, value in values.items()}
        return self._fetch(tuple_row, self.in_schema(statement), plain, reads=True)

    def in_schema(self, statement: LiteralString) -> bytes:
        """A statement in which {rag} stands for our schema."""
        return _in_schema(statement, self.schema)

    def require_insert(self, table: str) -> None:
        """Raise PermissionDenied where this role may not insert into a table of schema rag.

        For what asks long, or for money, before it writes.
        """
        name = f"{self.schema}.{table}"
        ((granted,),) = self._select(
            "SELECT pg_catalog.has_table_privilege(%(name)s, 'INSERT')", name=name
        )
        if not granted:
            raise PermissionDenied(
                f"this role may not write to {name}; ask its owner for GRANT INSERT ON {name}"
            )

    def _call(
        self,
        row_factory: BaseRowFactory[T],
        function: str,
        arguments: Mapping[str, Any],
        columns: Sequence[str] = (),
        more: str = "",
    ) -> list[T]:
        plain = self._calls.plain(function, arguments)
        return self._fetch(
            row_factory,
            self._calls.statement(function, tuple(arguments), columns, more),
            plain,
            reads=self._calls.only_reads(function),
            moves=function not in UNLOGGED or arguments.get("collection") is not None,
        )

    def _fetch(
        self,
        row_factory: BaseRowFactory[T],
        statement: bytes | LiteralString | sql.Composed,
        values: Mapping[str, object],
        *,
        reads: bool = False,
        moves: bool = True,
    ) -> list[T]:
        """Run a statement and return its rows: one transaction, one round trip.

        Args:
            reads: it writes nothing, so it may run on a standby, and again when its connection
                turns out to be dead or it stood in the way of what a standby replays.
            moves: see `connection`.
        """
        reads = reads or self._settings.get("transaction_read_only") == "on"
        try:
            return self._fetch_once(row_factory, statement, values, reads, moves)
        except DatabaseUnavailable as exc:
            if not (reads and may_read_again(exc)):
                raise
            if self._standbys is None:
                self._pool.check()
            elif fault_of(exc) is Fault.AWAY:  # others may hang in a pooler whose server is gone
                self._standbys.pool.drain()
        return self._fetch_once(row_factory, statement, values, reads, moves)

    def _fetch_once(
        self,
        row_factory: BaseRowFactory[T],
        statement: bytes | LiteralString | sql.Composed,
        values: Mapping[str, object],
        reads: bool,
        moves: bool,
    ) -> list[T]:
        with (
            self.connection(reads=reads, moves=moves) as connection,
            connection.cursor(row_factory=row_factory) as cursor,
        ):
            if not self._settings:
                return cursor.execute(statement, values).fetchall()
            with connection.pipeline():  # until its end a transaction of its own
                self._set_local(connection)
                cursor.execute(statement, values)
            return cursor.fetchall()

    def _set_local(self, connection: psycopg.Connection[Any]) -> None:
        """Let the settings hold until the end of the connection's transaction."""
        if self._settings:
            names, values = zip(*self._settings.items(), strict=True)
            connection.execute(SET_LOCAL, [list(names), list(values)])


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


def _group_names(groups: Iterable[str]) -> str:
    """Groups as the setting rag.groups names them."""
    names = list(groups)
    for name in names:
        if not re.fullmatch(r"[^\s,*/]{1,100}", name):
            raise InvalidInput(
                f"group name {name!r:.200} is not usable: use 1 to 100 characters without spaces,"
                " commas, asterisks or slashes"
            )
    return ",".join(names)


@lru_cache
def _in_schema(statement: LiteralString, schema: str) -> bytes:
    return sql.SQL(statement).format(rag=sql.Identifier(schema)).as_bytes()


@lru_cache
def columns_of(cls: Hashable) -> tuple[str, ...]:
    """The columns that are the fields of a dataclass; a field may say that it is none."""
    return tuple(
        field.name for field in fields(cast(Any, cls)) if field.metadata.get("column", True)
    )


def _one_column(cls: type[T]) -> BaseRowFactory[T]:
    """Rows of one column, which the function's declaration says is a `cls`."""
    return scalar_row


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
            _in_schema("SELECT {rag}.min_api_version(), {rag}.api_version()", schema)
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


@contextmanager
def database_errors() -> Iterator[None]:
    """Turn what psycopg raises into rag_pg's errors: the message, then the remedy."""
    try:
        yield
    except PoolTimeout as exc:
        raise DatabaseUnavailable(str(exc)) from exc
    except psycopg.Error as exc:
        error = _translated(exc)
        error.sqlstate = exc.sqlstate
        raise error from exc
    except UnicodeEncodeError as exc:  # raised before anything is sent
        raise InvalidInput(
            f"{exc.object[exc.start : exc.end]!a} in {exc.object!a:.100} cannot be stored as "
            f"{exc.encoding}: take it out, or decode the text by its own encoding"
        ) from exc


def _translated(exc: psycopg.Error) -> RagError:
    message = exc.diag.message_primary or (str(exc).strip().splitlines() or ["no message"])[0]
    if len(message) > LONGEST_MESSAGE:  # it repeats what was given
        message = message[:LONGEST_MESSAGE] + "…"
    hint = f"; {exc.diag.message_hint}" if exc.diag.message_hint else ""
    if exc.sqlstate == "42501" and not hint:
        hint = "; its owner can allow that: rag.grant_access gives a role the rights of a use"
    if exc.sqlstate in SQLSTATES:
        error = SQLSTATES[exc.sqlstate](f"{message}{hint}")
        if isinstance(error, GateFailed) and exc.diag.message_detail:
            with suppress(ValueError, TypeError, LookupError):  # raised by a function of another
                told = json.loads(exc.diag.message_detail)
                error.change, error.checks = told["change"], told["checks"]
        return error
    fault = fault_of_sqlstate(exc.sqlstate or "")
    if isinstance(exc, psycopg.errors.UndefinedFunction | psycopg.errors.UndefinedTable):
        return SchemaMismatch(f'{message}; run "rag-pg db upgrade"')
    if fault is Fault.CANCELED or limit_remedy(exc):
        remedy = limit_remedy(exc) or "do it again, unless whoever cancelled it meant it"
        return StatementCanceled(f"{message}; {remedy}")
    if isinstance(exc, psycopg.errors.ReadOnlySqlTransaction):
        return DatabaseUnavailable(
            f"the database takes no writes: {message}; of a replica,"
            " target_session_attrs=read-write in RAG_PG_DSN finds the primary; else"
            " default_transaction_read_only is on for this role or database"
        )
    if fault is Fault.BUSY:
        remedy = busy_remedy(exc)
        return DatabaseUnavailable(f"the database cannot do this now: {message}; {remedy}")
    # psycopg's own: an answer too many, as a pooler gives beside the end of its connection.
    broken = isinstance(exc, psycopg.OperationalError | psycopg.InternalError)
    if fault is Fault.AWAY or (exc.sqlstate is None and broken):
        return DatabaseUnavailable(f"the database cannot be reached: {message}; {away_remedy(exc)}")
    if isinstance(exc, psycopg.ProgrammingError) and exc.sqlstate is None:
        return InvalidInput(
            f"not a connection string: {message}; set RAG_PG_DSN like"
            " postgresql://user@host/database"
        )
    if (exc.sqlstate or "").startswith(("22", "54", "42704")):
        return InvalidInput(f"{message}{hint}")
    return RagError(f"{message}{hint}")
