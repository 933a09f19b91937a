"""The plots of a report, as SVG that takes the colours of the page and is read on a phone."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import ceil, floor, log10

from rag_pg.evaluation.report.content import METRIC, ReportContent, frontier

MOST_BARS = 8  # runs of a plot by category
# Okabe and Ito: told apart in the light, in the dark and by colour-blind readers.
COLORS = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6bb1", "#808080",
)  # fmt: skip
WIDTH, HEIGHT, LEFT, BELOW, EDGE = 420, 290, 56, 44, 24
ROW = 17  # pixels of a bar


def plot_frontier(report: ReportContent) -> str:
    """Quality against latency, with the line of the runs that no other beats in both."""
    points = {
        number: (one.latency_p50 * 1000, one.value)
        for number, one in enumerate(report.run_rows())
        if one.value is not None and one.latency_p50 is not None
    }
    across, up = (_ticks([point[axis] for point in points.values()]) for axis in (0, 1))

    def x(value: float) -> float:
        share = (value - across[0]) / (across[-1] - across[0])
        return LEFT + share * (WIDTH - LEFT - EDGE)

    def y(value: float) -> float:
        share = (value - up[0]) / (up[-1] - up[0])
        return HEIGHT - BELOW - share * (HEIGHT - BELOW - EDGE)

    left, right, low, high = x(across[0]), x(across[-1]), y(up[0]), y(up[-1])
    parts = [
        *(
            f"<path class='grid' d='M{left:.1f} {y(at):.1f}H{right:.1f}'/>"
            + _text(left - 6, y(at) + 5, f"{at:g}", "end")
            for at in up
        ),
        *(
            f"<path class='grid' d='M{x(at):.1f} {low:.1f}V{high:.1f}'/>"
            + _text(x(at), low + 17, f"{at:g}", "middle")
            for at in across
        ),
        _text((left + right) / 2, HEIGHT - 6, "median latency, ms", "middle"),
        _text(0, 14, f"{METRIC}@{report.k}", "start"),
    ]
    best = frontier(list(points.values()))
    if len(best) > 1:
        line = "L".join(f"{x(a):.1f} {y(b):.1f}" for a, b in best)
        parts.append(f"<path class='line' d='M{line}'/>")
    for number, point in points.items():
        at = x(point[0]), y(point[1])
        parts.append(
            f"<circle cx='{at[0]:.1f}' cy='{at[1]:.1f}' r='6' fill='{_color(number)}'>"
            f"<title>{escape(report.name_of(number))}</title></circle>"
            + _text(at[0] + 9, at[1] - 5, str(number + 1), "start")
        )
    label = f"{METRIC}@{report.k} of each run against its median latency"
    return _svg(label, HEIGHT, parts) + _legend(report, len(report.runs))


def plot_categories(report: ReportContent) -> str:
    """Quality by category, a bar for each of the first runs."""
    shown = report.metrics[:MOST_BARS]
    found = [{m.category: m.value for m in ms if m.metric == METRIC} for ms in shown]
    names = sorted({name for one in found for name in one}, key=lambda name: name or "")
    parts, top = [], 0
    for name in names:
        parts.append(_text(0, top + 16, (name or "all questions")[:50], "start"))
        top += 22
        for number, one in enumerate(found):
            value = one.get(name, 0.0)
            width = max(value, 0.0) * (WIDTH - 60)
            parts.append(
                f"<rect x='0' y='{top}' width='{width:.1f}' height='{ROW - 3}'"
                f" fill='{_color(number)}'><title>{escape(report.name_of(number))}</title></rect>"
                + _text(width + 5, top + 13, f"{value:.3f}" if name in one else "none", "start")
            )
            top += ROW
        top += 8
    label = f"{METRIC}@{report.k} by category, a bar for each run"
    return _svg(label, max(top, ROW), parts) + _legend(report, len(found))


def _ticks(values: Sequence[float]) -> list[float]:
    """Round numbers that begin below the least value and end above the largest."""
    least, most = min(values, default=0.0), max(values, default=1.0)
    span = most - least or abs(most) or 1.0
    step = 10.0 ** floor(log10(span / 3))
    step *= next(times for times in (1, 2, 5, 10) if span / (step * times) <= 4)
    first, last = floor(least / step), ceil(most / step)
    if first == last:
        last += 1
    return [round(at * step, 10) for at in range(first, last + 1)]


def _color(number: int) -> str:
    return COLORS[number % len(COLORS)]


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}'>{escape(text)}</text>"


def _svg(label: str, height: float, parts: Sequence[str]) -> str:
    return (
        f"<svg viewBox='0 0 {WIDTH} {height}' role='img' aria-label='{escape(label)}'>"
        f"{''.join(parts)}</svg>"
    )


def _legend(report: ReportContent, count: int) -> str:
    """The names of the runs by their colours and numbers."""
    lines = (
        f"<li><span style='background:{_color(number)}'></span>"
        f"{escape(report.name_of(number))}</li>"
        for number in range(count)
    )
    return f"<ol class='legend'>{''.join(lines)}</ol>"
