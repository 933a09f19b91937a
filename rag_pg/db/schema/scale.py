"""Schema rag on Citus: whole on one of its nodes, where Citus places, moves and rebalances it."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

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
# What belongs to no column, on each of the other nodes; and settings.
REST = """
SET LOCAL citus.enable_ddl_propagation TO off;
SET LOCAL check_function_bodies TO off;
SET LOCAL search_path TO pg_catalog;
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
END $$;
"""
# Types of arguments and results, which no table has, and with them the functions that use them.
TYPES = """
SELECT format('DROP TYPE IF EXISTS %s CASCADE; CREATE TYPE %s AS (%s); ALTER TYPE %s OWNER TO %I;',
    t.oid::regtype, t.oid::regtype,
    (SELECT string_agg(format('%I %s', a.attname, format_type(a.atttypid, a.atttypmod)), ', '
                       ORDER BY a.attnum)
     FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
    t.oid::regtype, pg_get_userbyid(t.typowner))
FROM pg_type AS t JOIN pg_class AS c ON c.oid = t.typrelid AND c.relkind = 'c'
WHERE t.typnamespace = 'rag'::regnamespace
ORDER BY t.oid
"""
# A body that is kept as a tree comes after the functions that it calls.
FUNCTIONS = """
WITH RECURSIVE calls AS (
    SELECT p.oid, 0 AS depth FROM pg_proc AS p WHERE p.pronamespace = 'rag'::regnamespace
    UNION
    SELECT d.objid, c.depth + 1 FROM calls AS c
    JOIN pg_depend AS d ON d.refclassid = 'pg_proc'::regclass AND d.refobjid = c.oid
        AND d.classid = 'pg_proc'::regclass
), routines AS (
    SELECT c.oid, max(c.depth) AS depth FROM calls AS c GROUP BY c.oid
)
SELECT pg_get_functiondef(p.oid) || format(
    '; ALTER ROUTINE %s OWNER TO %I; REVOKE ALL ON ROUTINE %s FROM PUBLIC;'
    ' COMMENT ON ROUTINE %s IS %L;',
    p.oid::regprocedure, pg_get_userbyid(p.proowner), p.oid::regprocedure, p.oid::regprocedure,
    obj_description(p.oid, 'pg_proc'))
    || coalesce((SELECT string_agg(format('GRANT EXECUTE ON ROUTINE %s TO %s;', p.oid::regprocedure,
            CASE x.grantee WHEN 0 THEN 'PUBLIC' ELSE x.grantee::regrole::text END), '')
        FROM aclexplode(p.proacl) AS x WHERE x.privilege_type = 'EXECUTE'), '')
FROM routines AS r JOIN pg_proc AS p ON p.oid = r.oid
ORDER BY r.depth, r.oid
"""
# What an upgrade took away goes on the other nodes, too.
GONE = """
SELECT format('DO $gone$ DECLARE _one text; BEGIN FOR _one IN SELECT p.oid::regprocedure::text
        FROM pg_proc AS p WHERE p.pronamespace = ''rag''::regnamespace
            AND p.oid::regprocedure::text <> ALL (%L::text[])
    LOOP EXECUTE ''DROP ROUTINE '' || _one; END LOOP; END $gone$;',
    (SELECT array_agg(p.oid::regprocedure::text) FROM pg_proc AS p
     WHERE p.pronamespace = 'rag'::regnamespace))
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
            copy_routines(connection)
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


def copy_routines(connection: psycopg.Connection[Any]) -> None:
    """Give each of the other nodes the functions of schema rag as they are here, with their owners
    and rights. Citus is not told of them: it would send each change by itself."""
    connection.execute("SET search_path TO pg_catalog")
    parts = [REST, NESTED]
    for statement in (GONE, TYPES, FUNCTIONS):
        parts += [text for (text,) in connection.execute(statement)]
    connection.execute(NESTED)
    _on_workers(connection, "\n".join(parts))


def _on_workers(connection: psycopg.Connection[Any], script: str) -> None:
    """Run statements on each of the other nodes, in one transaction there. Citus looks at the
    result of the first statement alone, so they become one."""
    execute = sql.SQL("BEGIN EXECUTE {}; END").format(sql.Literal(script)).as_string()
    command = sql.SQL("DO {}").format(sql.Literal(execute)).as_string()
    failed = connection.execute(
        """SELECT r.nodename, r.nodeport, r.result
           FROM pg_catalog.run_command_on_workers(%s) AS r WHERE NOT r.success""",
        [command],
    ).fetchone()
    if failed is not None:
        raise RagError(f"node {failed[0]}:{failed[1]} says: {failed[2]}")
