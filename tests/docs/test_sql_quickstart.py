"""docs/guides/sql-quickstart.md runs as it stands, through the real psql,
beside a worker process."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from paths import ROOT, SUPPORT
from patience import BOUND, wait_until

from rag_pg.db.embedded import EmbeddedServer

Connection = psycopg.Connection[Any]
Psql = Callable[[str], "subprocess.CompletedProcess[str]"]

PAGE = ROOT / "docs" / "guides" / "sql-quickstart.md"

# A worker whose embedder needs no model, held at documents and quick with questions.
PROGRAM = """
import sys, signal
sys.path.insert(0, {support!r})
from pathlib import Path
from fakes import HashEmbedder
from patience import wait_until
from rag_pg import Rag, Settings

class Embedder(HashEmbedder):
    def embed_documents(self, texts):
        wait_until(Path({go!r}).exists)
        return super().embed_documents(texts)

def opened(name):
    return Embedder(name)

with Rag({dsn!r}, settings=Settings(home=Path({home!r})), embedders={{"hash": opened}}) as rag:
    worker = rag.worker()
    signal.signal(signal.SIGTERM, lambda *_: worker.stop.set())
    print("ready", flush=True)
    worker.run()
"""


@pytest.fixture
def psql(dsn: str, server_dsn: str, tmp_path: Path) -> Psql:
    with psycopg.connect(server_dsn) as connection:
        (number,) = connection.execute("SHOW server_version_num").fetchone() or ("",)
    program = EmbeddedServer(tmp_path, postgres_version=int(number) // 10000).program("psql")

    def run(script: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [program, "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", dsn, "-f", "-"],
            input=script,
            capture_output=True,
            text=True,
            timeout=240,
        )

    return run


@pytest.fixture
def start_worker(dsn: str, tmp_path: Path) -> Iterator[Callable[..., None]]:
    processes = []

    go = tmp_path / "go"

    def start(held: bool = False) -> None:
        if not held:
            go.touch()
        program = PROGRAM.format(support=str(SUPPORT), dsn=dsn, home=str(tmp_path), go=str(go))
        process = subprocess.Popen(
            [sys.executable, "-c", program],
            stdout=subprocess.PIPE,
            text=True,
            env={k: v for k, v in os.environ.items() if not k.startswith("RAG_PG_")},
        )
        processes.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"

    yield start
    go.touch()
    for process in processes:
        process.send_signal(signal.SIGTERM)
    for process in processes:
        try:
            assert process.wait(timeout=BOUND) == 0
        finally:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


def wait_until_searchable(connection: Connection) -> None:
    pending = """SELECT EXISTS (SELECT FROM rag.jobs)
                     OR EXISTS (SELECT FROM rag.list_sources() AS s WHERE s.state <> 'following'
                         OR s.changes_waiting > 0)"""
    wait_until(lambda: connection.execute(pending).fetchone() == (False,), "the worker's end")


def segments() -> list[str]:
    """The page's SQL, cut where its reader waits for the worker."""
    parts = PAGE.read_text(encoding="utf-8").split("<!-- wait -->")
    scripts = [
        "".join(re.findall(r"^```sql\n(.*?)^```$", part, re.MULTILINE | re.DOTALL))
        for part in parts
    ]
    return [
        s.replace("'minilm', dimensions => 384", "'hash:32', dimensions => 32") for s in scripts
    ]


def test_the_quickstart_runs(
    psql: Psql, start_worker: Callable[..., None], connection: Connection
) -> None:
    start_worker()
    outputs = []
    for script in segments():
        done = psql(script)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        outputs.append(done.stdout)
        wait_until_searchable(connection)
    put, search, found, gone, end = outputs
    assert put.splitlines()[-1].startswith("3|")
    lines = search.splitlines()
    assert '"uri": "passwords"' in lines[0] and "rank" in lines[0]
    assert any('"uri": "backup"' in line and "urlaub" not in line for line in lines)
    assert any(line.startswith("passwords|") for line in lines)
    assert any(line.startswith("backup|Backups run every night") for line in lines)  # a snippet
    assert "backup|t" in lines
    assert re.search(r"reset your password.*\[1\]", search)
    assert any(line.endswith("|passwords") for line in lines)
    assert any(line.startswith("public.articles|") for line in lines)
    assert "opens at five" in found and "opens at six" not in found
    assert gone.splitlines()[0] == "0"
    assert "|fail|" not in gone and "|warn|" not in gone
    assert end.split() == ["passwords", "urlaub"]
    assert connection.execute("SELECT count(*) FROM rag.worker_calls").fetchone() == (0,)


def test_without_a_worker_the_error_says_how_to_start_one(
    psql: Psql, connection: Connection
) -> None:
    connection.execute("SELECT rag.create_collection('c', 'hash:32', 32)")
    for call in ("embed_query('c', 'x'", "search_text('c', 'x'", "ask('c', 'x'"):
        done = psql(f"CALL rag.{call}, timeout => 0.2);")
        assert done.returncode != 0
        assert "no worker answered in time" in done.stderr
        assert "rag-pg worker" in done.stderr
    connection.execute("UPDATE rag.worker_calls SET expires_at = now() - interval '1 hour'")
    connection.execute("CALL rag.maintain()")
    assert connection.execute("SELECT count(*) FROM rag.worker_calls").fetchone() == (0,)


def test_inside_a_transaction_block_the_error_says_so(psql: Psql, connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'hash:32', 32)")
    for call in ("embed_query('c', 'x')", "search_text('c', 'x')", "ask('c', 'x')"):
        done = psql(f"BEGIN; CALL rag.{call};")
        called = f"rag.{call.partition('(')[0]} cannot run inside a transaction block"
        assert called in done.stderr
        assert "autocommit" in done.stderr
    with pytest.raises(psycopg.Error, match="inside a transaction block"), connection.transaction():
        connection.execute("CALL rag.embed_query('c', 'x')")


def test_wrong_arguments_are_refused_at_once(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'hash:32', 32)")
    for call, message in (
        ("embed_query('d', 'x')", "no collection 'd'"),
        ("ask('c', ' ')", "the question is empty"),
        ("search_text('c', 'x', timeout => 0)", "timeout 0 is out of range"),
    ):
        with pytest.raises(psycopg.Error, match=message):
            connection.execute(f"CALL rag.{call}".encode())


def test_a_question_is_answered_while_documents_are_embedded(
    start_worker: Callable[..., None], connection: Connection
) -> None:
    connection.execute("SELECT rag.create_collection('c', 'hash:32', 32)")
    connection.execute(
        "SELECT count(rag.put_document('c', 'd' || g, 'text ' || g)) FROM generate_series(1, 32)"
        " AS g"
    )
    start_worker(held=True)  # its batch does not end
    row = connection.execute("CALL rag.embed_query('c', 'hello', timeout => 60)").fetchone()
    assert row is not None and len(str(row[0]).split(",")) == 32
    waiting = connection.execute("SELECT count(*) FROM rag.jobs").fetchone()
    assert waiting == (32,)


def test_what_a_worker_cannot_answer_is_told_to_who_asked(
    start_worker: Callable[..., None], connection: Connection
) -> None:
    connection.execute("SELECT rag.create_collection('mine', 'my own model', 3)")
    connection.execute("SELECT rag.create_collection('c', 'hash:32', 32)")
    start_worker()
    with pytest.raises(psycopg.Error, match="could not answer: .*my own model") as caught:
        connection.execute("CALL rag.embed_query('mine', 'hello', timeout => 60)")
    assert caught.value.sqlstate == "RG009"
    with pytest.raises(psycopg.Error, match="could not answer: .*limit 0 is out of range"):
        connection.execute("CALL rag.ask('c', 'what is red?', result_limit => 0, timeout => 60)")
    row = connection.execute("CALL rag.ask('c', 'hello', timeout => 60)").fetchone()
    assert row is not None and row[0]["found"] is False


def test_no_transaction_is_open_while_an_answer_is_waited_for(
    dsn: str, connection: Connection
) -> None:
    connection.execute("SELECT rag.create_collection('c', 'hash:32', 32)")

    def ask() -> None:
        with psycopg.connect(dsn, autocommit=True) as other:
            other.execute("CALL rag.embed_query('c', 'x', timeout => 60)")

    asking = threading.Thread(target=ask)
    asking.start()
    asked = "SELECT FROM rag.worker_calls"
    wait_until(lambda: connection.execute(asked).rowcount > 0, "the request")
    row = connection.execute("SELECT request_id FROM rag.take_request('me')").fetchone()
    assert row is not None
    began = connection.execute("SELECT clock_timestamp()").fetchone()
    assert began is not None
    open_since = """SELECT xact_start FROM pg_stat_activity
                    WHERE query LIKE 'CALL rag.embed%%' AND xact_start <= %s"""
    wait_until(
        lambda: connection.execute(open_since, began).fetchone() is None,
        "the end of its transaction",
    )
    connection.execute(
        "SELECT rag.answer_request(%s, %s::jsonb)",
        [row[0], '{"embedding": ' + str([0.5] * 32) + "}"],
    )
    asking.join()
