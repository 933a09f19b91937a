"""Calls to a worker: what is taken and read is found by an index, whatever was answered before."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from rag_pg import Rag

Connection = psycopg.Connection[Any]
ANSWERED = 5000


@pytest.mark.parametrize("analyzed", [False, True])
def test_a_request_is_found_among_many_that_were_answered(
    rag: Rag, connection: Connection, analyzed: bool
) -> None:
    rag.collection("own", model="own", dimensions=3)
    connection.execute(
        """INSERT INTO rag.worker_calls (collection_id, kind, arguments, result, worker, expires_at)
           SELECT c.collection_id, 'ask', jsonb_build_object('answer_key', gen_random_uuid()), '{}',
               'w', clock_timestamp() + interval '1 hour'
           FROM rag.collections AS c, generate_series(1, %s)""",
        [ANSWERED],
    )
    if analyzed:
        connection.execute("ANALYZE rag.worker_calls")
    (key,) = connection.execute("SELECT rag.request_answer('own', 'why?')").fetchone() or ("",)
    connection.commit()
    for call in ("rag.take_request('w')", f"rag.answer_of('{key}')"):
        with connection.transaction():
            assert len(connection.execute(f"SELECT * FROM {call}".encode()).fetchall()) == 1
            read = connection.execute(
                """SELECT s.seq_tup_read + s.idx_tup_fetch
                   FROM pg_stat_xact_user_tables AS s WHERE s.relname = 'worker_calls'"""
            ).fetchone() or (0,)
        assert 0 < read[0] < 10, call
