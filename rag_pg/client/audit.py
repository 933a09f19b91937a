"""The audit of a collection, and advice about its settings."""

from __future__ import annotations

from rag_pg.client.opened import OpenCollection
from rag_pg.types import Advice, AuditFinding


class Audited(OpenCollection):
    """The methods of `Collection` that audit it and advise."""

    def audit(
        self,
        set_name: str | None = None,
        *,
        sample_size: int = 5000,
        max_tokens: int | None = None,
    ) -> list[AuditFinding]:
        """Return what stands in the way of good answers: each check with what it found.

        Args:
            set_name: a set of questions; its latest run tells how answers fail.
            sample_size: 10 to 100,000 chunks; of more so many are looked at, evenly spaced.
            max_tokens: of the model; None: of the collection's chunking.
        Raises: NotFound, InvalidInput.
        """
        return self.rag.database.audit(
            self.name, set_name=set_name, sample_size=sample_size, max_tokens=max_tokens
        )

    def advise(self) -> list[Advice]:
        """Return which settings suit the collection, by statistics of it alone; nothing changes.

        Runs of a question set on these documents go before any rule (`Advice.evidence`).
        """
        return self.rag.database.advise(self.name)
