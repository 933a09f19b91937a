"""Figures for Prometheus: those of the database, and what this process has counted and timed."""

from __future__ import annotations

import bisect
import json
import threading
import uuid
from collections.abc import Iterable, Mapping
from itertools import accumulate, groupby
from pathlib import Path

from rag_pg.tracing import LEG, Attribute
from rag_pg.types import Metric

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
COUNTERS = {
    "rag_pg_worker_jobs_total": "Jobs that this worker brought to an end, by kind and outcome.",
}
HISTOGRAMS = {
    "rag_pg_operation_seconds": "How long operations took, by the names of their spans.",
    "rag_pg_search_leg_seconds": "How long the parts of searches took, by method.",
    "rag_pg_http_request_seconds": "How long responses took, by path and status.",
}
FAMILIES = COUNTERS | HISTOGRAMS

Series = tuple[str, tuple[tuple[str, str], ...]]  # a family, and labels


class Figures:
    """What a process has counted and timed; a meter of spans. Threads may share it.

    Args:
        folder: where processes that serve the same address leave theirs for each other.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._file = f"{uuid.uuid4().hex}.json"
        self._lock = threading.Lock()
        self._series: dict[Series, list[float]] = {}  # sum and counts by bucket; of a counter: it
        self._is_saved = True

    def count(self, family: str, **labels: str) -> None:
        """Add one to a counter."""
        self._add((family, tuple(labels.items())), [1.0])

    def observe(self, family: str, seconds: float, **labels: str) -> None:
        """Add a time to a histogram."""
        added = [seconds, *[0.0] * (len(BUCKETS) + 1)]
        added[1 + bisect.bisect_left(BUCKETS, seconds)] = 1.0
        self._add((family, tuple(labels.items())), added)

    def measure(self, operation: str, seconds: float, attributes: Mapping[str, Attribute]) -> None:
        """Count a span that has ended."""
        error = str(attributes.get("error.type", ""))
        self.observe("rag_pg_operation_seconds", seconds, operation=operation, error=error)
        for name, value in attributes.items():
            if name.startswith(LEG) and isinstance(value, float):
                method = str(attributes.get("rag_pg.method", ""))
                leg = name.removeprefix(LEG)
                self.observe("rag_pg_search_leg_seconds", value, leg=leg, method=method)

    def save(self) -> None:
        """Leave what was counted since the last call to the other processes."""
        if self._folder is None or self._is_saved:
            return
        with self._lock:
            self._is_saved = True
            text = json.dumps([*self._series.items()])
        unfinished = self._folder / f"{self._file}.new"
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(self._folder / self._file)

    def render(self, metrics: Iterable[Metric] = ()) -> str:
        """Return figures of the database, and of all processes, in Prometheus' text format."""
        lines: list[str] = []
        for name, rows in groupby(metrics, key=lambda metric: metric.name):
            first, *others = rows
            lines += _head(name, first.kind, first.help)
            lines += [_line(name, row.labels, row.value) for row in (first, *others)]
        whole = self._whole()
        for family, text in FAMILIES.items():
            found = sorted(
                (series, values) for series, values in whole.items() if series[0] == family
            )
            if found:
                lines += _head(family, "counter" if family in COUNTERS else "histogram", text)
            for (_, labels), values in found:
                lines += _sample(family, dict(labels), values)
        return "\n".join([*lines, ""])

    def _add(self, series: Series, added: list[float]) -> None:
        with self._lock:
            self._is_saved = False
            known = self._series.get(series)
            self._series[series] = added if known is None else _sum(known, added)

    def _whole(self) -> dict[Series, list[float]]:
        """What this process has counted, and what the others have left."""
        with self._lock:
            whole = dict(self._series)
        for file in self._folder.glob("*.json") if self._folder is not None else ():
            if file.name == self._file:
                continue
            for (family, pairs), values in json.loads(file.read_text(encoding="utf-8")):
                series = (family, tuple((name, value) for name, value in pairs))
                whole[series] = _sum(whole[series], values) if series in whole else values
        return whole


def _sum(left: list[float], right: list[float]) -> list[float]:
    return [a + b for a, b in zip(left, right, strict=True)]


def _head(name: str, kind: str, text: str) -> list[str]:
    return [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]


def _sample(family: str, labels: Mapping[str, str], values: list[float]) -> list[str]:
    if family in COUNTERS:
        return [_line(family, labels, values[0])]
    total, *counts = values
    lines = [
        _line(f"{family}_bucket", {**labels, "le": bound}, below)
        for bound, below in zip((*map(str, BUCKETS), "+Inf"), accumulate(counts), strict=True)
    ]
    return [
        *lines,
        _line(f"{family}_sum", labels, total),
        _line(f"{family}_count", labels, sum(counts)),
    ]


def _line(name: str, labels: Mapping[str, str], value: float) -> str:
    pairs = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
    return f"{name}{{{pairs}}} {value!r}" if pairs else f"{name} {value!r}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
