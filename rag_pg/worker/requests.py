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
from rag_pg.worker.loops import Loop

log = logging.getLogger(__name__)

ANSWERS_AT_ONCE = 2  # of each kind

# From a collection and a request's arguments to its answer, as JSON.
Answerer = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]


class RequestAnswerer(Loop):
    """Answers requests with `answerers`, one for each kind, in threads."""

    thread_name = "rag-pg-requests"

    def __init__(
        self,
        database: Database,
        answerers: Mapping[str, Answerer],
        *,
        name: str,
        collections: Sequence[str] | None = None,
    ) -> None:
        super().__init__()
        self.database = database
        self.answerers = answerers
        self.name = name
        self.collections = collections
        # A question that is embedded in a moment does not stand behind slow answers.
        self._free = {kind: threading.Semaphore(ANSWERS_AT_ONCE) for kind in answerers}
        self._answering: Threads | None = None

    def answer(self, kind: str | None = None) -> int:
        """Answer requests, of one kind or of any, until none waits. Returns how many."""
        count = 0
        while not self._stop.is_set():
            kinds = None if kind is None else [kind]
            request = self.database.row(
                Request,
                "take_request",
                worker_name=self.name,
                collections=self.collections,
                kinds=kinds,
            )
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
        with Threads(ANSWERS_AT_ONCE * len(self._free), "rag-pg-answer") as self._answering:
            super()._run()

    def act(self) -> None:
        assert self._answering is not None
        for kind, free in self._free.items():
            if free.acquire(blocking=False):
                self._answering.submit(self._answer_waiting, kind, free)

    def _answer_waiting(self, kind: str, free: threading.Semaphore) -> None:
        try:
            self.answer(kind)
        except RagError as exc:
            log.warning("cannot answer requests: %s", exc)
        finally:
            free.release()
