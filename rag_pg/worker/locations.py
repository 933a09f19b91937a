"""Syncs collections with their locations when they are due, one worker each."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rag_pg.db import Database, TakenLocation
from rag_pg.errors import DatabaseUnavailable, RagError
from rag_pg.threads import start_thread
from rag_pg.types import SyncReport
from rag_pg.worker.loops import Loop

log = logging.getLogger(__name__)

CLOSE_SECONDS = 5.0  # for a sync in hand; one that is cut off is taken again when its lease ends

Sync = Callable[[str, str, Mapping[str, Any]], SyncReport]


class LocationSyncer(Loop):
    """Keeps collections in step with the locations that are attached to them.

    Args:
        sync: brings a collection in step with a location, by its options.
        name: of the worker. prefixes: what the locations begin with that it may read.
    """

    thread_name = "rag-pg-locations"

    def __init__(
        self,
        database: Database,
        sync: Sync,
        *,
        name: str,
        prefixes: Sequence[str],
        collections: Sequence[str] | None = None,
        lease_seconds: float = 60.0,
    ) -> None:
        super().__init__()
        self.database = database
        self.name = name
        self._sync = sync
        self._prefixes, self._collections = prefixes, collections
        self._lease_seconds = lease_seconds

    def act(self) -> int:
        """Sync what is due. Returns how many locations were synced or broken."""
        total = 0
        while not self._stop.is_set() and (taken := self._take()):
            self._bring_in_step(taken)
            total += 1
        return total

    def close(self) -> None:
        self._stop.set()
        self._woken.set()
        if self._thread is not None:
            self._thread.join(CLOSE_SECONDS)
            self._thread = None

    def _take(self) -> TakenLocation | None:
        return self.database.row(
            TakenLocation,
            "_take_location",
            worker_name=self.name,
            prefixes=self._prefixes,
            collections=self._collections,
            lease_seconds=self._lease_seconds,
        )

    def _bring_in_step(self, taken: TakenLocation) -> None:
        """Sync one location. Whatever goes wrong breaks it and nothing else."""
        result, error = None, None
        try:
            with self._renewed(taken.location_id):
                report = self._sync(taken.collection_name, taken.location, taken.options)
            result = {
                "changed": report.changed,
                "unchanged": report.unchanged,
                "deleted": report.deleted,
                "failed": len(report.failures),
                "failures": [str(failure)[:300] for failure in report.failures[:3]],
            }
        except DatabaseUnavailable:
            raise
        except RagError as exc:
            error = str(exc)
        except Exception as exc:  # of a library: what it says may hold anything
            error = f"it failed with {type(exc).__name__}"
        if error:
            log.warning("location %d of %s: %s", taken.location_id, taken.collection_name, error)
        self.database.value(
            bool,
            "_finish_location",
            location_id=taken.location_id,
            worker_name=self.name,
            sync_result=result,
            error=error,
        )

    @contextmanager
    def _renewed(self, location_id: int) -> Iterator[None]:
        """Extend the lease while the block runs."""
        done = threading.Event()

        def extend() -> None:
            while not done.wait(self._lease_seconds / 3):
                try:
                    self.database.value(
                        bool,
                        "_extend_location",
                        location_id=location_id,
                        worker_name=self.name,
                        lease_seconds=self._lease_seconds,
                    )
                except RagError as exc:
                    log.warning("the lease of location %d is not extended: %s", location_id, exc)

        thread = start_thread(extend, "rag-pg-location-lease")
        try:
            yield
        finally:
            done.set()
            thread.join()
