"""Statements about views of the application's own tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from psycopg.rows import scalar_row
from psycopg.types.json import Jsonb

from rag_pg.db.arguments import plain_arguments
from rag_pg.db.connection import Statements
from rag_pg.db.filters import plain_filter
from rag_pg.types import ExposedView, ViewColumn


class Views(Statements):
    """Exposed views."""

    def expose_view(
        self,
        view: str,
        description: str | None,
        *,
        name: str | None,
        columns: Sequence[str] | None,
        column_descriptions: Mapping[str, str],
        max_rows: int,
        timeout: timedelta,
    ) -> str:
        return str(
            self._scalar(
                """SELECT rag.expose_view(%(view)s, %(description)s, %(name)s, %(columns)s,
                                          %(column_descriptions)s, %(max_rows)s, %(timeout)s)""",
                view=view,
                description=description,
                name=name,
                columns=columns,
                column_descriptions=Jsonb(plain_filter(column_descriptions)),
                max_rows=max_rows,
                timeout=timeout,
            )
        )

    def view_warnings(self, name: str) -> list[str]:
        """What one should know about an exposed view: policies that do not hold, functions."""
        found = self._scalar(
            """SELECT rag._view_warnings(rag._view_relation(v.schema_name, v.view_name))
               FROM rag.exposed_views AS v WHERE v.name OPERATOR(pg_catalog.=) %(name)s""",
            name=name,
        )
        return list(found or ())

    def list_views(self) -> list[ExposedView]:
        return [
            ExposedView(**{**row, "columns": tuple(ViewColumn(**one) for one in row["columns"])})
            for row in self._dicts("SELECT * FROM rag.list_views()")
        ]

    def query_view(
        self,
        name: str,
        *,
        columns: Sequence[str] | None,
        filter: Mapping[str, Any],
        aggregates: Mapping[str, Mapping[str, str]] | None,
        group_by: Sequence[str],
        having: Mapping[str, Any],
        order_by: Sequence[str],
        limit: int | None,
    ) -> list[dict[str, Any]]:
        """Query a view under its statement_timeout: both go in one transaction, and round trip."""
        values = plain_arguments(
            {
                "name": name,
                "columns": columns,
                "filter": Jsonb(plain_filter(filter)),
                "aggregates": None if aggregates is None else Jsonb(plain_filter(aggregates)),
                "group_by": group_by,
                "having": Jsonb(plain_filter(having)),
                "order": order_by,
                "limit": limit,
            }
        )
        with self.connection() as connection, connection.cursor(row_factory=scalar_row) as cursor:
            with connection.pipeline():
                self._set_local(connection)
                connection.execute(
                    """SELECT pg_catalog.set_config('statement_timeout',
                                                    rag._view_timeout(%(name)s), true)""",
                    values,
                )
                cursor.execute(
                    """SELECT rag.query_view(%(name)s, %(columns)s, %(filter)s, %(aggregates)s,
                                             %(group_by)s, %(having)s, %(order)s, %(limit)s)""",
                    values,
                )
            return cursor.fetchall()

    def hide_view(self, name: str) -> bool:
        return bool(self._scalar("SELECT rag.hide_view(%(name)s)", name=name))
