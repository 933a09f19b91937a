"""Schema rag on Citus: whole on one of its nodes, where Citus places, moves and rebalances it."""

from __future__ import annotations

from typing import Any

import psycopg

from rag_pg.config import SCHEMA
from rag_pg.db.connect import connect, node_of
from rag_pg.db.schema.inventory import UNLOGGED
from rag_pg.db.schema.name import check_name, use_schema
from rag_pg.errors import NotReady, RagError

# What is unlogged is not copied while it is written to. Triggers are on the shards then: that of
# rag.version_commits writes to the same node.
DISTRIBUTE = (
    *(f"ALTER TABLE rag.{name} SET LOGGED" for name in UNLOGGED),
    "SET LOCAL citus.enable_unsafe_triggers TO on",
    "SELECT pg_catalog.citus_schema_distribute('rag'::regnamespace)",
)
# Without an argument by which they are distributed: Citus calls none on another node.
FUNCTIONS = """
SELECT p.oid::regprocedure::text FROM pg_catalog.pg_proc AS p
WHERE p.pronamespace = 'rag'::regnamespace AND NOT EXISTS (
    SELECT FROM pg_catalog.pg_dist_object AS o
    WHERE o.classid = 'pg_catalog.pg_proc'::regclass AND o.objid = p.oid)
ORDER BY p.oid
"""
COMMENTS = """
SELECT string_agg(format('COMMENT ON ROUTINE %%s IS %%L', p.oid::regprocedure,
    obj_description(p.oid, 'pg_proc')), '; ')
FROM pg_catalog.pg_proc AS p WHERE p.pronamespace = 'rag'::regnamespace
"""
# What belongs to no column, and settings, on each of the other nodes.
REST = """
SET citus.enable_ddl_propagation TO off;
SET search_path TO pg_catalog;
CREATE SEQUENCE IF NOT EXISTS rag.last_erasure MINVALUE 0 START 0;
GRANT SELECT ON SEQUENCE rag.last_erasure TO PUBLIC;
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_ts_config AS t
        WHERE t.cfgnamespace = 'rag'::regnamespace AND t.cfgname = 'auto') THEN
        CREATE TEXT SEARCH CONFIGURATION rag.auto (COPY = pg_catalog.simple);
    END IF;
END $$;
"""
# Functions that statements on shards call look into other tables: all are on the same node.
NESTED = """
DO $$ BEGIN
    EXECUTE format('ALTER DATABASE %I SET citus.allow_nested_distributed_execution TO on',
        current_database());
END $$
"""


def scale_out(dsn: str, schema: str = SCHEMA) -> str:
    """Hand schema rag, with what is in it, to Citus, and return the address of the node that has
    it; where that was done before, give new nodes what they lack.

    Args:
        dsn: of the coordinator, as a superuser. Nobody else works with the schema meanwhile.
    Raises NotReady: no Citus, no other node, or not its coordinator.
    """
    try:
        with connect(dsn, autocommit=True) as connection:
            use_schema(connection, check_name(schema))
            _check_cluster(connection)
            connection.execute("SET search_path TO pg_catalog; SET client_min_messages TO error")
            if node_of(connection, schema) is None:
                with connection.transaction():
                    for statement in DISTRIBUTE:
                        connection.execute(statement)
            _copy_functions(connection)
            comments = connection.execute(COMMENTS, []).fetchone()
            assert comments is not None
            connection.execute(NESTED)
            _on_workers(connection, REST + NESTED + ";" + comments[0])
            node = node_of(connection, schema)
            assert node is not None
            return f"{node[0]}:{node[1]}"
    except psycopg.Error as exc:
        raise RagError.from_sqlstate(exc) from exc


def _check_cluster(connection: psycopg.Connection[Any]) -> None:
    found = connection.execute(
        "SELECT count(*) FROM pg_catalog.pg_extension WHERE extname = 'citus'"
    ).fetchone()
    if found != (1,):
        raise NotReady("this database has no Citus: CREATE EXTENSION citus on each node")
    found = connection.execute(
        """SELECT l.groupid, (SELECT count(*) FROM pg_catalog.pg_dist_node AS n
                              WHERE n.groupid <> 0 AND n.isactive)
           FROM pg_catalog.pg_dist_local_group AS l"""
    ).fetchone()
    assert found is not None
    if found[0] != 0:
        raise NotReady("this server is a node of Citus: connect to its coordinator")
    if found[1] == 0:
        raise NotReady("this Citus has no node beside its coordinator: SELECT citus_add_node(…)")


def _copy_functions(connection: psycopg.Connection[Any]) -> None:
    """Have the functions on every node. One whose body names a type that none has had before waits
    for those that bring it."""
    left = [name for (name,) in connection.execute(FUNCTIONS)]
    while left:
        failed = []
        for name in left:
            try:
                connection.execute("SELECT create_distributed_function(%s::regprocedure)", [name])
            except psycopg.Error as exc:
                failed.append((name, exc))
        if len(failed) == len(left):
            raise failed[0][1]
        left = [name for name, _ in failed]


def _on_workers(connection: psycopg.Connection[Any], command: str) -> None:
    failed = connection.execute(
        """SELECT r.nodename, r.nodeport, r.result
           FROM pg_catalog.run_command_on_workers(%s) AS r WHERE NOT r.success""",
        [command],
    ).fetchone()
    if failed is not None:
        raise RagError(f"node {failed[0]}:{failed[1]} says: {failed[2]}")
