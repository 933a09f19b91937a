"""A tracer that keeps every span and its parent, to be handed to `rag_pg.set_tracer`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from rag_pg.tracing import set_tracer

_current: ContextVar[Recorded | None] = ContextVar("recorded", default=None)


@dataclass(frozen=True)
class SpanContext:
    """What the API of OpenTelemetry tells of a span."""

    trace_id: int


class Recorded:
    def __init__(
        self, name: str, attributes: dict[str, Any], parent: Recorded | None, trace_id: int
    ) -> None:
        self.name, self.attributes = name, attributes
        self.parent, self.trace_id = parent, trace_id
        self.ended = False

    def set_attribute(self, key: str, value: Any) -> None:
        self.attributes[key] = value

    def get_span_context(self) -> SpanContext:
        return SpanContext(self.trace_id)

    @property
    def path(self) -> str:
        """Its name behind those of the spans that it is in."""
        return self.name if self.parent is None else f"{self.parent.path} > {self.name}"


class Tracer:
    """Keeps every span that has ended, in that order. As with OpenTelemetry a span is within that
    of the context that it is begun in, and a trace begins where there is none."""

    def __init__(self) -> None:
        self.spans: list[Recorded] = []
        self._traces = 0

    @contextmanager
    def start_as_current_span(self, name: str, *, attributes: Any = None) -> Iterator[Recorded]:
        parent = _current.get()
        assert parent is None or not parent.ended, f"{name} begins when {parent.path} has ended"
        if parent is None:
            self._traces += 1
        trace = self._traces if parent is None else parent.trace_id
        current = Recorded(name, dict(attributes), parent, trace)
        token = _current.set(current)
        try:
            yield current
        finally:
            _current.reset(token)
            current.ended = True
            self.spans.append(current)

    @property
    def paths(self) -> list[str]:
        return sorted(span.path for span in self.spans)


@contextmanager
def recording() -> Iterator[Tracer]:
    """Let a tracer keep the spans of a block."""
    tracer = Tracer()
    set_tracer(tracer)
    try:
        yield tracer
    finally:
        set_tracer(None)
