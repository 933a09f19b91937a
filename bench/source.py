"""What does following a table cost? The backfill, its transactions, the writers beside it,
the triggers.

    python bench/source.py [--rows 1000000] [DSN]      default: a temporary embedded server

A table of articles (about 600 characters each) is attached to a collection, and
`rag.follow_source` is called until every row is a queued document, as a worker does it: nothing is
embedded. Meanwhile another session inserts and updates rows five times a second; its statements are
timed, and how long each change waits until its document is there. The triggers' cost is the time of
single statements with and without a source on the table, in turns.
"""

from __future__ import annotations

import argparse
import threading
import time
from typing import Any

import psycopg
from jobs import server
from lib import data
from lib.clock import Timer, percentile, server_cpu_ms
from rich.console import Console
from rich.table import Table

from rag_pg.db import schema

ROWS_PER_BATCH = 500  # what a worker asks for
REPEATS = 200
PAUSE = 0.2
ATTACH = (
    "SELECT rag.attach_source('{}', collection => 'bench', content => '{{body}}', title =>"
    " '{{title}}', metadata => '{{author}}', condition => 'published')"
)
STATEMENTS = {
    "insert 1 row": "INSERT INTO {} (title, body) VALUES ('new', 'text of a new article')",
    "insert 1,000 rows": (
        "INSERT INTO {} (title, body) SELECT 'new', 'article ' || n FROM generate_series(1, 1000)"
        " AS n"
    ),
    "update 1 row": "UPDATE {} SET body = body || '.' WHERE id = 77",
    "update 1 row, nothing that is read": "UPDATE {} SET views = views + 1 WHERE id = 77",
    "update 1,000 rows": "UPDATE {} SET body = body || '.' WHERE id <= 1000",
    "delete 1 row": "DELETE FROM {0} WHERE id = (SELECT max(id) FROM {0})",
}
Connection = psycopg.Connection[Any]


def make_table(connection: Connection, name: str, rows: int) -> None:
    connection.execute(f"""
        CREATE TABLE {name} (
            id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, title text NOT NULL, body text,
            author text,
            views integer NOT NULL DEFAULT 0, published boolean NOT NULL DEFAULT true)""")
    connection.execute(
        f"""INSERT INTO {name} (title, body, author)
            SELECT 'Article ' || n, (SELECT string_agg(md5(n || ' ' || k), ' ')
                   FROM generate_series(1, 18) AS k),
                   'author ' || n %% 100
            FROM generate_series(1, %s) AS n""",
        [rows],
    )
    connection.execute(f"VACUUM ANALYZE {name}")


def triggers(dsn: str) -> list[dict[str, Any]]:
    """Milliseconds of each statement, medians: without a source and with one, in turns."""
    found = []
    with psycopg.connect(dsn, autocommit=True) as connection:
        for name in ("plain", "followed"):
            make_table(connection, name, 5000)
        connection.execute(ATTACH.format("followed"))
        for statement, text in STATEMENTS.items():
            times: dict[str, list[Timer]] = {"plain": [], "followed": []}
            for _ in range(REPEATS // 10 if "1,000" in statement else REPEATS):
                for name, timers in times.items():
                    with Timer(connection) as timer:
                        connection.execute(text.format(name))
                    timers.append(timer)
            connection.execute("DELETE FROM rag.source_changes")
            found.append(
                {"statement": statement}
                | {
                    f"{name} {kind}": percentile([getattr(t, kind) for t in timers], 0.5)
                    for name, timers in times.items()
                    for kind in ("wall", "cpu")
                }
            )
        connection.execute("SELECT rag.detach_source('followed')")
        connection.execute("DROP TABLE plain, followed")
    return found


class Writer(threading.Thread):
    """Writes to the table until stopped; how long its statements take,
    and until they are followed."""

    def __init__(self, dsn: str) -> None:
        super().__init__()
        self.dsn = dsn
        self.stop = threading.Event()
        self.statements: list[float] = []
        self.lags: list[float] = []

    def run(self) -> None:
        waiting: list[tuple[str, str, float]] = []  # uri, text, since
        number = 0
        due = time.perf_counter()
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            while not self.stop.is_set():
                if time.perf_counter() >= due:
                    number += 1
                    text = f"written meanwhile, {number}"
                    began = time.perf_counter()
                    if number % 2:
                        row = connection.execute(
                            "INSERT INTO articles (title, body) VALUES ('new', %s) RETURNING id",
                            [text],
                        ).fetchone()
                    else:
                        row = connection.execute(
                            "UPDATE articles SET body = %s WHERE id = %s RETURNING id",
                            [text, number],
                        ).fetchone()
                    assert row is not None
                    self.statements.append((time.perf_counter() - began) * 1e3)
                    waiting.append((f"public.articles/{row[0]}", text, time.perf_counter()))
                    due += PAUSE
                there: dict[str, str] = dict(
                    connection.execute(
                        "SELECT d.uri, d.content FROM rag.documents AS d JOIN rag.collections AS c"
                        " USING (collection_id) WHERE c.name = 'bench' AND d.uri = ANY (%s)",
                        [[uri for uri, *_ in waiting]],
                    ).fetchall()
                )
                now = time.perf_counter()
                self.lags += [
                    (now - since) * 1e3 for uri, text, since in waiting if there.get(uri) == text
                ]
                waiting = [w for w in waiting if there.get(w[0]) != w[1]]
                time.sleep(0.01)


def backfill(dsn: str, rows: int) -> dict[str, Any]:
    """Attach a table and read it to the end, with a writer beside it."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        make_table(connection, "articles", rows)
        with Timer(connection) as attach:
            connection.execute(ATTACH.format("articles"))
        writer = Writer(dsn)
        writer.start()
        backend = connection.info.backend_pid
        batches = []
        server_cpu = server_cpu_ms(backend)
        with Timer(connection) as timer:
            while True:
                with Timer(connection) as one:
                    (done,) = connection.execute(
                        "SELECT coalesce(sum(rag.follow_source(s.id, %s)), 0)"
                        " FROM rag.due_sources() AS s (id)",
                        [ROWS_PER_BATCH],
                    ).fetchone()  # type: ignore[misc]
                batches.append(one)
                (phase,) = connection.execute("SELECT phase FROM rag.sources").fetchone()  # type: ignore[misc]
                if phase != "backfill" or not done:
                    break
        writer.stop.set()
        writer.join()
        queued, documents = connection.execute(
            "SELECT (SELECT count(*) FROM rag.jobs), (SELECT count(*) FROM rag.documents)"
        ).fetchone()  # type: ignore[misc]
        return {
            "rows": rows,
            "documents": documents,
            "jobs": queued,
            "attach_ms": attach.wall,
            "seconds": timer.wall / 1e3,
            "cpu_seconds": timer.cpu / 1e3,
            "server_cpu_seconds": (server_cpu_ms(backend) - server_cpu) / 1e3,
            "rows_per_second": rows / timer.wall * 1e3,
            "rows_per_cpu_second": rows / timer.cpu * 1e3,
            "transactions": len(batches),
            **_spread("transaction_ms", [b.wall for b in batches]),
            **_spread("transaction_cpu_ms", [b.cpu for b in batches]),
            **_spread("writer_statement_ms", writer.statements),
            **_spread("writer_lag_ms", writer.lags),
        }


def _spread(name: str, values: list[float]) -> dict[str, float]:
    return {
        f"{name}_p50": percentile(values, 0.5),
        f"{name}_p95": percentile(values, 0.95),
        f"{name}_max": max(values),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dsn", nargs="?", help="a database of yours that is empty")
    parser.add_argument("--rows", type=int, default=1_000_000)
    arguments = parser.parse_args()
    with server(arguments.dsn) as dsn:
        schema.upgrade(dsn)
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("SELECT rag.create_collection('bench', 'none', 3)")
        statements = triggers(dsn)
        found = backfill(dsn, arguments.rows)
    table = Table("statement, ms (p50)", "plain wall", "CPU", "followed wall", "CPU")
    for row in statements:
        table.add_row(*(v if isinstance(v, str) else f"{v:.2f}" for v in row.values()))
    console = Console(width=120)
    console.print(table)
    table = Table("backfill", "")
    for name, value in found.items():
        table.add_row(name.replace("_", " "), f"{value:,.1f}")
    console.print(table)
    data.keep("source", {"statements": statements, "backfill": found})


if __name__ == "__main__":
    main()
