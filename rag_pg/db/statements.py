"""Statements in our schema, by name, with arguments and rows in Python's types."""

from __future__ import annotations

import copy
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import fields
from functools import lru_cache
from typing import Any, LiteralString, Self, TypeVar, cast

import psycopg
from psycopg import sql
from psycopg.rows import BaseRowFactory, class_row, dict_row, scalar_row, tuple_row

from rag_pg.config import SCHEMA
from rag_pg.db.arguments import PLAIN, plain_argument
from rag_pg.db.calls import UNLOGGED, Calls
from rag_pg.db.connection import Connections, halfvec_type
from rag_pg.db.schema import check_name
from rag_pg.errors import DatabaseUnavailable, InvalidInput, PermissionDenied
from rag_pg.tracing import current_traceparent

POOL_SIZE = 4
# Settings of one transaction: a pooler's next client does not see them.
SET_LOCAL = """SELECT pg_catalog.set_config(s.name, s.value, true)
               FROM ROWS FROM (pg_catalog.unnest(%s::pg_catalog.text[]),
                               pg_catalog.unnest(%s::pg_catalog.text[]))
                   AS s (name, value)"""
T = TypeVar("T")


class Statements:
    """Calls of the functions of our schema. Opens nothing until `open`.

    Args:
        tenant: whose collections are seen; None: those of the role. It is a setting of each
            transaction, see `with_settings`.
        schema: the name of our schema.
        groups: of the tenant, in which the user is: for a trusted application.
    """

    _level: psycopg.IsolationLevel | None = None  # that of the role or the database

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
        self._connections = Connections(dsn, pool_size, self.schema)
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

    def read_committed(self) -> Self:
        """Return this database with transactions of that level, whatever is the default of the role
        or the database; see `with_settings`."""
        other = self.with_settings({})
        other._level = psycopg.IsolationLevel.READ_COMMITTED
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
        """Connect and compare versions; see `Connections.open`.

        Raises DatabaseUnavailable, or SchemaMismatch when the schema is missing, older or newer;
        PermissionDenied when this role sees more or less than the tenant.
        """
        if self._opened:
            return
        self._connections.open(
            lambda first: self._calls.read(first, halfvec_type(first)), upgrade=upgrade
        )
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

    def close(self) -> None:
        if self._opened:
            self._connections.close()
            self._opened = False

    def connection(
        self, *, reads: bool = False, moves: bool = True
    ) -> AbstractContextManager[psycopg.Connection[Any]]:
        """A pooled connection; see `Connections.connection`."""
        reads = reads and self._reads_on_standbys
        return self._connections.connection(reads=reads, moves=moves)

    def grow_pool(self, connections: int) -> None:
        """Let the pools hold at least so many connections."""
        self._connections.grow(connections)

    def is_reachable(self) -> bool:
        """Whether the database can be reached now, by a connection of its own."""
        return self._connections.is_reachable()

    def listen(self, *channels: str) -> AbstractContextManager[psycopg.Connection[Any]]:
        """A connection of its own that hears of channels; see `Connections.listen`."""
        return self._connections.listen(*channels)

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
            if not (reads and self._connections.renew(exc)):
                raise
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
            if not self._settings and self._level is None:
                return cursor.execute(statement, values).fetchall()
            with connection.pipeline(), self._begun(connection):
                self._set_local(connection)
                cursor.execute(statement, values)
            return cursor.fetchall()

    @contextmanager
    def _begun(self, connection: psycopg.Connection[Any]) -> Iterator[None]:
        """A transaction of our level; without one a pipeline is a transaction until its end."""
        if self._level is None:
            yield
            return
        connection.isolation_level = self._level
        try:
            with connection.transaction():
                yield
        finally:
            connection.isolation_level = None

    def _set_local(self, connection: psycopg.Connection[Any]) -> None:
        """Let the settings hold until the end of the connection's transaction."""
        if self._settings:
            names, values = zip(*self._settings.items(), strict=True)
            connection.execute(SET_LOCAL, [list(names), list(values)])


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
