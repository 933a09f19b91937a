"""Time of a server backend: CPU from /proc where the server is local (else NaN), and wall."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import psycopg


def cpu_ms(pid: int) -> float:
    """Return the milliseconds a process has run so far."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e6
    except OSError:
        return float("nan")


class Timer:
    """Measures one block: `wall` and `cpu` in milliseconds."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.pid = connection.info.backend_pid
        self.wall = self.cpu = 0.0

    def __enter__(self) -> Timer:
        self._wall, self._cpu = time.perf_counter(), cpu_ms(self.pid)
        return self

    def __exit__(self, *_: object) -> None:
        self.wall = (time.perf_counter() - self._wall) * 1e3
        self.cpu = cpu_ms(self.pid) - self._cpu


def percentile(values: list[float], share: float) -> float:
    """Return the value below which that share of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
