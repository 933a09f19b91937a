"""A version counts from the commit of the transaction that wrote it, as others see it."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb
from rota import tries

Connection = psycopg.Connection[Any]


@pytest.fixture
def docs(connection: Connection) -> Connection:
    connection.execute("SELECT rag.create_collection('docs', 'none', 3)")
    connection.execute(
        "SELECT rag.alter_collection('docs', keep_versions => '1 day', keep_answers => '1 day')"
    )
    return connection


@pytest.fixture
def writer(dsn: str, docs: Connection) -> Iterator[Connection]:
    with psycopg.connect(dsn) as opened:
        yield opened


def put(connection: Connection, text: str, uri: str = "hours") -> None:
    connection.execute("SELECT rag.put_chunks('docs', %s, %s)", [uri, Jsonb([{"content": text}])])


def now(connection: Connection) -> datetime:
    row: tuple[datetime] | None = connection.execute("SELECT clock_timestamp()").fetchone()
    assert row is not None
    return row[0]


def seen(connection: Connection, uri: str = "hours") -> str | None:
    row = connection.execute("SELECT content FROM rag.documents WHERE uri = %s", [uri]).fetchone()
    return row and row[0]


def told(connection: Connection, moment: datetime, uri: str = "hours") -> str | None:
    row = connection.execute(
        "SELECT content FROM rag.document_at('docs', %s, %s)", [uri, moment]
    ).fetchone()
    return row and row[0]


@pytest.mark.longer
def test_document_at_agrees_with_what_others_saw_at_every_step(
    docs: Connection, writer: Connection
) -> None:
    """Histories of writes, deletions, savepoints, commits and rollbacks by a seed; a reader looks
    after every step and asks for these moments in the end."""
    chance = random.Random(17)
    looked: list[tuple[datetime, str, str | None]] = []
    steps = ("put", "put twice", "delete", "undone", "commit", "rollback")
    done = dict.fromkeys(steps, 0)
    count = tries(240, 80)
    for number in range(count):
        step = chance.choice(steps)
        uri = chance.choice(("a", "b"))
        done[step] += 1
        if step.startswith("put"):
            for copy in range(1 + (step == "put twice")):
                put(writer, f"text {number} {copy}", uri)
        elif step == "delete":
            writer.execute("SELECT rag.delete_document('docs', %s)", [uri])
        elif step == "undone":
            with writer.transaction(force_rollback=True):
                put(writer, f"undone {number}", uri)
        elif step == "commit":
            writer.commit()
        else:
            writer.rollback()
        looked += [(now(docs), name, seen(docs, name)) for name in ("a", "b")]
    writer.commit()
    assert min(done.values()) > count / 12
    for moment, uri, text in looked:
        assert told(docs, moment, uri) == text, (moment, uri)


def test_an_answer_is_replayed_against_what_was_committed(
    docs: Connection, writer: Connection
) -> None:
    put(docs, "The office opens at eight in the morning.")
    put(writer, "The office opens at nine in the morning.")
    answer = {
        "text": "at eight", "found": True, "retrieved": ["hours"],
        "citations": [{"number": 1, "uri": "hours",
                       "quote": "The office opens at eight in the morning."}],
    }  # fmt: skip
    docs.execute(
        "SELECT rag.log_answer('docs', %s, 'When?', %s)", [uuid.UUID(int=1), Jsonb(answer)]
    )
    writer.commit()
    row = docs.execute(
        "SELECT version_then, stood_then, version_now, stands_now FROM rag.replay_answer(%s)",
        [uuid.UUID(int=1)],
    ).fetchone()
    assert row == (1, True, 2, False)


def test_one_row_is_made_for_a_transaction_and_none_without_history(
    docs: Connection, writer: Connection
) -> None:
    for number in range(5):
        put(writer, f"text {number}", f"d{number}")
    writer.commit()
    docs.execute("SELECT rag.create_collection('plain', 'none', 3)")
    docs.execute("SELECT rag.put_document('plain', 'x', 'a text')")
    rows = docs.execute("SELECT committed_at IS NOT NULL FROM rag.version_commits").fetchall()
    assert rows == [(True,)]


@pytest.mark.parametrize("forged", ["1", "no number", "99999999999999999999"])
def test_a_forged_setting_dates_no_version(
    docs: Connection, writer: Connection, forged: str
) -> None:
    put(docs, "the old text")
    before = now(docs)
    writer.execute("SELECT set_config('rag.version_commit', %s, false)", [forged])
    put(writer, "the new text")
    writer.commit()
    assert told(docs, before) == "the old text"
    assert told(docs, now(docs)) == "the new text"


def test_a_commit_by_a_role_with_fewer_rights_succeeds(
    docs: Connection, writer: Connection
) -> None:
    role = f"committer_{writer.info.backend_pid}"
    docs.execute(f"CREATE ROLE {role}")
    try:
        put(writer, "a text")
        writer.execute(f"SET ROLE {role}")
        writer.commit()
        assert told(docs, now(docs)) == "a text"
    finally:
        writer.rollback()
        writer.execute("RESET ROLE")
        writer.commit()
        docs.execute(f"DROP ROLE {role}")
