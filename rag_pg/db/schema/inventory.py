"""What schema rag consists of, told so that no dump, restore or server version changes the telling.

PostgreSQL keeps expressions as trees and writes them anew when asked: with other parentheses after
a restore. So white space and parentheses do not count in them. Comments do not count at all:
`pg_restore --no-comments` leaves them out.
"""

from __future__ import annotations

import hashlib
from typing import Any, LiteralString

import psycopg

Connection = psycopg.Connection[Any]

# With whose rights one runs belongs to the door of tenants: rag.check_tenants() and DEFINERS.
FUNCTIONS = r"""
SELECT format('rag.%I(%s)', p.proname, pg_get_function_identity_arguments(p.oid)),
       concat_ws(E'\n', p.prokind, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid),
           l.lanname, p.provolatile, p.proparallel, p.proisstrict, p.proleakproof,
           p.procost, p.prorows, array_to_string(p.proconfig, E'\n'), p.probin,
           a.aggtransfn, a.aggfinalfn, a.agginitval,
           CASE WHEN p.prosqlbody IS NULL THEN p.prosrc
                ELSE regexp_replace(pg_get_function_sqlbody(p.oid), '[\s()]+', '', 'g') END)
FROM pg_proc AS p
JOIN pg_language AS l ON l.oid = p.prolang
LEFT JOIN pg_aggregate AS a ON a.aggfnoid = p.oid
WHERE p.pronamespace = 'rag'::regnamespace
    AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_proc'::regclass
        AND d.objid = p.oid
                    AND d.deptype = 'e')
"""

# Partitions come and go with collections.
# They are logged where Citus has the schema: see scale.py.
UNLOGGED = ("cache_entries", "cache_uses", "worker_calls")
SEQUENCES = ("worker_calls_request_id_seq",)  # are as their tables
TABLES = r"""
WITH relations AS (
    SELECT c.* FROM pg_class AS c
    WHERE c.relnamespace = 'rag'::regnamespace AND NOT c.relispartition
        AND c.relname <> 'alembic_version'
        AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_class'::regclass
            AND d.objid = c.oid
                        AND d.deptype = 'e')
)
SELECT CASE r.relkind WHEN 'c' THEN 'type' WHEN 'S' THEN 'sequence' WHEN 'v' THEN 'view'
            ELSE 'table' END
           || ' rag.' || quote_ident(r.relname),
       concat_ws(' ', CASE WHEN r.relpersistence = 'u' OR r.relname IN (UNLOGGED)
               THEN 'unlogged' END,
           'PARTITION BY ' || pg_get_partkeydef(r.oid),
           CASE WHEN r.relreplident <> 'd' THEN 'REPLICA IDENTITY ' || r.relreplident::text END,
           (SELECT 'WITH ' || string_agg(o, ', ' ORDER BY o) FROM unnest(r.reloptions) AS o),
           (SELECT concat_ws(' ', q.seqtypid::regtype, q.seqstart, q.seqincrement, 'CACHE',
                q.seqcache)
            FROM pg_sequence AS q WHERE q.seqrelid = r.oid),
           CASE WHEN r.relkind = 'v' THEN pg_get_viewdef(r.oid) END)
FROM relations AS r WHERE r.relkind IN ('r', 'p', 'c', 'S', 'v')
UNION ALL
SELECT 'type rag.' || quote_ident(t.typname), t.typtype::text
FROM pg_type AS t
WHERE t.typnamespace = 'rag'::regnamespace AND t.typtype IN ('d', 'e', 'r')
    AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_type'::regclass
        AND d.objid = t.oid AND d.deptype = 'e')
UNION ALL
SELECT format('column rag.%I.%I', r.relname, a.attname),
       concat_ws(' ', format_type(a.atttypid, a.atttypmod),
           CASE WHEN a.attnotnull THEN 'NOT NULL' END,
           'DEFAULT ' || pg_get_expr(d.adbin, d.adrelid),
           CASE WHEN a.attidentity <> '' THEN 'IDENTITY ' || a.attidentity::text END,
           CASE WHEN a.attgenerated <> '' THEN 'GENERATED ' || a.attgenerated::text END,
           CASE WHEN a.attcollation <> t.typcollation
               THEN 'COLLATE ' || a.attcollation::regcollation END,
           CASE WHEN a.attstorage <> t.typstorage THEN 'STORAGE ' || a.attstorage::text END)
FROM relations AS r
JOIN pg_attribute AS a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type AS t ON t.oid = a.atttypid
LEFT JOIN pg_attrdef AS d ON d.adrelid = r.oid AND d.adnum = a.attnum
WHERE r.relkind IN ('r', 'p', 'c')
UNION ALL
SELECT format('constraint rag.%I.%I', r.relname, k.conname), pg_get_constraintdef(k.oid)
FROM relations AS r JOIN pg_constraint AS k ON k.conrelid = r.oid AND k.contype <> 'n'
UNION ALL
SELECT format('index rag.%I', i.relname), concat_ws(' ', pg_get_indexdef(i.oid),
           CASE WHEN x.indisreplident THEN 'REPLICA IDENTITY' END,
           CASE WHEN NOT x.indisvalid THEN 'INVALID' END)
FROM relations AS r JOIN pg_index AS x ON x.indrelid = r.oid
JOIN pg_class AS i ON i.oid = x.indexrelid
UNION ALL
SELECT format('trigger rag.%I.%I', r.relname, g.tgname), pg_get_triggerdef(g.oid)
FROM relations AS r JOIN pg_trigger AS g ON g.tgrelid = r.oid AND NOT g.tgisinternal
UNION ALL
SELECT format('rule rag.%I.%I', r.relname, w.rulename), pg_get_ruledef(w.oid)
FROM relations AS r JOIN pg_rewrite AS w ON w.ev_class = r.oid AND r.relkind <> 'v'
"""

# Functions that run with their owner's rights where no tenant has a role.
DEFINERS = """
WITH roles AS MATERIALIZED (SELECT r.role_name FROM rag.tenant_roles AS r)
SELECT format('%s runs with its owner''s rights: ALTER ROUTINE %1$s SECURITY INVOKER',
              p.oid::regprocedure)
FROM pg_proc AS p
WHERE p.pronamespace = 'rag'::regnamespace AND p.prosecdef
    AND p.proname <> 'use_service_key' AND NOT EXISTS (SELECT FROM roles)
ORDER BY 1
"""

# What each collection and space that is not dropped should have, and has not.
PARTS = """
WITH wanted AS (
    SELECT c.name, t.parent, t.parent || '_' || c.collection_id AS relation
    FROM rag.collections AS c, unnest(rag._collection_tables()) AS t (parent)
    WHERE c.dropped_at IS NULL
    UNION ALL
    SELECT c.name, 'embeddings', 'embeddings_' || s.space_id
    FROM rag.spaces AS s JOIN rag.collections AS c ON c.collection_id = s.collection_id
    WHERE s.dropped_at IS NULL AND c.dropped_at IS NULL
), indexes AS (
    SELECT c.name, t.parent || '_' || c.collection_id AS relation,
           rag._field_index(t.parent, c.collection_id, f.field) AS index,
           format('SELECT rag.index_field(%L, %L, %L)', c.name, f.field, f.type) AS remedy
    FROM rag.fields AS f JOIN rag.collections AS c ON c.collection_id = f.collection_id,
        (VALUES ('chunks'), ('documents')) AS t (parent)
    WHERE c.dropped_at IS NULL
    UNION ALL
    SELECT c.name, 'embeddings_' || s.space_id, rag._index_name(s.space_id),
           format('SELECT rag.build_vector_index(%L)', c.name)
    FROM rag.spaces AS s JOIN rag.collections AS c ON c.collection_id = s.collection_id
    WHERE s.dropped_at IS NULL AND c.dropped_at IS NULL AND s.state = 'active'
        AND s.index_options ->> 'kind' <> 'exact'
)
SELECT format('table rag.%I of collection %L is missing: restore schema rag from a backup, '
                  'or SELECT rag.drop_collection(%L)',
              w.relation, w.name, w.name)
FROM wanted AS w
WHERE NOT EXISTS (SELECT FROM pg_inherits AS i
                  WHERE i.inhparent = format('rag.%I', w.parent)::regclass
                  AND i.inhrelid = to_regclass(format('rag.%I', w.relation)))
UNION ALL
SELECT format('table rag.%I has REPLICA IDENTITY %s, rag.%I has %s: ALTER TABLE … REPLICA IDENTITY',
              c.relname, c.relreplident, p.relname, p.relreplident)
FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
JOIN pg_class AS p ON p.oid = i.inhparent
WHERE p.relnamespace = 'rag'::regnamespace AND p.relkind = 'p' AND c.relreplident <> p.relreplident
UNION ALL
SELECT format('index rag.%I of collection %L is missing: %s', x.index, x.name, x.remedy)
FROM indexes AS x
WHERE to_regclass(format('rag.%I', x.index)) IS NULL
    AND to_regclass(format('rag.%I', x.relation)) IS NOT NULL
UNION ALL
SELECT format('index rag.%I is invalid: REINDEX INDEX CONCURRENTLY rag.%I', c.relname, c.relname)
FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
WHERE c.relnamespace = 'rag'::regnamespace AND NOT i.indisvalid AND c.relkind = 'i'
    AND NOT starts_with(c.relname, 'discarded_')
    AND NOT EXISTS (SELECT FROM pg_stat_progress_create_index AS p
        WHERE p.index_relid = i.indexrelid)
    AND NOT EXISTS (SELECT FROM pg_locks AS l WHERE l.relation = i.indrelid
        AND l.mode = 'ShareUpdateExclusiveLock')
"""

# Partitions whose collection or space has no row. Citus joins no catalogue with our tables, but
# reads what is materialized.
ORPHANS = r"""
WITH spaces AS MATERIALIZED (SELECT s.space_id FROM rag.spaces AS s),
    collections AS MATERIALIZED (SELECT k.collection_id FROM rag.collections AS k)
SELECT c.oid::regclass::text
FROM pg_inherits AS i
JOIN pg_class AS c ON c.oid = i.inhrelid
JOIN pg_class AS p ON p.oid = i.inhparent AND p.relnamespace = 'rag'::regnamespace
    AND p.relkind = 'p'
WHERE CASE p.relname WHEN 'embeddings'
      THEN NOT EXISTS (SELECT FROM spaces AS s WHERE c.relname = p.relname || '_' || s.space_id)
      ELSE NOT EXISTS (SELECT FROM collections AS k
          WHERE c.relname = p.relname || '_' || k.collection_id) END
ORDER BY 1
"""

# Triggers of sources that have no row, on tables that this role may alter.
STRAY_TRIGGERS = r"""
SELECT t.tgname, t.tgrelid::regclass::text
FROM pg_trigger AS t
JOIN pg_proc AS p ON p.oid = t.tgfoid AND p.pronamespace = 'rag'::regnamespace
JOIN pg_class AS c ON c.oid = t.tgrelid AND pg_has_role(c.relowner, 'USAGE')
WHERE t.tgname LIKE 'rag\_source\_%' AND NOT t.tgisinternal AND t.tgparentid = 0
    AND NOT EXISTS (SELECT FROM rag.sources AS s
        WHERE t.tgname LIKE 'rag\_source\_' || s.source_id || '\_%')
"""


# Every name is qualified then, and no setting of the session or the database has a say
# in how things are written. Taken back with the transaction, or the savepoint, that they hold in.
SETTINGS = """
SET LOCAL search_path TO pg_catalog;
SET LOCAL standard_conforming_strings TO on;
SET LOCAL quote_all_identifiers TO off;
SET LOCAL datestyle TO ISO;
SET LOCAL intervalstyle TO postgres;
SET LOCAL timezone TO 'UTC';
SET LOCAL extra_float_digits TO 1;
SET LOCAL bytea_output TO hex;
"""


def functions(connection: Connection) -> dict[str, str]:
    """Return the digest of each routine, by its signature."""
    with connection.transaction(force_rollback=True):
        connection.execute(SETTINGS)
        return {name: digest(text) for name, text in connection.execute(FUNCTIONS)}


def tables(connection: Connection) -> dict[str, str]:
    """Return how each table, type, sequence, column, constraint, index and trigger is defined."""
    with connection.transaction(force_rollback=True):
        connection.execute(SETTINGS)
        rows = connection.execute(
            r"""SELECT name, regexp_replace(regexp_replace(definition,
                           '("([^"]|"")+"|\w+)[.](halfvec|sparsevec|vector)\M', '\3', 'g'),
                           '[\s()]+', ' ', 'g')
                FROM ("""
            + TABLES.replace("UNLOGGED", ", ".join(f"'{name}'" for name in UNLOGGED + SEQUENCES))
            + ") AS t (name, definition)"
        )
        return {str(name): str(definition).strip() for name, definition in rows}


def missing_parts(connection: Connection) -> list[str]:
    """Return a line for each partition and index that a collection should have and has not."""
    return [line for (line,) in connection.execute(PARTS)]


def open_doors(connection: Connection, *, warnings: bool = False) -> list[str]:
    """Return a line for each way by which a tenant could see more than its own.

    Args:
        warnings: also what is none yet, and that no role is a tenant's.
    """
    lines = [line for (line,) in connection.execute(DEFINERS)]
    found = connection.execute(
        "SELECT f.detail, f.remedy FROM rag.check_tenants() AS f WHERE f.status = 'fail' OR %s",
        [warnings],
    )
    lines += [f"{detail}: {remedy}" for detail, remedy in found]
    (roles,) = connection.execute("SELECT count(*) FROM rag.tenant_roles").fetchone() or (0,)
    if warnings and not roles:
        lines.append("no role is of a tenant: SELECT rag.grant_tenant(role_name, tenant)")
    return lines


def orphans(connection: Connection) -> list[str]:
    """Return the partitions of no collection."""
    return [name for (name,) in connection.execute(ORPHANS)]


def stray_triggers(connection: Connection) -> list[tuple[LiteralString, LiteralString]]:
    """Return (name, table) of the triggers of sources that are not there."""
    return connection.execute(STRAY_TRIGGERS).fetchall()


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
