"""Databases of tests: made, cloned and removed on a server whose data are thrown away."""

from __future__ import annotations

import itertools
import os
import shutil
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from rag_pg.db.connect import connect
from rag_pg.db.embedded import EmbeddedServer

FAST = ("fsync = off", "full_page_writes = off", "max_connections = 200")
_KERNEL_COPIES = "file_copy_method = clone"  # a database takes a third: from 18 on, not everywhere
_CAN_CLONE = """
    SELECT 'clone' = ANY(enumvals) FROM pg_catalog.pg_settings WHERE name = 'file_copy_method'
"""
_numbers = itertools.count()


def make_fast(server: str) -> None:
    """Let a server forget in a crash what it has written."""
    with connect(server, autocommit=True) as connection:
        can_clone = connection.execute(_CAN_CLONE).fetchone() == (True,)
        for setting in (*FAST, _KERNEL_COPIES) if can_clone else FAST:
            connection.execute(f"ALTER SYSTEM SET {setting}".encode())
        connection.execute("SELECT pg_catalog.pg_reload_conf()")


def remove_servers(folder: Path) -> None:
    """Stop the servers whose data lie in folders of `folder`, as in a crash; remove it."""
    for file in folder.glob("*/postmaster.pid"):
        EmbeddedServer(file.parent).stop(immediate=True)
    shutil.rmtree(folder, ignore_errors=True)


def new_name() -> str:
    """Return the name of a database that this run has not made yet."""
    return f"rag_test_{os.getpid()}_{next(_numbers)}"


class Databases:
    """The databases of a run's tests, made and removed over one connection, which is opened when it
    is first needed: a new one takes the server a third of what a clone does.

    Args:
        server: a superuser's connection string.
    """

    def __init__(self, server: str) -> None:
        self.server = server
        self._connection: psycopg.Connection[Any] | None = None

    def create(self, template: str = "template1", name: str | None = None) -> str:
        """Make a database, a clone of `template`; return its connection string."""
        name = name or new_name()
        self._execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy").format(
                sql.Identifier(name), sql.Identifier(template)
            )
        )
        return make_conninfo(self.server, dbname=name)

    def drop(self, dsn: str) -> None:
        """Remove the database of a connection string, whoever is connected."""
        self._execute(
            sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name_of(dsn)))
        )

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _execute(self, statement: sql.Composed) -> None:
        if self._connection is None or self._connection.closed:
            self._connection = connect(self.server, autocommit=True)
        self._connection.execute(statement)


def name_of(dsn: str) -> str:
    """Return the name of a connection string's database."""
    return str(conninfo_to_dict(dsn)["dbname"])
