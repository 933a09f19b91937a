"""PostgreSQL's own programs, of a version that fits a server."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from rag_pg.db.connect import connect
from rag_pg.db.embedded import embedded_programs
from rag_pg.db.errors import database_errors
from rag_pg.errors import DatabaseUnavailable


def client_program(name: str, dsn: str) -> tuple[Path, str, dict[str, str]]:
    """Return the path of psql, pg_dump or pg_restore, the connection string for it, and what its
    environment has to have beside: the password, which others would see among its arguments, and
    the user, so that -U names another.

    That of the server's own version is taken, else the next newer one: an older pg_dump refuses the
    server. Raises: DatabaseUnavailable (the server is away, or there is none).
    """
    with database_errors(), connect(dsn, autocommit=True) as connection:
        wanted = connection.info.server_version // 10000
    fitting = [(version, path) for version, path in _programs(name) if version >= wanted]
    if not fitting:
        raise DatabaseUnavailable(
            f"no {name} of PostgreSQL {wanted} or newer is here: install postgresql-client-{wanted}"
        )
    parts = conninfo_to_dict(dsn)
    named = (("password", "PGPASSWORD"), ("user", "PGUSER"))
    environment = {name: str(parts.pop(key)) for key, name in named if key in parts}
    return min(fitting)[1], make_conninfo("", **parts), environment


def _programs(name: str) -> Iterator[tuple[int, Path]]:
    """Those that are here, with their versions: on the path, and in the embedded server's wheel."""
    if found := shutil.which(name):
        told = subprocess.run([found, "--version"], capture_output=True, text=True, check=False)
        if version := re.search(r"\) (\d+)", told.stdout):
            yield int(version[1]), Path(found)
    for number, folder in embedded_programs().items():
        if (folder / name).is_file():
            yield number, folder / name
