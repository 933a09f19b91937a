"""What stands in a database, as text."""

from __future__ import annotations

import subprocess
from pathlib import Path

import psycopg

from rag_pg.db.embedded import EmbeddedServer


def dump(dsn: str) -> str:
    """The whole database as pg_dump writes it, rows as INSERT statements."""
    with psycopg.connect(dsn) as connection:
        version = connection.info.server_version // 10000
    program = EmbeddedServer(Path(), postgres_version=version).program("pg_dump")
    done = subprocess.run(
        [program, "--inserts", dsn], capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout
