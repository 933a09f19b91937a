"""`rag-pg audit` and `advise`: what stands in the way of good answers, and which settings suit."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from rag_pg import console
from rag_pg.console import Chosen, command
from rag_pg.errors import InvalidInput

if TYPE_CHECKING:
    from rag_pg.client import Rag
    from rag_pg.types import Advice


@command
def audit(
    rag: Rag,
    collection: Annotated[str | None, typer.Argument(help="Which collection.")] = None,
    table: Annotated[
        str | None, typer.Option(help="Another program's table instead: schema.table.")
    ] = None,
    content: Annotated[str | None, typer.Option(help="With --table: its column of texts.")] = None,
    language: Annotated[
        str, typer.Option(help="With --table: how its texts would be lexed.")
    ] = "english",
    set_name: Annotated[
        str | None, typer.Option("--set", help="A set of questions: how answers to it fail.")
    ] = None,
    sample: Annotated[int, typer.Option(help="How many chunks are looked at.")] = 5000,
    max_tokens: Annotated[
        int | None, typer.Option(help="What the model reads; default: as chunks are cut.")
    ] = None,
) -> None:
    """What stands in the way of good answers; exit 1 when a check fails."""
    if (collection is None) == (table is None):
        raise InvalidInput("name a collection, or another table with --table")
    if table is not None and set_name is not None:
        raise InvalidInput("--set is for collections: a table has no runs")
    if table is not None:
        found = rag.admin.audit_table(
            table, content=content, language=language, sample_size=sample,
            max_tokens=max_tokens or 256,
        )  # fmt: skip
    else:
        found = console.open_collection(rag, collection or "").evaluation.audit(
            set_name, sample_size=sample, max_tokens=max_tokens
        )
    console.write_findings(found)
    if any(one.status == "fail" for one in found):
        raise SystemExit(1)


@command
def advise(
    rag: Rag,
    collection: Chosen,
) -> None:
    """Which language, model, chunking, weights and index suit, and why."""
    given = console.open_collection(rag, collection).evaluation.advise()
    write_advice(given)


def write_advice(given: Sequence[Advice]) -> None:
    """Write advice: for people the settings, with the reasons below."""
    if console.as_json.get() or not console.is_terminal(sys.stdout):
        console.listing(
            given, ("topic", "current", "advised", "reason", "evidence", "command"), empty=""
        )
        return
    for one in given:
        change = one.advised is not None and one.advised != one.current
        shown = f"{one.current} → {one.advised}" if change else one.current or ""
        head = ("→     ", "yellow") if change else "      "
        console.write_filled(f"{one.topic}: {shown}", head, indent=6)
        for text in filter(None, (one.reason, one.evidence, one.command)):
            console.write_filled(text, " " * 6, indent=6)
