"""`rag-pg status` and `rag-pg jobs`: what is there, what is not done, and why."""

from __future__ import annotations

import signal
import sys
import threading
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag_pg.cli.console import count_of, duration_of, print_fields, size_of
from rag_pg.cli.options import Dsn, Json, open_client, print_json
from rag_pg.cli.terminal import (
    Column,
    is_terminal,
    table_lines,
    width,
    write,
    write_message,
    write_table,
)
from rag_pg.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.text import Text

    from rag_pg.client import Rag
    from rag_pg.types import CollectionStats, Finding

STATES = ("waiting", "running", "dead")


def status(
    watch: Annotated[
        bool, typer.Option("--watch", help="Show it live, until Ctrl-C ends it.")
    ] = False,
    interval: Annotated[float, typer.Option(help="Seconds between two looks of --watch.")] = 2.0,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Collections, sizes, queue and lag; how fast the workers are and when they will be done."""
    if interval <= 0:
        raise InvalidInput(f"interval {interval:g} is out of range; use more than 0 seconds")
    with open_client(dsn) as rag:
        if not watch:
            _show(rag, json_)
            if not json_:
                _report_the_rest(rag)
            return
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        if json_ or not is_terminal(sys.stdout):
            _show(rag, json_)
            while not stop.wait(interval):
                _show(rag, json_)
            return
        from rich.live import Live

        with Live(_live(rag), auto_refresh=False) as live:
            while not stop.wait(interval):
                live.update(_live(rag), refresh=True)


def doctor(json_: Json = False, dsn: Dsn = None) -> None:
    """Health: what is wrong and what to do about it; exit 1 when a check fails."""
    with open_client(dsn) as rag:
        findings = rag.database.doctor()
    if json_:
        for finding in findings:
            print_json(finding)
    else:
        write_findings(findings)
    if any(finding.status == "fail" for finding in findings):
        raise SystemExit(1)


def _show(rag: Rag, as_json: bool) -> None:
    stats = rag.database.collection_stats()
    if as_json:
        settings = {info.name: asdict(info) for info in rag.collections()}
        for one in stats:
            print_json(settings.get(one.collection, {}) | asdict(one))
    elif stats:
        write_table(STATUS, [_status_row(one) for one in stats])
    else:
        write_message("no collections yet; add documents with: rag-pg add PATH")


def _report_the_rest(rag: Rag) -> None:
    """Tell what a table of collections does not show: the release, the workers, what is wrong."""
    colours = {"warn": "yellow", "fail": "red"}
    for line in rag.admin.status(["release", "worker", "finding"]):
        name = "" if line.name is None else f" {line.name}"
        write_message((f"{line.topic}{name}:", colours.get(line.state, "dim")), f" {line.detail}")


STATUS = [
    Column("collection"),
    Column("model"),
    Column("documents"),
    Column("chunks"),
    Column("embedded"),
    Column("pending", optional=True),
    Column("failed", optional=True),
    Column("size", size_of),
    Column("lag", duration_of, optional=True),
    Column("per s", lambda rate: f"{rate:.1f}", optional=True),
    Column("done in", lambda eta: eta if isinstance(eta, str) else duration_of(eta), optional=True),
]


def _status_row(row: CollectionStats) -> list[Any]:
    keys = ("collection", "model", "documents", "chunks", "embedded", "pending", "failed", "bytes")
    done_in = (row.reason or row.eta or "?") if row.pending else None
    return [*(getattr(row, key) for key in keys), row.lag, row.rate, done_in]


def _live(rag: Rag) -> Text:
    """What --watch shows: the table as it is now."""
    from rich.text import Text

    rows = [_status_row(row) for row in rag.database.collection_stats()]
    lines = table_lines(STATUS, rows, width())
    plain = ("".join(part if isinstance(part, str) else part[0] for part in line) for line in lines)
    return Text("\n".join(plain))


def write_findings(findings: Sequence[Finding]) -> None:
    """Write what doctor() found: in a pipe as a table;
    for people a paragraph each, with its remedy whole."""
    if not is_terminal(sys.stdout):
        write_table([], [(one.status, one.check_name, one.detail, one.remedy) for one in findings])
        return
    colours = {"ok": "green", "warn": "yellow", "fail": "red"}
    for one in findings:
        write(
            (f"{one.status:<4}", colours.get(one.status, "bold")),
            f"  {one.check_name}: {one.detail}",
        )
        if one.remedy:
            write(f"      {one.remedy}")


def jobs(
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
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Work that is not done, and why."""
    if state is not None and state not in STATES:
        raise InvalidInput(f"unknown state {state!r}; use waiting, running or dead")
    if not retry and (error or uri or kind):
        raise InvalidInput("--error, --uri and --kind choose what to retry; add --retry")
    with open_client(dsn) as rag:
        if explain is not None:
            job = rag.database.explain_job(explain)
            print_json(job) if json_ else print_fields(job)
            return
        if retry:
            count = rag.database.retry_jobs(collection, error, kind=kind, uri_like=uri)
            write_message(f"{count_of(count, 'job')} queued again")
        found = rag.database.list_jobs(collection, state, limit)
    if json_:
        for job in found:
            print_json(job)
        return
    if not found:
        write_message("no jobs")
        return
    names = ("job", "collection", "document", "kind", "state", "attempts", "last error")
    rows = [
        [job[key] for key in ("job_id", "collection_name", "uri", "kind", "state")]
        + [f"{job['attempts']}/{job['max_attempts']}", job["last_error"]]
        for job in found
    ]
    write_table([Column(name, optional=name == "last error") for name in names], rows)
