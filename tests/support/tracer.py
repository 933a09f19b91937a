"""A tracer that keeps every span, to be handed to `rag_pg.set_tracer`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rag_pg.tracing import set_tracer


class Recorded:
    def __init__(self, name: str, attributes: dict[str, Any]) -> None:
        self.name, self.attributes = name, attributes

    def set_attribute(self, key: str, value: Any) -> None:
        self.attributes[key] = value


class Tracer:
    """Keeps every span that has ended, in that order."""

    def __init__(self) -> None:
        self.spans: list[Recorded] = []

    @contextmanager
    def start_as_current_span(self, name: str, *, attributes: Any = None) -> Iterator[Recorded]:
        current = Recorded(name, dict(attributes))
        try:
            yield current
        finally:
            self.spans.append(current)


@contextmanager
def recording() -> Iterator[Tracer]:
    """Let a tracer keep the spans of a block."""
    tracer = Tracer()
    set_tracer(tracer)
    try:
        yield tracer
    finally:
        set_tracer(None)
