"""A call that tells events to a listener -> an iterator of these events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Self

from rag_pg.deadline import Scope, Stopped
from rag_pg.threads import start_thread
from rag_pg.types import Answer, Event


class EventStream(Iterator[Event]):
    """The events of a question as they come, then the answer; raises what answering raises.

    Made by `Collection.stream`; the work begins with the first event that is asked for. In a
    `with` block it ends with that.
    """

    def __init__(self, ask: Callable[[Callable[[Event], None]], Answer]) -> None:
        self._ask = ask  # runs in a thread, and is called with the listener
        self._events: SimpleQueue[Event | BaseException | None] = SimpleQueue()
        self._scope = Scope(can_stop=True)
        self._is_started = self._is_over = False

    def __next__(self) -> Event:
        if not self._is_started and not self._is_over:
            self._is_started = True
            start_thread(_answering(self._ask, self._events, self._scope), "rag-pg-ask")
        event = None if self._is_over else self._events.get()
        if event is None or self._is_over:
            raise StopIteration
        if isinstance(event, BaseException):
            self.cancel()
            raise event
        if event.kind == "answer":
            self.cancel()
        return event

    def cancel(self) -> None:
        """End the work, from any thread: it waits for no model and no statement any more, and the
        iterator has no further event."""
        self._is_over = True
        self._scope.stop()
        self._events.put(None)

    close = cancel

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.cancel()

    def __del__(self) -> None:
        self.cancel()


def _answering(
    ask: Callable[[Callable[[Event], None]], Answer],
    events: SimpleQueue[Event | BaseException | None],
    scope: Scope,
) -> Callable[[], None]:
    """What the thread runs; it holds no stream, which ends when its reader lets go of it. An answer
    of which no piece was told, as no model wrote it, is told in one."""
    kinds: set[str] = set()

    def listen(event: Event) -> None:
        if scope.is_stopped:
            raise Stopped
        kinds.add(event.kind)
        events.put(event)

    def run() -> None:
        try:
            with scope.entered():
                answer = ask(listen)
                if "token" not in kinds:
                    listen(Event(kind="token", text=answer.text))
                    for citation in answer.sources:
                        listen(Event(kind="citation", citation=citation))
                events.put(Event(kind="answer", answer=answer))
        except BaseException as exc:
            events.put(exc)

    return run
