"""`rag-pg eval run`, `show`, `runs`, `judge`: runs of a set, and how good they were."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from xml.etree import ElementTree

import typer

from rag_pg.cli.console import count_of
from rag_pg.cli.eval.arguments import Chosen, K, RunId, SetName, printable
from rag_pg.cli.options import (
    Dsn,
    Filter,
    Json,
    Rerank,
    Rewrites,
    open_client,
    open_collection,
    parsed_filter,
    print_json,
    write_result,
)
from rag_pg.cli.terminal import Column, failed, is_terminal, note, write_message, write_table
from rag_pg.errors import InvalidInput

if TYPE_CHECKING:
    from rag_pg.client import AskOptions
    from rag_pg.db import ResultRow
    from rag_pg.types import EvalMetric, EvalRun

SHOWN_ERRORS = 10


def run(
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
    k: K = 10,
    junit: Annotated[
        Path | None, typer.Option(help="Write a JUnit file here: a case for each question.")
    ] = None,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Ask a collection the questions of a set, and measure what it gives.

    Exit 1 when single questions failed; the others are measured all the same.
    """
    from rag_pg.evaluation import MODES

    if mode not in MODES:
        raise InvalidInput(f"unknown mode {mode!r}; use hybrid, keyword or vector")
    if kind != "ask" and (strategy is not None or llm is not None):
        raise InvalidInput("--strategy and --llm are for --kind ask")
    options: AskOptions = {"limit": limit, **MODES[mode]}  # type: ignore[typeddict-item]
    given = {
        "filter": parsed_filter(filter),
        "fusion": fusion,
        "rewrite": rewrite,
        "rerank": rerank,
        "strategy": strategy,
        "llm": llm,
    }
    options.update({key: one for key, one in given.items() if one is not None})  # type: ignore[typeddict-item]
    with open_client(dsn) as rag:
        target = open_collection(rag, collection)
        if keep_vectors:
            target.evaluation.embed_queries(set_name)
        with show_progress() as progress:
            done = target.evaluation.run(
                set_name, kind=kind, name=name, at_once=at_once, progress=progress, **options
            )
        if baseline:
            rag.evaluation.runs.set_baseline(done.run_id)
        metrics = rag.evaluation.runs.metrics(done.run_id, k=k)
        results = rag.database.eval_result_rows(done.run_id, k) if done.errors or junit else []
    if junit is not None:
        _write_junit(junit, done, results)
    _print_run(done, metrics, k, json_)
    _print_errors(done, results, json_)
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


def _print_errors(done: EvalRun, results: Sequence[ResultRow], as_json: bool) -> None:
    errors = [one for one in results if one.error]
    for one in errors if as_json else errors[:SHOWN_ERRORS]:
        if as_json:
            print_json({"run_id": done.run_id, "query_id": one.query_id, "error": one.error})
        else:
            failed(f"{one.query_id}: {one.error}")
    if len(errors) > SHOWN_ERRORS and not as_json:
        more = f"{len(errors) - SHOWN_ERRORS} more"
        write_message(f"and {more}: rag-pg eval show {done.run_id} --json lists all")


@contextmanager
def show_progress() -> Iterator[Callable[[int, int], None]]:
    """Tell on a terminal how many questions were asked."""
    if not is_terminal(sys.stderr):
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("questions", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def show(
    run_id: RunId,
    k: K = 10,
    drop: Annotated[bool, typer.Option("--drop", help="Remove the run.")] = False,
    baseline: Annotated[
        bool, typer.Option("--baseline", help="Others are compared with this run.")
    ] = False,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """The metrics of a run, for all questions and by category, and the questions that failed."""
    from rag_pg.evaluation import find_run

    with open_client(dsn) as rag:
        found = find_run(rag.database, run_id)
        if drop:
            rag.evaluation.runs.drop(run_id)
            write_message(f"run {run_id} is gone")
            return
        if baseline:
            rag.evaluation.runs.set_baseline(run_id)
        metrics = rag.evaluation.runs.metrics(run_id, k=k)
        results = rag.database.eval_result_rows(run_id, k) if found.errors else []
    _print_run(found, metrics, k, json_)
    _print_errors(found, results, json_)


def _print_run(done: EvalRun, metrics: Sequence[EvalMetric], k: int, as_json: bool) -> None:
    if as_json:
        for one in metrics:
            print_json({"run_id": done.run_id, "k": k, **asdict(one)})
        return
    label = f" ({done.name})" if done.name else ""
    write_message(
        f"run {done.run_id}{label}: {done.kind} of set {done.eval_set} in {done.collection},"
        f" {count_of(done.queries, 'question')}, k = {k}"
    )
    for remark in done.notes:
        note(remark)
    columns = [
        Column("category", lambda name: name or "all"),
        Column("metric"),
        Column("value", _number),
        Column("low", _number),
        Column("high", _number),
        Column("questions"),
        Column("", optional=True),
    ]
    write_table(
        columns,
        [
            (m.category or "", m.metric, m.value, m.low, m.high, m.queries,
             "advisory" if m.advisory else None)
            for m in metrics
        ],
    )  # fmt: skip


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.4f}" if abs(value) < 1000 else f"{value:.0f}"


def runs(
    set_name: Annotated[str | None, typer.Argument(metavar="SET", help="Only of this set.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many.")] = 20,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """The latest runs."""
    with open_client(dsn) as rag:
        found = rag.evaluation.runs.list(set_name, limit=limit)
    if json_:
        for one in found:
            print_json(one)
        return
    columns = [Column(name) for name in ("run", "set", "collection", "kind", "questions")]
    columns += [
        Column("errors", optional=True),
        Column("began", lambda when: f"{when:%Y-%m-%d %H:%M}"),
        Column("name"),
    ]
    rows = []
    for r in found:
        label = " ".join(filter(None, (r.name, "(baseline)" if r.baseline else "",
                                       "" if r.finished_at else "(not finished)")))  # fmt: skip
        rows.append(
            (r.run_id, r.eval_set, r.collection, r.kind, r.queries, r.errors or None, r.started_at,
             label)
        )  # fmt: skip
    write_table(columns, rows)


def judge(
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
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Have judges score the results of a run; advisory until they are compared with people."""
    with open_client(dsn) as rag:
        for name in judges:
            report = rag.evaluation.runs.judge(run_id, name, llm=llm)
            tokens = report.usage.prompt_tokens + report.usage.answer_tokens
            for failure in report.failures[:10]:
                failed(failure)
            failures = len(report.failures)
            write_result(
                f"{report.judge} (version {report.judge_version}):"
                f" {count_of(report.scored, 'result')} scored, {failures} failed, {tokens} tokens",
                json_,
                judge=report.judge,
                judge_version=report.judge_version,
                scored=report.scored,
                failures=failures,
                tokens=tokens,
            )
