"""Answers requests at once, beside the queue.

Somebody waits for a request, so it never stands behind a batch of documents:
it has threads of its own.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rag_pg.db import Database, Request
from rag_pg.errors import DatabaseUnavailable, RagError
from rag_pg.text import clean_text
from rag_pg.threads import Threads
from rag_pg.worker.loops import POLL_SECONDS, start_loop

log = logging.getLogger(__name__)

ANSWERS_AT_ONCE = 2  # of each kind

# From a collection and a request's arguments to its answer, as JSON.
Answerer = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]


class RequestAnswerer:
    """Answers requests with `answerers`, one for each kind: at once when woken, else every second.

    `start` begins it in threads; `close` ends them when what is in hand is done.
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
        self._waiting = threading.Event()
        # A question that is embedded in a moment does not stand behind slow answers.
        self._free = {kind: threading.Semaphore(ANSWERS_AT_ONCE) for kind in answerers}
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._stop.clear()
        self._thread = start_loop("rag-pg-requests", self._run, self._stop)

    def close(self) -> None:
        self._stop.set()
        self._waiting.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def wake(self) -> None:
        """A request may wait."""
        self._waiting.set()

    def answer(self, kind: str | None = None) -> int:
        """Answer requests, of one kind or of any, until none waits. Returns how many."""
        count = 0
        while not self._stop.is_set():
            kinds = None if kind is None else [kind]
            request = self.database.take_request(self.name, self.collections, kinds)
            if request is None:
                break
            count += 1
            self._answer(request)
        return count

    def _answer(self, request: Request) -> None:
        try:
            answerer = self.answerers[request.kind]
            result = answerer(request.collection_name, request.arguments)
            self.database.answer_request(request.request_id, result, None)
        except DatabaseUnavailable:
            raise
        except Exception as exc:  # it belongs to whoever asked
            if not isinstance(exc, RagError):
                log.exception("request %s failed", request.request_id)
            error, _ = clean_text(f"{type(exc).__name__}: {exc}")
            self.database.answer_request(request.request_id, None, error)

    def _run(self) -> None:
        with Threads(ANSWERS_AT_ONCE * len(self._free), "rag-pg-answer") as answering:
            while not self._stop.is_set():
                self._waiting.clear()
                for kind, free in self._free.items():
                    if free.acquire(blocking=False):
                        answering.submit(self._answer_waiting, kind, free)
                self._waiting.wait(POLL_SECONDS)

    def _answer_waiting(self, kind: str, free: threading.Semaphore) -> None:
        try:
            self.answer(kind)
        except RagError as exc:
            log.warning("cannot answer requests: %s", exc)
        finally:
            free.release()
