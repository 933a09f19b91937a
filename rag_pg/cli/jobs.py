"""`rag-pg status` and `rag-pg jobs`: what is there, what is not done, and why."""

from __future__ import annotations

import signal
import sys
import threading
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from rag_pg import console
from rag_pg.console import Column, command, count_of
from rag_pg.errors import InvalidInput

if TYPE_CHECKING:
    from rich.text import Text

    from rag_pg.client import Rag
    from rag_pg.types import CollectionStats

STATES = ("waiting", "running", "dead")


@command
def status(
    rag: Rag,
    watch: Annotated[
        bool, typer.Option("--watch", help="Show it live, until Ctrl-C ends it.")
    ] = False,
    interval: Annotated[float, typer.Option(help="Seconds between two looks of --watch.")] = 2.0,
) -> None:
    """Collections, sizes, queue, speed, and when the work is done."""
    if interval <= 0:
        raise InvalidInput(f"interval {interval:g} is out of range; use more than 0 seconds")
    if not watch:
        _show(rag)
        if not console.as_json.get():
            _report_the_rest(rag)
        return
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    if console.as_json.get() or not console.is_terminal(sys.stdout):
        _show(rag)
        while not stop.wait(interval):
            _show(rag)
        return
    from rich.live import Live

    with Live(_live(rag), auto_refresh=False) as live:
        while not stop.wait(interval):
            live.update(_live(rag), refresh=True)


@command
def doctor(
    rag: Rag,
) -> None:
    """Health: what is wrong and what to do; exit 1 when a check fails."""
    findings = rag.admin.doctor()
    console.write_findings(findings)
    if any(finding.status == "fail" for finding in findings):
        raise SystemExit(1)


def _show(rag: Rag) -> None:
    stats = rag.admin.stats()
    if console.as_json.get():
        settings = {info.name: asdict(info) for info in rag.collections()}
        for one in stats:
            console.write_json(settings.get(one.collection, {}) | asdict(one))
    else:
        console.listing(
            stats, STATUS, empty="no collections yet; add documents with: rag-pg add PATH"
        )


def _report_the_rest(rag: Rag) -> None:
    """Tell what a table of collections does not show: the release, the workers, what is wrong."""
    colours = {"warn": "yellow", "fail": "red"}
    for line in rag.admin.status(["release", "worker", "finding"]):
        name = "" if line.name is None else f" {line.name}"
        console.write_message(
            (f"{line.topic}{name}:", colours.get(line.state, "dim")), f" {line.detail}"
        )


def _done_in(row: CollectionStats) -> str | float | None:
    return (row.reason or row.eta or "?") if row.pending else None


STATUS = [
    Column("collection"),
    Column("model"),
    Column("documents"),
    Column("chunks"),
    Column("embedded"),
    Column("pending", optional=True),
    Column("failed", optional=True),
    Column("size", console.size_of, value="bytes"),
    Column("lag", console.duration_of, optional=True),
    Column("per s", "{:.1f}".format, optional=True, value="rate"),
    Column(
        "done in",
        lambda eta: eta if isinstance(eta, str) else console.duration_of(eta),
        optional=True,
        value=_done_in,
    ),
]


def _live(rag: Rag) -> Text:
    """What --watch shows: the table as it is now."""
    from rich.text import Text

    stats = rag.admin.stats()
    rows = [[column.of(row) for column in STATUS] for row in stats]
    lines = console.table_lines(STATUS, rows, console.width())
    plain = ("".join(part if isinstance(part, str) else part[0] for part in line) for line in lines)
    return Text("\n".join(plain))


@command
def jobs(
    rag: Rag,
    collection: Annotated[str | None, typer.Option("--collection", "-c")] = None,
    state: Annotated[str | None, typer.Option(help="waiting, running or dead.")] = None,
    explain: Annotated[
        int | None, typer.Option(help="One job by its number: its state, why, and its history.")
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Queue the dead ones again.")] = False,
    error: Annotated[
        str | None, typer.Option(help="Retry only where the last error is LIKE this: '%timeout%'.")
    ] = None,
    uri: Annotated[
        str | None, typer.Option(help="Retry only documents whose uri is LIKE this.")
    ] = None,
    kind: Annotated[str | None, typer.Option(help="Retry only jobs of this kind.")] = None,
    limit: Annotated[int, typer.Option(help="At most so many.")] = 50,
) -> None:
    """Work that is not done, and why."""
    if state is not None and state not in STATES:
        raise InvalidInput(f"unknown state {state!r}; use waiting, running or dead")
    if not retry and (error or uri or kind):
        raise InvalidInput("--error, --uri and --kind choose what to retry; add --retry")
    if explain is not None:
        job = rag.jobs.explain(explain)
        if console.as_json.get():
            console.write_json(job)
        else:
            console.print_fields(job)
        return
    if retry:
        count = rag.jobs.retry(collection, error=error, kind=kind, uri=uri)
        console.write_message(f"{count_of(count, 'job')} queued again")
    console.listing(
        rag.jobs.list(collection, state=state, limit=limit),
        (
            Column("job", value="job_id"),
            Column("collection", value="collection_name"),
            Column("document", value="uri"),
            "kind",
            "state",
            Column("attempts", value=lambda job: f"{job['attempts']}/{job['max_attempts']}"),
            Column("last error", optional=True, value="last_error"),
        ),
        empty="no jobs",
    )
