"""Repetition after a pause."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from rag_pg.retry import Backoff, retry


def test_pauses_grow_up_to_the_longest() -> None:
    backoff = Backoff(first=0.5, factor=3, longest=10)
    assert [backoff.pause(n) for n in (1, 2, 3, 4, 5)] == [0.5, 1.5, 4.5, 10, 10]
    assert backoff.pause(100_000) == 10


def failing(times: int) -> tuple[list[str], Callable[[], str]]:
    left = [ValueError(str(n)) for n in range(times)]
    calls: list[str] = []

    def action() -> str:
        calls.append("")
        if left:
            raise left.pop(0)
        return "done"

    return calls, action


def test_an_action_is_repeated_while_a_pause_is_given() -> None:
    calls, action = failing(2)
    seen: list[tuple[str, int]] = []
    pauses: list[float] = []

    def pause_after(exc: Exception, failures: int) -> float:
        seen.append((str(exc), failures))
        return float(failures)

    assert retry(action, pause_after=pause_after, sleep=pauses.append) == "done"
    assert (len(calls), pauses, seen) == (3, [1.0, 2.0], [("0", 1), ("1", 2)])


def test_the_last_error_is_raised_when_no_pause_is_given() -> None:
    calls, action = failing(9)
    with pytest.raises(ValueError, match="1"):
        retry(action, pause_after=lambda exc, n: 0.0 if n < 2 else None, sleep=lambda s: None)
    assert len(calls) == 2


def test_an_event_that_is_set_ends_the_repetitions() -> None:
    calls, action = failing(9)
    stop = threading.Event()
    stop.set()
    with pytest.raises(ValueError, match="0"):
        retry(action, pause_after=lambda exc, n: 0.0, sleep=stop.wait)
    assert len(calls) == 1
