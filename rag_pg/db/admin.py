"""Statements about the upkeep of schema rag."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rag_pg.db.connection import Statements
from rag_pg.errors import StatementCanceled
from rag_pg.types import Advice, AuditFinding, Finding, StatusLine


class Admin(Statements):
    """Upkeep: maintenance, findings, what dropped collections left."""

    def maintain(self, goes_on: Callable[[], bool] = lambda: True) -> None:
        """Every step of maintenance, each in a transaction of its own, while `goes_on`.

        A step that fails is noted for rag.doctor and does not stop the others.
        """
        for step, subject in self._tuples("SELECT step, subject FROM rag.maintenance_steps()"):
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

    def audit(
        self,
        collection: str,
        *,
        set_name: str | None = None,
        sample_size: int = 5000,
        max_tokens: int | None = None,
    ) -> list[AuditFinding]:
        return self._rows(
            AuditFinding,
            """SELECT * FROM rag.audit(%(collection)s, %(set_name)s, %(sample_size)s,
               %(max_tokens)s)""",
            collection=collection,
            set_name=set_name,
            sample_size=sample_size,
            max_tokens=max_tokens,
        )

    def advise(self, collection: str) -> list[Advice]:
        return self._rows(Advice, "SELECT * FROM rag.advise(%(collection)s)", collection=collection)

    def audit_table(
        self,
        table: str,
        *,
        content: str | None = None,
        language: str = "english",
        sample_size: int = 5000,
        max_tokens: int = 256,
    ) -> list[AuditFinding]:
        return self._rows(
            AuditFinding,
            """SELECT * FROM rag.audit_table(%(table)s, %(content)s, %(language)s,
               %(sample_size)s, %(max_tokens)s)""",
            table=table,
            content=content,
            language=language,
            sample_size=sample_size,
            max_tokens=max_tokens,
        )

    def status(self, topics: Sequence[str] | None = None) -> list[StatusLine]:
        return self._rows(
            StatusLine,
            "SELECT * FROM rag.status(%(topics)s::pg_catalog.text[])",
            topics=None if topics is None else list(topics),
        )

    def remove_dropped(self) -> int:
        """Remove what was dropped, a transaction for each table and index, and return how many
        steps that took. What others are reading is left for a worker."""
        steps = 0
        while self._scalar("SELECT rag.remove_dropped()"):
            steps += 1
        return steps
