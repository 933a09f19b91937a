"""`rag-pg eval recall`: live queries searched by the index and exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from rag_pg.console import (
    Chosen,
    Column,
    command,
    failed,
    listing,
    note,
    open_collection,
    write_message,
)
from rag_pg.evaluation.cli.arguments import figure

if TYPE_CHECKING:
    from rag_pg.client import Rag
    from rag_pg.evaluation.types import RecallMeasure


@command
def recall(
    rag: Rag,
    collection: Chosen,
    count: Annotated[int, typer.Option("--sample", help="How many queries.")] = 100,
    k: Annotated[int, typer.Option("-k", help="Of how many of the nearest.")] = 10,
    target: Annotated[float | None, typer.Option(help="The share that is wanted.")] = None,
    seconds: Annotated[float, typer.Option(help="After so many nothing further is begun.")] = 60.0,
    apply: Annotated[bool, typer.Option("--apply", help="Set the ef_search that reaches it.")] = (
        False
    ),
    force: Annotated[bool, typer.Option("--force", help="Whatever its gates demand.")] = False,
    history: Annotated[bool, typer.Option("--history", help="Show what was measured.")] = False,
) -> None:
    """Search exactly what was searched by the index; exit 1 when it finds less than the target."""
    opened = open_collection(rag, collection)
    if history:
        _print_measures(opened.evaluation.recall_measures())
        return
    measure = opened.evaluation.measure_recall(sample=count, k=k, target=target, seconds=seconds)
    advised = measure.advised_ef_search
    mends = (measure.advised_recall or 0) >= measure.target and advised is not None
    if apply and mends:
        opened.alter(ef_search=advised, force=force)
    if measure.source == "stored":
        note("too few live queries are kept; measured with vectors of chunks, which may find more")
    _print_measures([measure])
    if measure.is_enough:
        return
    if apply and mends:
        write_message(f"ef_search of {collection} is now {advised}, which finds"
                      f" {measure.advised_recall:.3f}")  # fmt: skip
        return
    if mends:
        failed(f"below {measure.target:g}; ef_search {advised} finds {measure.advised_recall:.3f}:"
               f" rag-pg eval recall {collection} --apply")  # fmt: skip
    else:
        failed(f"below {measure.target:g}; no ef_search that was tried reaches it: give it more"
               " --seconds, or a denser index (m, ef_construction)")  # fmt: skip
    raise SystemExit(1)


def _print_measures(measures: Sequence[RecallMeasure]) -> None:
    listing(
        measures,
        (
            Column("measured", lambda at: f"{at.astimezone():%m-%d %H:%M}", value="measured_at"),
            "source",
            Column("queries", value="query_count"),
            Column("by index", value="walked_count"),
            Column("recall", figure),
            Column("95 %", value=lambda one: f"{one.lower_bound:.3f}-{one.upper_bound:.3f}"),
            Column("ef", value="ef_search"),
            Column("advised", str, value="advised_ef_search"),
        ),
        empty="nothing was measured yet",
    )
