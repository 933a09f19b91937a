"""The functions of schema rag: applied from sql/, and written down for `check`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg

from rag_pg.db.schema import inventory
from rag_pg.db.schema.packaged import file_name, packaged_files, read_sql, sql_files
from rag_pg.db.schema.transaction import psycopg_connection
from rag_pg.errors import SchemaMismatch

if TYPE_CHECKING:
    from sqlalchemy import Connection


def apply_functions(connection: Connection, vector_schema: str) -> None:
    connection.exec_driver_sql("SET LOCAL check_function_bodies TO off")
    raw = psycopg_connection(connection)
    for path in sql_files():
        _apply_file(raw, path, vector_schema)
    stale = raw.execute(
        """
        SELECT p.oid FROM pg_proc AS p
        WHERE p.pronamespace = 'rag'::regnamespace
            AND age(p.xmin) > age(pg_current_xact_id()::xid)  -- not of this transaction
            AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.objid = p.oid AND d.deptype = 'e')
        """
    ).fetchall()
    _drop(raw, [oid for (oid,) in stale])
    raw.execute("REVOKE ALL ON ALL ROUTINES IN SCHEMA rag FROM PUBLIC")


def record_installed(connection: Connection, vector_schema: str, tables: Mapping[str, str]) -> None:
    """Write down what is installed, for `check`."""
    raw = psycopg_connection(connection)
    rows = [("file", name, digest) for name, digest in packaged_files().items()]
    functions = [("function", name, digest) for name, digest in inventory.functions(raw).items()]
    before = raw.execute("SELECT kind, name, digest FROM rag.installed WHERE kind = 'function'")
    if set(before) != set(functions):  # other functions may find something else
        raw.execute(
            "INSERT INTO rag.collection_changes (collection_id)"
            " SELECT c.collection_id FROM rag.collections AS c"
        )
    rows += functions
    rows += [("table", name, definition) for name, definition in tables.items()]
    rows += [("pgvector", vector_schema, "")]
    raw.execute("DELETE FROM rag.installed")
    raw.execute(
        "INSERT INTO rag.installed (kind, name, digest) SELECT * FROM unnest(%s::text[],"
        " %s::text[], %s::text[])",
        [list(column) for column in zip(*rows, strict=True)],
    )


def _apply_file(connection: psycopg.Connection[Any], path: Path, vector_schema: str) -> None:
    """Apply a file; a function that is there with another result is dropped first,
    as the server asks."""
    while True:
        try:
            with connection.transaction():
                connection.execute(read_sql(path, vector_schema).encode())
            return
        except psycopg.errors.InvalidFunctionDefinition as exc:
            outdated = re.search(r"\S+\(.*\)", exc.diag.message_hint or "")
            if outdated is None:
                raise SchemaMismatch(f"sql/{file_name(path)}: {exc}") from exc
            row = connection.execute("SELECT %s::regprocedure::oid", [outdated[0]]).fetchone()
            assert row is not None
            _drop(connection, row)
        except (  # not of what the file says
            psycopg.OperationalError,
            psycopg.errors.ReadOnlySqlTransaction,
            psycopg.errors.InsufficientPrivilege,
        ):
            raise
        except psycopg.Error as exc:
            raise SchemaMismatch(f"sql/{file_name(path)}: {exc}") from exc


def _drop(connection: psycopg.Connection[Any], functions: Sequence[int]) -> None:
    """Drop functions, by their oids, with those of schema rag whose bodies name them: a body that
    the server has parsed depends on what it names. The files that follow make them again."""
    (names,) = connection.execute(
        """
        WITH RECURSIVE dropped (oid) AS (
            SELECT unnest(%s::oid[])
            UNION
            SELECT p.oid
            FROM dropped AS x
            JOIN pg_depend AS d ON d.refclassid = 'pg_proc'::regclass AND d.refobjid = x.oid
                AND d.classid = 'pg_proc'::regclass
            JOIN pg_proc AS p ON p.oid = d.objid AND p.pronamespace = 'rag'::regnamespace
        )
        SELECT string_agg(x.oid::regprocedure::text, ', ') FROM dropped AS x
        """,
        [list(functions)],
    ).fetchone() or (None,)
    if names is None:
        return
    try:
        connection.execute(f"DROP ROUTINE {names}".encode())
    except psycopg.errors.DependentObjectsStillExist as exc:
        detail = "; ".join((exc.diag.message_detail or "").splitlines())
        raise SchemaMismatch(
            f"{detail}: this release has another such function; drop what depends on the old one, "
            "upgrade, and create it again"
        ) from exc
