-- Figures of the installation for monitoring: a row each, named as Prometheus wants them.

CREATE OR REPLACE FUNCTION rag._measured_collections()
RETURNS TABLE (collection_id integer, name text, label text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    most CONSTANT integer := 200;
BEGIN
    RETURN QUERY
    SELECT c.collection_id, c.name,
        CASE WHEN c.tenant = '' AND row_number()
            OVER (PARTITION BY c.tenant = '' ORDER BY c.collection_id) <= most
            THEN c.name ELSE '(others)' END
    FROM rag.collections AS c WHERE c.dropped_at IS NULL;
END
$$;

COMMENT ON FUNCTION rag._measured_collections IS
$$The collections, and what metrics call them. Those of tenants, and those after the first 200, are
measured together as (others): no tenant becomes a label, and the labels stay few.$$;


CREATE OR REPLACE FUNCTION rag._replication_metrics()
RETURNS SETOF rag.metric
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT 'rag_pg_standby', 'gauge', '1 where this server is a standby.', '{}',
        pg_is_in_recovery()::integer::double precision
    UNION ALL
    SELECT 'rag_pg_replication_lag_bytes', 'gauge', 'What a standby has not replayed yet.',
        jsonb_build_object('standby', r.application_name),
        max(pg_wal_lsn_diff(CASE WHEN NOT pg_is_in_recovery() THEN pg_current_wal_lsn() END,
            r.replay_lsn))::double precision
    FROM pg_stat_replication AS r
    WHERE r.replay_lsn IS NOT NULL AND NOT pg_is_in_recovery()
    GROUP BY r.application_name
    UNION ALL
    SELECT 'rag_pg_replication_lag_seconds', 'gauge', 'How far this standby is behind.', '{}',
        CASE WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN 0
        ELSE extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()) END
            ::double precision
    WHERE pg_is_in_recovery();
END
$$;

COMMENT ON FUNCTION rag._replication_metrics IS
$$rag.metrics: how far standbys are behind.

They are shown to roles that may read pg_stat_replication: members of pg_monitor.$$;


CREATE OR REPLACE FUNCTION rag._metrics()
RETURNS SETOF rag.metric
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    most CONSTANT integer := 50;  -- kinds of calls of models that are told by themselves
    _today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
BEGIN
    RETURN QUERY
    SELECT 'rag_pg_info', 'gauge', 'The release that is installed.',
        jsonb_build_object('version', rag.version(), 'revision', v.version_num,
            'postgresql', current_setting('server_version')), 1::double precision
    FROM rag.alembic_version AS v
    UNION ALL
    SELECT m.* FROM rag._replication_metrics() AS m;

    -- The queue, workers, sources, maintenance.
    RETURN QUERY
    WITH worked AS (
        SELECT jsonb_build_object('collection', c.label) AS labels, sum(s.waiting) AS waiting,
            sum(s.running) AS running, sum(s.dead) AS dead, max(s.lag) AS lag, sum(s.rate) AS rate,
            sum(s.delayed) AS delayed,
            count(s.reason) AS throttled
        FROM rag.job_stats() AS s
        JOIN rag._measured_collections() AS c ON c.name = s.collection_name
        GROUP BY c.label
    )
    SELECT 'rag_pg_jobs', 'gauge', 'Jobs that are not done, by state.',
        w.labels || jsonb_build_object('state', n.state), n.count::double precision
    FROM worked AS w,
    LATERAL (VALUES ('waiting', w.waiting - w.delayed), ('delayed', w.delayed),
        ('running', w.running), ('dead', w.dead)) AS n (state, count)
    UNION ALL
    SELECT 'rag_pg_queue_age_seconds', 'gauge', 'How long the oldest unfinished job has been due.',
        w.labels, w.lag
    FROM worked AS w
    UNION ALL
    SELECT 'rag_pg_job_rate', 'gauge', 'Jobs a second that the running workers did of late.',
        w.labels, w.rate
    FROM worked AS w
    UNION ALL
    SELECT 'rag_pg_collections_throttled', 'gauge',
        'Collections whose jobs wait for the budget of their provider.', w.labels,
        w.throttled::double precision
    FROM worked AS w
    UNION ALL
    SELECT 'rag_pg_workers', 'gauge', 'Workers seen in the last minute.', '{}',
        count(*)::double precision
    FROM rag.list_workers()
    UNION ALL
    SELECT 'rag_pg_sources', 'gauge', 'Followed tables, by state.',
        jsonb_build_object('state', k.state),
        (SELECT count(*) FROM rag.list_sources() AS s WHERE s.state = k.state)::double precision
    FROM unnest('{backfilling,following,broken,removing}'::text[]) AS k (state)
    UNION ALL
    SELECT 'rag_pg_maintenance_failures', 'gauge', 'Steps of maintenance that failed last time.',
        '{}', count(*)::double precision
    FROM rag.maintenance_failures
    UNION ALL
    SELECT 'rag_pg_maintenance_timestamp_seconds', 'gauge',
        'When a step of maintenance was last done.', jsonb_build_object('step', r.task),
        extract(epoch FROM r.done_at)::double precision
    FROM rag.maintenance_runs AS r;

    -- Sizes, dead rows, recall. No rows are counted.
    RETURN QUERY
    WITH parts AS (
        SELECT c.label, p.kind, to_regclass(format('rag.%I', p.part)) AS relid
        FROM rag._measured_collections() AS c, LATERAL (
            SELECT split_part(t.name, '_', 1), format('%s_%s', t.name, c.collection_id)
            FROM unnest(rag._collection_tables()) AS t (name)
            UNION ALL
            SELECT 'embeddings', 'embeddings_' || s.space_id
            FROM rag._live_spaces(c.collection_id) AS s
            UNION ALL
            SELECT 'vector index', rag._index_name(s.space_id)
            FROM rag._live_spaces(c.collection_id) AS s) AS p (kind, part)
    ), sized AS (
        -- The indexes of a table count to it, but for that of the vectors.
        SELECT p.label, p.kind, sum(CASE p.kind WHEN 'vector index' THEN pg_relation_size(p.relid)
            ELSE pg_total_relation_size(p.relid) END) AS bytes,
            sum(s.n_dead_tup) AS dead, sum(s.n_live_tup) AS live
        FROM parts AS p LEFT JOIN pg_stat_all_tables AS s ON s.relid = p.relid
        WHERE p.relid IS NOT NULL
        GROUP BY p.label, p.kind
    )
    SELECT 'rag_pg_bytes', 'gauge',
        'Size on disk, by kind of table with its indexes; that of vectors is told by itself.',
        jsonb_build_object('collection', s.label, 'kind', s.kind),
        (s.bytes - CASE s.kind WHEN 'embeddings' THEN coalesce((SELECT i.bytes FROM sized AS i
            WHERE i.label = s.label AND i.kind = 'vector index'), 0) ELSE 0 END)::double precision
    FROM sized AS s
    UNION ALL
    SELECT 'rag_pg_dead_ratio', 'gauge',
        'Share of rows that are deleted and not vacuumed, as PostgreSQL estimates it.',
        jsonb_build_object('collection', s.label, 'kind', s.kind),
        (s.dead / nullif(s.dead + s.live, 0)::double precision)
    FROM sized AS s WHERE s.dead + s.live > 0
    UNION ALL
    SELECT 'rag_pg_chunks', 'gauge', 'Chunks that are searchable by keyword.',
        jsonb_build_object('collection', c.label),
        sum(rag._count_chunks(c.collection_id))::double precision
    FROM rag._measured_collections() AS c
    GROUP BY c.label
    UNION ALL
    SELECT r.name, 'gauge', r.help, jsonb_build_object('collection', c.label), min(r.value)
    FROM rag._measured_collections() AS c,
    LATERAL (SELECT l.* FROM rag.list_recall(c.name, 1) AS l) AS m,
    LATERAL (VALUES
        ('rag_pg_recall', 'Share of the nearest that vector searches find, measured last.',
            m.recall),
        ('rag_pg_recall_target', 'Share of the nearest that they should find.', m.target),
        ('rag_pg_recall_timestamp_seconds', 'When that was measured.',
            extract(epoch FROM m.measured_at)::double precision)) AS r (name, help, value)
    GROUP BY c.label, r.name, r.help;

    -- What models were asked today and what it cost, and budgets.
    RETURN QUERY
    WITH used AS (
        SELECT CASE WHEN u.rank <= most THEN u.model ELSE '(others)' END AS model,
            CASE WHEN u.rank <= most THEN u.kind ELSE '(others)' END AS kind,
            sum(u.calls) AS calls, sum(u.failures) AS failures, sum(u.cost) AS cost,
            sum(u.prompt_tokens) AS prompt_tokens, sum(u.answer_tokens) AS answer_tokens,
            sum(u.cached_hits) AS cached_hits, sum(u.answers) AS answers
        FROM (SELECT r.*, row_number() OVER (ORDER BY r.calls DESC, r.model, r.kind) AS rank
              FROM rag.usage_report(_today, _today, '{kind,model}') AS r) AS u
        GROUP BY 1, 2
    )
    SELECT n.name, 'counter', n.help, jsonb_build_object('model', u.model, 'kind', u.kind),
        n.value::double precision
    FROM used AS u,
    LATERAL (VALUES
        ('rag_pg_model_calls_total', 'Calls of models today (UTC), by what they are for.', u.calls),
        ('rag_pg_model_failures_total', 'Calls of models today that failed.', u.failures),
        ('rag_pg_model_cached_total', 'Calls of models today that the cache answered.',
            u.cached_hits),
        ('rag_pg_input_tokens_total', 'Tokens that models read today.', u.prompt_tokens),
        ('rag_pg_output_tokens_total', 'Tokens that models wrote today.', u.answer_tokens),
        ('rag_pg_answers_total', 'Answers of today, with the first kind of their calls.',
            u.answers),
        ('rag_pg_cost_dollars_total', 'What models cost today by the list prices.', u.cost))
        AS n (name, help, value)
    UNION ALL
    SELECT n.name, 'gauge', n.help, jsonb_build_object('provider', b.provider), n.value
    FROM rag.list_budgets() AS b,
    LATERAL (VALUES
        ('rag_pg_budget_spent', 'What was spent of a budget.', b.spent),
        ('rag_pg_budget_cap', 'What may be spent of it.', b.spend_cap),
        ('rag_pg_provider_wait_seconds', 'How long a provider is left alone.',
            coalesce(b.wait_seconds, 0))) AS n (name, help, value)
    WHERE n.value IS NOT NULL;
END
$$;

COMMENT ON FUNCTION rag._metrics IS
$$The rows of rag.metrics in any order.$$;


CREATE OR REPLACE FUNCTION rag.metrics()
RETURNS SETOF rag.metric
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY SELECT m.* FROM rag._metrics() AS m ORDER BY m.name, m.labels;
END
$$;

COMMENT ON FUNCTION rag.metrics IS
$$Figures for monitoring.

The queue and its age, workers, sources, maintenance; sizes, dead rows, recall, replication; calls
of models, tokens and cost. Any exporter for Prometheus can read them, and "rag-pg worker --health"
and "rag-pg serve" serve them at /metrics.

kind: gauge, or counter: counters are those of the day (UTC) and begin anew at midnight. labels: no
document, question or tenant is one; collections of tenants are told together as (others). It counts
no chunks: milliseconds for each collection. A role sees its own use of models, the owner all.
Circle: application, Maintenance and versions.
SELECT name, labels, value FROM rag.metrics()$$;
