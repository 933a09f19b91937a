"""A loop in a thread of its own, which an error does not end."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from rag_pg.errors import RagError
from rag_pg.threads import start_thread

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0  # a NOTIFY can be lost, and does not pass transaction poolers


def start_loop(name: str, loop: Callable[[], None], stop: threading.Event) -> threading.Thread:
    """Run `loop` in a thread until `stop` is set; a second after an error it begins again."""

    def run() -> None:
        while not stop.is_set():
            try:
                loop()
            except RagError as exc:
                log.warning("%s; trying again", exc)
                stop.wait(POLL_SECONDS)

    return start_thread(run, name)
