"""Waiting for the thing itself: the only place of the tests that looks at a clock or sleeps."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from psycopg import Connection

BOUND = 600  # seconds; no machine needs as many, so that only what never happens fails


def wait_until(
    condition: Callable[[], object], what: str = "what is waited for", pause: float = 0.02
) -> None:
    """Return when `condition()` is true; fail when it does not come true at all."""
    deadline = time.monotonic() + BOUND
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen"
        time.sleep(pause)


def take_time(seconds: float) -> Callable[[Any], None]:
    """A model's `fail` that takes `seconds` for each text: how long it is decides nothing."""
    return lambda texts: time.sleep(seconds * len(texts))


def moment(after: float = 0.0) -> float:
    """The moment `after` seconds from now, for what is given one: bounds that are over or far."""
    return time.monotonic() + after


def waits(connection: Connection[Any], other: Connection[Any]) -> bool:
    """Whether the other session waits for a lock."""
    row = connection.execute(
        "SELECT pg_blocking_pids(%s) <> '{}'", [other.info.backend_pid]
    ).fetchone()
    return row == (True,)
