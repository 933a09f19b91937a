"""`rag-pg eval sweep`: many settings, or all techniques, measured and compared in one table."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag_pg import console
from rag_pg.console import Chosen, Column, Filter, command, count_of
from rag_pg.evaluation.cli.arguments import K, SetName, interval
from rag_pg.evaluation.cli.runs import show_progress

if TYPE_CHECKING:
    from rag_pg.client import Rag
    from rag_pg.evaluation.types import Sweep, SweepEstimate, SweepRow


@command
def sweep(
    rag: Rag,
    set_name: SetName,
    collection: Chosen,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            help="A setting with its values, parted by commas: vector_weight=0,0.5,1,"
            " rerank=none,cross-encoder:MODEL, mode=keyword,hybrid, chunking=sentence,"
            "markdown:128, model=e5; may be repeated: every combination is measured."
        ),
    ] = None,
    techniques: Annotated[
        bool, typer.Option("--techniques", help="Measure each technique that there is instead.")
    ] = False,
    kind: Annotated[str, typer.Option(help="search, or ask (answers).")] = "search",
    fixed: Annotated[
        list[str] | None,
        typer.Option("--with", help="A setting of all, the baseline too, such as limit=20."),
    ] = None,
    filter: Filter = None,
    llm: Annotated[str | None, typer.Option(help="What answers, rewrites and reranks.")] = None,
    metric: Annotated[str | None, typer.Option(help="What is compared; default: ndcg.")] = None,
    k: K = 10,
    most: Annotated[int, typer.Option("--max", help="Of candidates.")] = 50,
    reuse: Annotated[
        bool, typer.Option("--reuse/--no-reuse", help="Take runs of equal settings that are there.")
    ] = True,
    copies: Annotated[
        bool, typer.Option("--copies/--no-copies", help="Of techniques: those that take a copy.")
    ] = True,
    at_once: Annotated[int, typer.Option(help="Questions side by side, 1 to 64.")] = 1,
    correction: Annotated[str, typer.Option(help="holm, bonferroni or none.")] = "holm",
    html: Annotated[Path | None, typer.Option(help="Write a report of the runs here.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask about the cost.")] = False,
) -> None:
    """Measure many settings of a collection, each against the collection as it is.

    Another chunking or model is measured on a temporary copy. The same command goes on with what
    was interrupted. Exit 1 when a candidate failed.
    """
    from rag_pg.evaluation.sweep import read_vary

    options = _options(techniques, kind, fixed or [], filter, llm)
    shared: dict[str, Any] = {
        "techniques": techniques, "kind": kind, "most": most, "reuse": reuse, "copies": copies,
        **options,
    }  # fmt: skip
    grid = read_vary(vary or [])
    target = console.open_collection(rag, collection)
    estimate = target.evaluation.estimate_sweep(set_name, grid, **shared)
    _tell_estimate(estimate)
    if (estimate.copies or estimate.calls) and not yes and not typer.confirm(
        "Go on?", err=True
    ):  # fmt: skip
        raise SystemExit(1)
    with show_progress() as progress, _interruptible():
        done = target.evaluation.sweep(
            set_name, grid, metric=metric, k=k, at_once=at_once, correction=correction,
            tell=console.write_message, progress=progress, **shared,
        )  # fmt: skip
    if html is not None and done.run_ids:
        html.write_text(rag.evaluation.runs.report(done.run_ids, k=k).html(), encoding="utf-8")
        console.write_message(f"{html}: {html.stat().st_size // 1024 + 1} KB")
    _print_sweep(done)
    _tell_remarks(done)
    if any(row.error and not row.unavailable for row in done.rows):
        raise SystemExit(1)


def _options(
    techniques: bool, kind: str, fixed: Sequence[str], filter: str | None, llm: str | None
) -> dict[str, Any]:
    """The settings of all candidates."""
    from rag_pg.evaluation.sweep import read_options

    found = {
        **read_options(fixed),
        "filter": console.parsed_filter(filter),
        "llm" if techniques or kind == "ask" else "helper_llm": llm,
    }
    return {name: value for name, value in found.items() if value is not None}


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C and the signals that end a session drop the copies first."""
    before = {
        number: signal.signal(number, signal.default_int_handler)
        for number in (signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield
    except KeyboardInterrupt:
        console.write_message(
            ("interrupted:", "yellow"), " the same command goes on with what is left"
        )
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _tell_estimate(estimate: SweepEstimate) -> None:
    reused = f"; {count_of(estimate.reused, 'run')} reused" if estimate.reused else ""
    console.write_message(
        f"{count_of(estimate.runs, 'run')} of {count_of(estimate.questions, 'question')}{reused}"
    )
    if estimate.copies:
        embedded = ", ".join(
            f"about {tokens:,} tokens by {model}"
            for model, tokens in estimate.embedded_tokens.items()
        )
        copies = "1 copy" if estimate.copies == 1 else f"{estimate.copies} copies"
        console.write_message(
            f"{copies} of {count_of(estimate.documents, 'document')}: embeds {embedded}"
        )
    if estimate.calls:
        tokens = estimate.usage.prompt_tokens + estimate.usage.answer_tokens
        price = "its price is not known" if estimate.cost is None else f"about ${estimate.cost:.2f}"
        console.write_message(
            f"{count_of(estimate.calls, 'call')} of language models, about {tokens:,} tokens;"
            f" {price}"
        )


FIELDS = ("name", "kind", "run_id", "metric", "value", "difference", "low", "high",
          "adjusted_p_value", "latency_p50", "latency_p95", "tokens", "cost", "error")  # fmt: skip


def _print_sweep(done: Sweep) -> None:
    if console.as_json.get() or not console.is_terminal(sys.stdout):
        console.listing(
            done.rows, FIELDS, empty="", set=done.eval_set, collection=done.collection, k=done.k
        )
        return
    measured = [row for row in done.rows if row.run_id is not None]
    for kind in dict.fromkeys(row.kind for row in measured):
        _print_kind([row for row in measured if row.kind == kind], done.k)


def _tell_remarks(done: Sweep) -> None:
    left_out: dict[str, list[str]] = {}
    for row in done.rows:
        for remark in row.notes:
            console.note(f"{row.name}: {remark}")
        if row.unavailable:
            left_out.setdefault(row.error or "", []).append(row.name)
        elif row.error:
            console.failed(f"{row.name}: {row.error}")
    for reason, names in left_out.items():
        console.note(f"not measured: {', '.join(names)}: {reason}")
    if len(done.run_ids) > 1:
        ids = " ".join(map(str, done.run_ids))
        console.write_message(f"each question: rag-pg eval report {ids} --html FILE")


def _print_kind(rows: list[SweepRow], k: int) -> None:
    figure: Callable[[float], str] = lambda value: f"{value:.3f}"  # noqa: E731
    asks = any(row.tokens for row in rows)
    columns = [
        Column(rows[0].kind if rows[0].kind == "search" else "answers"),
        Column("run"),
        Column(f"{rows[0].metric}@{k}" if rows[0].kind == "search" else rows[0].metric, figure),
        Column("change", lambda value: value if isinstance(value, str) else f"{value:+.3f}"),
        Column("95 %"),
        Column("p", figure),
        Column("p50, p95 ms"),
    ]
    columns += [Column("tokens", lambda value: f"{value:,.0f}")] if asks else []
    columns += [Column("$", figure)] if asks else []
    table = []
    for row in rows:
        times = (
            ""
            if row.latency_p50 is None or row.latency_p95 is None
            else f"{1000 * row.latency_p50:.0f} {1000 * row.latency_p95:.0f}"
        )
        name = row.name.removeprefix("answers: ")
        cells: list[Any] = [
            name, row.run_id, row.value, "baseline" if row.baseline else row.difference,
            "" if row.p_value is None else interval(row.low, row.high),
            row.adjusted_p_value, times,
        ]  # fmt: skip
        table.append(cells + ([row.tokens, row.cost] if asks else []))
    console.write_table(columns, table)
