"""What a write reads grows with what it writes,
also where the planner knows nothing of the tables yet."""

import json
from typing import Any

import psycopg
import pytest

Connection = psycopg.Connection[Any]


def put(connection: Connection, uri: str, texts: list[str]) -> None:
    chunks = [{"content": text, "embedding": [1, 1]} for text in texts]
    connection.execute("SELECT rag.put_chunks('filled', %s, %s)", [uri, json.dumps(chunks)])


def rows_read(connection: Connection) -> int:
    """Return how many rows of the collection this transaction has read so far."""
    row = connection.execute(
        """SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint
           FROM pg_stat_xact_user_tables
           WHERE schemaname = 'rag' AND relname ~ '^(documents|chunks|embeddings)_[0-9]+$'"""
    ).fetchone()
    return int(row[0]) if row else 0


@pytest.fixture
def filled(connection: Connection) -> Connection:
    connection.execute("SELECT rag.create_collection('filled', 'none', 2)")
    return connection


def test_many_puts_of_one_transaction_read_in_proportion(filled: Connection) -> None:
    with filled.transaction():
        counts = []
        for part in range(3):
            before = rows_read(filled)
            for number in range(100):
                put(filled, f"{part}/{number}", [f"alpha {part} {number} {i}" for i in range(3)])
            counts.append(rows_read(filled) - before)
    # Tables of a few pages are read as a whole; pairs of their rows would be millions.
    assert max(counts) < 100 * 5000


@pytest.mark.parametrize("equal", [False, True])
def test_a_large_document_in_a_session_of_small_ones_is_read_in_proportion(
    filled: Connection, equal: bool
) -> None:
    for number in range(24):
        put(filled, f"small{number % 12}", [f"alpha {number} {i}" for i in range(3)])
    size = 1200
    for version in range(2):
        with filled.transaction():
            put(filled, "large", ["alpha" if equal else f"beta {i + version}" for i in range(size)])
            assert rows_read(filled) < 20 * size
