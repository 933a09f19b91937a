"""A running service on a database of its own, for measurements."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rag_pg import Rag, Settings

TEXTS = ("restore a backup", "start a worker", "filter by date", "change a model")


@contextmanager
def filled_service(*options: str, **environment: str) -> Iterator[tuple[str, int, Rag]]:
    """Start `rag-pg serve` over an embedded server with a collection; yields its URL, its
    process id, and a client of the same database."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)
        with Rag(settings=Settings(home=Path(name))) as rag:
            docs = rag.collection("docs")
            docs.add(*documents())
            plain = {k: v for k, v in os.environ.items() if not k.startswith("RAG_PG_")}
            plain |= {"RAG_PG_DSN": rag.dsn or "", "RAG_PG_HOME": name}
            process = subprocess.Popen(
                [sys.executable, "-m", "rag_pg", "serve", "127.0.0.1:0", *options],
                env=plain | environment,
                stderr=subprocess.PIPE,
                text=True,
            )
            assert process.stderr is not None
            try:
                found = re.search(r"serving at (http://\S+:\d+)/", process.stderr.readline())
                assert found
                drain(process)
                yield found[1], process.pid, rag
            finally:
                process.terminate()
                process.wait()


def documents() -> list[dict[str, Any]]:
    return [
        {
            "uri": f"{number}.md",
            "content": f"# {text} {number}\n\n" + f"How to {text}, step {number}. " * 40,
            "metadata": {"number": number, "kind": text.split()[0]},
        }
        for number in range(40)
        for text in [TEXTS[number % len(TEXTS)]]
    ]


def drain(process: subprocess.Popen[str]) -> None:
    """Read what the service logs, so that it never waits for a reader; tracebacks are shown."""
    from rag_pg.threads import start_thread

    def read() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            if not line.startswith("{"):
                sys.stderr.write(line)

    start_thread(read, "log of the service")
