"""A copy of schema rag without its rows, as a dump without data leaves it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg import sql

from rag_pg.db.schema import inventory
from rag_pg.db.schema.differences import table_differences
from rag_pg.db.schema.revisions import alembic_config, fresh_tables
from rag_pg.db.schema.transaction import psycopg_connection, scalar
from rag_pg.errors import SchemaMismatch

if TYPE_CHECKING:
    from sqlalchemy import Connection


def is_copy(connection: Connection) -> bool:
    """Whether the tables are there, and not the row that says of which revision:
    a dump without data was restored."""
    if not scalar(connection, "SELECT to_regclass('rag.collections') IS NOT NULL"):
        return False
    if not scalar(connection, "SELECT to_regclass('rag.alembic_version') IS NOT NULL"):
        return True
    return not scalar(connection, "SELECT EXISTS (SELECT FROM rag.alembic_version)")


def adopt_copy(connection: Connection, schema: str, vector_schema: str) -> None:
    """Find out which revision the tables are of, and drop the partitions that no collection has.

    Raises SchemaMismatch when they are of none, or when such a partition holds rows.
    """
    from alembic.script import ScriptDirectory

    raw = psycopg_connection(connection)
    present = inventory.tables(raw)
    for script in ScriptDirectory.from_config(alembic_config()).walk_revisions():
        if not table_differences(
            fresh_tables(connection, schema, vector_schema, script.revision), present
        ):
            break
    else:
        raise SchemaMismatch(
            "schema rag holds tables of another program version, or some of them, and no revision:"
            " nothing was changed; restore it whole from a backup, or give it up with DROP SCHEMA"
            " rag CASCADE and upgrade again"
        )
    for name in inventory.orphans(raw):
        if raw.execute(f"SELECT EXISTS (SELECT FROM {name})".encode()).fetchone() == (True,):
            raise SchemaMismatch(
                f"{name} holds rows of a collection that is not there: nothing was changed; restore"
                " schema rag whole from a backup, or give it up with DROP SCHEMA rag CASCADE and"
                " upgrade again"
            )
        raw.execute(f"DROP TABLE {name}".encode())
    for name, table in inventory.stray_triggers(raw):
        raw.execute(sql.SQL("DROP TRIGGER {} ON {}").format(sql.Identifier(name), sql.SQL(table)))
    raw.execute(
        "CREATE TABLE IF NOT EXISTS rag.alembic_version (version_num varchar(32) PRIMARY KEY)"
    )
    raw.execute("INSERT INTO rag.alembic_version VALUES (%s)", [script.revision])
