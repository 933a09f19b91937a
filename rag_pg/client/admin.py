"""Running a database with schema rag: its health, upkeep, cost and cache."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from rag_pg.client.opened import OfRag
from rag_pg.client.threaded import in_thread
from rag_pg.db import schema
from rag_pg.types import (
    AuditFinding,
    Budget,
    CacheStats,
    CollectionStats,
    Finding,
    Metric,
    Space,
    StatusLine,
    UsageLine,
    WorkerInfo,
)


class Admin(OfRag):
    """Running a database with schema rag: its health, upkeep, cost and cache."""

    def doctor(self) -> list[Finding]:
        """Return each check of the installation's health: ok, warn or fail, and what mends it."""
        return self._rag.database.doctor()

    @in_thread("long")
    def check(self) -> list[str]:
        """Return how schema rag differs from what this release installs; none: it does not."""
        return schema.check(self._rag.database.dsn, self._rag.database.schema)

    @in_thread("long")
    def maintain(self) -> None:
        """Do the upkeep that is due, as workers do it by and by."""
        self._rag.database.maintain()

    def metrics(self) -> list[Metric]:
        """Return figures for monitoring: of the queue, workers, sizes, recall, cost."""
        return self._rag.database.metrics()

    def status(self, topics: Sequence[str] | None = None) -> list[StatusLine]:
        """The installation on one screen: release, collections, queue, workers, and what is wrong.

        Args:
            topics: only these of release, collection, queue, worker and finding; None: all.
        Raises: InvalidInput (another topic).
        """
        return self._rag.database.status(topics)

    def workers(self) -> list[WorkerInfo]:
        """Return the workers that reported within the last minute."""
        return self._rag.database.rows(WorkerInfo, "list_workers")

    def budgets(self) -> list[Budget]:
        """Return every provider's budget, what is used of it, and whether it may be asked."""
        return self._rag.database.rows(Budget, "list_budgets")

    def stats(self) -> list[CollectionStats]:
        """Return counts, size, lag and rate of every collection, by name."""
        return self._rag.database.collection_stats()

    def spaces(self, collection: str | None = None) -> list[Space]:
        """Return the embedding spaces of a collection, None: of all, and how far each is.

        Raises NotFound.
        """
        return self._rag.database.list_spaces(collection)

    def usage(
        self,
        since: date | None = None,
        until: date | None = None,
        by: Sequence[str] = ("day",),
    ) -> list[UsageLine]:
        """Return what models were asked, and what it cost by list prices, in US dollars.

        Args:
            since, until: days (UTC), both included; default: the last 30.
            by: what has a line each: day, role, collection, strategy, kind, model.
        Raises: InvalidQuery (another grouping).
        """
        return self._rag.database.usage_report(since, until, by)

    def cache_stats(self) -> list[CacheStats]:
        """What the cache holds and has saved, by collection and kind."""
        self._rag.cache_entries.uses.flush()
        return self._rag.database.rows(CacheStats, "cache_stats")

    def clear_cache(self, collection: str | None = None) -> int:
        """Empty the cache of a collection, None: all of it; return how many entries there were.

        Raises NotFound.
        """
        return self._rag.database.optional(int, "clear_cache", collection=collection) or 0

    @in_thread("long")
    def audit_table(
        self,
        table: str,
        *,
        content: str | None = None,
        language: str = "english",
        sample_size: int = 5000,
        max_tokens: int = 256,
    ) -> list[AuditFinding]:
        """Audit the texts of another program's table of chunks, before it is adopted.

        Args:
            table: as in SQL, with its schema.
            content: its column of texts; None: content, document, text or chunk.
            language: the text search configuration that the collection will have.
            sample_size: 10 to 100,000 rows; of more the first are looked at.
            max_tokens: what the model reads.
        Raises: NotFound, InvalidInput.
        """
        return self._rag.database.rows(
            AuditFinding,
            "audit_table",
            table_name=table,
            content_column=content,
            language=language,
            sample_size=sample_size,
            max_tokens=max_tokens,
        )
