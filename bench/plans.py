"""What planning costs: searches and writes of this checkout beside those of another commit,
in turn.

    python bench/plans.py [COMMIT] [--sizes 5000 40000 100000] [--others 99] [--rounds 8]

Two databases of one embedded server hold the same chunks: one has the schema of COMMIT (default:
the parent of HEAD; v0.1.0 is the last release), the other this one's. `others` more collections
hold one chunk each. Each round asks 25 hybrid searches of 10 hits, each of both in turn, then the
first search of five new sessions, then writes, each by both in turn: 60 documents of three chunks,
each in a transaction of its own; as many in one; edits of 60. Once: a document of 8,000 chunks, and
the load itself. After all sizes each commit's own program adds a folder of 300 pages, twice a
round: once new, once edited. Of a search the least time of all rounds counts, as what else a
machine does only adds to it; of all else the median. CPU is the backend's (with its parallel
workers' for the load: the server's; for the folder: the server's and the program's). Text:
arxiv-100k under RAG_PG_EVAL_DATA; vectors: as bench/filtered.py makes them.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import fmean, median
from typing import Any

import psycopg
from filtered import vectors
from lib import data
from lib.clock import Timer, server_cpu_ms
from psycopg.conninfo import make_conninfo

from rag_pg.db import schema
from rag_pg.db.embedded import EmbeddedServer

ROOT = Path(__file__).parents[1]
Connection = psycopg.Connection[Any]
IN_ONE = "put in one transaction"
WRITES = (("put", "a", 0), ("edit", "a", 1), (IN_ONE, "b", 0))  # a step, its uris, the version
STAGED = """CREATE TEMPORARY TABLE staged_chunks (
            position bigint, uri text, title text, heading text, content text, metadata jsonb,
            embedding halfvec,
            place bigint GENERATED ALWAYS AS (position) STORED  -- its name in older commits
            ) ON COMMIT DROP"""


@contextmanager
def checkout(commit: str) -> Iterator[str]:
    """Unpack a commit for as long as the context lasts."""
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(
            ["git", "archive", commit], cwd=ROOT, capture_output=True, check=True
        )
        subprocess.run(["tar", "x"], cwd=folder, input=archive.stdout, check=True)
        yield folder


ADD = """
import functools, sys, time
from rag_pg import Rag
from lib.models import RandomWords
RandomWords._vector = functools.lru_cache(None)(RandomWords._vector)
folder, dsn = sys.argv[1:]
with Rag(dsn, embedders={"words": RandomWords}) as rag:
    docs = rag.collection("files", model="words:64")
    began = time.process_time()
    docs.add(folder)
    print((time.process_time() - began) * 1e3)
"""


def install(dsn: str, folder: str | None) -> None:
    if folder is None:
        schema.upgrade(dsn)
        return
    program = "import sys; from rag_pg.db import schema; schema.upgrade(sys.argv[1])"
    if not (Path(folder) / "rag_pg/db").exists():  # before November 22, 2026
        program = program.replace("rag_pg.db", "rag_pg")
    subprocess.run([sys.executable, "-c", program, dsn], cwd=folder, check=True)


def load(connection: Connection, texts: list[str], found: Any) -> None:
    with connection.transaction():
        connection.execute(STAGED)
        with connection.cursor().copy("COPY staged_chunks FROM STDIN") as copy:
            for number, text in enumerate(texts):
                vector = str(found[number].tolist())
                copy.write_row(
                    (number, str(number), "", "", text, json.dumps({"n": number}), vector)
                )
        connection.execute("SELECT * FROM rag.load_staged('bench')")


def put(connection: Connection, uri: str, texts: list[str]) -> None:
    # No two vectors are equal: an index of equal ones takes any time.
    chunks = json.dumps([{"content": text, "embedding": [1, random.random()]} for text in texts])
    connection.execute("SELECT rag.put_chunks('small', %s, %s)", [uri, chunks])


def searches(connection: Connection, queries: list[tuple[str, str]]) -> None:
    for text, vector in queries:
        connection.execute("SELECT * FROM rag.search('bench', %s, %s)", [text, vector]).fetchall()


def first_searches(
    connection: Connection, queries: list[tuple[str, str]]
) -> Iterator[tuple[float, float]]:
    """CPU and wall of the first search of new sessions of a connection's database."""
    for query in queries:
        dsn = make_conninfo(connection.info.dsn, dbname=connection.info.dbname)
        with psycopg.connect(dsn, autocommit=True) as opened, Timer(opened) as timer:
            searches(opened, [query])
        yield timer.cpu, timer.wall


def added(sides: Mapping[str, tuple[str, str]], texts: list[str], rounds: int) -> dict[str, Any]:
    """What adding a folder costs: server and program, a page.

    Args:
        sides: the folder of the program and the connection string of each.
    """
    found: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for turn in range(rounds):
        for step, version in (("add a folder, a page", 0), ("add it edited, a page", 1)):
            with tempfile.TemporaryDirectory() as above:
                pages = Path(above) / "pages"  # the name begins the uris
                pages.mkdir()
                for number, text in enumerate(texts):
                    page = f"# {turn} {number}\n\n{text}\n\n{text} {version}\n"
                    (pages / f"{turn}-{number}.md").write_text(page)
                for side, (folder, dsn) in sides.items():
                    with psycopg.connect(dsn, autocommit=True) as connection:
                        pid = connection.info.backend_pid
                        before, began = server_cpu_ms(pid), time.perf_counter()
                        done = subprocess.run(
                            [sys.executable, "-c", ADD, pages, dsn],
                            cwd=folder,
                            env=os.environ | {"PYTHONPATH": str(ROOT / "bench")},
                            check=True,
                            capture_output=True,
                            text=True,
                        )
                        cpu = server_cpu_ms(pid) - before + float(done.stdout)
                        wall = (time.perf_counter() - began) * 1e3
                    found[step][side].append((cpu / len(texts), wall / len(texts)))
    return medians(found)


def medians(found: Mapping[str, Mapping[str, list[tuple[float, float]]]]) -> dict[str, Any]:
    return {
        step: {
            side: {"cpu": median(c for c, _ in times), "wall": median(w for _, w in times)}
            for side, times in by_side.items()
        }
        for step, by_side in found.items()
    }


def write(connection: Connection, uri: str, version: int = 0) -> None:
    put(connection, uri, [f"{uri} {i} {version * (i == 2)}" for i in range(3)])


def in_turn(sides: Mapping[str, Connection], number: int) -> Iterable[str]:
    return sides if number % 2 else reversed([*sides])


def measure(
    sides: dict[str, Connection], queries: list[tuple[str, str]], rounds: int
) -> dict[str, Any]:
    found: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))

    def timed(step: str, side: str, count: int, call: Any, *arguments: object) -> None:
        with Timer(sides[side]) as timer:
            call(sides[side], *arguments)
        found[step][side].append((timer.cpu / count, timer.wall / count))

    for connection in sides.values():
        searches(connection, queries)
    for turn in range(rounds):
        for number, query in enumerate(queries[:25]):
            for side in in_turn(sides, turn + number):
                timed(f"search {number}", side, 1, searches, [query])
        for side in sides:
            found["first search of a session"][side] += first_searches(sides[side], queries[:5])
        for step, name, version in WRITES:
            with ExitStack() as stack:
                if step == IN_ONE:
                    for connection in sides.values():
                        stack.enter_context(connection.transaction())
                for number in range(60):
                    for side in in_turn(sides, number):
                        timed(step, side, 1, write, f"{name}{turn}x{number}", version)
    for side in sides:
        text = [f"w{i} of a large document" for i in range(8000)]
        timed("document of 8,000 chunks", side, 1, put, "large", text)
    asked = [found.pop(f"search {number}") for number in range(len(queries[:25]))]
    least = {
        side: {
            kind: fmean(min(times[i] for times in one[side]) for one in asked)
            for i, kind in enumerate(("cpu", "wall"))
        }
        for side in sides
    }
    return {"search": least} | medians(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commit", nargs="?", default="HEAD~1")
    parser.add_argument("--sizes", type=int, nargs="*", default=[5000, 40000, 100000])
    parser.add_argument("--others", type=int, default=99)
    parser.add_argument("--rounds", type=int, default=8)
    options = parser.parse_args()
    most = max(options.sizes, default=300)
    evaluation = data.read("arxiv-100k", limit=most)
    texts = [d["text"] or d["title"] for d in evaluation.documents.values()]
    stored, asked = vectors(most)
    queries = [
        (text, str(asked[number % len(asked)].tolist()))
        for number, text in enumerate(list(evaluation.queries.values())[:200])
    ]
    kept: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as home, checkout(options.commit) as before:
        Path(home).chmod(0o755)
        server = EmbeddedServer(Path(home) / "data")
        dsn = server.start()
        try:
            for size in options.sizes:
                sides: dict[str, Connection] = {}
                loads: dict[str, dict[str, float]] = {}
                for side, folder in (("before", before), ("now", None)):
                    name = f"{side}_{size}"
                    with psycopg.connect(dsn, autocommit=True) as connection:
                        connection.execute(f"CREATE DATABASE {name}".encode())
                    install(make_conninfo(dsn, dbname=name), folder)
                    sides[side] = opened = psycopg.connect(
                        make_conninfo(dsn, dbname=name), autocommit=True
                    )
                    opened.execute(
                        "SELECT rag.create_collection('bench', 'none', 384),"
                        " rag.create_collection('small', 'none', 2)"
                    )
                    opened.execute(
                        """SELECT rag.create_collection('c' || g, 'none', 2),
                                  rag.put_chunks('c' || g, 'a',
                                      '[{"content": "x", "embedding": [1, 1]}]')
                           FROM generate_series(1, %s) AS g""",
                        [options.others],
                    )
                    pid = opened.info.backend_pid
                    began = server_cpu_ms(pid)
                    with Timer(opened) as timer:
                        load(opened, texts[:size], stored)
                    loads[side] = {"cpu": server_cpu_ms(pid) - began, "wall": timer.wall}
                    opened.execute("VACUUM ANALYZE")
                found = measure(sides, queries, options.rounds) | {"load": loads}
                show(size, options.others, found)
                kept[f"{size} chunks, {options.others} other collections"] = found
                for side, opened in sides.items():
                    opened.close()
                    with psycopg.connect(dsn, autocommit=True) as connection:
                        connection.execute(f"DROP DATABASE {side}_{size} WITH (FORCE)".encode())
            programs: dict[str, tuple[str, str]] = {}
            for side, folder in (("before", before), ("now", str(ROOT))):
                with psycopg.connect(dsn, autocommit=True) as connection:
                    connection.execute(f"CREATE DATABASE {side}".encode())
                programs[side] = folder, make_conninfo(dsn, dbname=side)
                install(programs[side][1], folder)
            found = added(programs, texts[:300], max(2, options.rounds // 2))
            show(300, 0, found)
            kept["a folder of 300 pages"] = found
        finally:
            server.stop()
    data.keep("plans", kept)


def show(size: int, others: int, found: dict[str, Any]) -> None:
    print(f"{size} chunks, {others} other collections; load {os.getloadavg()}; ms of CPU (wall)")
    for step, sides in found.items():
        before, now = sides["before"], sides["now"]
        print(
            f"  {step:26} {before['cpu']:10.2f} ({before['wall']:.2f}) -> {now['cpu']:10.2f}"
            f" ({now['wall']:.2f})  {100 * (now['cpu'] / before['cpu'] - 1):+.0f} %",
            flush=True,
        )


if __name__ == "__main__":
    main()
