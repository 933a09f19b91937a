"""Time of a server backend: CPU from /proc where the server is local (else NaN), and wall."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Any

import psycopg


def scalar(connection: psycopg.Connection[Any], statement: str, values: Any = ()) -> Any:
    """Return the first column of a statement's only row."""
    (row,) = connection.execute(statement.encode(), values or None).fetchall()
    return row[0]


def cpu_ms(pid: int) -> float:
    """Return the milliseconds a process has run so far."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e6
    except OSError:
        return float("nan")


def server_cpu_ms(backend: int) -> float:
    """Return the milliseconds a backend's whole server has run,
    all processes that it has and had."""
    try:
        postmaster = _stat(backend)[1]
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
    except OSError:
        return float("nan")
    ended_too = sum(_stat(postmaster)[11:15])
    alive = 0
    for child in children:
        with contextlib.suppress(OSError):  # it has just ended
            alive += sum(_stat(int(child))[11:13])
    return (ended_too + alive) * 1e3 / os.sysconf("SC_CLK_TCK")


def _stat(pid: int) -> list[int]:
    """Return what stands in /proc/PID/stat after the name: state (as 0), parent, …"""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return [0, *map(int, fields[1:])]


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
