"""A call that tells events to a listener -> an iterator of these events."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from queue import SimpleQueue

from rag_pg.types import Answer, Event


class _Stopped(BaseException):
    """Nobody reads the events any more."""


def stream_events(ask: Callable[[Callable[[Event], None]], Answer]) -> Generator[Event]:
    """Yield the events of `ask` as they come, then the answer; raises what it raises.

    `ask` runs in a thread, and is called with the listener. Closing the iterator ends it at its
    next event."""
    events: SimpleQueue[Event | BaseException] = SimpleQueue()
    stopped = threading.Event()

    def listen(event: Event) -> None:
        if stopped.is_set():
            raise _Stopped
        events.put(event)

    def run() -> None:
        try:
            events.put(Event(kind="answer", answer=ask(listen)))
        except BaseException as exc:
            events.put(exc)

    threading.Thread(target=run, name="rag-pg-ask", daemon=True).start()
    try:
        while True:
            event = events.get()
            if isinstance(event, BaseException):
                raise event
            yield event
            if event.kind == "answer":
                return
    finally:
        stopped.set()
