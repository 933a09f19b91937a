"""The tables of schema rag: Alembic's revisions, and what they make."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_pg.db.schema import inventory
from rag_pg.db.schema.differences import damage, table_differences
from rag_pg.db.schema.packaged import quoted, share
from rag_pg.db.schema.release import installed_release, packaged_release
from rag_pg.db.schema.transaction import psycopg_connection, scalar
from rag_pg.errors import SchemaMismatch

if TYPE_CHECKING:
    from sqlalchemy import Connection


def newest_revision() -> str:
    """The last revision, which has the name of its file:
    importing Alembic takes longer than a search."""
    return max(share("alembic").glob("versions/[0-9]*.py")).stem


def alembic_config() -> Any:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(share("alembic")).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def run_revisions(
    connection: Connection, schema: str, vector_schema: str, target: str = "head"
) -> str:
    """Run Alembic's revisions up to `target` in schema rag, and return where it stands.

    Raises SchemaMismatch where it stands at a revision that this program does not know.
    """
    from alembic import command

    if unknown := unknown_revision(connection):
        raise SchemaMismatch(f"{unknown}; nothing was changed")
    config = alembic_config()
    config.attributes.update(
        connection=connection, schema=schema, vector_schema=quoted(vector_schema)
    )
    command.upgrade(config, target)
    return str(scalar(connection, "SELECT version_num FROM rag.alembic_version"))


def unknown_revision(connection: Connection) -> str | None:
    """What to do where the schema stands at a revision that this program does not know."""
    if not scalar(connection, "SELECT to_regclass('rag.alembic_version') IS NOT NULL"):
        return None
    present = scalar(connection, "SELECT version_num FROM rag.alembic_version")
    if present is None or _revision_file(present):
        return None
    if re.fullmatch(r"00[0-2]\d", present):
        return (
            f"schema rag is at revision {present} of the development before release 0.1.0, which"
            " no release upgrades: save uri, title, content and metadata from its table documents,"
            " DROP SCHEMA rag CASCADE, upgrade, and add them again"
        )
    return (
        f"the database is at revision {present}, and this rag_pg knows revisions up to"
        f" {newest_revision()}: install a newer rag_pg"
    )


def _revision_file(revision: str) -> str | None:
    """The name of a revision's file, None when this program has none."""
    from alembic.script import ScriptDirectory

    scripts = ScriptDirectory.from_config(alembic_config()).walk_revisions()
    return next((Path(script.path).name for script in scripts if script.revision == revision), None)


def recorded_tables(connection: Connection) -> dict[str, str]:
    if not scalar(connection, "SELECT to_regclass('rag.installed') IS NOT NULL"):
        return {}
    rows = psycopg_connection(connection).execute(
        "SELECT name, digest FROM rag.installed WHERE kind = 'table'"
    )
    return dict(rows.fetchall())


def check_tables(
    connection: Connection, schema: str, recorded: Mapping[str, str], vector_schema: str
) -> bool:
    """Raise SchemaMismatch where tables, types or columns are missing that were installed, or that
    this program's revision of the same number makes: no revision makes them again. Returns whether
    all that it makes was written down."""
    present = inventory.tables(psycopg_connection(connection))
    wanted = {name: what for name, what in recorded.items() if name != "revision"}
    if missing := _missing(wanted, present):
        differences = table_differences(wanted, present)
        raise SchemaMismatch(f"{missing[0]}: {damage(len(differences))}; nothing was changed")
    if not recorded:
        return False
    if installed_release(psycopg_connection(connection)).release == packaged_release():
        return True  # by this program
    revision = scalar(connection, "SELECT version_num FROM rag.alembic_version")
    path = _revision_file(revision)
    if path is None:
        return False  # run_revisions says so
    fresh = fresh_tables(connection, schema, vector_schema, revision)
    if missing := _missing(fresh, present):
        raise SchemaMismatch(
            f"{missing[0]} (one of {len(missing)}), though the database is at revision {revision}:"
            f" a state of development made it, in which that did less; nothing was changed; run the"
            f" statements of alembic/versions/{path} that it lacks and upgrade again, or put the"
            " documents into a new database"
        )
    return fresh.keys() <= recorded.keys()


def _missing(wanted: Mapping[str, str], present: Mapping[str, str]) -> list[str]:
    """The lines about tables, types and columns that are missing."""
    return [
        line
        for line in table_differences(wanted, present)
        if line.endswith(" is missing") and line.startswith(("table ", "column ", "type "))
    ]


def fresh_tables(
    connection: Connection, schema: str, vector_schema: str, revision: str
) -> dict[str, str]:
    """Return the tables of a fresh install at a revision, whatever became of those that are there.

    They are made under the schema's name while it bears another for a moment, which nobody else
    sees: the transaction gives it back.
    """
    raw = psycopg_connection(connection)
    if not scalar(connection, "SELECT has_database_privilege(current_database(), 'CREATE')"):
        return inventory.tables(raw)  # as they are: this role may upgrade a schema and not make one
    with raw.transaction(force_rollback=True):
        raw.execute("ALTER SCHEMA rag RENAME TO rag_as_it_is")
        raw.execute("CREATE SCHEMA rag")
        aside = f"{schema}_as_it_is"
        vector = aside if vector_schema == schema else vector_schema
        run_revisions(connection, schema, vector, revision)
        return inventory.tables(raw)


def check_revision(connection: Connection) -> list[str]:
    from alembic.script import ScriptDirectory

    installed = scalar(connection, "SELECT version_num FROM rag.alembic_version")
    head = ScriptDirectory.from_config(alembic_config()).get_current_head()
    if installed == head:
        return []
    return [f'schema revision is {installed}, this program has {head}: run "rag-pg db upgrade"']
