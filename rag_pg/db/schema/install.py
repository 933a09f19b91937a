"""Install, upgrade and check schema `rag`: Alembic revisions for tables, sql/ for functions.

An upgrade is one transaction: an advisory lock, the schema, the revisions, every file of sql/ in
name order, and the removal of each function that the files did not make.

Names are looked up in pg_catalog and rag alone, now and whenever a function runs, for in other
schemas other roles may create: a function that fits better than PostgreSQL's own would be called
instead of it. pgvector may be in any schema, so the files and revisions write {vector} before its
types, functions and operators.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import psycopg

from rag_pg.config import SCHEMA
from rag_pg.db.connect import node_of
from rag_pg.db.schema import api, inventory
from rag_pg.db.schema.copies import adopt_copy, is_copy
from rag_pg.db.schema.differences import damage, function_differences, table_differences
from rag_pg.db.schema.functions import apply_functions, record_installed
from rag_pg.db.schema.name import check_name, named, use_schema
from rag_pg.db.schema.packaged import packaged_files, packaged_routines
from rag_pg.db.schema.plan import planned
from rag_pg.db.schema.release import (
    Installed,
    check_not_newer,
    installed_release,
    newer_release,
    packaged_release,
)
from rag_pg.db.schema.requirements import check_schema, check_server, ensure_vector, moved_vector
from rag_pg.db.schema.revisions import (
    check_revision,
    check_tables,
    fresh_tables,
    recorded_tables,
    run_revisions,
    unknown_revision,
)
from rag_pg.db.schema.scale import scale_out
from rag_pg.db.schema.transaction import (
    explain,
    prepare_session,
    psycopg_connection,
    scalar,
    transaction,
)
from rag_pg.db.schema.words import store_words
from rag_pg.errors import DatabaseUnavailable, SchemaMismatch

if TYPE_CHECKING:
    from sqlalchemy import Connection

log = logging.getLogger(__name__)


def upgrade(dsn: str, schema: str = SCHEMA) -> str:
    """Bring schema `rag`, or the one of that name, to this program's version and return its Alembic
    revision.

    Idempotent, safe when several processes call it at once, all or nothing.
    Raises DatabaseUnavailable: no connection, PostgreSQL before 16, no pgvector 0.8,
    missing privileges. SchemaMismatch: the schema is of a newer release, or damaged.
    """
    try:
        with transaction(dsn, check_name(schema)) as connection:
            revision = _upgrade(connection, schema)
            placed = node_of(psycopg_connection(connection), schema) is not None
    except psycopg.Error as exc:
        raise DatabaseUnavailable(f"cannot upgrade schema {schema}: {explain(exc)}") from exc
    except SchemaMismatch as exc:
        raise SchemaMismatch(named(str(exc), schema)) from exc.__cause__
    if placed:
        scale_out(dsn, schema)  # Citus's other nodes get the functions
    return revision


def plan(dsn: str, schema: str = SCHEMA) -> list[str]:
    """Return what `upgrade` would do and which tables it would lock, a line each; empty when there
    is nothing to do. It is run and taken back: nothing is changed. Raises: as `upgrade`, where a
    lock is not had within two seconds, too.
    """
    try:
        with transaction(dsn, check_name(schema)) as connection:
            return planned(connection, lambda: _upgrade(connection, schema))
    except psycopg.Error as exc:
        raise DatabaseUnavailable(f"cannot plan the upgrade: {explain(exc)}") from exc


def _upgrade(connection: Connection, schema: str) -> str:
    prepare_session(connection)
    check_server(connection)
    if node_of(psycopg_connection(connection), schema) is None:
        # of no meaning but to Citus, which has nothing of this schema yet
        connection.exec_driver_sql("SET LOCAL citus.enable_ddl_propagation TO off")
    vector_schema = ensure_vector(connection, schema)
    new = not scalar(connection, "SELECT count(*) FROM pg_namespace WHERE nspname = 'rag'")
    if new:
        connection.exec_driver_sql("CREATE SCHEMA rag")
    check_schema(connection)
    check_not_newer(psycopg_connection(connection))
    if is_copy(connection):
        adopt_copy(connection, schema, vector_schema)
    tables = recorded_tables(connection)
    known = check_tables(connection, schema, tables, vector_schema)
    exposed = api.take_away(psycopg_connection(connection))
    revision = run_revisions(connection, schema, vector_schema)
    connection.exec_driver_sql("SET LOCAL citus.enable_ddl_propagation TO off")
    if new:
        tables = inventory.tables(psycopg_connection(connection))
    elif not known or tables.get("revision") != revision:
        tables = fresh_tables(connection, schema, vector_schema, revision)
    apply_functions(connection, vector_schema)
    store_words(connection)
    connection.exec_driver_sql("SELECT rag._renew_access()")
    if exposed:
        api.give_back(psycopg_connection(connection), schema)
    record_installed(connection, vector_schema, {**tables, "revision": revision})
    for problem in inventory.open_doors(psycopg_connection(connection)):
        log.warning("tenants are not held apart: %s", named(problem, schema))
    return revision


def ensure(dsn: str, connection: psycopg.Connection[Any], schema: str = SCHEMA) -> None:
    """Upgrade where schema rag is of an older release than this program or not there, and else do
    nothing: a newer one stays, whether this program can work with it or not.

    Of two programs of one version and other files the one that comes last is installed, and the
    one that was replaced leaves it: no two install their functions in turn. Functions changed by
    hand are not looked for, as `check` does. Raises: as `upgrade`.

    Args:
        connection: one to the database of `dsn`, in autocommit mode, to look with.
    """
    use_schema(connection, schema)
    try:
        installed = installed_release(connection)
    except psycopg.Error:  # upgrade says what is wrong
        installed = Installed(None, frozenset(), False)
    own = packaged_release()
    if newer_release(installed) or (installed.release == own and not installed.moved):
        return
    if own.digest in installed.replaced:
        log.warning(
            "schema %s was installed by another program of release %s after this one:"
            ' "rag-pg db upgrade" installs this one\'s functions',
            schema,
            own.version,
        )
        return
    upgrade(dsn, schema)


def check(dsn: str, schema: str = SCHEMA, *, tenants: bool = False) -> list[str]:
    """Return what differs between the database and this program, a line each;
    empty when all is well.

    Args:
        tenants: also what warns of a way past the policies of tenants, and that there are none.
    """
    with transaction(dsn, check_name(schema)) as connection:
        return [named(line, schema) for line in _problems(connection, tenants)]


def _problems(connection: Connection, tenants: bool) -> list[str]:
    if not scalar(connection, "SELECT to_regclass('rag.installed') IS NOT NULL"):
        return ['schema rag is not installed: run "rag-pg db upgrade"']
    if is_copy(connection):
        return ['schema rag is a copy without its rows: run "rag-pg db upgrade"']
    raw = psycopg_connection(connection)
    if newer := newer_release(installed_release(raw)):
        return [newer]
    if unknown := unknown_revision(connection):
        return [unknown]
    problems = check_revision(connection)
    installed: dict[str, dict[str, str]] = {}
    for kind, name, definition in raw.execute("SELECT kind, name, digest FROM rag.installed"):
        installed.setdefault(kind, {})[name] = definition
    if moved := moved_vector(connection):
        return [*problems, moved]
    packaged = packaged_files()
    files = installed.get("file", {})
    for name in sorted(packaged.keys() | files.keys()):
        if packaged.get(name) != files.get(name):
            problems.append(f'sql/{name} differs from what is installed: run "rag-pg db upgrade"')
    tables = {k: v for k, v in installed.get("table", {}).items() if k != "revision"}
    table_problems = table_differences(tables, inventory.tables(raw))
    if any(problem.endswith(" is missing") for problem in table_problems):
        problems.append(damage(len(table_problems)))
    problems += table_problems
    function_problems = function_differences(
        installed.get("function", {}), inventory.functions(raw), packaged_routines()
    )
    if not problems and not function_problems:  # they are found by functions
        problems += inventory.missing_parts(raw)
        problems += [
            f"table {name} belongs to no collection: drop it, or restore schema rag from a backup"
            for name in inventory.orphans(raw)
        ]
        problems += inventory.open_doors(raw, warnings=tenants)
    return problems + function_problems
