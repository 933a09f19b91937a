"""`rag-pg eval compare`: what two runs differ by."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from rag_pg import console
from rag_pg.console import Column, command, count_of
from rag_pg.evaluation.cli.arguments import K, RunId, figure, interval

if TYPE_CHECKING:
    from rag_pg.client import Rag
    from rag_pg.evaluation.types import RunComparison

METRICS = "ndcg,recall,mrr"


@command
def compare(
    rag: Rag,
    run_a: RunId,
    run_b: RunId,
    metrics: Annotated[str, typer.Option(help="Names, parted by commas.")] = METRICS,
    k: K = 10,
    correction: Annotated[str, typer.Option(help="holm, bonferroni or none.")] = "holm",
    permutations: Annotated[int, typer.Option(help="Random signs that are tried.")] = 10_000,
    seed: Annotated[int, typer.Option(help="The same one gives the same result.")] = 0,
    queries: Annotated[
        int, typer.Option(help="Show so many questions that lost and won most.")
    ] = 0,
) -> None:
    """What the second run gains on the first, and whether that may be chance."""
    names = [name.strip() for name in metrics.split(",") if name.strip()]
    rows = rag.evaluation.runs.compare(
        run_a, run_b, metrics=names, k=k, permutations=permutations, seed=seed,
        correction=correction,
    )  # fmt: skip
    a, b = (rag.evaluation.runs.get(run_id) for run_id in (run_a, run_b))
    changed = (
        rag.evaluation.runs.compare_queries(run_a, run_b, metric=names[0], k=k) if queries else []
    )
    for side, run in (("a", a), ("b", b)):
        if run.errors:
            total = count_of(run.queries, "question")
            console.note(
                f"run {side} failed on {run.errors} of {total}: eval show {run.run_id} names them"
            )
    if a.corpus_fingerprint != b.corpus_fingerprint:
        console.note("the runs are of different documents: run the set again on the same corpus")
    if a.set_fingerprint != b.set_fingerprint:
        console.note("questions or judgements were changed between the runs")
    console.listing(
        rows, COLUMNS, empty="no question has these metrics in both runs",
        run_a=run_a, run_b=run_b, k=k,
    )  # fmt: skip
    if rows and not console.as_json.get():
        _tell_remarks(rows)
    lost = [one for one in changed if one.difference < 0][:queries]
    won = [one for one in reversed(changed) if one.difference > 0][:queries]
    for one in [*lost, *won]:
        if console.as_json.get():
            console.write_json({"run_a": run_a, "run_b": run_b, "metric": names[0], **asdict(one)})
        else:
            missing = one.missing_b or one.missing_a
            told = f"  ({missing})" if missing else ""
            line = f"{one.difference:+.3f}  {one.query_id}{told}  {one.question or ''}"
            console.write(
                console.shortened(line, console.width())
                if console.is_terminal(sys.stdout)
                else line
            )


COLUMNS = (
    Column("category", lambda name: name or "all", value=lambda row: row.category or ""),
    Column("metric"),
    Column("a", figure, value="value_a"),
    Column("b", figure, value="value_b"),
    Column("b - a", "{:+.3f}".format, value="difference"),
    Column("95 %", value=lambda row: interval(row.low, row.high)),
    Column("p", "{:.3f}".format, value="adjusted_p_value"),
    Column("+/=/-", value=lambda row: f"{row.wins}/{row.ties}/{row.losses}"),
    Column("shows", figure, value="detectable"),
)


def _tell_remarks(rows: Sequence[RunComparison]) -> None:
    for row in rows:
        for run, missing in (("a", row.missing_a), ("b", row.missing_b)):
            if missing and row.category is None:
                console.note(
                    f"run {run} has no {row.metric} of {count_of(missing, 'question')}: 0, but"
                    " left out of seconds, tokens and cost"
                )
    largest = max(rows, key=lambda r: r.queries)
    if largest.detectable:
        console.write_message(
            f"{count_of(largest.queries, 'question')} cannot show a difference below"
            f" {largest.detectable:.3f} of {largest.metric} (80 % power, p < 0.05)"
        )
