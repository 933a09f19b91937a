"""Statements about workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rag_pg.db.connection import check_api_version
from rag_pg.db.statements import Statements


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
        newest = self.value(
            int,
            "heartbeat",
            worker_name=name,
            worker_version=version,
            worker_collections=collections,
            worker_concurrency=concurrency,
            worker_jobs=leased_jobs,
            job_rates=rates,
        )
        check_api_version(self.value(int, "min_api_version"), newest)

    def forget_worker(self, name: str) -> None:
        self.call("forget_worker", worker_name=name)
