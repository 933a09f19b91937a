"""`rag-pg worker`: work the queue."""

from __future__ import annotations

import logging
import signal
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from rag_pg.cli.logs import Format, LogFormat, log_to_stderr
from rag_pg.console import command, count_of, write_message, write_result
from rag_pg.tracing import add_meter, remove_meter

if TYPE_CHECKING:
    from rag_pg.client import Rag


@command
def worker(
    rag: Rag,
    collections: Annotated[
        list[str] | None,
        typer.Option("--collection", "--collections", "-c", help="Only these; repeatable."),
    ] = None,
    concurrency: Annotated[
        int,
        typer.Option(help="Batches embedded side by side: more for a provider over the network."),
    ] = 1,
    once: Annotated[
        bool, typer.Option("--once", help="Work until nothing is due, then exit.")
    ] = False,
    lease: Annotated[float, typer.Option(help="Seconds a job is held without a heartbeat.")] = 60.0,
    health: Annotated[
        int | None,
        typer.Option(help="Serve /health and /metrics on this port; 0 takes a free one."),
    ] = None,
    health_host: Annotated[
        str, typer.Option(help="Where it listens; 0.0.0.0 for every network.")
    ] = "127.0.0.1",
    log_format: LogFormat = Format.text,
) -> None:
    """Work the queue: chunk, embed, store. Ends on SIGTERM and hands back what it holds."""
    log_to_stderr(log_format, logging.INFO)
    done = {"documents": 0, "chunks": 0}

    def stored(documents: int, chunks: int) -> None:
        done["documents"] += documents
        done["chunks"] += chunks

    with ExitStack() as stack:
        runner = rag.worker(
            collections or None, concurrency=concurrency, lease_seconds=lease, on_progress=stored
        )
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: runner.stop.set())
        if health is not None:
            from rag_pg.worker import serve_health

            add_meter(runner.figures)
            stack.callback(remove_meter, runner.figures)
            host, port = stack.enter_context(
                serve_health(runner.health, health_host, health, runner.metrics)
            )
            write_message(f"health is at http://{host}:{port}/health")
        if once:
            if runner.locations:
                runner.locations.act()
            runner.drain()
        else:
            write_message(f"worker {runner.name} is waiting for jobs")
            runner.run()
    write_result(
        f"{count_of(done['documents'], 'document')} stored, {count_of(done['chunks'], 'chunk')}"
        " embedded",
        **done,
    )
