"""Statements of workers besides those about jobs: budgets, requests, sources, upkeep."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg.types.json import Jsonb

from rag_pg.db.connection import Connected, check_api_version
from rag_pg.errors import StatementCanceled
from rag_pg.types import Finding


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What rag.take_request hands to a worker: somebody waits for the answer."""

    request_id: int
    kind: str
    collection_name: str
    arguments: Mapping[str, Any]


class Workers(Connected):
    """Workers, and what they see to."""

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
            """SELECT rag.heartbeat(%(name)s, %(version)s, %(collections)s::text[], %(concurrency)s,
               %(held)s, %(rates)s)""",
            name=name,
            version=version,
            collections=None if collections is None else list(collections),
            concurrency=concurrency,
            held=held,
            rates=Jsonb(rates),
        )
        check_api_version(int(found))

    def forget_worker(self, name: str) -> None:
        self._scalar("SELECT rag.forget_worker(%(name)s)", name=name)

    def search_note(self, collection: str) -> str | None:
        """What a search should be told: that documents wait and nobody works."""
        note = self._scalar("SELECT s.note FROM rag.search_status(%(c)s) AS s", c=collection)
        return None if note is None else str(note)

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
        """One batch of each source that has something to do; each in a transaction of its own."""
        with self.connection() as connection:
            due = connection.execute(
                "SELECT * FROM rag.due_sources(%(collections)s::text[])",
                {"collections": None if collections is None else list(collections)},
            ).fetchall()
        return sum(self.follow_source(source_id) for (source_id,) in due)

    def follow_source(self, source_id: int) -> int:
        """One batch of one source. An error, or a cancelled statement, breaks it and nothing else."""
        try:
            return int(
                self._scalar("SELECT rag.follow_source(%(source_id)s)", source_id=source_id) or 0
            )
        except StatementCanceled as exc:
            self._scalar(
                "SELECT rag.break_source(%(source_id)s, %(reason)s)",
                source_id=source_id,
                reason=str(exc),
            )
            return 0

    def maintain(self, goes_on: Callable[[], bool] = lambda: True) -> None:
        """Every step of maintenance, each in a transaction of its own, while `goes_on`.

        A step that fails is noted for rag.doctor and does not stop the others.
        """
        with self.connection() as connection:
            steps = connection.execute(
                "SELECT step, subject FROM rag.maintenance_steps()"
            ).fetchall()
        for step, subject in steps:
            if not goes_on():
                return
            try:
                self._scalar(
                    "SELECT rag.maintain_step(%(step)s, %(subject)s)", step=step, subject=subject
                )
            except StatementCanceled as exc:
                self._scalar(
                    "SELECT rag.note_maintenance(%(step)s, %(subject)s, %(failure)s)",
                    step=step,
                    subject=subject,
                    failure=str(exc),
                )

    def doctor(self) -> list[Finding]:
        return self._rows(Finding, "SELECT * FROM rag.doctor()")
