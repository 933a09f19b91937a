"""`rag-pg usage`: what models were asked, and what it cost."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Any

import typer

from rag_pg.cli.options import Dsn, Json, open_client, print_json
from rag_pg.cli.terminal import Column, write_message, write_table

FORMATS = ["%Y-%m-%d"]
GROUPS = ("day", "role", "collection", "strategy", "kind", "model")
FIGURES = [
    Column("answers"),
    Column("calls"),
    Column("tokens in"),
    Column("out"),
    Column("cost $", lambda cost: f"{cost:.4f}"),
    Column("an answer $", lambda cost: f"{cost:.4f}"),
    Column("unpriced", lambda count: f"{count or ''}", optional=True),
    Column("cached", lambda count: f"{count or ''}", optional=True),
    Column("failed", lambda count: f"{count or ''}", optional=True),
]


def usage(
    since: Annotated[
        datetime | None, typer.Option(formats=FORMATS, help="First day (UTC); default: 30 ago.")
    ] = None,
    until: Annotated[datetime | None, typer.Option(formats=FORMATS, help="Last day.")] = None,
    by: Annotated[
        str, typer.Option(help=f"What has a line each, of {','.join(GROUPS)}.")
    ] = "day,strategy",
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """What models were asked and what it cost, by day, strategy, model and so on."""
    groups = [name.strip() for name in by.split(",") if name.strip()]
    with open_client(dsn) as rag:
        lines = rag.admin.usage(
            None if since is None else since.date(), None if until is None else until.date(), groups
        )
    if json_:
        for line in lines:
            print_json(line)
        return
    if not lines:
        write_message("no usage recorded in these days")
        return
    shown = [name for name in GROUPS if name in groups]
    rows: list[list[Any]] = [
        [_plain(getattr(line, name)) for name in shown]
        + [line.answers, line.calls, line.prompt_tokens, line.answer_tokens, line.cost]
        + [line.cost_per_answer, line.unpriced_calls, line.cached_hits, line.failures]
        for line in lines
    ]
    write_table([*map(Column, shown), *FIGURES], rows)


def _plain(value: Any) -> Any:
    """A day as a text."""
    return value.isoformat() if isinstance(value, date) else value
