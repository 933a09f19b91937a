-- Checks of rag.doctor: who could stand in the way of others, by rights in schema rag or by locks.

CREATE OR REPLACE FUNCTION rag._check_access()
RETURNS SETOF rag.finding
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
BEGIN
    RETURN QUERY
    SELECT 'schema rights', 'fail',
           format('%s may create in schema rag: a function made there could run as whoever '
               'searches or writes', g.grantee),
           format('REVOKE CREATE ON SCHEMA rag FROM %s', g.grantee)
    FROM pg_namespace AS n
    JOIN pg_class AS r ON r.oid = 'rag.collections'::regclass,
    LATERAL aclexplode(n.nspacl) AS a,
    LATERAL (SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC'
        ELSE a.grantee::regrole::text END AS grantee) AS g
    WHERE n.nspname = 'rag' AND a.privilege_type = 'CREATE'
        AND a.grantee NOT IN (n.nspowner, r.relowner);
    RETURN QUERY
    SELECT 'schema rights', 'fail',
           format('schema rag belongs to %s, its tables to %s', n.nspowner::regrole,
               r.relowner::regrole),
           format('ALTER SCHEMA rag OWNER TO %s', r.relowner::regrole)
    FROM pg_namespace AS n
    JOIN pg_class AS r ON r.oid = 'rag.collections'::regclass
    JOIN pg_roles AS o ON o.oid = n.nspowner
    WHERE n.nspname = 'rag' AND n.nspowner <> r.relowner AND NOT o.rolsuper;
    RETURN QUERY
    SELECT 'schema rights', 'warn',
           format('%s has rights on partitions, as %s: no policy on their table holds it there',
               g.grantee, min(c.oid::regclass::text)),
           format('REVOKE ALL ON ALL TABLES IN SCHEMA rag FROM %s; "rag-pg db upgrade" gives again '
               'what rag.grant_access gave', g.grantee)
    FROM pg_class AS c,
    LATERAL aclexplode(c.relacl) AS a,
    LATERAL (SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC'
        ELSE a.grantee::regrole::text END AS grantee) AS g
    WHERE c.relnamespace = 'rag'::regnamespace AND c.relispartition AND c.relkind = 'r'
        AND a.grantee <> c.relowner
    GROUP BY g.grantee;
    RETURN QUERY
    SELECT DISTINCT 'schema rights', 'warn',
           format('session %s (%s) holds an advisory lock of schema rag, where that role has no '
               'right', s.pid, s.usename), format('SELECT pg_terminate_backend(%s)', s.pid)
    FROM pg_locks AS k
    JOIN pg_database AS d ON d.oid = k.database AND d.datname = current_database()
    JOIN pg_stat_activity AS s ON s.pid = k.pid
        AND NOT has_schema_privilege(s.usesysid, 'rag', 'USAGE'),
    LATERAL (SELECT (k.classid::bigint << 32) | k.objid::bigint AS key) AS h
    WHERE k.locktype = 'advisory' AND k.granted AND k.objsubid = 1 AND (
        h.key IN (0x7261675F7067, rag._tenants_lock(), rag._erasure_lock(0))
        OR EXISTS (SELECT FROM rag.collections AS c WHERE h.key IN (
            rag._keyword_lock(c.collection_id), rag._erasure_lock(c.collection_id))));
    RETURN QUERY
    SELECT 'keyword merges', 'warn',
           format('session %s (%s) has held up those of collection %L for %s: %s changes or more '
               'wait', l.pid, s.usename, c.name,
                  date_trunc('second', clock_timestamp() - l.since), w.changes),
           format('end its transaction, or SELECT pg_terminate_backend(%s)', l.pid)
    FROM (SELECT k.pid, k.classid, k.objid, coalesce(x.xact_start, x.backend_start) AS since
          FROM pg_locks AS k JOIN pg_stat_activity AS x ON x.pid = k.pid
          WHERE k.locktype = 'advisory' AND k.granted AND k.objsubid = 1
              AND k.database = (SELECT d.oid FROM pg_database AS d
                  WHERE d.datname = current_database())) AS l
    JOIN pg_stat_activity AS s ON s.pid = l.pid
    JOIN rag.collections AS c ON c.dropped_at IS NULL
        AND rag._keyword_lock(c.collection_id) = ((l.classid::bigint << 32) | l.objid::bigint),
    LATERAL (SELECT count(*) AS changes
             FROM (SELECT FROM rag.keyword_changes AS k WHERE k.collection_id = c.collection_id
                   LIMIT 4 * rag._keyword_merge_size()) AS f) AS w
    WHERE w.changes >= 4 * rag._keyword_merge_size();
END
$$;

COMMENT ON FUNCTION rag._check_access IS
$$rag.doctor: who else may create in schema rag or read partitions of its tables, and sessions that
keep the keywords of a collection from being merged.

Merges take an advisory lock, which any session of the database can hold: by accident, or in a
transaction left open.$$;
