"""Reads tables with embeddings that other programs made. Nothing is ever written there.

The SQL is apart from rag_pg/db because it names tables and columns that rag_pg does not own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from rag_pg.db import connect, database_errors
from rag_pg.errors import DatabaseUnavailable, InvalidInput, NotFound
from rag_pg.types import Vectors

ROWS_PER_FETCH = 500
DISTANCES = {"cosine": "<=>", "l2": "<->", "ip": "<#>"}
NUMBERS = {
    "vector": ">f4",
    "halfvec": ">f2",
}  # how pgvector sends them: two bytes each for length and flags first
NOT_METADATA = {*NUMBERS, "sparsevec", "tsvector", "bytea"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """size: of a vector, where the column declares it; otherwise -1."""

    name: str
    type: str
    type_schema: str
    size: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """Which columns to read, in which order, and of which rows:
    those where column = value for each of `where`.

    extras: columns that go into the metadata. order_keys: metadata by which the rows are ordered,
    after `order_columns` and before their place in the table.
    """

    id: str
    content: str
    embedding: str
    metadata: str | None
    extras: Sequence[str] = ()
    order_columns: Sequence[str] = ()
    order_keys: Sequence[str] = ()
    where: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    id: str
    content: str | None
    metadata: Any
    embedding: Vectors | None


class ForeignTable:
    """A table or view of another program; made by `open_table`."""

    def __init__(
        self, connection: psycopg.Connection[Any], oid: int, schema: str, name: str, kind: str
    ) -> None:
        self._connection = connection
        self._oid = oid
        self._schema = schema
        self.name = name
        self._is_view = kind not in ("r", "p")
        self._from = sql.Identifier(schema, name)
        found = connection.execute(
            """SELECT a.attname, y.typname, n.nspname, a.atttypmod
               FROM pg_catalog.pg_attribute AS a
               JOIN pg_catalog.pg_type AS y ON y.oid = a.atttypid
               JOIN pg_catalog.pg_namespace AS n ON n.oid = y.typnamespace
               WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum""",
            [oid],
        ).fetchall()
        self.columns = {
            name: Column(name=name, type=type_, type_schema=where, size=size)
            for name, type_, where, size in found
        }

    def keys_beside(self, column: str) -> list[str]:
        """Return the other columns of the unique key that `column` is part of,
        here or beneath this view."""
        return [
            row[0]
            for row in self._connection.execute(
                """WITH tables AS (
                       SELECT %(oid)s::oid AS id
                       UNION
                       SELECT d.refobjid FROM pg_catalog.pg_rewrite AS r
                       JOIN pg_catalog.pg_depend AS d
                           ON d.classid = 'pg_catalog.pg_rewrite'::regclass
                           AND d.objid = r.oid AND d.refclassid = 'pg_catalog.pg_class'::regclass
                       WHERE r.ev_class = %(oid)s
                   )
                   SELECT o.attname FROM tables AS t
                   JOIN pg_catalog.pg_constraint AS c ON c.conrelid = t.id
                       AND c.contype IN ('u', 'p')
                   JOIN pg_catalog.pg_attribute AS a ON a.attrelid = t.id AND a.attname = %(column)s
                       AND a.attnum = ANY (c.conkey)
                   JOIN pg_catalog.pg_attribute AS o ON o.attrelid = t.id
                       AND o.attnum = ANY (c.conkey)
                       AND o.attname <> %(column)s
                   ORDER BY array_position(c.conkey, o.attnum)""",
                {"oid": self._oid, "column": column},
            )
        ]

    def sibling(self, name: str) -> sql.Identifier | None:
        """Return a table of that name in the same schema, or None."""
        found = self._connection.execute(
            """SELECT FROM pg_catalog.pg_class AS c
               JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
               WHERE n.nspname = %s AND c.relname = %s""",
            [self._schema, name],
        ).fetchone()
        return None if found is None else sql.Identifier(self._schema, name)

    def langchain_collections(self) -> dict[str, Any]:
        """Return the ids of the LangChain collections that have rows here, by name."""
        collections = self.sibling("langchain_pg_collection")
        if collections is None:
            return {}
        query = sql.SQL(
            "SELECT c.name, c.uuid FROM {} AS c "
            "WHERE EXISTS (SELECT FROM {} AS t WHERE t.collection_id = c.uuid) ORDER BY c.name"
        )
        return dict(self._connection.execute(query.format(collections, self._from)).fetchall())

    def pgai_loaded_column(self) -> str | None:
        """Return the column whose text pgai cut into the chunks of this table or view,
        if its catalog says so."""
        found = self._connection.execute(
            "SELECT to_regclass('ai.vectorizer') IS NOT NULL AS here"
        ).fetchone()
        if not found or not found[0]:
            return None
        row = self._connection.execute(
            """SELECT v.config -> 'loading' ->> 'column_name' FROM ai.vectorizer AS v
               CROSS JOIN LATERAL (SELECT v.config -> 'destination' AS d) AS x
               WHERE (x.d ->> 'target_schema', x.d ->> 'target_table') = (%(schema)s, %(name)s)
                   OR (x.d ->> 'view_schema', x.d ->> 'view_name') = (%(schema)s, %(name)s)""",
            {"schema": self._schema, "name": self.name},
        ).fetchone()
        return row[0] if row else None

    def dimensions(self, selection: Selection) -> dict[int, int]:
        """Return how many rows there are with vectors of each size;
        a size that the column declares counts 0."""
        declared = self.columns[selection.embedding].size
        if declared > 0:
            return {declared: 0}
        column = self.columns[selection.embedding]
        query = sql.SQL(
            "SELECT {dims}({embedding}), count(*) FROM {table} AS t "
            "WHERE {embedding} IS NOT NULL AND {where} GROUP BY 1 ORDER BY 2 DESC"
        ).format(
            dims=sql.Identifier(column.type_schema, "vector_dims"),
            embedding=sql.Identifier("t", selection.embedding),
            table=self._from,
            where=_where(selection),
        )
        return dict(self._connection.execute(query, _values(selection)).fetchall())

    def rows(self, selection: Selection) -> Iterator[Row]:
        """Yield the rows in order, through a cursor on the server."""
        numbers = NUMBERS[self.columns[selection.embedding].type]
        with self._connection.cursor("rag_pg_adopt", binary=True) as cursor:
            cursor.itersize = ROWS_PER_FETCH
            cursor.execute(self._select(selection), _values(selection))
            for row_id, content, metadata, embedding in cursor:
                vector = None if embedding is None else np.frombuffer(embedding, numbers, offset=4)
                yield Row(row_id, content, metadata, vector)

    def _select(self, selection: Selection) -> sql.Composed:
        metadata: sql.Composable = sql.SQL("'{{}}'::jsonb").format()
        if selection.metadata:
            metadata = sql.SQL(
                "CASE jsonb_typeof({0}::jsonb) WHEN 'object' THEN {0}::jsonb ELSE '{{}}' END"
            ).format(sql.Identifier("t", selection.metadata))
        if selection.extras:
            extras = sql.SQL(", ").join(sql.Identifier("t", name) for name in selection.extras)
            metadata = sql.SQL(
                "{} || jsonb_strip_nulls((SELECT to_jsonb(x) FROM (SELECT {}) AS x))"
            ).format(metadata, extras)
        order: list[sql.Composable] = [sql.Identifier("t", n) for n in selection.order_columns]
        order += [sql.SQL("m.data -> {}").format(sql.Literal(key)) for key in selection.order_keys]
        order.append(
            sql.Identifier("t", selection.id) if self._is_view else sql.SQL("t.tableoid, t.ctid")
        )
        return sql.SQL(
            "SELECT {id}::text, {content}::text, m.data, {embedding} FROM {table} AS t "
            "CROSS JOIN LATERAL (SELECT {metadata} AS data) AS m WHERE {where} ORDER BY {order}"
        ).format(
            id=sql.Identifier("t", selection.id),
            content=sql.Identifier("t", selection.content),
            embedding=sql.Identifier("t", selection.embedding),
            metadata=metadata,
            table=self._from,
            where=_where(selection),
            order=sql.SQL(", ").join(order),
        )

    def nearest(
        self, selection: Selection, vector: Vectors, distance: str, limit: int
    ) -> list[str]:
        """Return the texts of the rows nearest to a vector, by comparing it with all."""
        column = self.columns[selection.embedding]
        query = sql.SQL(
            "SELECT {content}::text FROM {table} AS t WHERE {embedding} IS NOT NULL AND {content} ~"
            " '\\S' AND {where} ORDER BY {embedding} OPERATOR({schema}.{operator})"
            " %(vector)s::{type}, {id} LIMIT %(limit)s"
        ).format(
            content=sql.Identifier("t", selection.content),
            embedding=sql.Identifier("t", selection.embedding),
            id=sql.Identifier("t", selection.id),
            table=self._from,
            where=_where(selection),
            schema=sql.Identifier(column.type_schema),
            operator=sql.SQL(DISTANCES[distance]),
            type=sql.Identifier(column.type_schema, column.type),
        )
        self._connection.execute("SET LOCAL enable_indexscan = off")
        text = "[" + ",".join(map(str, vector.tolist())) + "]"
        values = _values(selection) | {"vector": text, "limit": limit}
        return [row[0] for row in self._connection.execute(query, values)]


@contextmanager
def open_table(dsn: str, name: str) -> Iterator[ForeignTable]:
    """Open a table or view, as it is at this moment, for reading only.

    Args:
        name: as in SQL: "Quoted", with its schema or without. An unquoted name that does not exist
            in lower case is looked for as it is written.
    Raises: NotFound, InvalidInput (not a name), DatabaseUnavailable.
    """
    candidates = _candidates(name)
    with database_errors(), _connect(dsn) as connection:
        for candidate in candidates:
            found = connection.execute(
                """SELECT c.oid, n.nspname, c.relname, c.relkind::pg_catalog.text
                   FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n
                       ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
                   WHERE c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass(%s)
                       AND c.relkind OPERATOR(pg_catalog.=) ANY ('{r,p,v,m,f}')""",
                [candidate],
            ).fetchone()
            if found:
                # The rest is ours: no function of a schema on the caller's path runs in it.
                connection.execute("SET LOCAL search_path TO pg_catalog")
                yield ForeignTable(connection, *found)
                return
        database = connection.info.dbname
    raise NotFound(
        f"there is no table {name} in database {database!r}; name it with its schema, such as"
        f" public.{name}, and its database with source_dsn (--source-dsn) where it is another"
    )


def _connect(dsn: str) -> psycopg.Connection[Any]:
    try:
        connection = connect(dsn)
    except psycopg.OperationalError as exc:
        try:
            target = {
                k: v for k, v in conninfo_to_dict(dsn).items() if k in ("host", "port", "dbname")
            }
        except psycopg.ProgrammingError:
            target = {}
        where = " ".join(f"{key}={value}" for key, value in target.items())
        reason = (str(exc).strip().splitlines() or ["no message"])[0]
        raise DatabaseUnavailable(
            f"the database of the old table ({where}) cannot be reached: {reason}; check source_dsn"
        ) from exc
    connection.read_only = True
    connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    return connection


def _candidates(name: str) -> list[str]:
    """Return the quoted names to try: as SQL reads `name`, and as it is written."""
    parts = re.findall(r'("(?:[^"]|"")+"|[^".]+)(?:\.|$)', name)
    if not 1 <= len(parts) <= 2 or ".".join(parts) != name:
        raise InvalidInput(
            f"{name!r} is not the name of a table; write it as in SQL, such as documents,"
            ' public.documents or public."My Documents"'
        )
    folded = [part if part.startswith('"') else f'"{part.lower()}"' for part in parts]
    written = [part if part.startswith('"') else f'"{part}"' for part in parts]
    return list(dict.fromkeys([".".join(folded), ".".join(written)]))


def _where(selection: Selection) -> sql.Composable:
    conditions = [
        sql.SQL("{} = {}").format(sql.Identifier("t", name), sql.Placeholder(f"where_{name}"))
        for name in selection.where
    ]
    return sql.SQL(" AND ").join(conditions) if conditions else sql.SQL("true")


def _values(selection: Selection) -> dict[str, Any]:
    return {f"where_{name}": value for name, value in selection.where.items()}
