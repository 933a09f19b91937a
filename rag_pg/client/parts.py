"""The workers of a corpus in parts, each of which has a queue of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rag_pg.worker import Worker


class PartWorkers:
    """A worker for each part, for those who wait; elsewhere `rag-pg worker` runs beside each."""

    def __init__(self, workers: Sequence[Worker]) -> None:
        self._workers = workers

    @property
    def planned(self) -> tuple[int, int]:
        texts, characters = zip(*(worker.planned for worker in self._workers), strict=True)
        return sum(texts), sum(characters)

    def drain(self) -> int:
        """Work each queue until nothing of it is due; return how many jobs were done."""
        return sum(worker.drain() for worker in self._workers)
