"""How every connection to a database is opened.

A transaction pooler gives one server connection to many clients in turn. So nothing stays on it: no
prepared statement, no setting of the session, no LISTEN.
Texts travel as UTF-8, whatever the environment says.
"""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import PGconn, Ping
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


# Of libpq's variables in the environment those that lead away from a socket, or ask of it what only
# a network has: they are meant for another server.
_OF_A_SOCKET = {"hostaddr": "", "gssencmode": "disable", "channel_binding": "prefer"}


def names_standbys(dsn: str) -> bool:
    """Whether a connection string names several hosts and leaves open which of them is meant."""
    given = _parts(dsn)
    several = "," in str(given.get("host") or given.get("hostaddr") or "")
    return several and "target_session_attrs" not in given


def ping(dsn: str) -> Ping:
    """Whether a server answers; NO_ATTEMPT: the string, or the environment, names none."""
    return Ping(PGconn.ping(make_conninfo(dsn, **_socket_options(dsn)).encode()))


def _socket_options(dsn: str) -> dict[str, Any]:
    given = _parts(dsn)
    if not str(given.get("host", "")).startswith("/"):
        return {}
    return {key: value for key, value in _OF_A_SOCKET.items() if key not in given}


def _parts(dsn: str) -> dict[str, Any]:
    """What a connection string names; nothing where it is none, which is told by who connects."""
    try:
        return conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        return {}


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
        **_socket_options(dsn),
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


def check_encoding(connection: psycopg.Connection[Any]) -> None:
    """Refuse a database that cannot hold every text. Raises DatabaseUnavailable."""
    encoding = connection.info.parameter_status("server_encoding")
    if encoding not in (None, "UTF8"):
        raise DatabaseUnavailable(
            f"database {connection.info.dbname} has the encoding {encoding}; rag_pg needs UTF8:"
            " make another with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
        )
