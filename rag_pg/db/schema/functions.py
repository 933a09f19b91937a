"""The functions of schema rag: applied from sql/, and written down for `check`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import sql

from rag_pg.db.schema import inventory
from rag_pg.db.schema.packaged import (
    file_name,
    packaged_files,
    packaged_routines,
    read_sql,
    routines_of,
    sql_files,
)
from rag_pg.db.schema.release import installed_release, packaged_release, replaced_by
from rag_pg.db.schema.transaction import DROP_DEPENDENTS, dependents, psycopg_connection
from rag_pg.errors import SchemaMismatch

if TYPE_CHECKING:
    from sqlalchemy import Connection

# What ALTER DEFAULT PRIVILEGES gave; only what has something, as each REVOKE writes a row.
CLOSE_TABLES = """
DO $$
DECLARE
    _names text := (
        SELECT string_agg(format('rag.%I', c.relname), ', ') FROM pg_class AS c
        WHERE c.relnamespace = 'rag'::regnamespace AND c.relkind IN ('r', 'p', 'S')
            AND EXISTS (SELECT FROM aclexplode(c.relacl) AS a WHERE a.grantee = 0 AND NOT (
                a.privilege_type = 'SELECT' AND c.relname IN ('ordinary_words', 'last_erasure'))));
BEGIN
    IF _names IS NOT NULL THEN
        EXECUTE 'REVOKE ALL ON ' || _names || ' FROM PUBLIC';
        GRANT SELECT ON rag.ordinary_words, rag.last_erasure TO PUBLIC;
    END IF;
END
$$
"""


def apply_functions(connection: Connection, vector_schema: str) -> None:
    """Leave in schema rag the routines that the files of sql/ make, and no other.

    A routine of the same name is set aside before the files' own is left there, so that no body
    finds it, and removed when nothing of the files can depend on it any more.
    """
    connection.exec_driver_sql("SET LOCAL check_function_bodies TO off")
    raw = psycopg_connection(connection)
    before: dict[str, dict[int, str]] = {}
    for oid, name, row in _routines(raw):
        before.setdefault(name, {})[oid] = row
    for path in sql_files():
        _apply_file(raw, path, vector_schema, before)
    _drop_others(raw)
    raw.execute("REVOKE ALL ON ALL ROUTINES IN SCHEMA rag FROM PUBLIC")
    raw.execute(CLOSE_TABLES)


def _routines(connection: psycopg.Connection[Any]) -> list[tuple[int, str, str]]:
    """Return oid, name and the place of the row of each: whoever replaces, renames or makes one
    writes its row to another place."""
    return connection.execute(
        """
        SELECT p.oid, p.proname, p.ctid::text FROM pg_proc AS p
        WHERE p.pronamespace = 'rag'::regnamespace AND NOT EXISTS (
            SELECT FROM pg_depend AS d
            WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
        """
    ).fetchall()


def record_installed(connection: Connection, vector_schema: str, tables: Mapping[str, str]) -> None:
    """Write down what is installed, for `check` and for programs of other releases."""
    raw = psycopg_connection(connection)
    own = packaged_release()
    replaced = replaced_by(own, installed_release(raw))
    rows = [("release", own.version, own.digest), *(("replaced", name, "") for name in replaced)]
    rows += [("file", name, digest) for name, digest in packaged_files().items()]
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


def _apply_file(
    connection: psycopg.Connection[Any],
    path: Path,
    vector_schema: str,
    before: Mapping[str, Mapping[int, str]],
) -> None:
    """Apply a file; a routine that is there with another result, or of another kind, is set aside
    first: the server replaces neither. So is one of the same name and other arguments, beside which
    the name alone tells the server nothing: the file is applied again, so that no body finds it."""
    text = read_sql(path, vector_schema)
    parts = [("", text)]  # as a whole, and routine by routine where the server refuses one
    names = [name for name, _ in routines_of(text)]
    part = parts[0]
    while True:
        try:
            with connection.transaction() as applied:
                for part in parts:
                    connection.execute(part[1].encode())
                stale = _stale(connection, names, before)
                if stale:
                    raise psycopg.Rollback(applied)
            if not stale:
                return
            _set_aside(connection, stale)
        except (
            psycopg.errors.InvalidFunctionDefinition,
            psycopg.errors.WrongObjectType,
            psycopg.errors.AmbiguousFunction,
        ) as exc:
            if len(parts) == 1:
                parts = routines_of(text)
            elif stale := _stale(connection, [part[0]], before):
                _set_aside(connection, stale)
            else:
                raise SchemaMismatch(f"sql/{file_name(path)}: {exc}") from exc
        except (  # not of what the file says
            psycopg.OperationalError,
            psycopg.errors.ReadOnlySqlTransaction,
            psycopg.errors.InsufficientPrivilege,
        ):
            raise
        except psycopg.Error as exc:
            raise SchemaMismatch(f"sql/{file_name(path)}: {exc}") from exc


def _stale(
    connection: psycopg.Connection[Any],
    names: Sequence[str],
    before: Mapping[str, Mapping[int, str]],
) -> list[int]:
    """Return the oids of the routines of these names that are still as they were."""
    known = {oid: row for name in names for oid, row in before.get(name, {}).items()}
    if not known:
        return []
    rows = connection.execute(
        "SELECT p.oid, p.ctid::text FROM pg_proc AS p WHERE p.oid = ANY (%s)", [[*known]]
    )
    return [oid for oid, row in rows if known[oid] == row]


def _set_aside(connection: psycopg.Connection[Any], stale: Sequence[int]) -> None:
    """Give these routines other names."""
    rows = connection.execute(
        """
        SELECT p.oid, format('rag.%%I(%%s)', p.proname,
            (SELECT string_agg(format_type(a.type, NULL), ', ' ORDER BY a.position)
             FROM unnest(p.proargtypes) WITH ORDINALITY AS a (type, position)))
        FROM pg_proc AS p WHERE p.oid = ANY (%s)
        """,
        [list(stale)],
    ).fetchall()
    for oid, signature in rows:
        connection.execute(sql.SQL(f"ALTER ROUTINE {signature} RENAME TO stale_{oid}"))


def _drop_others(connection: psycopg.Connection[Any]) -> None:
    """Drop the routines whose names the files do not make."""
    packaged = packaged_routines()
    others = [oid for oid, name, _ in _routines(connection) if name not in packaged]
    (names,) = connection.execute(
        "SELECT string_agg(o.oid::regprocedure::text, ', ') FROM unnest(%s::oid[]) AS o (oid)",
        [others],
    ).fetchone() or (None,)
    if names is None:
        return
    try:
        connection.execute(sql.SQL(f"DROP ROUTINE {names}"))
    except psycopg.errors.DependentObjectsStillExist as exc:
        raise SchemaMismatch(f"{dependents(exc)}; {DROP_DEPENDENTS}") from exc
