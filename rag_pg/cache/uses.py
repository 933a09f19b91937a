"""Hits and misses, counted in the process and written in batches: a row that every hit updates
would be waited for."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

from rag_pg.cache.settings import Kind
from rag_pg.db import Database
from rag_pg.errors import RagError

USES = 100  # counted before they are written
SECONDS = 10.0  # between two times that they are
log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Count:
    hits: int = 0
    misses: int = 0
    saved_tokens: int = 0
    saved_cost: float = 0.0


class UseCounter:
    """The uses that are not written yet. Threads may share it."""

    def __init__(self, database: Callable[[], Database]) -> None:
        self._database = database
        self._counts: dict[tuple[Kind, int], _Count] = {}
        self._used: set[bytes] = set()
        self._since = time.monotonic()
        self._lock = threading.Lock()

    def add(
        self,
        kind: Kind,
        collection_key: int,
        *,
        hits: set[bytes],
        misses: int,
        saved_tokens: int = 0,
        saved_cost: float = 0.0,
    ) -> None:
        """Count a look-up.

        Args:
            hits: the keys that were found. misses: how many were not.
        """
        with self._lock:
            count = self._counts.setdefault((kind, collection_key), _Count())
            count.hits += len(hits)
            count.misses += misses
            count.saved_tokens += saved_tokens
            count.saved_cost += saved_cost
            self._used |= hits
            total = sum(c.hits + c.misses for c in self._counts.values())
            due = total >= USES or time.monotonic() - self._since > SECONDS
        if due:
            self.flush()

    def flush(self) -> None:
        """Write what was counted. What cannot be written is lost: it is a statistic."""
        with self._lock:
            counts, keys = self._counts, sorted(self._used)
            self._counts, self._used, self._since = {}, set(), time.monotonic()
        if not counts:
            return
        rows = [
            {"kind": kind, "collection_key": collection_key, **asdict(count)}
            for (kind, collection_key), count in sorted(counts.items())
        ]
        try:
            self._database().call("_count_cache_uses", uses=rows, used_keys=keys)
        except RagError as exc:
            log.info("uses of the cache were not counted: %s", exc)
