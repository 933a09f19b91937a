"""A call that tells events to a listener -> an iterator of these events."""

from __future__ import annotations

from collections.abc import Callable, Generator
from queue import SimpleQueue

from rag_pg.deadline import Scope, Stopped
from rag_pg.threads import start_thread
from rag_pg.types import Answer, Event


def stream_events(ask: Callable[[Callable[[Event], None]], Answer]) -> Generator[Event]:
    """Yield the events of `ask` as they come, then the answer; raises what it raises.

    `ask` runs in a thread, and is called with the listener. Closing the iterator ends it: it waits
    for no model and no statement any more."""
    events: SimpleQueue[Event | BaseException] = SimpleQueue()
    scope = Scope(can_stop=True)

    def listen(event: Event) -> None:
        if scope.is_stopped:
            raise Stopped
        events.put(event)

    def run() -> None:
        try:
            with scope.entered():
                events.put(Event(kind="answer", answer=ask(listen)))
        except BaseException as exc:
            events.put(exc)

    start_thread(run, "rag-pg-ask")
    try:
        while True:
            event = events.get()
            if isinstance(event, BaseException):
                raise event
            yield event
            if event.kind == "answer":
                return
    finally:
        scope.stop()
