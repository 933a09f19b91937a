-- Checks of rag.doctor that look at what is to be done: jobs, sources, maintenance, budgets.

CREATE OR REPLACE FUNCTION rag._check_work()
RETURNS SETOF rag.finding
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT 'dead jobs', 'fail',
           format('%s of collection %L; the last error: %s', count(*), c.name,
                  (array_agg(j.errors -> -1 ->> 'error' ORDER BY j.job_id DESC))[1]),
           format('mend the cause, then SELECT rag.retry_jobs(%L)', c.name)
    FROM rag.jobs AS j
    JOIN rag.collections AS c ON c.collection_id = j.collection_id AND c.dropped_at IS NULL
    WHERE j.state = 'dead'
    GROUP BY c.name
    ORDER BY c.name;
    RETURN QUERY
    SELECT 'waiting jobs', 'warn',
           format('%s of collection %L are due, the oldest for %s; workers alive: %s', count(*),
               c.name,
                  date_trunc('second', clock_timestamp() - min(j.run_at)),
                      (SELECT count(*) FROM rag.list_workers())),
           'start more workers (rag-pg worker), or look at what they log'
    FROM rag.jobs AS j
    JOIN rag.collections AS c ON c.collection_id = j.collection_id AND c.dropped_at IS NULL
    WHERE j.state = 'waiting' AND j.run_at < clock_timestamp()
        AND (j.lease IS NULL OR j.lease_expires_at < clock_timestamp())
        AND NOT EXISTS (SELECT FROM rag.throttled_spaces() AS h
                        WHERE h.collection_id = j.collection_id
                            AND coalesce(h.space_id = j.space_id, h.active))
    GROUP BY c.name
    HAVING min(j.run_at) < clock_timestamp() - interval '5 minutes'
    ORDER BY c.name;
    RETURN QUERY
    SELECT 'broken sources', 'fail',
        format('%s of collection %L: %s', l.source_table, l.collection_name, l.last_error),
           'mend it or attach it again; its changes are kept'
    FROM rag.list_sources() AS l WHERE l.state = 'broken';
    RETURN QUERY
    SELECT 'rows of sources', 'warn',
           format('%s rows of %s failed; the last: %s', l.failed_rows, l.source_table,
               l.last_error),
           'correct the rows: they are read again when they change'
    FROM rag.list_sources() AS l WHERE l.failed_rows > 0;
    RETURN QUERY
    SELECT 'broken sources', 'warn',
        format('%s waits for a role of fewer rights than %s: what others wrote would run as that',
            rag._table_name(r.relation), current_user),
        'run a worker as a role that has rag.grant_access(role, ''worker'') alone'
    FROM rag.sources AS s, LATERAL (SELECT rag._source_relation(s.source_id) AS relation) AS r
    WHERE s.phase <> 'remove' AND r.relation IS NOT NULL
        AND coalesce(s.followed_at, s.attached_at) < clock_timestamp() - interval '10 minutes'
        AND (s.phase <> 'follow'
            OR EXISTS (SELECT FROM rag.source_changes AS x WHERE x.source_id = s.source_id))
        AND NOT rag._may_follow(ROW(s.*)::rag.sources, r.relation);
    RETURN QUERY
    SELECT 'sources without triggers', 'warn',
           format('partition %s of %s has none, or they are disabled: writing it directly is not '
               'noticed',
                  rag._table_name(m.relid), rag._table_name(r.relation)),
           'attach the source again'
    FROM rag.sources AS s,
    LATERAL (SELECT rag._source_relation(s.source_id) AS relation) AS r,
    LATERAL (SELECT r.relation AS relid WHERE r.relation IS NOT NULL
             UNION SELECT p.relid FROM pg_partition_tree(r.relation) AS p) AS m
    JOIN pg_class AS c ON c.oid = m.relid AND c.relkind IN ('r', 'p')
    WHERE (SELECT count(*) FROM pg_trigger AS t
           WHERE t.tgrelid = m.relid AND t.tgfoid = 'rag._record_changes'::regproc
               AND t.tgenabled IN ('O', 'A')
               AND t.tgname ~ format('^rag_source_%s_', s.source_id)) < 4;
    RETURN QUERY
    SELECT 'maintenance', 'fail',
           format('step %s%s failed at %s: %s', f.task, ' of ' || quote_literal(c.name),
                  date_trunc('second', f.failed_at), f.message),
           format('mend the cause, then SELECT rag.maintain_step(%L, %s)', f.task, f.target)
    FROM rag.maintenance_failures AS f
    LEFT JOIN rag.collections AS c ON f.task = 'keywords' AND c.collection_id = f.target
    WHERE f.task <> 'source'  -- list_sources tells those
    ORDER BY f.task, f.target;
    RETURN QUERY
    SELECT 'spend caps', 'warn',
           format('%s; waiting jobs: %s', l.reason,
                  (SELECT count(*) FROM rag.jobs AS j
                   JOIN rag.spaces AS s ON s.collection_id = j.collection_id AND s.state = 'active'
                   WHERE j.state = 'waiting' AND split_part(s.model, ':', 1) = l.provider)),
           format('SELECT rag.set_budget(%L, requests_per_minute => %s, tokens_per_minute => %s, '
               'spend_cap => %s, '
                  'spend_period => %L, token_price => %s)', l.provider,
                      coalesce(l.requests_per_minute::text, 'NULL'),
                  coalesce(l.tokens_per_minute::text, 'NULL'), 2 * l.spend_cap, l.spend_period,
                      b.token_price)
           || CASE l.spend_period WHEN 'day' THEN ', or wait until midnight UTC' ELSE '' END
    FROM rag.list_budgets() AS l JOIN rag.budgets AS b ON b.provider = l.provider
    WHERE l.spent >= l.spend_cap
    ORDER BY l.provider;
END
$$;

COMMENT ON FUNCTION rag._check_work IS
$$rag.doctor: dead jobs, and jobs that nobody takes; sources that are broken or that this role
leaves alone, rows that could not be put, tables and partitions whose triggers are missing; steps of
maintenance that fail; providers whose spend cap is reached. The remedy of a cap doubles it and
keeps the other limits.$$;
