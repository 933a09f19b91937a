"""What schema rag needs of its server: versions, pgvector, a schema that is nobody else's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg

from rag_pg.db.connect import check_encoding
from rag_pg.db.schema.transaction import explain, psycopg_connection, scalar
from rag_pg.errors import DatabaseUnavailable

if TYPE_CHECKING:
    from sqlalchemy import Connection

OLDEST_SERVER = 160000


OLDEST_PGVECTOR = (0, 8)


def check_server(connection: Connection) -> None:
    number = int(scalar(connection, "SHOW server_version_num"))
    if number < OLDEST_SERVER:
        version = scalar(connection, "SHOW server_version")
        raise DatabaseUnavailable(f"PostgreSQL {version} is too old; rag_pg needs 16 or newer")
    check_encoding(psycopg_connection(connection))


def check_schema(connection: Connection) -> None:
    """Refuse a schema rag in which another role may create:
    what it made there could run as anybody who calls rag."""
    row = connection.exec_driver_sql(
        """
        WITH me AS (
            SELECT r.oid, r.rolsuper, quote_ident(r.rolname) AS name,
                   (SELECT c.relowner FROM pg_class AS c
                       WHERE c.oid = to_regclass('rag.collections')) AS installer
            FROM pg_roles AS r WHERE r.rolname = current_user
        )
        SELECT g.name, 'REVOKE CREATE ON SCHEMA rag FROM ' || g.name
        FROM me, pg_namespace AS n, aclexplode(n.nspacl) AS a,
        LATERAL (SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC'
            ELSE a.grantee::regrole::text END AS name) AS g
        WHERE n.nspname = 'rag' AND a.privilege_type = 'CREATE'
            AND a.grantee NOT IN (n.nspowner, me.oid, coalesce(me.installer, me.oid))
        UNION ALL
        SELECT n.nspowner::regrole::text, 'ALTER SCHEMA rag OWNER TO ' || me.name
        FROM me, pg_namespace AS n JOIN pg_roles AS o ON o.oid = n.nspowner
        WHERE n.nspname = 'rag' AND me.installer IS NULL AND n.nspowner <> me.oid AND NOT o.rolsuper
            AND (me.rolsuper OR NOT pg_has_role(n.nspowner, 'USAGE'))
        """
    ).first()
    if row is not None:
        raise DatabaseUnavailable(
            f"role {row[0]} may create in schema rag, and a function made there could run as"
            " whoever uses rag_pg; "
            f'run "{row[1]}"'
        )


def ensure_vector(connection: Connection, own: str) -> str:
    """Return the schema of extension vector, creating it where allowed. own: our schema."""
    from sqlalchemy.exc import DBAPIError

    find = (
        "SELECT e.extversion, n.nspname FROM pg_extension AS e "
        "JOIN pg_namespace AS n ON n.oid = e.extnamespace WHERE e.extname = 'vector'"
    )
    row = connection.exec_driver_sql(find).first()
    if row is None:
        if not scalar(
            connection, "SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'"
        ):
            raise DatabaseUnavailable(
                "the server has no pgvector; install it (package postgresql-NN-pgvector, "
                "image pgvector/pgvector, or switch it on at your provider)"
            )
        schema = "public" if scalar(
            connection, "SELECT count(*) FROM pg_namespace WHERE nspname = 'public'"
        ) else own  # fmt: skip
        if schema == own:
            connection.exec_driver_sql("CREATE SCHEMA IF NOT EXISTS rag")
        try:
            connection.exec_driver_sql(f"CREATE EXTENSION vector SCHEMA {schema}")
        except DBAPIError as exc:
            if isinstance(exc.orig, psycopg.errors.InsufficientPrivilege):
                raise DatabaseUnavailable(
                    "pgvector is not enabled in this database and this role may not enable it; "
                    'have a superuser run "CREATE EXTENSION vector" once'
                ) from exc
            raise DatabaseUnavailable(f"cannot enable pgvector: {explain(exc.orig)}") from exc
        row = connection.exec_driver_sql(find).one()
    version, schema = str(row[0]), str(row[1])
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_PGVECTOR:
        raise DatabaseUnavailable(
            f'pgvector {version} is too old; rag_pg needs 0.8: install it and run "ALTER EXTENSION'
            ' vector UPDATE"'
        )
    return schema


def moved_vector(connection: Connection) -> str | None:
    """The functions name the schema of pgvector: say so when it is another by now."""
    row = connection.exec_driver_sql(
        """
        SELECT i.name, n.nspname
        FROM rag.installed AS i, pg_extension AS e
        JOIN pg_namespace AS n ON n.oid = e.extnamespace
        WHERE i.kind = 'pgvector' AND e.extname = 'vector' AND i.name <> n.nspname
        """
    ).first()
    if row is None:
        return None
    return f'pgvector was moved from schema {row[0]} to {row[1]}: run "rag-pg db upgrade"'
