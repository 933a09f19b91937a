"""A call in a program of its own that SIGKILL ends before its n-th statement, and what is there
then."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from paths import ROOT, SUPPORT

# For each line (call, dsn, folder, n) a child, forked from a program that has imported everything,
# does the call; the number of its statements, or nothing when it was killed, is written.
PROGRAM = """
import itertools, json, os, signal, sys
from importlib.util import module_from_spec, spec_from_file_location
sys.path[:0] = {paths!r}
import psycopg

spec = spec_from_file_location("calls", {file!r})
sys.modules["calls"] = calls = module_from_spec(spec)
spec.loader.exec_module(calls)
counter = itertools.count(1)
count = 0


def counted(send, last):
    def call(*arguments, **options):
        global count
        count = next(counter)
        if count == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return send(*arguments, **options)

    return call


for line in sys.stdin:
    name, dsn, folder, last = json.loads(line)
    if child := os.fork():
        os.waitpid(child, 0)
        print(json.dumps(""), flush=True)
        continue
    for kind, method in (
        (psycopg.Cursor, "execute"), (psycopg.Cursor, "copy"), (psycopg.Connection, "commit"),
    ):
        setattr(kind, method, counted(getattr(kind, method), last))
    calls.CALLS[name](dsn, folder)
    print(json.dumps(count), end=" ", flush=True)
    os._exit(0)
"""

SEEN = """
SELECT d.uri, d.content, d.indexed_version = d.version AS current,
    array_agg(c.content ORDER BY c.ordinal) FILTER (WHERE c.chunk_id IS NOT NULL) AS chunks
FROM rag.documents AS d JOIN rag.collections AS k USING (collection_id)
LEFT JOIN rag.chunks AS c USING (collection_id, document_id)
WHERE k.dropped_at IS NULL GROUP BY 1, 2, 3 ORDER BY 1"""
VECTORS = """
SELECT count(*), count(e.chunk_id), max(s.model) FROM rag.collections AS k
JOIN rag.chunks AS c USING (collection_id)
JOIN rag.spaces AS s ON s.collection_id = k.collection_id AND s.state = 'active'
LEFT JOIN rag.embeddings AS e ON e.space_id = s.space_id AND e.chunk_id = c.chunk_id
WHERE k.dropped_at IS NULL"""
ENRICHED = """
SELECT c.metadata, c.context IS NOT NULL, c.context_source IS NOT NULL, count(*)
FROM rag.chunks AS c JOIN rag.collections AS k USING (collection_id)
WHERE k.dropped_at IS NULL GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"""


@contextmanager
def program_of(file: str) -> Iterator[subprocess.Popen[str]]:
    """Start the program that does the CALLS of a file, each a function of a dsn and a folder."""
    text = PROGRAM.format(file=file, paths=[str(SUPPORT), str(ROOT / "tests")])
    command = [sys.executable, "-c", text]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as opened:
        yield opened
        assert opened.stdin is not None
        opened.stdin.close()


def run(program: subprocess.Popen[str], call: str, dsn: str, folder: Path, last: int) -> int:
    """Run a call until its statement `last`; return how many it sent, 0 where it was killed."""
    assert program.stdin is not None and program.stdout is not None
    program.stdin.write(json.dumps([call, dsn, str(folder), last]) + "\n")
    program.stdin.flush()
    told = program.stdout.readline().split(" ")
    return int(told[0]) if len(told) > 1 else 0


def end_leases(dsn: str) -> None:
    """Let the jobs of who was killed be taken at once."""
    with psycopg.connect(dsn) as connection:
        connection.execute("UPDATE rag.jobs SET lease_expires_at = now() WHERE lease IS NOT NULL")


def seen(dsn: str) -> list[Any]:
    with psycopg.connect(dsn) as connection:
        return connection.execute(SEEN).fetchall()


def final(dsn: str) -> list[Any]:
    """What is there in the end, without what depends on the way."""
    with psycopg.connect(dsn) as connection:
        jobs = connection.execute("SELECT count(*) FROM rag.jobs").fetchall()
        enriched = connection.execute(ENRICHED).fetchall()
        return [*seen(dsn), *connection.execute(VECTORS).fetchall(), *enriched, *jobs]
