"""Doing it again after a pause: `Backoff` says how long to pause, `retry` does it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Backoff:
    """Growing pauses: `first` seconds, then each `factor` times the last, at most `longest`."""

    first: float
    factor: float = 2.0
    longest: float = float("inf")

    def pause(self, failures: int) -> float:
        """Seconds to pause after so many failures in a row, counted from 1."""
        growth: float = self.factor ** min(failures - 1, 64)
        return min(self.longest, self.first * growth)


def retry(
    action: Callable[[], T],
    *,
    pause_after: Callable[[Exception, int], float | None],
    sleep: Callable[[float], object] = time.sleep,
) -> T:
    """Return action(), repeated after each failure for as long as `pause_after` gives a pause.

    Args:
        pause_after: of an error, and how many there were: seconds to pause, or None: raise it.
        sleep: pauses; returns True to end it all, as the `wait` of an Event does that is set.
    Raises: the last error of the action.
    """
    failures = 0
    while True:
        try:
            return action()
        except Exception as exc:
            failures += 1
            pause = pause_after(exc, failures)
            if pause is None or sleep(pause) is True:
                raise
