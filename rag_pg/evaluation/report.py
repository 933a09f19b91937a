"""Runs of a set -> tables, and one HTML file with plots that works offline."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from rag_pg.db import Database
from rag_pg.errors import InvalidInput, ModelUnavailable
from rag_pg.evaluation.run import find_run
from rag_pg.types import EvalMetric, EvalRun

SHOWN_HITS = 10
MOST_BARS = 8  # runs of a plot by category
METRIC = "ndcg"
STYLE = """body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem}
table{border-collapse:collapse;width:100%;margin:1rem 0}td,th{border:1px solid #ccc;padding:.3rem
.6rem;text-align:left;vertical-align:top;overflow-wrap:anywhere}td.n{text-align:right}
tr.worse{background:#fde8e8}tr.better{background:#e8f6ea}.rel{font-weight:600}svg{max-width:100%}
.fail{color:#a00}"""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportedQuery:
    """A question with what each run gave: METRIC, hits, error."""

    query_id: str
    question: str
    category: str
    values: Sequence[float | None]
    hits: Sequence[Sequence[Mapping[str, Any]]]
    errors: Sequence[str | None]
    seconds: Sequence[float | None]

    @property
    def change(self) -> float:
        """Of the last of two shown runs against the first; of one run, its value."""
        first, last = self.values[0] or 0.0, self.values[-1] or 0.0
        return last - first if len(self.values) > 1 else last


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """What `report_runs` returns. metrics: of each run, in its order. queries: of the runs that are
    `shown` question by question."""

    runs: Sequence[EvalRun]
    metrics: Sequence[Sequence[EvalMetric]]
    shown: Sequence[EvalRun]
    queries: Sequence[ReportedQuery]
    k: int

    def metric_rows(self) -> list[tuple[Any, ...]]:
        """Category, metric and the value of each run."""
        by_run = [{(m.category, m.metric): m.value for m in of_run} for of_run in self.metrics]
        keys = sorted(
            {key for one in by_run for key in one}, key=lambda key: (key[0] or "", key[1])
        )
        return [(*key, *(one.get(key) for one in by_run)) for key in keys]

    def worst(self, count: int) -> list[ReportedQuery]:
        """The judged questions that lost most, or of one run are answered worst."""
        judged = [q for q in self.queries if any(value is not None for value in q.values)]
        return sorted(judged, key=lambda q: (q.change, q.query_id))[:count]

    def html(self) -> str:
        """One page: plots, metrics, failures, every question. Texts are escaped.

        Raises: ModelUnavailable (matplotlib is missing).
        """
        title = f"Set {self.runs[0].eval_set}: " + ", ".join(f"run {r.run_id}" for r in self.runs)
        heads = "".join(f"<th>run {run.run_id}</th>" for run in self.runs)
        failures = [q for q in self.queries if any(q.errors)]
        missed = [q for q in self.queries if q.values and not any(value != 0 for value in q.values)]
        parts = [
            "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
            "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; style-src"
            " 'unsafe-inline'\">",
            f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>",
            f"<h1>{escape(title)}</h1>",
            *(_run_line(run) for run in self.runs),
            "<h2>Quality and latency</h2>",
            _plot(self._draw_frontier),
            f"<h2>{METRIC}@{self.k} by category</h2>",
            _plot(self._draw_categories),
            f"<h2>Metrics</h2><table><tr><th>category</th><th>metric</th>{heads}</tr>",
            *(
                f"<tr><td>{escape(row[0] or 'all')}</td><td>{escape(row[1])}</td>"
                + "".join(f"<td class='n'>{_number(value)}</td>" for value in row[2:])
                + "</tr>"
                for row in self.metric_rows()
            ),
            "</table>",
            f"<h2>Failures</h2><p>{len(failures)} questions have an error.</p>",
            *(f"<p class='fail'>{escape(q.query_id)}: {_errors(q)}</p>" for q in failures),
            f"<p>{len(missed)} questions have nothing relevant among their hits.</p>",
            *(f"<p>{escape(q.query_id)}: {escape(q.question)}</p>" for q in missed),
            "<h2>Questions</h2>",
            _shown_line(self.runs, self.shown),
            "<table class='questions'><tr><th>question</th>",
            "".join(f"<th>{METRIC}</th><th>hits of run {r.run_id}</th>" for r in self.shown),
            "</tr>",
            *(_query_row(q) for q in sorted(self.queries, key=lambda q: (q.change, q.query_id))),
            "</table></body></html>",
        ]
        return "\n".join(parts)

    def _draw_frontier(self, axes: Any) -> None:
        points = []
        for run, metrics in zip(self.runs, self.metrics, strict=True):
            found = _overall(metrics)
            if METRIC in found and "latency_p50" in found:
                points.append((found["latency_p50"] * 1000, found[METRIC]))
                axes.scatter(*points[-1])
                axes.annotate(f"run {run.run_id}", points[-1])
        best = _frontier(points)
        axes.plot([x for x, _ in best], [y for _, y in best], color="0.6", linestyle=":", zorder=0)
        axes.set_xlabel("median latency, ms")
        axes.set_ylabel(f"{METRIC}@{self.k}")

    def _draw_categories(self, axes: Any) -> None:
        pairs = list(zip(self.runs, self.metrics, strict=True))[:MOST_BARS]
        found = [{m.category: m for m in ms if m.metric == METRIC} for _, ms in pairs]
        names = sorted({name for one in found for name in one}, key=lambda name: name or "")
        width = 0.8 / len(found)
        for number, ((run, _), one) in enumerate(zip(pairs, found, strict=True)):
            values = [one[name].value if name in one else 0.0 for name in names]
            axes.bar(
                [n + number * width for n in range(len(names))], values, width,
                label=f"run {run.run_id}",
            )  # fmt: skip
        axes.set_xticks(range(len(names)), [_plain(name or "all") for name in names], rotation=30)
        axes.set_ylim(0, 1)
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1))


def report_runs(database: Database, run_ids: Sequence[int], k: int) -> Report:
    """Read runs of a set. Of more than two, the first and the best of the others are shown question
    by question. Raises: NotFound, InvalidInput (of different sets, a run twice)."""
    runs = [find_run(database, run_id) for run_id in run_ids]
    if len({run.eval_set for run in runs}) != 1:
        raise InvalidInput("a report is of runs of one set; rag-pg eval runs lists them")
    if len(set(run_ids)) < len(run_ids):
        raise InvalidInput("a report names each run once")
    metrics = [database.eval_metrics(run_id, k) for run_id in run_ids]
    shown = [runs[0]]
    if len(runs) > 1:
        others = range(1, len(runs))
        shown.append(runs[max(others, key=lambda n: _overall(metrics[n]).get(METRIC, -1.0))])
    texts = {q.query_id: q.question for q in database.list_eval_queries(runs[0].eval_set)}
    found = [{row.query_id: row for row in database.eval_result_rows(r.run_id, k)} for r in shown]
    queries = []
    for query_id in sorted({key for one in found for key in one}):
        rows = [one.get(query_id) for one in found]
        queries.append(
            ReportedQuery(
                query_id=query_id,
                question=texts.get(query_id, ""),
                category=next(row.category for row in rows if row),
                values=[row.ndcg if row else None for row in rows],
                hits=[row.hits if row else () for row in rows],
                errors=[row.error if row else None for row in rows],
                seconds=[row.seconds if row else None for row in rows],
            )
        )
    return Report(runs=runs, metrics=metrics, shown=shown, queries=queries, k=k)


def _overall(metrics: Sequence[EvalMetric]) -> dict[str, float]:
    """The metrics of all questions."""
    return {m.metric: m.value for m in metrics if m.category is None}


def _frontier(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points that no other is both faster and better than, fastest first."""
    best: list[tuple[float, float]] = []
    for point in sorted(points, key=lambda one: (one[0], -one[1])):
        if not best or point[1] > best[-1][1]:
            best.append(point)
    return best


def _shown_line(runs: Sequence[EvalRun], shown: Sequence[EvalRun]) -> str:
    if len(runs) == len(shown):
        return ""
    first, best = (run.run_id for run in shown)
    return f"<p>Run {first}, and run {best}, the best of the others.</p>"


def _run_line(run: EvalRun) -> str:
    told = (
        f"run {run.run_id} {run.name}: {run.kind} of {run.collection}, {run.queries} questions,"
        f" {run.started_at:%Y-%m-%d %H:%M}, model {run.model}, rag_pg {run.code_version}, documents"
        f" {run.corpus_fingerprint[:12]}, settings {dict(run.settings)}; {'; '.join(run.notes)}"
    )
    return f"<p>{escape(told)}</p>"


def _query_row(query: ReportedQuery) -> str:
    kind = ""
    if len(query.values) > 1:
        kind = "worse" if query.change < 0 else "better" if query.change > 0 else ""
    cells = "".join(
        f"<td class='n'>{_number(value)}</td><td>{_hit_list(hits)}</td>"
        for value, hits in zip(query.values, query.hits, strict=True)
    )
    text = f"{escape(query.question)}<br><small>{escape(query.query_id)}"
    return f"<tr class='{kind}'><td>{text} {escape(query.category)}</small></td>{cells}</tr>"


def _errors(query: ReportedQuery) -> str:
    return escape("; ".join(filter(None, query.errors)))


def _hit_list(hits: Sequence[Mapping[str, Any]]) -> str:
    lines = [
        f"<li{' class=rel' if (hit.get('grade') or 0) > 0 else ''}>{escape(str(hit.get('uri')))}"
        for hit in hits[:SHOWN_HITS]
    ]
    return f"<ol>{''.join(lines)}</ol>"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _plain(text: str) -> str:
    """As matplotlib shows it: a dollar sign begins no formula."""
    return text.replace("$", r"\$")[:30]


def _plot(draw: Any) -> str:
    """A figure as SVG. Raises: ModelUnavailable."""
    try:
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
    except ImportError as exc:
        raise ModelUnavailable('plots need matplotlib: pip install "rag-pg[eval]"') from exc
    figure = Figure(figsize=(7, 3.5), layout="constrained")
    draw(figure.subplots())
    out = io.StringIO()
    FigureCanvasSVG(figure).print_svg(out)  # type: ignore[no-untyped-call]
    text = out.getvalue()
    return text[text.index("<svg") :]
