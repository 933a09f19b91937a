"""`rag-pg eval compare`: what two runs differ by."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from rag_pg.cli.console import count_of
from rag_pg.cli.eval.arguments import K, RunId, figure, interval
from rag_pg.cli.options import Dsn, Json, open_client, print_json
from rag_pg.cli.terminal import (
    Column,
    is_terminal,
    note,
    width,
    write,
    write_message,
    write_table,
)

if TYPE_CHECKING:
    from rag_pg.types import RunComparison

METRICS = "ndcg,recall,mrr"


def compare(
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
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """What the second run gains on the first, and whether that may be chance."""
    from rag_pg.evaluation import find_run

    names = [name.strip() for name in metrics.split(",") if name.strip()]
    with open_client(dsn) as rag:
        rows = rag.evaluation.runs.compare(
            run_a, run_b, metrics=names, k=k, permutations=permutations, seed=seed,
            correction=correction,
        )  # fmt: skip
        a, b = (find_run(rag.database, run_id) for run_id in (run_a, run_b))
        changed = (
            rag.evaluation.runs.compare_queries(run_a, run_b, metric=names[0], k=k)
            if queries
            else []
        )
    if a.corpus_fingerprint != b.corpus_fingerprint:
        note("the runs are of different documents: run the set again on the same corpus")
    if a.set_fingerprint != b.set_fingerprint:
        note("questions or judgements were changed between the runs")
    if json_:
        for row in rows:
            print_json({"run_a": run_a, "run_b": run_b, "k": k, **asdict(row)})
    else:
        _print_comparison(rows)
    lost = [one for one in changed if one.difference < 0][:queries]
    won = [one for one in reversed(changed) if one.difference > 0][:queries]
    for one in [*lost, *won]:
        if json_:
            print_json({"run_a": run_a, "run_b": run_b, "metric": names[0], **asdict(one)})
        else:
            missing = one.missing_b or one.missing_a
            told = f"  ({missing})" if missing else ""
            line = f"{one.difference:+.3f}  {one.query_id}{told}  {one.question or ''}"
            seen = is_terminal(sys.stdout) and len(line) > width()
            write(line[: width() - 1] + "…" if seen else line)


def _print_comparison(rows: Sequence[RunComparison]) -> None:
    if not rows:
        write_message("no question has these metrics in both runs")
        return
    columns = [
        Column("category", lambda name: name or "all"),
        Column("metric"),
        Column("a", figure),
        Column("b", figure),
        Column("b - a", lambda value: f"{value:+.3f}"),
        Column("95 %"),
        Column("p", lambda value: f"{value:.3f}"),
        Column("+/=/-"),
        Column("shows", figure),
    ]
    write_table(
        columns,
        [
            (r.category or "", r.metric, r.value_a, r.value_b, r.difference,
             interval(r.low, r.high), r.adjusted_p_value, f"{r.wins}/{r.ties}/{r.losses}",
             r.detectable)
            for r in rows
        ],
    )  # fmt: skip
    for row in rows:
        for run, missing in (("a", row.missing_a), ("b", row.missing_b)):
            if missing and row.category is None:
                note(f"run {run} has no {row.metric} of {count_of(missing, 'question')}: 0, but"
                     " left out of seconds, tokens and cost")  # fmt: skip
    largest = max(rows, key=lambda r: r.queries)
    if largest.detectable:
        write_message(
            f"{count_of(largest.queries, 'question')} cannot show a difference below"
            f" {largest.detectable:.3f} of {largest.metric} (80 % power, p < 0.05)"
        )
