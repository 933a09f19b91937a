"""`rag-pg status` and `rag-pg jobs`: what is there, what is not done, and why."""

from __future__ import annotations

import signal
import threading
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from rag_pg.command import Dsn, Json, opened, print_json
from rag_pg.errors import InvalidInput
from rag_pg.show import count_of, duration_of, err, out, print_fields, size_of

if TYPE_CHECKING:
    from rag_pg.rag import Rag

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
    with opened(dsn) as rag:
        if not watch:
            _show(rag, json_)
            return
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        if json_:
            _show(rag, json_)
            while not stop.wait(interval):
                _show(rag, json_)
            return
        with Live(_table(_rows(rag)), console=out, auto_refresh=False) as live:
            while not stop.wait(interval):
                live.update(_table(_rows(rag)), refresh=True)


def doctor(json_: Json = False, dsn: Dsn = None) -> None:
    """Health: what is wrong and what to do about it; exit 1 when a check fails."""
    with opened(dsn) as rag:
        findings = rag.database.doctor()
    if json_:
        for finding in findings:
            print_json(finding)
    else:
        table = Table("check", "status", "what was found", "what to do")
        for f in findings:
            table.add_row(*map(escape, (f.check, f.status, f.detail, f.remedy or "")))
        out.print(table)
    if any(finding.status == "fail" for finding in findings):
        raise SystemExit(1)


def _show(rag: Rag, as_json: bool) -> None:
    rows = _rows(rag)
    if as_json:
        for row in rows:
            print_json(row)
    elif rows:
        out.print(_table(rows))
    else:
        err.print("no collections yet; add documents with: rag-pg add PATH")


def _rows(rag: Rag) -> list[dict[str, Any]]:
    """A row for each collection: its settings, its counts, its queue."""
    infos = {info.name: info for info in rag.collections()}
    queues = {row.collection_name: row for row in rag.database.job_stats()}
    return [
        asdict(infos[row.collection])
        | asdict(row)
        | {
            key: getattr(queues[row.collection], key)
            for key in ("running", "delayed", "rate", "eta", "reason")
        }
        for row in rag.database.collection_stats()
        if row.collection in infos and row.collection in queues
    ]


def _table(rows: list[dict[str, Any]]) -> Table:
    heads = ("collection", "model", "documents", "chunks", "embedded", "pending", "failed")
    table = Table(*heads, "size", "lag", "per s", "done in")
    for row in rows:
        done_in = "?" if row["eta"] is None else duration_of(row["eta"])
        table.add_row(
            *(escape(str(row[key])) for key in heads),
            size_of(row["bytes"]),
            duration_of(row["lag"]),
            f"{row['rate']:.1f}",
            escape(row["reason"] or done_in) if row["pending"] else "",
        )
    return table


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
    with opened(dsn) as rag:
        if explain is not None:
            job = rag.database.explain_job(explain)
            print_json(job) if json_ else print_fields(job)
            return
        if retry:
            count = rag.database.retry_jobs(collection, error, kind=kind, uri_like=uri)
            err.print(f"{count_of(count, 'job')} queued again")
        found = rag.database.list_jobs(collection, state, limit)
    if json_:
        for job in found:
            print_json(job)
        return
    if not found:
        err.print("no jobs")
        return
    table = Table("job", "collection", "document", "kind", "state", "attempts", "last error")
    for job in found:
        table.add_row(
            str(job["job_id"]),
            *(escape(str(job[key] or "")) for key in ("collection_name", "uri", "kind", "state")),
            f"{job['attempts']}/{job['max_attempts']}",
            escape(job["last_error"] or ""),
        )
    out.print(table)
