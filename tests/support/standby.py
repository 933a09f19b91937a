"""A primary and a standby: embedded servers, the second made by the first one's pg_basebackup."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from rag_pg.db import schema
from rag_pg.db.embedded import EmbeddedServer


def new_primary(folder: Path) -> str:
    """Start a server with schema rag, in `primary` of a folder.

    Its standby waits for a reader for as long as it takes, but for a deadlock.
    """
    version = int(os.environ.get("RAG_PG_TEST_POSTGRES", "18"))
    dsn = EmbeddedServer(folder / "primary", postgres_version=version).start()
    with psycopg.connect(dsn, autocommit=True) as connection:
        for setting in ("max_standby_streaming_delay = -1", "deadlock_timeout = '50ms'"):
            connection.execute(f"ALTER SYSTEM SET {setting}".encode())
        connection.execute("SELECT pg_reload_conf()")
    schema.upgrade(dsn)
    return dsn


@contextmanager
def copy_of(primary_dsn: str, folder: Path) -> Iterator[str]:
    """A standby of the primary, as it is now and as it goes on, in `data` of the folder."""
    with psycopg.connect(primary_dsn) as connection:
        (number,) = connection.execute("SHOW server_version_num").fetchone() or ("",)
    standby = EmbeddedServer(folder / "data", postgres_version=int(number) // 10000)
    try:
        subprocess.run(
            [standby.program("pg_basebackup"), "-R", "-X", "stream", "-c", "fast",
             "-D", folder / "data", "-d", primary_dsn],
            check=True,
        )  # fmt: skip
        for left in (folder / "data").glob(
            ".s.PGSQL.*"
        ):  # the primary's socket lay in its data folder
            left.unlink()
        if os.geteuid() == 0:  # under root the server runs as another user
            for path in (folder / "data", *(folder / "data").rglob("*")):
                shutil.chown(path, "pgserver", "pgserver")
        yield standby.start()
    finally:
        standby.stop(immediate=True)
