"""What does a worker cost beside the model, in time and in memory?

    python bench/worker.py [FOLDER]     default: docs-fastapi-en of RAG_PG_EVAL_DATA

Time: the documents are queued; then a worker (one pipeline, in this process) chunks, embeds and
stores them, and the bare embedder embeds the very same batches of texts, in turns. The overhead is
what the worker takes longer. Its CPU is given for this process and for the database server beside
it: where cores are few, both take time from the model.

Memory: the peak (VmHWM) of `rag-pg worker --once` on abstracts of arxiv-100k, minus that of a
process that loads the model and embeds the same batches.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from lib import data
from lib.clock import server_cpu_ms
from rich.console import Console
from rich.table import Table

from rag_pg import Collection, Rag
from rag_pg.db.database import Database
from rag_pg.errors import NotFound
from rag_pg.types import Vectors

OVERHEAD = 0.05  # the target: of the bare embedder's time
MEGABYTES = 100.0  # the target: beyond the model's own
Batches = list[list[str]]


def queue(rag: Rag, name: str, sources: Sequence[Any]) -> Collection:
    with contextlib.suppress(NotFound):  # a run that was ended leaves it
        rag.drop_collection(name)
    docs = rag.collection(name, model="minilm")
    docs.add(*sources, wait=False)
    return docs


def recorded(docs: Collection, action: Callable[[], object]) -> Batches:
    """Run `action` and return the batches that the collection's embedder was given."""
    batches: Batches = []
    embed = docs.embedder.embed_documents

    def keep(batch: Sequence[str]) -> Vectors:
        batches.append(list(batch))
        return embed(batch)

    docs.embedder.embed_documents = keep  # type: ignore[method-assign, assignment]
    action()
    docs.embedder.embed_documents = embed  # type: ignore[method-assign]
    return batches


def embed_all(embed: Callable[[Sequence[str]], Vectors], batches: Batches) -> None:
    for batch in batches:
        embed(batch)


def timed(database: Database, action: Callable[[], object]) -> dict[str, float]:
    """Seconds: wall, CPU of this process, CPU of the server."""
    with database.connection() as connection:
        backend = connection.info.backend_pid
    wall, cpu, server = time.perf_counter(), time.process_time(), server_cpu_ms(backend)
    action()
    return {
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "server": (server_cpu_ms(backend) - server) / 1e3,
    }


def times(source: Path, rounds: int) -> list[dict[str, Any]]:
    found = []
    with Rag() as rag:
        rag.embedder("minilm").embed_query("load the model")
        for number in range(rounds):
            name = f"bench-worker-{number}"
            docs = queue(rag, name, [source])
            worker = rag.worker([name])
            row: dict[str, Any] = {}

            def work(row: dict[str, Any] = row, rag: Rag = rag, worker: Any = worker) -> None:
                row["worker"] = timed(rag.database, worker.drain)

            batches = recorded(docs, work)
            embed = docs.embedder.embed_documents
            row["alone"] = timed(
                rag.database,
                partial(embed_all, embed, batches),
            )
            row["chunks"] = sum(map(len, batches))
            found.append(row)
            rag.drop_collection(name)
            rag.database.remove_dropped()
    return found


def peak_mb(command: Sequence[str]) -> float:
    """Run a command and return its peak of resident memory."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    peak = 0.0
    while process.poll() is None:
        status = Path(f"/proc/{process.pid}/status").read_text()
        peak = next(
            (
                int(line.split()[1]) / 1024
                for line in status.splitlines()
                if line.startswith("VmHWM")
            ),
            peak,
        )
        time.sleep(0.05)
    assert process.stderr is not None
    if process.returncode:
        sys.exit(process.stderr.read().decode())
    process.stderr.close()
    return peak


def memory(documents: int) -> dict[str, float]:
    """Peaks in MB of a worker and of the model alone."""
    texts = data.read("arxiv-100k", limit=documents).documents
    sources = [{"uri": k, "title": d["title"], "content": d["text"]} for k, d in texts.items()]
    name = "bench-worker-memory"
    with Rag() as rag, tempfile.TemporaryDirectory() as folder:
        queue(rag, name, sources)
        worker = peak_mb([sys.executable, "-m", "rag_pg", "worker", "--once", "-c", name])
        stats = rag.database.collection_stats(name)[0]
        assert stats.embedded == stats.chunks >= documents, stats
        rag.drop_collection(name)
        rag.database.remove_dropped()
        # The same once more, to see the batches: jobs are claimed in the same order.
        docs = queue(rag, name, sources)
        batches = recorded(docs, _instantly(docs, rag.worker([name]).drain))
        rag.drop_collection(name)
        rag.database.remove_dropped()
        file = Path(folder) / "batches.jsonl"
        file.write_text("".join(json.dumps(batch) + "\n" for batch in batches))
        alone = peak_mb([sys.executable, __file__, "--alone", str(file)])
    return {"documents": documents, "chunks": stats.chunks, "worker": worker, "alone": alone}


def _instantly(docs: Collection, action: Callable[[], object]) -> Callable[[], object]:
    """Return `action` with the collection's embedder replaced by zeros that take no time."""
    import numpy as np

    def zeros(texts: Sequence[str]) -> Vectors:
        return np.eye(1, 384, dtype=np.float32).repeat(len(texts), 0)

    docs.embedder.embed_documents = zeros  # type: ignore[method-assign]
    return action


def alone(file: str) -> None:
    """What the model needs: load it, embed the batches, keep nothing."""
    from rag_pg.config import Settings
    from rag_pg.providers.registry import open_embedder

    embedder = open_embedder("minilm", cache_dir=Settings.from_environment().home / "models")
    with Path(file).open(encoding="utf-8") as lines:
        for line in lines:
            embedder.embed_documents(json.loads(line))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--documents", type=int, default=2000, help="of the memory's measure")
    parser.add_argument("--alone", metavar="BATCHES", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.alone:
        alone(arguments.alone)
        return
    rounds = times(arguments.folder or data.folder("docs-fastapi-en") / "files", arguments.rounds)
    table = Table(
        "round",
        "chunks",
        "worker wall s",
        "CPU s",
        "server CPU s",
        "embedder wall s",
        "CPU s",
        "wall",
        "CPU",
        "CPU with server",
    )
    for number, row in enumerate(rounds, 1):
        worker, bare = row["worker"], row["alone"]
        row["overhead"] = {
            "wall": worker["wall"] / bare["wall"] - 1,
            "cpu": worker["cpu"] / bare["cpu"] - 1,
            "all": (worker["cpu"] + worker["server"]) / bare["cpu"] - 1,
        }
        table.add_row(
            str(number),
            str(row["chunks"]),
            *(f"{worker[k]:.1f}" for k in ("wall", "cpu", "server")),
            *(f"{bare[k]:.1f}" for k in ("wall", "cpu")),
            *(f"{x:+.1%}" for x in row["overhead"].values()),
        )
    middle = {k: median(row["overhead"][k] for row in rounds) for k in ("wall", "cpu", "all")}
    table.add_row("median", *[""] * 6, *(f"{x:+.1%}" for x in middle.values()))
    console = Console(width=130)
    console.print(table)
    console.print(f"overhead: target at most {OVERHEAD:.0%}, on {os.cpu_count()} cores")
    peaks = memory(arguments.documents)
    console.print(
        f"memory: worker {peaks['worker']:.0f} MB, model alone {peaks['alone']:.0f} MB, beyond it"
        f" {peaks['worker'] - peaks['alone']:.0f} MB (target at most {MEGABYTES:.0f}),"
        f" {peaks['documents']} documents"
    )
    data.keep("worker", {"rounds": rounds, "median": middle, "memory": peaks})


if __name__ == "__main__":
    main()
