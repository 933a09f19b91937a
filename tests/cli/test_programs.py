"""rag-pg db psql, dump and restore: PostgreSQL's own programs, of the server's version."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from rag_pg import DatabaseUnavailable
from rag_pg.db import client_program, schema
from rag_pg.db import programs as module


def run(dsn: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rag_pg", "db", *arguments, "--dsn", dsn],
        capture_output=True,
        text=True,
    )


@pytest.mark.minutes
def test_psql_runs_what_is_passed_on(dsn: str) -> None:
    done = run(dsn, "psql", "-At", "-c", "SELECT count(*) > 20 FROM rag.doctor()")
    assert (done.returncode, done.stdout) == (0, "t\n"), done.stderr
    done = run(dsn, "psql", "-v", "ON_ERROR_STOP=1", "-c", "SELECT wrong")
    assert done.returncode == 1 and 'column "wrong" does not exist' in done.stderr


def test_another_user_is_another_user(dsn: str) -> None:
    name = f"visitor_{os.getpid()}"
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN".encode())
        try:
            done = run(dsn, "psql", "-U", name, "-At", "-c", "SELECT session_user")
        finally:
            connection.execute(f"DROP ROLE {name}".encode())
    assert (done.returncode, done.stdout) == (0, f"{name}\n"), done.stderr


@pytest.mark.minutes
def test_a_dump_is_restored_with_the_same_hits(
    dsn: str, new_database: Callable[..., str], tmp_path: Path
) -> None:
    search = "SELECT uri, score FROM rag.search('c', 'red fish', '[1, 0, 0]')"
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            """SELECT rag.create_collection('c', 'none', 3);
               SELECT rag.put_chunks('c', 'a', '[{"content": "red fish", "embedding": [1, 0, 0]}]');
               SELECT rag.put_chunks('c', 'b', '[{"content": "blue", "embedding": [0, 1, 0]}]')"""
        )
        wanted = connection.execute(search.encode()).fetchall()
    file = tmp_path / "a.dump"
    done = run(dsn, "dump", str(file))
    assert done.returncode == 0, done.stderr
    copy = new_database()
    done = run(copy, "restore", str(file))
    assert done.returncode == 0, done.stderr
    assert schema.check(copy) == []
    with psycopg.connect(copy) as connection:
        assert connection.execute(search.encode()).fetchall() == wanted
    again = run(copy, "restore", str(file))
    assert again.returncode == 1 and "already exists" in again.stderr


def test_the_password_is_no_argument(dsn: str) -> None:
    with_password = make_conninfo(dsn, password="secret")
    path, conninfo, environment = client_program("psql", with_password)
    assert path.name == "psql" and environment.pop("PGPASSWORD") == "secret"
    assert environment.keys() <= {"PGUSER"}
    assert "secret" not in conninfo and "dbname=" in conninfo


def test_a_program_that_is_older_than_the_server_is_not_taken(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(dsn) as connection:
        version = connection.info.server_version // 10000
    there = {number: Path(f"/{number}") for number in (version + 2, version - 1, version + 1)}
    monkeypatch.setattr(module, "_programs", lambda name: there.items())
    assert client_program("pg_dump", dsn)[0] == Path(f"/{version + 1}")
    del there[version + 1], there[version + 2]
    with pytest.raises(DatabaseUnavailable, match=f"install postgresql-client-{version}"):
        client_program("pg_dump", dsn)
