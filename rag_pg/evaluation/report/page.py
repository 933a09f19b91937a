"""A report as one HTML file: nothing is loaded, and only its own script may run."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from html import escape

from rag_pg.evaluation.report.content import METRIC, ReportContent, ReportedHit, ReportedQuery
from rag_pg.evaluation.report.plots import plot_categories, plot_frontier
from rag_pg.evaluation.types import EvalRun

SHOWN_LOST = 20
STYLE = """:root{color-scheme:light dark}body{font:16px/1.55 system-ui,sans-serif;margin:1.5rem
auto;max-width:68rem;padding:0 1rem;background:light-dark(#fbfbfa,#16181b);color:light-dark(#1c1e21,
#e6e7e9)}table{border-collapse:collapse;width:100%;margin:1rem 0;display:block;overflow-x:auto;
background:light-dark(#fff,#1e2125)}td,th{border-bottom:1px solid light-dark(#dfe1e4,#363b42);
padding:.4rem .75rem;text-align:start;vertical-align:top;overflow-wrap:break-word}
@media(max-width:40rem){td,th{padding:.4rem}}th{font-size:.8rem;color:light-dark(#5c6269,#a3a9b1)}
.n{text-align:end;font-variant-numeric:tabular-nums;white-space:nowrap}
td:has(small),td:has(ol){min-width:11rem}h1{font-size:1.5rem;line-height:1.3}h2{font-size:1.2rem}
ol{margin:0;padding-inline-start:1.6rem}select{max-width:100%}
tr.worse{background:light-dark(#fde8e8,#3d2124)}tr.better{background:light-dark(#e8f6ea,#1d3325)}
.rel{font-weight:600}.fail{color:light-dark(#a8261d,#ff9d93)}p,h1,h2,li{overflow-wrap:anywhere}
svg{display:block;width:100%;max-width:34rem;font:14px system-ui,sans-serif;fill:currentColor}
.grid,.line{stroke:currentColor;fill:none;stroke-opacity:.15}.line{stroke-opacity:.6;
stroke-dasharray:2 4}.legend{padding-inline-start:1.8rem}.legend span{display:inline-block;
width:.8em;height:.8em;margin-inline-end:.5em}"""
# The table of questions anew for the two runs that the reader chooses; texts are set as texts.
SCRIPT = """
const data = JSON.parse(document.getElementById('data').textContent);
const [first, last] = document.querySelectorAll('select');
const table = document.querySelector('table.questions');
const make = (tag, text, kind) => {
  const node = document.createElement(tag);
  if (text) node.textContent = text;
  if (kind) node.className = kind;
  return node;
};
function show() {
  const pair = [+first.value, +last.value];
  const value = (query, run) => query.results[run]?.value ?? 0;
  const rows = data.queries.map(query =>
    ({query, change: value(query, pair[1]) - value(query, pair[0])}));
  rows.sort((a, b) => a.change - b.change || (a.query.id < b.query.id ? -1 : 1));
  const head = make('tr');
  head.append(make('th', 'question'));
  for (const run of pair)
    head.append(make('th', data.metric), make('th', 'hits of ' + data.runs[run]));
  table.replaceChildren(head, ...rows.map(({query, change}) => {
    const row = make('tr', '', change < 0 ? 'worse' : change > 0 ? 'better' : '');
    const name = make('td', query.question);
    name.append(make('br'), make('small', query.id + ' ' + query.category));
    row.append(name);
    for (const run of pair) {
      const result = query.results[run];
      const list = make('ol');
      for (const [uri, relevant] of result?.hits ?? [])
        list.append(make('li', data.uris[uri] || '(erased)', relevant ? 'rel' : ''));
      const cell = make('td');
      cell.append(list);
      row.append(make('td', result?.value?.toFixed(3), 'n'), cell);
    }
    return row;
  }));
}
first.addEventListener('change', show);
last.addEventListener('change', show);
"""


def page(report: ReportContent) -> str:
    """Return the page."""
    runs = report.runs
    names = [report.name_of(position) for position in range(len(runs))]
    title = f"Set {runs[0].eval_set}: " + ", ".join(names)
    heads = "".join(f"<th>{escape(name)}</th>" for name in names)
    failures = list(report.failures())
    missed = [query for query in report.queries if query.is_missed]
    chosen = len(runs) > len(report.pair)
    script = f"; script-src '{_hash(SCRIPT)}'" if chosen else ""
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width'>",
        "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; style-src"
        f" 'unsafe-inline'{script}\">",
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        *(_run_line(run) for run in runs),
        *_differences(report),
        "<h2>Quality and latency</h2>",
        plot_frontier(report),
        f"<h2>{METRIC}@{report.k} by category</h2>",
        plot_categories(report),
        f"<h2>Metrics</h2><table><tr><th>category</th><th>metric</th>{heads}</tr>",
        *(
            f"<tr><td>{escape(row[0] or 'all')}</td><td>{escape(_unit(row[1]))}</td>"
            + "".join(f"<td class='n'>{_value(row[1], value)}</td>" for value in row[2:])
            + "</tr>"
            for row in report.metric_rows()
            if any(row[2:])
        ),
        "</table>",
        "<h2>Failures</h2>",
        f"<p>{len({query.query_id for _, query, _ in failures})} questions have an error.</p>",
        *(
            f"<p class='fail'>{escape(query.query_id)}, {escape(report.name_of(runs.index(run)))}:"
            f" {escape(error)}</p>"
            for run, query, error in failures
        ),
        f"<p>{len(missed)} questions have nothing relevant among their hits.</p>",
        *(f"<p>{escape(q.query_id)}: {escape(q.question)}</p>" for q in missed),
        "<h2>Questions</h2>",
        _choice(report) if chosen else "",
        "<table class='questions'><tr><th>question</th>",
        "".join(
            f"<th>{METRIC}</th><th>hits of {escape(names[position])}</th>"
            for position in report.pair
        ),
        "</tr>",
        *(
            _query_row(query, report.pair)
            for query in sorted(report.queries, key=lambda q: (q.change(report.pair), q.query_id))
        ),
        "</table>",
        f"{_data(report)}<script>{SCRIPT}</script>" if chosen else "",
        "</body></html>",
    ]
    return "\n".join(parts)


def _differences(report: ReportContent) -> list[str]:
    """What the second of two runs gains on the first, and the questions that it lost."""
    if len(report.pair) < 2:
        return []
    before, after = (escape(report.name_of(position)) for position in report.pair)
    lost = [query for query in report.worst(SHOWN_LOST) if query.change(report.pair) < 0]
    rows = [
        f"<tr><td>{escape(one.metric)}</td><td class='n'>{one.difference:+.3f}</td><td>"
        + ("too few" if one.low is None else f"{one.low:+.3f} to {one.high:+.3f}")
        + f"</td><td class='n'>{one.wins}</td><td class='n'>{one.losses}</td></tr>"
        for one in report.comparison
        if one.wins or one.losses
    ]
    return [
        f"<h2>{after} against {before}</h2>",
        "<table><tr><th>metric</th><th>difference</th><th>95 % interval</th><th>better</th>"
        "<th>worse</th></tr>"
        if rows
        else "<p>They measure the same.</p>",
        *rows,
        "</table>" if rows else "",
        f"<h2>Lost questions ({len(lost)})</h2><table>" if lost else "<p>No question is lost.</p>",
        *(_query_row(query, report.pair) for query in lost),
        "</table>" if lost else "",
    ]


def _unit(metric: str) -> str:
    return f"{metric}, ms" if metric.startswith("latency") else metric


def _value(metric: str, value: float | None) -> str:
    if value is not None and metric.startswith("latency"):
        return f"{1000 * value:.0f}"
    return _number(value)


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _choice(report: ReportContent) -> str:
    """Two lists of runs: the first, and the best of the others, are chosen at first."""

    def options(selected: int) -> str:
        return "".join(
            f"<option value='{n}'{' selected' if n == selected else ''}>"
            f"{escape(report.name_of(n)[:80])}</option>"
            for n in range(len(report.runs))
        )

    first, last = (f"<select>{options(position)}</select>" for position in report.pair)
    return f"<p><label>Compare {first}</label> <label>with {last}</label></p>"


def _data(report: ReportContent) -> str:
    """What the script reads: no text of it can end the element that holds it."""
    uris: dict[str, int] = {}
    queries = [
        {
            "id": query.query_id,
            "question": query.question,
            "category": query.category,
            "results": [
                None
                if result is None
                else {
                    "value": result.value,
                    "hits": [
                        [uris.setdefault(hit.uri, len(uris)), int(hit.relevant)]
                        for hit in result.hits
                    ],
                }
                for result in query.results
            ],
        }
        for query in report.queries
    ]
    text = json.dumps(
        {
            "metric": METRIC,
            "runs": [report.name_of(n) for n in range(len(report.runs))],
            "uris": list(uris),
            "queries": queries,
        },
        separators=(",", ":"),
    )
    text = text.replace("<", r"\u003c")
    return f"<script type='application/json' id='data'>{text}</script>"


def _run_line(run: EvalRun) -> str:
    told = (
        f"run {run.run_id} {run.name}: {run.kind} of {run.collection}, {run.queries} questions,"
        f" {run.started_at:%Y-%m-%d %H:%M}, model {run.model}, rag_pg {run.code_version}, documents"
        f" {run.corpus_fingerprint[:12]}, settings {dict(run.settings)}"
    )
    told = "; ".join([told, *run.notes])
    return f"<p>{escape(told)}</p>"


def _query_row(query: ReportedQuery, pair: Sequence[int]) -> str:
    kind = ""
    if len(pair) > 1:
        change = query.change(pair)
        kind = "worse" if change < 0 else "better" if change > 0 else ""
    results = [query.results[position] for position in pair]
    cells = "".join(
        f"<td class='n'>{_number(result.value if result else None)}</td>"
        f"<td>{_hit_list(result.hits if result else ())}</td>"
        for result in results
    )
    text = f"{escape(query.question)}<br><small>{escape(query.query_id)}"
    return f"<tr class='{kind}'><td>{text} {escape(query.category)}</small></td>{cells}</tr>"


def _hit_list(hits: Sequence[ReportedHit]) -> str:
    lines = [
        f"<li{' class=rel' if hit.relevant else ''}>{escape(hit.uri) or '(erased)'}</li>"
        for hit in hits
    ]
    return f"<ol>{''.join(lines)}</ol>"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
