"""Statements about workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from psycopg.types.json import Jsonb

from rag_pg.db.connection import Statements, check_api_version


class Workers(Statements):
    """Workers: reported, listed, forgotten."""

    def beat_worker(
        self,
        name: str,
        *,
        version: str,
        collections: Sequence[str] | None,
        concurrency: int,
        leased_jobs: int,
        rates: Mapping[str, float],
    ) -> None:
        """Report a worker. Raises SchemaMismatch when the schema no longer serves this program."""
        ((newest, oldest),) = self._tuples(
            """SELECT rag.heartbeat(%(name)s, %(version)s, %(collections)s::pg_catalog.text[],
               %(concurrency)s, %(jobs)s, %(rates)s), rag.min_api_version()""",
            name=name,
            version=version,
            collections=None if collections is None else list(collections),
            concurrency=concurrency,
            jobs=leased_jobs,
            rates=Jsonb(rates),
        )
        check_api_version(oldest, newest)

    def forget_worker(self, name: str) -> None:
        self._scalar("SELECT rag.forget_worker(%(name)s)", name=name)

    def list_workers(self) -> list[dict[str, Any]]:
        return self._dicts("SELECT * FROM rag.list_workers()")
