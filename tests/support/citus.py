"""Databases of tests on Citus: on each node of the cluster of RAG_PG_CITUS_DSN, which names its
coordinator, a superuser, and a database that knows the nodes.

A database is cloned on every node. Citus knows nodes by their addresses and enters the database of
the same name there, so clones work together as their templates did.
"""

from __future__ import annotations

import os

from psycopg import sql
from psycopg.conninfo import make_conninfo

from rag_pg.db import Databases, connect, schema
from rag_pg.db.clone import new_name
from rag_pg.db.connect import placed

COORDINATOR = os.environ.get("RAG_PG_CITUS_DSN", "")
NO_ENGINE = "no engine: RAG_PG_CITUS_DSN names no coordinator of Citus"
LEAVE = """
ALTER DATABASE {name} ALLOW_CONNECTIONS false;
SELECT pg_catalog.pg_terminate_backend(a.pid) FROM pg_catalog.pg_stat_activity AS a
WHERE a.datname = {text}
"""


NESTED = "ALTER DATABASE {name} SET citus.allow_nested_distributed_execution TO on"


class CitusDatabases(Databases):
    """See Databases. What is scaled out is met on the node that has schema rag."""

    def __init__(self, coordinator: str) -> None:
        super().__init__(coordinator)
        with connect(coordinator, autocommit=True) as connection:
            self.nodes = connection.execute(
                "SELECT n.nodename, n.nodeport FROM pg_dist_node AS n ORDER BY n.groupid"
            ).fetchall()
        self._servers = [
            Databases(make_conninfo(coordinator, host=host, port=port)) for host, port in self.nodes
        ]

    def create(self, template: str = "template1", name: str | None = None) -> str:
        name = name or new_name()
        for server in self._servers:
            if template != "template1":  # Citus itself is connected to it
                server._execute(
                    sql.SQL(LEAVE).format(name=sql.Identifier(template), text=sql.Literal(template))
                )
            server.create(template, name)
            server._execute(sql.SQL(NESTED).format(name=sql.Identifier(name)))  # is not cloned
        dsn = make_conninfo(self.server, dbname=name)
        if template == "template1":
            self._make_cluster(dsn)
            return dsn
        with connect(dsn, autocommit=True) as connection:
            return placed(dsn, connection, "rag")

    def _make_cluster(self, dsn: str) -> None:
        for host, port in reversed(self.nodes):
            with connect(make_conninfo(dsn, host=host, port=port), autocommit=True) as node:
                node.execute("CREATE EXTENSION citus")
                node.execute("CREATE EXTENSION vector")
        with connect(dsn, autocommit=True) as connection:
            connection.execute("SELECT citus_set_coordinator_host(%s, %s)", self.nodes[0])
            for node in self.nodes[1:]:
                connection.execute("SELECT citus_add_node(%s, %s)", node)

    def drop(self, dsn: str) -> None:
        for server in self._servers:
            server.drop(dsn)

    def close(self) -> None:
        for server in self._servers:
            server.close()


def scaled_out(databases: CitusDatabases) -> str:
    """Return the connection string of a database in which schema rag is on a node."""
    dsn = databases.create()
    schema.upgrade(dsn)
    schema.scale_out(dsn)
    with connect(dsn, autocommit=True) as connection:
        return placed(dsn, connection, "rag")
