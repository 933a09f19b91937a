"""Databases of tests: made, cloned and removed on a server whose data are thrown away."""

from __future__ import annotations

import itertools
import os

from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from rag_pg.db.connect import connect

FAST = ("fsync = off", "full_page_writes = off", "max_connections = 200")
_numbers = itertools.count()


def make_fast(server: str) -> None:
    """Let a server forget in a crash what it has written."""
    with connect(server, autocommit=True) as connection:
        for setting in FAST:
            connection.execute(f"ALTER SYSTEM SET {setting}".encode())
        connection.execute("SELECT pg_catalog.pg_reload_conf()")


def create_database(server: str, template: str = "template1") -> str:
    """Make a database, a clone of `template`; return its connection string."""
    name = f"rag_test_{os.getpid()}_{next(_numbers)}"
    with connect(server, autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy").format(
                sql.Identifier(name), sql.Identifier(template)
            )
        )
    return make_conninfo(server, dbname=name)


def drop_database(server: str, dsn: str) -> None:
    """Remove the database of a connection string, whoever is connected."""
    with connect(server, autocommit=True) as connection:
        connection.execute(
            sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name_of(dsn)))
        )


def name_of(dsn: str) -> str:
    """Return the name of a connection string's database."""
    return str(conninfo_to_dict(dsn)["dbname"])
