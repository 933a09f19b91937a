"""`rag-pg audit` and `advise`: what stands in the way of good answers, and which settings suit."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from rag_pg.cli.options import Dsn, Json, open_client, open_collection, print_json
from rag_pg.cli.terminal import is_terminal, visible, width, write, write_table
from rag_pg.errors import InvalidInput

if TYPE_CHECKING:
    from rag_pg.types import Advice, AuditFinding

COLOURS = {"ok": "green", "warn": "yellow", "fail": "red", "skip": "dim"}


def audit(
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
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """What stands in the way of good answers, with remedies; exit 1 when a check fails."""
    if (collection is None) == (table is None):
        raise InvalidInput("name a collection, or another table with --table")
    if table is not None and set_name is not None:
        raise InvalidInput("--set is for collections: a table has no runs")
    with open_client(dsn) as rag:
        if table is not None:
            found = rag.admin.audit_table(
                table, content=content, language=language, sample_size=sample,
                max_tokens=max_tokens or 256,
            )  # fmt: skip
        else:
            found = open_collection(rag, collection or "").evaluation.audit(
                set_name, sample_size=sample, max_tokens=max_tokens
            )
    if json_:
        for one in found:
            print_json(one)
    else:
        write_audit(found)
    if any(one.status == "fail" for one in found):
        raise SystemExit(1)


def write_audit(findings: Sequence[AuditFinding]) -> None:
    """Write findings: in a pipe as a table; for people lines between words,
    with the remedy below."""
    if not is_terminal(sys.stdout):
        write_table([], [(one.status, one.check_name, one.detail, one.remedy) for one in findings])
        return
    for one in findings:
        lines = _filled(f"{one.check_name}: {one.detail}")
        write((f"{one.status:<4}", COLOURS.get(one.status, "bold")), f"  {lines[0]}")
        for line in lines[1:] + (_filled(f"→ {one.remedy}") if one.remedy else []):
            write(" " * 6 + line)


def advise(
    collection: Annotated[str, typer.Argument(help="Which collection.")],
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Which language, model, chunking, weights and index suit, and why; it changes nothing."""
    with open_client(dsn) as rag:
        given = open_collection(rag, collection).evaluation.advise()
    if json_:
        for one in given:
            print_json(one)
    else:
        write_advice(given)


def write_advice(given: Sequence[Advice]) -> None:
    """Write advice: in a pipe as a table; for people the settings, with the reasons below."""
    if not is_terminal(sys.stdout):
        write_table(
            [],
            [(a.topic, a.current, a.advised, a.reason, a.evidence, a.command) for a in given],
        )
        return
    for one in given:
        change = one.advised is not None and one.advised != one.current
        shown = f"{one.current} → {one.advised}" if change else one.current or ""
        lines = _filled(f"{one.topic}: {shown}")
        write(("→" if change else " ", "yellow" if change else ""), f"     {lines[0]}")
        below = [text for text in (one.reason, one.evidence, one.command) if text]
        for line in [*lines[1:], *(line for text in below for line in _filled(text))]:
            write(" " * 6 + line)


def _filled(text: str) -> list[str]:
    return textwrap.wrap(
        visible(text, cell=True),
        max(width() - 6, 30),
        break_long_words=False,
        break_on_hyphens=False,
    )
