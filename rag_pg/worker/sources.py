"""Follows sources: what changed in a table goes into its collection."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from rag_pg.db import Database
from rag_pg.worker.loops import POLL_SECONDS, start_loop


class SourceFollower:
    """Keeps collections in step with their sources: at once when woken, else every second.

    `start` begins it in a thread; `close` ends that when what is in hand is done.
    """

    def __init__(self, database: Database, *, collections: Sequence[str] | None = None) -> None:
        self.database = database
        self.collections = collections
        self._stop = threading.Event()
        self._changed = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._stop.clear()
        self._thread = start_loop("rag-pg-follow", self._run, self._stop)

    def close(self) -> None:
        self._stop.set()
        self._changed.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def wake(self) -> None:
        """A source may have changed."""
        self._changed.set()

    def follow(self) -> int:
        """Bring the collections in step with their sources. Returns how many rows were read."""
        total = 0
        while not self._stop.is_set() and (done := self.database.follow_sources(self.collections)):
            total += done
        return total

    def _run(self) -> None:
        while not self._stop.is_set():
            self._changed.clear()
            self.follow()
            self._changed.wait(POLL_SECONDS)
