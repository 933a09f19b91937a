"""`rag-pg eval run`, `show`, `judge`: runs of a set, and how good they were."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from xml.etree import ElementTree

import typer

from rag_pg import console
from rag_pg.console import Chosen, Column, Filter, Rerank, Rewrites, command, count_of
from rag_pg.errors import InvalidInput
from rag_pg.evaluation.cli.arguments import K, RunId, SetName, printable

if TYPE_CHECKING:
    from rag_pg.client import AskOptions, Rag
    from rag_pg.evaluation.statements import ResultRow
    from rag_pg.evaluation.types import EvalMetric, EvalRun

All = Annotated[bool, typer.Option("--all", help="Print every metric, by category, too.")]
MAIN = ("ndcg", "answer_f1", "assertion_pass_rate")  # by which categories are compared
DETAILS = (
    "precision", "hit_rate", "map", "context_precision", "context_recall", "unresolved",
    "not_asked", "latency_p50", "aurc",
)  # fmt: skip
VISIBLE = 0.00005  # a change that four decimals show
SHOWN_ERRORS = 10


@command
def run(
    rag: Rag,
    set_name: SetName,
    collection: Chosen,
    kind: Annotated[str, typer.Option(help="search, or ask (answers).")] = "search",
    name: Annotated[str, typer.Option(help="A label for the run.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", help="Hits of a question.")] = 10,
    mode: Annotated[str, typer.Option(help="hybrid, keyword or vector.")] = "hybrid",
    fusion: Annotated[str | None, typer.Option(help="auto, weighted or rrf.")] = None,
    filter: Filter = None,
    rewrite: Rewrites = None,
    rerank: Rerank = None,
    strategy: Annotated[str | None, typer.Option(help="Of ask; see rag-pg ask.")] = None,
    llm: Annotated[str | None, typer.Option(help="Of ask; see rag-pg ask.")] = None,
    at_once: Annotated[int, typer.Option(help="Questions side by side, 1 to 64.")] = 1,
    baseline: Annotated[
        bool, typer.Option("--baseline", help="Others are compared with this run.")
    ] = False,
    keep_vectors: Annotated[
        bool,
        typer.Option("--keep-vectors", help="So that rag.evaluate_search needs no model."),
    ] = False,
    space: Annotated[
        int | None,
        typer.Option(help="With --keep-vectors: by the model of this space, to be activated."),
    ] = None,
    k: K = 10,
    everything: All = False,
    junit: Annotated[
        Path | None, typer.Option(help="Write a JUnit file here: a case for each question.")
    ] = None,
) -> None:
    """Ask a collection the questions of a set, and measure what it gives.

    Exit 1 when single questions failed; the others are measured all the same.
    """
    from rag_pg.evaluation.sweep import MODES

    if mode not in MODES:
        raise InvalidInput(f"unknown mode {mode!r}; use hybrid, keyword or vector")
    if kind != "ask" and (strategy is not None or llm is not None):
        raise InvalidInput("--strategy and --llm are for --kind ask")
    if space is not None and not keep_vectors:
        raise InvalidInput("--space is of --keep-vectors")
    options: AskOptions = {"limit": limit, **MODES[mode]}  # type: ignore[typeddict-item]
    given = {
        "filter": console.parsed_filter(filter),
        "fusion": fusion,
        "rewrite": rewrite,
        "rerank": rerank,
        "strategy": strategy,
        "llm": llm,
    }
    options.update({key: one for key, one in given.items() if one is not None})  # type: ignore[typeddict-item]
    target = console.open_collection(rag, collection)
    if keep_vectors:
        target.evaluation.embed_queries(set_name, space_id=space)
    with show_progress() as progress:
        done = target.evaluation.run(
            set_name, kind=kind, name=name, at_once=at_once, progress=progress, **options
        )
    if baseline:
        rag.evaluation.runs.set_baseline(done.run_id)
    results = rag.evaluation.runs.results(done.run_id, k=k) if done.errors or junit else []
    if junit is not None:
        _write_junit(junit, done, results)
    _print_run(rag, done, k, everything)
    _print_errors(done, results)
    if done.errors:
        raise SystemExit(1)


def _write_junit(path: Path, done: EvalRun, results: Sequence[ResultRow]) -> None:
    """Write the run as a suite of JUnit: an error for each question that failed."""
    suite = ElementTree.Element(
        "testsuite", name=printable(f"rag-pg eval run {done.eval_set} {done.collection}"),
        tests=str(len(results)), errors=str(done.errors),
    )  # fmt: skip
    for one in results:
        case = ElementTree.SubElement(
            suite, "testcase", classname=f"run {done.run_id}", name=printable(one.query_id),
            time=f"{one.seconds or 0:.3f}",
        )  # fmt: skip
        if one.error:
            ElementTree.SubElement(case, "error", message=printable(one.error))
    ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def _print_errors(done: EvalRun, results: Sequence[ResultRow]) -> None:
    errors = [one for one in results if one.error]
    for one in errors if console.as_json.get() else errors[:SHOWN_ERRORS]:
        if console.as_json.get():
            console.write_json(
                {"run_id": done.run_id, "query_id": one.query_id, "error": one.error}
            )
        else:
            console.failed(f"{one.query_id}: {one.error}")
    if len(errors) > SHOWN_ERRORS and not console.as_json.get():
        more = f"{len(errors) - SHOWN_ERRORS} more"
        console.write_message(f"and {more}: rag-pg eval show {done.run_id} --json lists all")


@contextmanager
def show_progress() -> Iterator[Callable[[int, int], None]]:
    """Tell on a terminal how many questions were asked."""
    if not console.is_terminal(sys.stderr):
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("questions", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.4f}" if abs(value) < 1000 else f"{value:.0f}"


METRICS = (
    Column("category", lambda name: name or "all", value=lambda one: one.category or ""),
    Column("metric"),
    Column("value", _number),
    Column("low", _number),
    Column("high", _number),
    Column("questions", value="queries"),
    Column("", optional=True, value=lambda one: "advisory" if one.advisory else None),
)


@command
def show(
    rag: Rag,
    run_id: Annotated[
        int | None, typer.Argument(metavar="RUN", help="Number of a run; none: list the latest.")
    ] = None,
    set_name: Annotated[
        str | None, typer.Option("--set", help="List only the runs of this set.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="List so many runs.")] = 20,
    k: K = 10,
    everything: All = False,
    drop: Annotated[bool, typer.Option("--drop", help="Remove the run.")] = False,
    baseline: Annotated[
        bool, typer.Option("--baseline", help="Others are compared with this run.")
    ] = False,
) -> None:
    """The metrics of a run, for all questions and by category, and the questions that failed;
    without a number the latest runs."""
    if run_id is None:
        if drop or baseline:
            raise InvalidInput("--drop and --baseline are of a run; name it by its number")
        console.listing(rag.evaluation.runs.list(set_name, limit=limit), RUNS, empty="no run yet")
        return
    found = rag.evaluation.runs.get(run_id)
    if drop:
        rag.evaluation.runs.drop(run_id)
        console.write_message(f"run {run_id} is gone")
        return
    if baseline:
        rag.evaluation.runs.set_baseline(run_id)
    results = rag.evaluation.runs.results(run_id, k=k) if found.errors else []
    _print_run(rag, found, k, everything)
    _print_errors(found, results)


def _label(run: EvalRun) -> str:
    marks = ("(baseline)" if run.baseline else "", "" if run.finished_at else "(not finished)")
    return " ".join(filter(None, (run.name, *marks)))


RUNS = (
    Column("run", value="run_id"),
    Column("set", value="eval_set"),
    "collection",
    "kind",
    Column("questions", value="queries"),
    Column("errors", optional=True, value=lambda run: run.errors or None),
    Column("began", lambda when: f"{when:%Y-%m-%d %H:%M}", value="started_at"),
    Column("name", value=_label),
)


def _print_run(rag: Rag, done: EvalRun, k: int, everything: bool) -> None:
    """Print the metrics of a run. On a terminal those that matter, and of the categories those that
    differ from the run before; a pipe and --json have all of them, as `everything` has."""
    metrics = rag.evaluation.runs.metrics(done.run_id, k=k)
    if not console.as_json.get():
        label = f" ({done.name})" if done.name else ""
        console.write_message(
            f"run {done.run_id}{label}: {done.kind} of set {done.eval_set} in {done.collection},"
            f" {count_of(done.queries, 'question')}, k = {k}"
        )
        for remark in done.notes:
            console.note(remark)
    if everything or console.as_json.get() or not console.is_terminal(sys.stdout):
        console.listing(metrics, METRICS, empty="", run_id=done.run_id, k=k)
        return
    console.listing([m for m in metrics if m.category is None and m.metric not in DETAILS], METRICS)
    before = _run_before(rag, done)
    if before is not None:
        _print_changes(metrics, rag.evaluation.runs.metrics(before.run_id, k=k), before)
    if left := sum(m.category is not None or m.metric in DETAILS for m in metrics):
        console.write_message(f"{count_of(left, 'figure')} more: --all")


def _run_before(rag: Rag, done: EvalRun) -> EvalRun | None:
    """The run that another is seen beside: the baseline of its set, else the one before it, of the
    same collection and kind."""
    others = [
        run
        for run in rag.evaluation.runs.list(done.eval_set, limit=1000)
        if (run.collection, run.kind) == (done.collection, done.kind)
        and run.run_id != done.run_id
        and run.finished_at is not None
        and (run.baseline or run.run_id < done.run_id)
    ]
    return next((run for run in others if run.baseline), next(iter(others), None))


def _print_changes(
    metrics: Sequence[EvalMetric], earlier: Sequence[EvalMetric], before: EvalRun
) -> None:
    """Print the categories whose main metric is not what it was."""
    was = {(one.category, one.metric): one.value for one in earlier}
    changed = [
        {
            "category": one.category,
            "metric": one.metric,
            "value": one.value,
            f"run {before.run_id}": was[one.category, one.metric],
            "change": one.value - was[one.category, one.metric],
        }
        for one in metrics
        if one.category is not None
        and one.metric in MAIN
        and abs(one.value - was.get((one.category, one.metric), one.value)) >= VISIBLE
    ]
    if changed:
        console.write()
    console.listing(
        changed,
        [
            Column("category", shrinks=True),
            "metric",
            Column("value", _number),
            Column(f"run {before.run_id}", _number),
            Column("change", "{:+.4f}".format),
        ],
        empty=f"no category differs from run {before.run_id}",
    )


@command
def judge(
    rag: Rag,
    run_id: RunId,
    judges: Annotated[
        list[str],
        typer.Argument(
            metavar="JUDGE…",
            help="faithfulness, answer_relevance, context_relevance, correctness,"
            " module:function or sql:schema.function.",
        ),
    ],
    llm: Annotated[str | None, typer.Option(help="The judging model.")] = None,
) -> None:
    """Have judges score the results of a run; advisory until they are compared with people."""
    for name in judges:
        report = rag.evaluation.runs.judge(run_id, name, llm=llm)
        tokens = report.usage.prompt_tokens + report.usage.answer_tokens
        for failure in report.failures[:10]:
            console.failed(failure)
        failures = len(report.failures)
        console.write_result(
            f"{report.judge} (version {report.judge_version}):"
            f" {count_of(report.scored, 'result')} scored, {failures} failed, {tokens} tokens",
            judge=report.judge,
            judge_version=report.judge_version,
            scored=report.scored,
            failures=failures,
            tokens=tokens,
        )
