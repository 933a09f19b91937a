"""Advisory locks, which any session of the database can take and keep."""

from typing import Any

import psycopg
import pytest
from tenancy import as_role, role

CALLS = {
    "erase('c', 'd')": ("rag keyword index", "rag erasure"),
    "set_tenant('c', 'a')": ("rag._apply_tenants",),
    "log_answer('c', gen_random_uuid(), 'why', '{\"text\": \"so\"}')": ("rag erasure",),
}


def test_a_stranger_who_holds_our_locks_is_named_and_waited_for_no_longer_than_allowed(
    dsn: str, connection: psycopg.Connection[Any]
) -> None:
    stranger = role("stranger")
    connection.execute(f"CREATE ROLE {stranger} LOGIN".encode())
    try:
        connection.execute(
            """SELECT rag.create_collection('c', 'none', 3), rag.create_tenant('a'),
                      rag.put_chunks('c', 'd', '[{"content": "x", "embedding": [1, 0, 0]}]'),
                      rag.alter_collection('c', keep_answers => '1 day');
               SET lock_timeout = '100ms'"""
        )
        for call, key in [(call, key) for call, keys in CALLS.items() for key in keys]:
            with as_role(dsn, stranger) as holder:
                holder.execute(
                    """SELECT pg_advisory_lock(hashtextextended(%s, n))
                       FROM generate_series(0, 9) AS n""",
                    [key],
                )
                pid = holder.info.backend_pid
                with pytest.raises(psycopg.Error) as caught:
                    connection.execute(f"SELECT rag.{call}".encode())
                diagnosis = caught.value.diag
                assert caught.value.sqlstate == "RG007"
                assert f"session {pid} ({stranger})" in str(diagnosis.message_primary)
                assert f"pg_terminate_backend({pid})" in str(diagnosis.message_hint)
                told = connection.execute(
                    "SELECT detail FROM rag.doctor() WHERE check_name = 'schema rights'"
                ).fetchall()
                assert [f"session {pid} ({stranger})" in line for (line,) in told] == [True]
                holder.execute("SELECT pg_advisory_unlock_all()")
            connection.execute(f"SELECT rag.{call}".encode())
        assert connection.execute("SHOW lock_timeout").fetchone() == ("100ms",)
    finally:
        connection.execute(f"DROP ROLE {stranger}".encode())
