"""Threads that go on in the context of who starts them: under its span, within its scope.

Every thread of the package is started here, so none loses its parent.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Threads(ThreadPoolExecutor):
    """A pool whose calls, those of `map` too, run in a copy of their caller's context.

    Args:
        outlive: they may go on when the span of their caller has ended: they run in a copy of the
            context in which the pool is made.
    """

    def __init__(self, at_once: int, name: str = "", *, outlive: bool = False) -> None:
        super().__init__(at_once, name)
        self._context = copy_context() if outlive else None

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        context = copy_context() if self._context is None else self._context.copy()
        return super().submit(lambda: context.run(fn, *args, **kwargs))


def start_thread(run: Callable[[], object], name: str) -> threading.Thread:
    """Run in a thread of its own, which no exit of the program waits for."""
    context = copy_context()
    thread = threading.Thread(target=context.run, args=(run,), name=name, daemon=True)
    thread.start()
    return thread


def start_timer(seconds: float, run: Callable[[], object]) -> threading.Timer:
    """Run after so many seconds, unless the timer is cancelled."""
    timer = threading.Timer(seconds, copy_context().run, (run,))
    timer.daemon = True
    timer.start()
    return timer
