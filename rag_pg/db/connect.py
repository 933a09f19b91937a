"""How every connection to a database is opened.

A transaction pooler gives one server connection to many clients in turn. So nothing stays on it: no
prepared statement, no setting of the session, no LISTEN.
Texts travel as UTF-8, whatever the environment says.
"""

from __future__ import annotations

import re
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool

from rag_pg.errors import DatabaseUnavailable

CONNECT_SECONDS = 10
# A network that swallows everything is noticed within a minute,
# not in a quarter of an hour or never.
KEEPALIVES = {
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,  # milliseconds
}


class Pool(ConnectionPool[psycopg.Connection[Any]]):
    """Gives the connection that was used last, which has planned the most: each plans anew."""

    ready: list[psycopg.Connection[Any]]  # opened already: goes before what it would open

    def getconn(self, timeout: float | None = None) -> psycopg.Connection[Any]:
        self._pool.rotate()  # it takes the first, and puts back at the end
        return super().getconn(timeout)


class PoolConnection(psycopg.Connection[Any]):
    """What a pool opens."""

    @classmethod
    def connect(  # type: ignore[override]
        cls, conninfo: str, *, ready: list[psycopg.Connection[Any]], **options: Any
    ) -> psycopg.Connection[Any]:
        return ready.pop() if ready else super().connect(conninfo, **options)


def names_standbys(dsn: str) -> bool:
    """Whether a connection string names several hosts and leaves open which of them is meant."""
    try:
        given = conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:  # told by who connects
        return False
    several = "," in str(given.get("host") or given.get("hostaddr") or "")
    return several and "target_session_attrs" not in given


def connection_options(
    dsn: str, *, seconds: int = CONNECT_SECONDS, reads: bool = False
) -> dict[str, Any]:
    """Return what psycopg is to be given beside the connection string.

    Args:
        reads: of several hosts a standby is wanted, where one answers; else the primary is.
    """
    target = {"target_session_attrs": "prefer-standby" if reads else "primary"}
    return {
        **(target if names_standbys(dsn) else {}),
        "prepare_threshold": None,
        "client_encoding": "UTF8",
        "connect_timeout": seconds,
        **{k: v for k, v in KEEPALIVES.items() if k not in dsn},  # what the DSN says stands
    }


def connect(
    dsn: str, *, autocommit: bool = False, seconds: int = CONNECT_SECONDS, reads: bool = False
) -> psycopg.Connection[Any]:
    """Open a connection. seconds: how long the server is waited for. reads: see
    `connection_options`."""
    options = connection_options(dsn, seconds=seconds, reads=reads)
    connection = psycopg.connect(dsn, autocommit=True, **options)
    use_iso_dates(connection)
    connection.autocommit = autocommit
    return connection


def node_of(connection: psycopg.Connection[Any], schema: str) -> tuple[str, int] | None:
    """Return host and port of the node to which Citus has given our schema, as any of its nodes
    knows them; None where it has not."""
    found = connection.execute("SELECT pg_catalog.to_regclass('pg_catalog.pg_dist_placement')")
    if found.fetchone() == (None,):
        return None
    return connection.execute(
        """SELECT n.nodename, n.nodeport FROM pg_catalog.pg_dist_shard AS s
           JOIN pg_catalog.pg_dist_placement AS p USING (shardid)
           JOIN pg_catalog.pg_dist_node AS n USING (groupid)
           WHERE s.logicalrelid OPERATOR(pg_catalog.=)
               pg_catalog.to_regclass(pg_catalog.format('%%I.collections', %s::pg_catalog.text))""",
        [schema],
    ).fetchone()


def placed(dsn: str, connection: psycopg.Connection[Any], schema: str) -> str:
    """Return the connection string that leads to where our schema lies: `dsn`, unless Citus has
    given it to another node."""
    node = node_of(connection, schema)
    if node is None:
        return dsn
    given = conninfo_to_dict(dsn)
    given.pop("hostaddr", None)
    return make_conninfo(**{**given, "host": node[0], "port": node[1]})  # type: ignore[arg-type]


def use_iso_dates(connection: psycopg.Connection[Any]) -> None:
    """Have points of time in ISO format, the only one that psycopg reads,
    where the database has set another.

    Of all settings this is one that PgBouncer keeps for each client by itself.
    """
    if not (connection.info.parameter_status("DateStyle") or "ISO").startswith("ISO"):
        connection.execute("SET datestyle TO ISO")


LIMITS = {
    "57014": "statement_timeout",
    "25P03": "idle_in_transaction_session_timeout",
    "25P04": "transaction_timeout",
    "53400": "temp_file_limit",
}
# What to do about what the server cannot do now, by SQLSTATE, then by its class.
REMEDIES = {
    "40": "others changed the same at once: do it again",
    "53": "free some of that on its machine, or give it more",
    "53100": "make room on the disk of the server",
    "55006": "others use it: do it again when they are done",
    "55P03": (
        "another transaction holds what this needs for longer than lock_timeout of this role or"
        " database allows: do it again, or raise lock_timeout"
    ),
    "58": "the log of the server says more of what its operating system refused",
}
# A connection that is refused comes without a SQLSTATE.
FULL = re.compile(r"too many (clients|connections)|connection slots|no more connections")


def busy_remedy(exc: psycopg.Error) -> str:
    """Return what to do about an error that may be gone the next time."""
    state = exc.sqlstate or ""
    known = REMEDIES.get(state) or exc.diag.message_hint or REMEDIES.get(state[:2])
    return known or "do it again"


def away_remedy(exc: psycopg.Error) -> str:
    """Return what to do about a database that cannot be reached."""
    if exc.sqlstate != "53300" and not FULL.search(str(exc)):
        return "check RAG_PG_DSN and that the server runs"
    return (
        "the server must have a connection free: raise that limit (max_connections; CONNECTION"
        " LIMIT of a role or database; a pooler's own), or close some of those that a superuser"
        " sees by SELECT usename, application_name, count(*) FROM pg_stat_activity GROUP BY 1, 2"
    )


def limit_remedy(exc: psycopg.Error) -> str | None:
    """Return what to do about a setting of the role or database that ended a statement; None where
    none did."""
    name = LIMITS.get(exc.sqlstate or "")
    if name is None or "user request" in (exc.diag.message_primary or ""):
        return None
    if name == "temp_file_limit":
        return (
            "temp_file_limit of this role or database is less than that needs for a while: have a"
            " superuser raise it by ALTER ROLE, or ask for less at once"
        )
    return (
        f"{name} of this role or database is shorter than that takes: raise it by ALTER ROLE, or"
        f" with PGOPTIONS='-c {name}=1min'"
    )


def check_encoding(connection: psycopg.Connection[Any]) -> None:
    """Refuse a database that cannot hold every text. Raises DatabaseUnavailable."""
    encoding = connection.info.parameter_status("server_encoding")
    if encoding not in (None, "UTF8"):
        raise DatabaseUnavailable(
            f"database {connection.info.dbname} has the encoding {encoding}; rag_pg needs UTF8:"
            " make another with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
        )
