-- Checks of rag.doctor: what the server lacks for these tables: vacuum, statistics, memory, room.

CREATE OR REPLACE FUNCTION rag._stored_parts()
RETURNS TABLE (part text, table_size bigint, dead_rows bigint, live_rows bigint,
    changed_rows bigint, is_analyzed boolean)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT format('rag.%I', c.relname), pg_table_size(c.oid), s.n_dead_tup, s.n_live_tup,
        s.n_mod_since_analyze, coalesce(s.last_analyze, s.last_autoanalyze) IS NOT NULL
    FROM pg_class AS c
    JOIN pg_stat_all_tables AS s ON s.relid = c.oid
    WHERE c.relnamespace = 'rag'::regnamespace AND c.relkind = 'r'
        AND c.relname <> 'ordinary_words';  -- which only upgrades write
END
$$;

COMMENT ON FUNCTION rag._stored_parts IS
$$The tables of schema rag that hold rows, with what PostgreSQL has counted of them.$$;


CREATE OR REPLACE FUNCTION rag._check_server()
RETURNS SETOF rag.finding
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    worthwhile CONSTANT integer := 10000;
    large CONSTANT bigint := 1 << 30;
    _indexes bigint := coalesce((SELECT sum(pg_relation_size(to_regclass(
            format('rag.%I', rag._index_name(s.space_id)))))
        FROM rag.spaces AS s WHERE s.state = 'active' AND s.dropped_at IS NULL), 0);
    _cache bigint := pg_size_bytes(current_setting('effective_cache_size'));
    _buffers bigint := pg_size_bytes(current_setting('shared_buffers'));
    _most integer := current_setting('max_connections')::integer;
    _used integer := (SELECT count(*) FROM pg_stat_activity AS a
        WHERE a.backend_type = 'client backend');
BEGIN
    RETURN QUERY
    SELECT 'bloat', 'warn',
        format('%s has %s dead rows beside %s%s', p.part, p.dead_rows, p.live_rows,
            CASE WHEN p.part ~ 'embeddings' THEN '; searches walk through them in its index'
                 WHEN p.part ~ 'keyword' THEN '; searches read past them' ELSE '' END),
        format('VACUUM (ANALYZE) %s', p.part)
    FROM rag._stored_parts() AS p
    WHERE p.dead_rows >= worthwhile AND p.dead_rows > 0.4 * p.live_rows
    ORDER BY p.part;
    RETURN QUERY
    SELECT 'statistics', 'warn',
        CASE WHEN p.is_analyzed
             THEN format('%s of the %s rows of %s changed since they were counted', p.changed_rows,
                 p.live_rows, p.part)
             ELSE format('%s was never analyzed and has %s rows', p.part, p.live_rows) END,
        format('ANALYZE %s', p.part)
    FROM rag._stored_parts() AS p
    WHERE p.live_rows >= worthwhile
        AND (NOT p.is_analyzed OR p.changed_rows > 0.5 * p.live_rows)
    ORDER BY p.part;
    RETURN QUERY
    SELECT 'vacuum', 'fail', format('%s is off: dead rows stay for good', o.setting),
        format('ALTER SYSTEM SET %s = on; SELECT pg_reload_conf()', o.setting)
    FROM unnest('{autovacuum,track_counts}'::text[]) AS o (setting)
    WHERE NOT current_setting(o.setting)::boolean;
    RETURN QUERY
    SELECT 'vacuum', 'warn', format('autovacuum is off for rag.%I', c.relname),
        format('ALTER TABLE rag.%I RESET (autovacuum_enabled)', c.relname)
    FROM pg_class AS c, LATERAL pg_options_to_table(c.reloptions) AS o
    WHERE c.relnamespace = 'rag'::regnamespace AND o.option_name = 'autovacuum_enabled'
        AND NOT o.option_value::boolean
    ORDER BY c.relname;
    RETURN QUERY
    SELECT 'vacuum', 'warn',
        format('session %s (%s) has a transaction of %s open: nothing that died since is removed',
            a.pid, a.usename, date_trunc('second', clock_timestamp() - a.xact_start)),
        format('end it, or SELECT pg_terminate_backend(%s)', a.pid)
    FROM pg_stat_activity AS a
    WHERE a.datname = current_database() AND a.backend_type = 'client backend'
        AND a.xact_start < clock_timestamp() - interval '1 hour'
        AND coalesce(a.backend_xmin, a.backend_xid) IS NOT NULL
    ORDER BY a.xact_start;
    IF _indexes > _cache THEN
        RETURN QUERY SELECT 'memory', 'warn',
            format('the vector indexes have %s, and effective_cache_size says that %s is cached: '
                'searches wait for the disk', pg_size_pretty(_indexes), pg_size_pretty(_cache)),
            format('give the server more memory, or build them smaller (index_options kind '
                'binary); if it has it: ALTER SYSTEM SET effective_cache_size = %L; '
                'SELECT pg_reload_conf()', (_indexes * 5 / 4) >> 20 || 'MB');
    END IF;
    IF _indexes > large AND _buffers < _indexes / 8 THEN
        RETURN QUERY SELECT 'memory', 'warn',
            format('shared_buffers is %s beside %s of vector indexes', pg_size_pretty(_buffers),
                pg_size_pretty(_indexes)),
            format('ALTER SYSTEM SET shared_buffers = %L, up to a quarter of the memory, and '
                'restart', (_indexes / 4) >> 20 || 'MB');
    END IF;
    IF _used > 0.8 * _most THEN
        RETURN QUERY SELECT 'connections', 'warn',
            format('%s of %s are taken', _used, _most),
            format('put a transaction pooler before the server, lower RAG_PG_POOL_SIZE, or ALTER '
                'SYSTEM SET max_connections = %s and restart', 2 * _most);
    END IF;
    RETURN QUERY
    SELECT 'replication', 'warn',
        format('standby %L is %s behind', m.labels ->> 'standby', pg_size_pretty(m.value::bigint)),
        'look at its log and its network; pg_stat_replication says what it has received'
    FROM rag._replication_metrics() AS m
    WHERE m.name = 'rag_pg_replication_lag_bytes' AND m.value > 1e8;
    RETURN QUERY
    SELECT 'replication', 'warn', format('this standby is %s s behind', round(m.value::numeric)),
        'look at its log and its network'
    FROM rag._replication_metrics() AS m
    WHERE m.name = 'rag_pg_replication_lag_seconds' AND m.value > 60;
    IF NOT pg_is_in_recovery() THEN
        RETURN QUERY
        SELECT 'replication', 'warn',
            format('nobody reads slot %L, and %s of the write-ahead log are kept for it',
                s.slot_name, pg_size_pretty(k.bytes)),
            format('SELECT pg_drop_replication_slot(%L)', s.slot_name)
        FROM pg_replication_slots AS s,
        LATERAL (SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), s.restart_lsn) AS bytes) AS k
        WHERE NOT s.active AND k.bytes > large
        ORDER BY s.slot_name;
    END IF;
    RETURN QUERY
    SELECT 'unapplied upgrade', 'warn',
        format('pgvector %s is installed, the server has %s', e.extversion, a.default_version),
        'ALTER EXTENSION vector UPDATE'
    FROM pg_extension AS e JOIN pg_available_extensions AS a ON a.name = e.extname
    WHERE e.extname = 'vector' AND a.default_version <> e.extversion;
END
$$;

COMMENT ON FUNCTION rag._check_server IS
$$rag.doctor: tables with many dead rows or stale statistics, and what keeps them from being
vacuumed; memory beside the vector indexes, connections, replication, a pgvector that is there and
not in use.

What other roles may not see of sessions and standbys is not judged: members of pg_monitor see
it.$$;
