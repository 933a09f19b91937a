"""What a worker logs, as text and as lines of JSON."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import psycopg
from fakes import HashEmbedder

from rag_pg import InvalidInput, Rag, RateLimited
from rag_pg.cli.logs import JsonLines, Text

Connection = psycopg.Connection[Any]


Logged = Callable[[], list[logging.LogRecord]]


def lines(logged: Logged) -> list[dict[str, Any]]:
    return [json.loads(JsonLines().format(record)) for record in logged()]


def test_a_dead_job_is_an_error_with_its_number_and_collection(
    rag: Rag, embedder: HashEmbedder, logged: Logged
) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add({"uri": "a", "content": "red fish"}, wait=False)

    def fail(texts: Any) -> None:
        raise InvalidInput("it takes no such text")

    embedder.fail = fail
    rag.worker().drain()
    (line,) = [one for one in lines(logged) if one["level"] == "error"]
    assert line.keys() == {
        "at", "level", "logger", "message", "collection", "job_id", "job_kind", "attempts",
    }  # fmt: skip
    assert (line["collection"], line["job_kind"], line["attempts"]) == ("docs", "ingest", 1)
    assert "it takes no such text (dead)" in line["message"] and "red fish" not in str(line)
    (record,) = [one for one in logged() if one.levelno == logging.ERROR]
    text = Text("%(levelname)s %(message)s").format(record)
    assert text.startswith("ERROR job ") and "collection=docs job_id=" in text


def test_a_provider_that_is_left_alone_is_told(
    rag: Rag, embedder: HashEmbedder, logged: Logged
) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add({"uri": "a", "content": "red fish"}, wait=False)

    def refuse(texts: Any) -> None:
        raise RateLimited("slow down", 3600)

    embedder.fail = refuse
    rag.worker().drain()
    found = [one for one in lines(logged) if one.get("provider") == "hash"]
    assert [(one["level"], one["message"]) for one in found] == [
        ("warning", "hash is left alone for 3600 s: slow down")
    ]


def test_a_broken_source_is_told_once(rag: Rag, connection: Connection, logged: Logged) -> None:
    rag.collection("docs", model="hash:32")
    connection.execute(
        """CREATE TABLE public.notes (id text PRIMARY KEY, body text);
           SELECT rag.attach_source('notes', 'docs', content => '{body}');
           ALTER TABLE public.notes DROP COLUMN body;
           INSERT INTO public.notes VALUES ('a')"""
    )
    worker = rag.worker()
    worker.sources.act()
    worker.sources.tell_broken()
    worker.sources.tell_broken()
    (line,) = [one for one in lines(logged) if one.get("source") is not None]
    assert (line["level"], line["collection"]) == ("error", "docs")
    assert "notes" in line["source"] and "is broken: " in line["message"]


def test_the_lines_of_a_worker_are_json_where_that_is_wished(
    rag: Rag, connection: Connection, dsn: str
) -> None:
    connection.execute("SELECT rag.create_collection('docs', 'nobody:has', 3)")
    rag.database.put_documents("docs", [{"uri": "a", "content": "red fish"}])
    done = subprocess.run(
        [sys.executable, "-m", "rag_pg", "worker", "--once", "--log-format", "json", "--dsn", dsn],
        capture_output=True,
        text=True,
    )
    told = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    assert any("nobody:has" in one["message"] for one in told), done.stderr
    assert all(one["level"] in ("info", "warning", "error") for one in told)
