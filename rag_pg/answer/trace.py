"""What was done to answer a question, told while it is done."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rag_pg.types import Event, Step, Usage

_EVENTS = ("search", "tool_call", "tool_result")  # steps that are events of their own


@dataclass(slots=True)
class Trace:
    """The notes and steps of one question. Threads may share it.

    notes: what was degraded, for people, each once. steps: what was done, in order. listener: is
    called with every event; None: nobody listens.
    """

    listener: Callable[[Event], None] | None = None
    notes: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

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
        if self.listener is not None:
            told = kind if kind in _EVENTS else "step"
            self.listener(Event(kind=told, step=step))  # type: ignore[arg-type]
