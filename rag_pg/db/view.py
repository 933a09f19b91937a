"""Statements about views of the application's own tables."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Unpack

from psycopg.rows import scalar_row, tuple_row

from rag_pg.db.statements import Statements
from rag_pg.types import ExposedView, ViewColumn, ViewQuery, without_none


class Views(Statements):
    """Exposed views."""

    def view_warnings(self, name: str) -> list[str]:
        """What one should know about an exposed view: policies that do not hold, functions."""
        rows = self._select(
            """SELECT {rag}._view_warnings({rag}._view_relation(v.schema_name, v.view_name))
               FROM {rag}.exposed_views AS v WHERE v.name OPERATOR(pg_catalog.=) %(name)s""",
            name=name,
        )
        return [*rows[0][0]] if rows else []

    def list_views(self) -> list[ExposedView]:
        names = ("name", "description", "max_rows", "rights", "problem", "columns")
        # as seconds: psycopg reads an interval in no IntervalStyle but PostgreSQL's own
        seconds = ", (extract(epoch FROM timeout))::pg_catalog.float8"
        return [
            ExposedView(
                **dict(zip(names, row, strict=False)),
                columns=tuple(ViewColumn(**one) for one in columns),
                timeout=timedelta(seconds=timeout),
            )
            for *row, columns, timeout in self._call(tuple_row, "list_views", {}, names, seconds)
        ]

    def query_view(self, name: str, **query: Unpack[ViewQuery]) -> list[dict[str, Any]]:
        """Query a view under its statement_timeout: both go in one transaction, and round trip."""
        given = {"name": name, **without_none(query)}
        values = self._calls.plain("query_view", given)
        with self.connection() as connection, connection.cursor(row_factory=scalar_row) as cursor:
            with connection.pipeline():
                self._set_local(connection)
                connection.execute(
                    self.in_schema(
                        """SELECT pg_catalog.set_config('statement_timeout',
                               {rag}._view_timeout(%(name)s), true)"""
                    ),
                    values,
                )
                cursor.execute(self._calls.statement("query_view", tuple(values)), values)
            return cursor.fetchall()
