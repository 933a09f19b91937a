"""Statements about the upkeep of schema rag."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rag_pg.db.statements import Statements
from rag_pg.errors import StatementCanceled
from rag_pg.types import Finding, Metric, StatusLine


class Admin(Statements):
    """Upkeep: maintenance, findings, what dropped collections left."""

    def maintain(self, goes_on: Callable[[], bool] = lambda: True) -> None:
        """Every step of maintenance, each in a transaction of its own, while `goes_on`.

        A step that fails is noted for rag.doctor and does not stop the others.
        """
        for step, subject in self.tuples(("step", "subject"), "maintenance_steps"):
            if not goes_on():
                return
            try:
                self.call("maintain_step", step=step, subject=subject)
            except StatementCanceled as exc:
                self.call("note_maintenance", step=step, subject=subject, failure=str(exc))

    def doctor(self) -> list[Finding]:
        return self.rows(Finding, "doctor")

    def metrics(self) -> list[Metric]:
        return self.rows(Metric, "metrics")

    def status(self, topics: Sequence[str] | None = None) -> list[StatusLine]:
        return self.rows(StatusLine, "status", topics=topics)

    def remove_dropped(self) -> int:
        """Remove what was dropped, a transaction for each table and index, and return how many
        steps that took. What others are reading is left for a worker."""
        steps = 0
        while self.value(bool, "remove_dropped"):
            steps += 1
        return steps
