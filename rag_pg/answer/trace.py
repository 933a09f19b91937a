"""What was done to answer a question, told while it is done."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Literal

from rag_pg.types import Event, Step, Usage

_EVENTS: dict[str, Literal["search", "tool_call", "tool_result"]] = {
    "search": "search",
    "tool_call": "tool_call",
    "tool_result": "tool_result",
}


class Trace:
    """The notes and steps of one question. Threads may share it.

    notes: what was degraded, for people, each once. steps: what was done, in order. listener: is
    called with every event; None: nobody listens.
    """

    def __init__(self, listener: Callable[[Event], None] | None = None) -> None:
        self.listener = listener
        self.notes: list[str] = []
        self.steps: list[Step] = []
        self._lock = threading.Lock()

    def note(self, text: str) -> None:
        """Say what was degraded, once."""
        with self._lock:
            if text not in self.notes:
                self.notes.append(text)

    def step(
        self, kind: str, *, seconds: float = 0.0, usage: Usage | None = None, **detail: Any
    ) -> None:
        """Write down what was done, and tell it; see `Step`."""
        step = Step(kind=kind, detail=detail, seconds=seconds, usage=usage or Usage())
        with self._lock:
            self.steps.append(step)
        self.emit(Event(kind=_EVENTS.get(kind, "step"), step=step))

    def emit(self, event: Event) -> None:
        """Tell an event to the listener."""
        if self.listener is not None:
            self.listener(event)
