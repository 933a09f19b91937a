"""The plots of a report, as SVG."""

from __future__ import annotations

import io
from typing import Any

from rag_pg.evaluation.report.content import METRIC, ReportContent, frontier
from rag_pg.extras import extra

MOST_BARS = 8  # runs of a plot by category


def plot_frontier(report: ReportContent) -> str:
    """Quality against latency, with the line of the runs that no other beats in both.
    Raises: ModelUnavailable."""
    axes, figure = _axes()
    points = []
    for position, one in enumerate(report.run_rows()):
        if one.value is not None and one.latency_p50 is not None:
            points.append((one.latency_p50 * 1000, one.value))
            axes.scatter(*points[-1])
            axes.annotate(_plain(report.name_of(position)), points[-1])
    best = frontier(points)
    axes.plot([x for x, _ in best], [y for _, y in best], color="0.6", linestyle=":", zorder=0)
    axes.set_xlabel("median latency, ms")
    axes.set_ylabel(f"{METRIC}@{report.k}")
    return _svg(figure)


def plot_categories(report: ReportContent) -> str:
    """Quality by category, a bar for each of the first runs. Raises: ModelUnavailable."""
    axes, figure = _axes()
    found = [{m.category: m for m in ms if m.metric == METRIC} for ms in report.metrics[:MOST_BARS]]
    names = sorted({name for one in found for name in one}, key=lambda name: name or "")
    width = 0.8 / len(found)
    for number, one in enumerate(found):
        values = [one[name].value if name in one else 0.0 for name in names]
        axes.bar(
            [n + number * width for n in range(len(names))], values, width,
            label=_plain(report.name_of(number)),
        )  # fmt: skip
    axes.set_xticks(range(len(names)), [_plain(name or "all") for name in names], rotation=30)
    axes.set_ylim(0, 1)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return _svg(figure)


def _plain(text: str) -> str:
    """As matplotlib shows it: a dollar sign begins no formula."""
    return text.replace("$", r"\$")[:30]


def _axes() -> tuple[Any, Any]:
    with extra("eval", "a plot needs"):
        from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.5), layout="constrained")
    return figure.subplots(), figure


def _svg(figure: Any) -> str:
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    out = io.StringIO()
    FigureCanvasSVG(figure).print_svg(out)  # type: ignore[no-untyped-call]
    text = out.getvalue()
    return text[text.index("<svg") :]
