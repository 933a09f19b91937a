"""Models and embedders that do not answer until they are let go."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

from fakes import HashEmbedder, ScriptedLLM

from rag_pg.types import Completion, Vectors

LONGEST = 120.0  # seconds: a test that fails ends none the less


class Door:
    """What waits before it goes on when it is opened. `arrived`: how many have come to it."""

    def __init__(self) -> None:
        self.arrived = 0
        self._changed = threading.Condition()
        self._open = False

    @property
    def is_open(self) -> bool:
        return self._open

    def open(self) -> None:
        with self._changed:
            self._open = True
            self._changed.notify_all()

    def wait(self) -> None:
        with self._changed:
            self.arrived += 1
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._open, LONGEST)

    def wait_for_arrivals(self, count: int = 1) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self.arrived >= count, LONGEST)


class WaitingLLM(ScriptedLLM):
    """A model that waits at a door before it answers."""

    def __init__(self, door: Door, *replies: Any, **options: Any) -> None:
        super().__init__(*(replies or ("The fish are red [1].",)), **options)
        self._door = door

    def complete(self, *args: Any, **options: Any) -> Completion:
        self._door.wait()
        return super().complete(*args, **options)


class EndlessLLM(ScriptedLLM):
    """A model whose stream has no end; `closed` is set when it is closed."""

    def __init__(self) -> None:
        super().__init__("unused")
        self.closed = threading.Event()

    def stream(self, *args: Any, **options: Any) -> Iterator[str | Completion]:
        try:
            while not self.closed.wait(0.02):  # statements, for a stream tells whole ones
                yield "The fish in the pond are red and eat shrimps [1]. "
        finally:
            self.closed.set()


class WaitingEmbedder(HashEmbedder):
    """An embedder that waits at a door: for questions, for texts, or both."""

    def __init__(self, door: Door, *, queries: bool = False, documents: bool = False) -> None:
        super().__init__("hash:32")
        self._door, self.queries, self.documents = door, queries, documents

    def embed_query(self, text: str) -> Vectors:
        if self.queries:
            self._door.wait()
        return super().embed_query(text)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if self.documents:
            self._door.wait()
        return super().embed_documents(texts)
