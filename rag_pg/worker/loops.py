"""A loop in a thread of its own, which an error does not end."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod

from rag_pg.errors import RagError
from rag_pg.threads import start_thread

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0  # a NOTIFY can be lost, and does not pass transaction poolers


class Loop(ABC):
    """Goes on in a thread: at once when woken, else every second; a second after an error it begins
    again. `start` begins it, `close` ends it when what is in hand is done."""

    thread_name: str

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._woken = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._stop.clear()
        self._thread = start_thread(self._go_on, self.thread_name)

    def close(self) -> None:
        self._stop.set()
        self._woken.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def wake(self) -> None:
        """Something may wait."""
        self._woken.set()

    @abstractmethod
    def act(self) -> object:
        """Work until nothing waits."""

    def _run(self) -> None:
        while not self._stop.is_set():
            self._woken.clear()  # what wakes it from here on is for the next round
            self.act()
            self._woken.wait(POLL_SECONDS)

    def _go_on(self) -> None:
        while not self._stop.is_set():
            try:
                self._run()
            except RagError as exc:
                log.warning("%s; trying again", exc)
                self._stop.wait(POLL_SECONDS)
