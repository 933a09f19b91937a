"""Work that must end at a time: what providers have left of it, calls that are given up then."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from queue import Empty, SimpleQueue
from typing import TypeVar

T = TypeVar("T")

_ends_at: ContextVar[float | None] = ContextVar("rag_pg_ends_at", default=None)


class Late(Exception):
    """The time is over."""


@contextmanager
def ends_by(moment: float | None) -> Iterator[None]:
    """Let the providers' calls in the block end by a moment of `time.monotonic`; None: no change.

    In this thread, and in what copies its context.
    """
    if moment is None:
        yield
        return
    before = _ends_at.get()
    token = _ends_at.set(moment if before is None else min(before, moment))
    try:
        yield
    finally:
        _ends_at.reset(token)


def seconds_left(most: float) -> float:
    """Return how many seconds a call may take now, at most `most`; never less than 0.001."""
    moment = _ends_at.get()
    return most if moment is None else max(0.001, min(most, moment - time.monotonic()))


def call_by(moment: float | None, use: Callable[[], T]) -> T:
    """Return use(). Raises: Late at the moment; the call goes on in its thread."""
    if moment is None:
        return use()
    return next(iterate_by(moment, lambda: iter([use()])))


def iterate_by(moment: float | None, use: Callable[[], Iterator[T]]) -> Generator[T]:
    """Yield what use() yields. Raises: Late at the moment; it is closed at its next piece."""
    if moment is None:
        pieces = use()
        try:
            yield from pieces
        finally:
            if isinstance(pieces, Generator):
                pieces.close()
        return
    came: SimpleQueue[tuple[str, T | BaseException | None]] = SimpleQueue()
    given_up = threading.Event()

    def run() -> None:
        try:
            with ends_by(moment):
                pieces = use()
                for piece in pieces:
                    came.put(("piece", piece))
                    if given_up.is_set():
                        break
                if isinstance(pieces, Generator):
                    pieces.close()
            came.put(("end", None))
        except BaseException as exc:  # it belongs to whoever waits
            came.put(("error", exc))

    context = copy_context()
    threading.Thread(target=context.run, args=(run,), name="rag-pg-call", daemon=True).start()
    try:
        while True:
            try:
                kind, value = came.get(timeout=max(0.0, moment - time.monotonic()))
            except Empty:
                raise Late from None
            if kind == "end":
                return
            if isinstance(value, BaseException) and kind == "error":
                raise value
            yield value  # type: ignore[misc]
    finally:
        given_up.set()
