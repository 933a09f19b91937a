"""What a worker does beside the queue: answer requests at once, and follow sources.

Somebody waits for a request, so it never stands behind a batch of documents: it has threads of its own.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from rag_pg.db.database import Database
from rag_pg.db.worker import Request
from rag_pg.errors import DatabaseUnavailable, RagError

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0  # a NOTIFY can be lost, and does not pass transaction poolers
ANSWERS_AT_ONCE = 2

# From a collection and a request's arguments to its answer, as JSON.
Answerer = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]


class Attendant:
    """Answers requests with `answerers`, one for each kind, and keeps collections in step with their sources.

    `start` begins both in threads; `close` ends them when what is in hand is done.
    """

    def __init__(
        self,
        database: Database,
        answerers: Mapping[str, Answerer],
        *,
        name: str,
        collections: Sequence[str] | None = None,
    ) -> None:
        self.database = database
        self.answerers = answerers
        self.name = name
        self.collections = collections
        self._stop = threading.Event()
        self._changed = threading.Event()
        self._free = threading.Semaphore(ANSWERS_AT_ONCE)
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        self._stop.clear()
        for name, loop in (("rag-pg-listen", self._listen), ("rag-pg-follow", self._follow)):
            thread = threading.Thread(
                target=self._until_stopped, args=(loop,), name=name, daemon=True
            )
            thread.start()
            self._threads.append(thread)

    def close(self) -> None:
        self._stop.set()
        self._changed.set()
        while self._threads:
            self._threads.pop().join()

    def follow(self) -> int:
        """Bring the collections in step with their sources. Returns how many rows were read."""
        total = 0
        while not self._stop.is_set() and (done := self.database.follow_sources(self.collections)):
            total += done
        return total

    def answer(self) -> int:
        """Answer requests until none waits. Returns how many."""
        count = 0
        while not self._stop.is_set():
            request = self.database.take_request(self.name, self.collections)
            if request is None:
                break
            count += 1
            self._answer(request)
        return count

    def _answer(self, request: Request) -> None:
        try:
            answerer = self.answerers[request.kind]
            result = answerer(request.collection_name, request.arguments)
        except DatabaseUnavailable:
            raise
        except Exception as exc:  # it belongs to whoever asked
            if not isinstance(exc, RagError):
                log.exception("request %s failed", request.request_id)
            self.database.answer_request(request.request_id, None, f"{type(exc).__name__}: {exc}")
        else:
            self.database.answer_request(request.request_id, result, None)

    # --- threads

    def _until_stopped(self, loop: Callable[[], None]) -> None:
        while not self._stop.is_set():
            try:
                loop()
            except RagError as exc:
                log.warning("%s; trying again", exc)
                self._stop.wait(POLL_SECONDS)

    def _listen(self) -> None:
        """Wake who answers and who follows: when told so, and every second."""
        with (
            self.database.listen("rag_requests", "rag_sources") as connection,
            ThreadPoolExecutor(ANSWERS_AT_ONCE, "rag-pg-answer") as answering,
        ):
            while not self._stop.is_set():
                if self._free.acquire(blocking=False):
                    answering.submit(self._answer_waiting)
                channels = {
                    n.channel for n in connection.notifies(timeout=POLL_SECONDS, stop_after=1)
                }
                if channels != {"rag_requests"}:
                    self._changed.set()

    def _answer_waiting(self) -> None:
        try:
            self.answer()
        except RagError as exc:
            log.warning("cannot answer requests: %s", exc)
        finally:
            self._free.release()

    def _follow(self) -> None:
        while not self._stop.is_set():
            self._changed.clear()
            self.follow()
            self._changed.wait(POLL_SECONDS)
