"""PgBouncer in transaction mode before a test's database, as Debian's package pgbouncer has it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from patience import BOUND, wait_until
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from rag_pg.db.connect import connect

SERVERS = 3  # server connections for all clients together


def program() -> str | None:
    """PgBouncer, None: it is not here."""
    return shutil.which("pgbouncer", path=os.environ["PATH"] + ":/usr/sbin")


def configured(
    dsn: str, folder: Path, *, servers: int, clients: int, seconds: int = 120
) -> tuple[list[str], str]:
    """Write what one before a server needs into a folder; return its command and the connection
    string through it. seconds: for which a query waits for a server."""
    given = conninfo_to_dict(dsn)
    target = " ".join(
        f"{k}={given[k]}" for k in ("host", "port", "user", "password") if given.get(k)
    )
    folder.chmod(0o777)  # under root it runs as another user
    (folder / "ini").write_text(
        f"""[databases]
* = {target}
[pgbouncer]
listen_addr =
unix_socket_dir = {folder}
listen_port = 6543
auth_type = any
pool_mode = transaction
default_pool_size = {servers}
max_client_conn = {clients}
server_login_retry = 1
query_wait_timeout = {seconds}
""",
        encoding="utf-8",
    )
    socket = Path(str(given.get("host") or "/nowhere"))  # its folder may be closed to others
    owner = socket.owner() if socket.is_dir() else "nobody"
    user = ["-u", owner] if os.geteuid() == 0 else []
    pooled = make_conninfo(
        host=str(folder), port=6543, user=given.get("user"), dbname=given["dbname"]
    )
    return [program() or "pgbouncer", "-q", *user, str(folder / "ini")], pooled


@contextmanager
def transaction_pooler(dsn: str) -> Iterator[str]:
    """Start one, and give the connection string through it."""
    if program() is None:
        pytest.skip("no engine: needs PgBouncer: apt-get install pgbouncer")
    folder = Path(tempfile.mkdtemp(prefix="rag-pgb-", dir="/tmp"))  # a socket's path is short
    command, pooled = configured(dsn, folder, servers=SERVERS, clients=200)
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: process.poll() is not None or is_up(pooled))
        assert process.poll() is None, process.stderr and process.stderr.read()
        yield pooled
    finally:
        process.terminate()
        process.communicate(timeout=BOUND)
        shutil.rmtree(folder, ignore_errors=True)


def is_up(pooled: str) -> bool:
    try:
        connect(pooled, seconds=60).close()
    except psycopg.OperationalError:
        return False
    return True


def left_over(pooled: str) -> list[Any]:
    """What the pooler's server connections hold that belongs to a session,
    each visited in a transaction."""
    found: list[Any] = []
    clients = [connect(pooled) for _ in range(SERVERS)]
    try:
        for client in clients:
            found += client.execute(
                """SELECT 'prepared statement', name FROM pg_prepared_statements
                   UNION ALL SELECT 'setting', name || '=' || setting FROM pg_settings
                       WHERE source = 'session' AND name <> 'client_encoding'
                   UNION ALL SELECT 'listens', c FROM pg_listening_channels() AS c
                   UNION ALL SELECT 'temporary table', relname FROM pg_class
                   WHERE relnamespace = pg_my_temp_schema()
                   UNION ALL SELECT 'cursor', name FROM pg_cursors WHERE is_holdable
                   UNION ALL SELECT 'advisory lock', objid::text FROM pg_locks
                       WHERE locktype = 'advisory' AND pid = pg_backend_pid()"""
            ).fetchall()
    finally:
        for client in clients:
            client.close()
    return found
