"""The transaction that an upgrade is: one connection, through SQLAlchemy, which Alembic needs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psycopg

from rag_pg.db.connect import connect
from rag_pg.db.errors import away_remedy, limit_remedy
from rag_pg.db.schema.name import use_schema
from rag_pg.errors import DatabaseUnavailable, InvalidInput, NotReady

if TYPE_CHECKING:
    from sqlalchemy import Connection

LOCK_KEY = 0x7261675F7067  # "rag_pg"
# Who holds it and cannot be at an upgrade.
STRANGER = """
SELECT l.pid, s.usename
FROM pg_locks AS l
JOIN pg_stat_activity AS s ON s.pid = l.pid
JOIN pg_database AS d ON d.oid = l.database AND d.datname = current_database()
WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
    AND (l.classid::bigint << 32 | l.objid::bigint) = %s
    AND NOT has_database_privilege(s.usesysid, d.oid, 'CREATE')
    AND NOT EXISTS (SELECT FROM pg_namespace AS n
        WHERE n.nspname = 'rag' AND pg_has_role(s.usesysid, n.nspowner, 'MEMBER'))
"""
KEYWORD = """
SELECT FROM pg_catalog.pg_get_keywords() AS k
WHERE k.word OPERATOR(pg_catalog.=) %s AND k.catcode OPERATOR(pg_catalog.<>) 'U'
"""
# An event trigger's function, say: the schema is written where it is not on our search_path.
FOREIGN = re.compile(r"^PL/pgSQL function ([^ (]+\.[^ (]+\(.*?\)) line", re.M)
DROP_DEPENDENTS = (
    "this release has another such function; drop what depends on the old one, "
    "upgrade, and create it again"
)
SET_PATH = "SET LOCAL search_path TO pg_catalog, rag, pg_temp"


@contextmanager
def transaction(dsn: str, schema: str) -> Iterator[Connection]:
    """One transaction through SQLAlchemy, which Alembic needs;
    committed on leaving without an error. Texts that say rag mean the schema."""
    import sqlalchemy
    from sqlalchemy.exc import DBAPIError

    engine = sqlalchemy.create_engine("postgresql+psycopg://", creator=lambda: _open(dsn, schema))
    try:
        with engine.begin() as connection:
            connection.exec_driver_sql(SET_PATH)
            _take_the_time(connection)
            yield connection
    except DBAPIError as exc:
        raise DatabaseUnavailable(explain(exc.orig)) from exc
    except psycopg.OperationalError as exc:
        raise DatabaseUnavailable(explain(exc)) from exc
    except psycopg.ProgrammingError as exc:
        if exc.sqlstate is not None:
            raise
        raise InvalidInput(
            f"not a connection string: {exc}; set RAG_PG_DSN like postgresql://user@host/database"
        ) from exc
    finally:
        engine.dispose()


def _open(dsn: str, schema: str) -> psycopg.Connection[Any]:
    """Open a connection that reads committed, and begin a transaction with our own search_path.

    Who waited for another upgrade must see what it did, whatever the default is. SQLAlchemy's own
    first questions are asked in the transaction that is begun, so that no function of another
    schema answers them.
    """
    connection = connect(dsn)
    if connection.execute(KEYWORD, [schema]).fetchone() is not None:
        connection.close()
        raise InvalidInput(f"schema {schema} cannot be used: SQL has a word of that name")
    connection.rollback()
    use_schema(connection, schema)
    connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    connection.execute(f"{SET_PATH}; SET LOCAL idle_in_transaction_session_timeout = 0")
    return connection


def _take_the_time(connection: Connection) -> None:
    """No timeout of the role or database, which is for its questions, cuts the transaction off."""
    names = ["idle_in_transaction_session_timeout", "statement_timeout"]
    if int(scalar(connection, "SHOW server_version_num")) >= 170000:
        names.append("transaction_timeout")
    for name in names:
        connection.exec_driver_sql(f"SET LOCAL {name} = 0")


def prepare_session(connection: Connection) -> None:
    """Wait for other upgrades, then let no setting of the role
    or the database change what is installed."""
    patience = scalar(connection, "SHOW lock_timeout")
    await_upgrades(psycopg_connection(connection))
    # it spares who uses the tables
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{patience}'")
    connection.exec_driver_sql("SET LOCAL standard_conforming_strings TO on")


def await_upgrades(raw: psycopg.Connection[Any]) -> None:
    """Wait for other upgrades, and hold off more. Raises NotReady where somebody who cannot upgrade
    holds the lock, as any session of the database may."""
    while True:
        try:
            with raw.transaction():
                raw.execute("SET LOCAL lock_timeout = '1s'")
                raw.execute("SELECT pg_catalog.pg_advisory_xact_lock(%s)", [LOCK_KEY])
            return
        except psycopg.errors.LockNotAvailable:
            stranger = raw.execute(STRANGER, [LOCK_KEY]).fetchone()
        if stranger is not None:
            pid, role = stranger
            raise NotReady(
                f"session {pid} of role {role}, which cannot upgrade, holds the lock of upgrades;"
                f" end it: SELECT pg_terminate_backend({pid})"
            )


def explain(error: BaseException | None) -> str:
    """One line: what the server said, then the remedy, and which function of others said it."""
    diagnosis = getattr(error, "diag", None)
    message = getattr(diagnosis, "message_primary", None) or str(error).strip().splitlines()[0]
    message = " ".join(message.split())
    code = getattr(error, "sqlstate", None) or ""
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        remedy = "the owner of the database, or a role with CREATE on it, must run the upgrade"
    elif isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
        remedy = (
            "the server is a replica, or default_transaction_read_only is on for this role or"
            " database: PGOPTIONS='-c default_transaction_read_only=off' overrules that"
        )
    elif isinstance(error, psycopg.errors.LockNotAvailable):
        remedy = (
            "other transactions hold the tables and lock_timeout is short; run the upgrade again"
        )
    elif isinstance(error, psycopg.errors.DependentObjectsStillExist):
        message, remedy = dependents(error), DROP_DEPENDENTS
    elif isinstance(error, psycopg.Error) and limit_remedy(error):
        remedy = str(limit_remedy(error))
    elif isinstance(error, psycopg.OperationalError) and code[:2] in ("", "08", "28", "3D", "57"):
        return f"cannot reach the database: {message}; {away_remedy(error)}"
    else:
        remedy = (diagnosis.message_hint if diagnosis else "") or "nothing was changed"
    foreign = FOREIGN.search((diagnosis.context if diagnosis else "") or "")
    cause = f" (said by {foreign[1]}, which is not of rag_pg)" if foreign else ""
    return f"{message}; {' '.join(remedy.split())}{cause}"


def dependents(error: psycopg.Error) -> str:
    """What of others depends on what an upgrade drops, as one line."""
    return "; ".join((error.diag.message_detail or "").splitlines())


def scalar(connection: Connection, statement: str) -> Any:
    return connection.exec_driver_sql(statement).scalar()


def psycopg_connection(connection: Connection) -> psycopg.Connection[Any]:
    raw = connection.connection.driver_connection
    assert isinstance(raw, psycopg.Connection)
    return raw
