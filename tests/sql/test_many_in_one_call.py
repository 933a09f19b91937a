"""Calls that take many rows read their tables by an index, whatever the statistics say: tables that
were analyzed while they were empty are read whole for each row otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

Connection = psycopg.Connection[Any]
MANY = 300


def queries(n: int) -> Jsonb:
    return Jsonb(
        [{"id": f"q{i}", "question": f"question {i}", "relevant": [f"d{i}"]} for i in range(n)]
    )


def put_results(connection: Connection, n: int) -> None:
    results = [{"query_id": f"q{i}", "hits": [{"uri": f"d{i}", "score": 1}]} for i in range(n)]
    connection.execute("SELECT rag.put_eval_results(1, %s)", [Jsonb(results)])


def put_scores(connection: Connection, n: int) -> None:
    scores = [{"query_id": f"q{i}", "score": 1} for i in range(n)]
    connection.execute("SELECT rag.put_eval_scores(1, 'human', '1', %s)", [Jsonb(scores)])


CALLS: dict[str, Callable[[Connection, int], Any]] = {
    "put_eval_queries": lambda c, n: c.execute(
        "SELECT * FROM rag.put_eval_queries('set', %s)", [queries(n)]
    ),
    "put_eval_results": put_results,
    "put_eval_scores": put_scores,
    "put_documents": lambda c, n: c.execute(
        "SELECT * FROM rag.put_documents('docs', %s)",
        [Jsonb([{"uri": f"d{i}", "content": f"text {i}"} for i in range(n)])],
    ),
    "put_chunks": lambda c, n: c.execute(
        "SELECT rag.put_chunks('docs', 'd', %s)",
        [Jsonb([{"content": f"text {i}", "embedding": [1, i, 1]} for i in range(n)])],
    ),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.few(3)
def test_no_table_is_read_whole_for_each_row(connection: Connection, call: str) -> None:
    connection.execute("SELECT rag.create_collection('docs', 'none', 3)")
    connection.execute("SELECT rag.put_eval_set('set')")
    connection.execute("ANALYZE")
    if call in ("put_eval_results", "put_eval_scores"):
        connection.execute("SELECT * FROM rag.put_eval_queries('set', %s)", [queries(MANY)])
        connection.execute("SELECT rag.start_eval_run('set', 'docs')")
    if call == "put_eval_scores":
        put_results(connection, MANY)
    with connection.transaction(force_rollback=True):
        CALLS[call](connection, MANY)
        rows = connection.execute(
            """SELECT relname, seq_tup_read FROM pg_stat_xact_user_tables
               WHERE schemaname = 'rag' AND seq_tup_read >= %s""",
            [MANY * MANY // 10],  # a half of the square would be read, at the least
        ).fetchall()
    assert rows == []
