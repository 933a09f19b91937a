"""The queue: work on documents that is not done."""

from __future__ import annotations

import builtins
from typing import Any

from rag_pg.client.opened import OfRag
from rag_pg.types import JobCounts


class Jobs(OfRag):
    """Work that is not done, and why: listed, explained, queued again."""

    def list(
        self, collection: str | None = None, *, state: str | None = None, limit: int = 50
    ) -> list[dict[str, Any]]:
        """Return jobs that are not done.

        Args:
            collection: None: of all.
            state: waiting, running or dead; None: all of them.
        Raises: NotFound, InvalidInput.
        """
        return self._rag.database.list_jobs(collection, state, limit)

    def counts(self, collection: str | None = None) -> builtins.list[JobCounts]:
        """Return how many jobs there are of each kind and state, of a collection or of all."""
        return self._rag.database.job_stats(collection)

    def explain(self, job_id: int) -> dict[str, Any]:
        """Return a job's state, why it is in it, and its history. Raises NotFound."""
        return self._rag.database.explain_job(job_id)

    def retry(
        self,
        collection: str | None = None,
        *,
        error: str | None = None,
        uri: str | None = None,
        kind: str | None = None,
    ) -> int:
        """Queue dead jobs again; return how many there were.

        Args:
            collection: None: of all.
            error, uri: only those whose last error, or whose document's uri, is LIKE this, e.g.
                "%timeout%".
            kind: only those of this kind.
        """
        return self._rag.database.value(
            int, "retry_jobs", collection=collection, error_like=error, job_kind=kind, uri_like=uri
        )
