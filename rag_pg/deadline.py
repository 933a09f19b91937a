"""Work that must end: at a moment, or when nobody waits for it any more.

A `Scope` holds for all that is done in its block, also in the threads of `rag_pg.threads`. What
waits for a model or the database within it is given up when it ends: the waiter goes on at once,
the statement is cancelled, the stream closed at its next piece.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, nullcontext
from contextvars import ContextVar
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from rag_pg.errors import BudgetExceeded
from rag_pg.threads import start_thread

T = TypeVar("T")
GRACE_SECONDS = 1.0  # for what is written down when the time of an answer is over
MOST_CALLS = 256  # in threads of their own, those included that were given up but have not returned
_calls = threading.BoundedSemaphore(MOST_CALLS)


class Stopped(BaseException):
    """Nobody waits for the result any more."""


class Scope:
    """A piece of work with a last moment, which may be stopped; never later than the one that it is
    made in.

    Args:
        ends_at: of `time.monotonic`; None: no moment. bound: what errors call it, as "timeout
            (2 s)". can_stop: whether somebody may call `stop`.
    """

    def __init__(
        self, ends_at: float | None = None, bound: str = "timeout", *, can_stop: bool = False
    ) -> None:
        outer = _scope.get()
        self._outer = outer
        moments = [(ends_at, bound)] if outer is None else [(ends_at, bound), outer._last]
        known = [(moment, name) for moment, name in moments if moment is not None]
        self._last: tuple[float | None, str] = min(known, default=(None, bound))
        self._can_stop = can_stop
        self._stopped = False
        self._waiting: dict[object, Callable[[], object]] = {}
        self._lock = threading.Lock()

    @property
    def ends_at(self) -> float | None:
        return self._last[0]

    @property
    def bound(self) -> str:
        """What errors call its moment."""
        return self._last[1]

    @property
    def may_end(self) -> bool:
        """Whether anything could end it before its work is done."""
        outer = self._outer is not None and self._outer.may_end
        return self._can_stop or self.ends_at is not None or outer

    @property
    def is_stopped(self) -> bool:
        return self._stopped or (self._outer is not None and self._outer.is_stopped)

    @property
    def is_late(self) -> bool:
        """Whether its moment is past."""
        return self.ends_at is not None and time.monotonic() >= self.ends_at

    def seconds_left(self) -> float | None:
        """Return how long it may go on, None: for ever."""
        return None if self.ends_at is None else max(0.0, self.ends_at - time.monotonic())

    def check(self, awaited: str, *, is_asked: bool = True) -> None:
        """Raises: Stopped; BudgetExceeded when the time is over, naming what was waited for, or,
        unless it `is_asked`, would have been."""
        if self.is_stopped:
            raise Stopped
        if self.is_late:
            late = f"{awaited} did not answer within what was left of {self.bound}"
            told = late if is_asked else f"{self.bound} is over: {awaited} was not asked"
            raise BudgetExceeded(told, bound=self.bound)

    def stop(self) -> None:
        """End it: nobody waits for the result any more."""
        with self._lock:
            self._stopped = True
            waiting, self._waiting = self._waiting, {}
        for interrupt in waiting.values():
            interrupt()

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Let it hold for the block."""
        token = _scope.set(self)
        try:
            yield
        finally:
            _scope.reset(token)

    @contextmanager
    def interrupting(self, interrupt: Callable[[], object]) -> Iterator[None]:
        """Have `interrupt` called when it is stopped during the block: once, in any thread."""
        scopes, key = list(self._with_outer()), object()
        if not all(scope._add(key, interrupt) for scope in scopes):
            interrupt()
        try:
            yield
        finally:
            for scope in scopes:
                with scope._lock:
                    scope._waiting.pop(key, None)

    def within(self, outer: Scope) -> bool:
        """Whether it was made in another, or is that."""
        return outer in self._with_outer()

    def _with_outer(self) -> Iterator[Scope]:
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope._outer

    def _add(self, key: object, interrupt: Callable[[], object]) -> bool:
        with self._lock:
            if not self._stopped:
                self._waiting[key] = interrupt
            return not self._stopped


_scope: ContextVar[Scope | None] = ContextVar("rag_pg_scope", default=None)


def current_scope() -> Scope | None:
    """Return the scope of the work that is done here; None where nothing ends it."""
    scope = _scope.get()
    return scope if scope is not None and scope.may_end else None


@contextmanager
def grace(seconds: float = GRACE_SECONDS) -> Iterator[None]:
    """Let the block end in a time of its own, where the scope around it could end it: for what is
    written down about work that is over."""
    if current_scope() is None:
        yield
        return
    token = _scope.set(None)
    try:
        with Scope(time.monotonic() + seconds).entered():
            yield
    finally:
        _scope.reset(token)


@contextmanager
def half_of_the_time() -> Iterator[None]:
    """Let the block, which one can do without, take half of the time that is left: the other half
    is for what does without it."""
    scope = current_scope()
    left = None if scope is None else scope.seconds_left()
    if scope is None or left is None:
        yield
        return
    with Scope(time.monotonic() + left / 2, f"half of what was left of {scope.bound}").entered():
        yield


def seconds_left(most: float) -> float:
    """Return how many seconds a call may take now, at most `most`; never less than 0.001."""
    scope = current_scope()
    left = None if scope is None else scope.seconds_left()
    return most if left is None else max(0.001, min(most, left))


def sleep(seconds: float) -> bool:
    """Sleep, no longer than the scope lasts; True when it was stopped meanwhile."""
    scope, stopped = current_scope(), threading.Event()
    with nullcontext() if scope is None else scope.interrupting(stopped.set):
        return stopped.wait(seconds_left(seconds))


def call_within(scope: Scope | None, use: Callable[[], T], awaited: str) -> T:
    """Return use(). Raises: as `Scope.check` when the scope ends; the call goes on in its
    thread."""
    if scope is None or not scope.may_end:
        return use()
    return next(iterate_within(scope, lambda: iter([use()]), awaited))


def iterate_within(
    scope: Scope | None, use: Callable[[], Iterator[T]], awaited: str
) -> Generator[T]:
    """Yield what use() yields. Raises: as `Scope.check` when the scope ends; what use() gave is
    closed at its next piece."""
    if scope is not None:
        scope.check(awaited, is_asked=False)
    if scope is None or not scope.may_end or not _calls.acquire(blocking=False):
        yield from _closing(use())
        return
    came: SimpleQueue[tuple[str, Any]] = SimpleQueue()
    given_up = threading.Event()

    def run() -> None:
        try:
            with scope.entered(), closing(_closing(use())) as pieces:
                for piece in pieces:
                    came.put(("piece", piece))
                    if given_up.is_set():
                        break
            came.put(("end", None))
        except BaseException as exc:  # it belongs to whoever waits
            came.put(("error", exc))
        finally:
            _calls.release()

    try:
        with scope.interrupting(lambda: came.put(("stopped", None))):
            try:
                start_thread(run, "rag-pg-call")
            except RuntimeError:  # no more threads: `run` will not release it
                _calls.release()
                raise
            while True:
                try:
                    kind, value = came.get(timeout=scope.seconds_left())
                except Empty:
                    scope.check(awaited)
                    continue
                if kind == "end":
                    return
                if kind == "error":
                    raise value
                scope.check(awaited)  # what came before may be much, and is nobody's any more
                yield value
    finally:
        given_up.set()


def _closing(pieces: Iterator[T]) -> Generator[T]:
    try:
        yield from pieces
    finally:
        if isinstance(pieces, Generator):
            pieces.close()
