"""`rag-pg eval report`: runs beside each other, on a terminal, in a pipe, as a page."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag_pg import console
from rag_pg.console import Column, command, count_of
from rag_pg.errors import InvalidInput
from rag_pg.evaluation.cli.arguments import K, figure

if TYPE_CHECKING:
    from rag_pg.client import Rag
    from rag_pg.evaluation.report import Report, ReportedQuery

LONGEST_BAR = 40
SHOWN_FAILURES = 10


@command
def report(
    rag: Rag,
    run_ids: Annotated[
        list[int], typer.Argument(metavar="RUN…", help="Runs of one set, the baseline first.")
    ],
    html: Annotated[Path | None, typer.Option(help="Write one file that works offline.")] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=0, help="So many questions, the worst first.")
    ] = 10,
    k: K = 10,
) -> None:
    """Runs beside each other: quality and latency, categories, questions with hits, failures.

    Of more than two, the first and the best of the others are shown question by question; the HTML
    file lets the reader choose.
    """
    if html is not None and console.as_json.get():
        raise InvalidInput("--html and --json were both given; use one")
    made = rag.evaluation.runs.report(run_ids, k=k)
    if html is not None:
        html.write_text(made.html(), encoding="utf-8")
        console.write_message(f"{html}: {html.stat().st_size // 1024 + 1} KB")
    elif console.as_json.get():
        for kind, row in _objects(made, limit):
            console.write_json({"kind": kind, **row})
    else:
        _print(made, limit)


def _objects(made: Report, limit: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what the report has as objects, with what each is."""
    for one in made.run_rows():
        yield "run", {
            "run_id": one.run.run_id, "name": one.run.name, "queries": one.run.queries,
            "errors": one.run.errors, "ndcg": one.value, "latency_p50": one.latency_p50,
            "latency_p95": one.latency_p95, "on_frontier": one.on_frontier,
        }  # fmt: skip
    for run, metrics in zip(made.runs, made.metrics, strict=True):
        for metric in metrics:
            yield "metric", {"run_id": run.run_id, **asdict(metric)}
    for query in made.worst(limit):
        yield "question", {
            "query_id": query.query_id, "question": query.question, "category": query.category,
            "results": [
                {"run_id": made.runs[position].run_id, **asdict(result)}
                for position in made.pair if (result := query.results[position]) is not None
            ],
        }  # fmt: skip
    for run, query, error in made.failures():
        yield "failure", {"run_id": run.run_id, "query_id": query.query_id, "error": error}
    for query in made.queries:
        if query.is_missed:
            yield "miss", {"query_id": query.query_id, "question": query.question}


def _print(made: Report, limit: int) -> None:
    """Write sections under their names; in a pipe each line begins with what it is."""
    metric = f"ndcg@{made.k}"
    _write_section(
        "run", f"Runs of set {made.runs[0].eval_set}",
        [Column("run"), Column("name"), Column("questions"), Column("errors", optional=True),
         Column(metric, figure), Column("p50 ms", _milliseconds), Column("p95 ms", _milliseconds),
         Column("", lambda best: "frontier" if best else "", optional=True)],
        [(one.run.run_id, one.run.name, one.run.queries, one.run.errors or None, one.value,
          one.latency_p50, one.latency_p95, one.on_frontier) for one in made.run_rows()],
    )  # fmt: skip
    if console.is_terminal(sys.stdout):
        _write_bars(made, metric)
    columns = [Column("category", lambda name: name or "all"), Column("metric")]
    columns += [Column(f"run {run.run_id}", figure) for run in made.runs]
    rows_of_metrics = [(category or "", *row) for category, *row in made.metric_rows()]
    _write_section("metric", "Metrics", columns, rows_of_metrics)
    shown = made.worst(limit)
    if console.is_terminal(sys.stdout):
        if shown:
            _write_head(f"Questions, the worst first ({metric}; * is relevant)")
        for query in shown:
            _write_query(made, query)
    else:
        rows = [_query_row(made, query) for query in shown]
        _write_section("question", "", [], rows)
    _write_failures(made)
    judged = len(made.worst(len(made.queries)))
    if len(shown) < judged:
        console.write_message(f"{len(shown)} of {judged} questions are shown: --limit {judged}")


def _write_head(text: str) -> None:
    console.write()
    console.write_filled(text, style="bold")


def _write_section(
    kind: str, name: str, columns: Sequence[Column], rows: Sequence[Sequence[Any]]
) -> None:
    if not console.is_terminal(sys.stdout):
        console.write_table([], [(kind, *row) for row in rows])
    elif rows:
        _write_head(name)
        console.write_table(columns, rows)


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.0f}"


def _write_bars(made: Report, metric: str) -> None:
    """A bar for each run and category; the longest is 1."""
    rows = [row for row in made.metric_rows() if row[1] == "ndcg"]
    if not rows:
        return
    _write_head(f"{metric} by category")
    names = {
        row[0]: console.shortened(console.visible(row[0] or "all", cell=True), 20) for row in rows
    }
    left = max(map(console.cells, names.values()))
    runs = [f"run {run.run_id}" for run in made.runs]
    middle = max(map(len, runs))
    space = max(1, min(LONGEST_BAR, console.width() - left - middle - 10))
    for category, _, *values in rows:
        for number, (run, value) in enumerate(zip(runs, values, strict=True)):
            name = "" if number else names[category]
            bar = "" if value is None else "#" * round(space * value)
            head = name + " " * (left - console.cells(name))
            console.write(f"{head}  {run:<{middle}}  {bar:<{space}} {figure(value)}".rstrip())


def _write_query(made: Report, query: ReportedQuery) -> None:
    values = [figure(value) or "-" for value in query.values(made.pair)]
    changed = f"  {query.change(made.pair):+.3f}" if len(values) > 1 else ""
    category = f"  {query.category}" if query.category else ""
    console.write_filled(query.query_id, style="bold")
    console.write_filled(f"{' to '.join(values)}{changed}{category}", " " * 4, indent=6)
    console.write_filled(" ".join(query.question.split()), " " * 4, indent=6)
    for position in made.pair:
        result = query.results[position]
        if result is None:
            continue
        hits = [f"{hit.uri or '(erased)'}{'*' if hit.relevant else ''}" for hit in result.hits]
        text = f"failed: {result.error}" if result.error else ", ".join(hits) or "no hits"
        console.write_filled(f"run {made.runs[position].run_id}: {text}", " " * 4, indent=6)


def _query_row(made: Report, query: ReportedQuery) -> list[Any]:
    """A question in a pipe: for one run without a change; hits as JSON arrays of uris."""
    values = query.values(made.pair)
    results = [query.results[position] for position in made.pair]
    hits = [[hit.uri for hit in result.hits] if result else None for result in results]
    changed = [query.change(made.pair)] if len(values) > 1 else []
    return [query.query_id, query.category, *values, *changed, query.question, *hits]


def _write_failures(made: Report) -> None:
    failures = [(run.run_id, query.query_id, error) for run, query, error in made.failures()]
    missed = [(query.query_id, query.question) for query in made.queries if query.is_missed]
    if not console.is_terminal(sys.stdout):
        _write_section("failure", "", [], failures)
        _write_section("miss", "", [], missed)
        return
    _write_section("failure", count_of(len(failures), "failure"),
                   [Column("run"), Column("question"), Column("error")],
                   failures[:SHOWN_FAILURES])  # fmt: skip
    if missed:
        _write_head(f"{count_of(len(missed), 'question')} with nothing relevant among the hits")
        console.write_filled(", ".join(query_id for query_id, _ in missed), " " * 4, indent=6)
