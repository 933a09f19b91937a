-- The whole installation on one screen: release, collections, queue, workers, what is wrong.

CREATE OR REPLACE FUNCTION rag.status(topics text[] DEFAULT NULL)
RETURNS SETOF rag.status_line
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    known CONSTANT text[] := '{release,collection,queue,worker,finding}';
    _unknown text := (SELECT t.topic FROM unnest(topics) AS t (topic)
                      WHERE coalesce(t.topic <> ALL (known), true) LIMIT 1);
    _topics text[] := coalesce(topics, known);
BEGIN
    IF NOT coalesce(topics, '{}') <@ known THEN
        RAISE EXCEPTION 'unknown topic %', coalesce(quote_literal(_unknown), 'NULL')
        USING ERRCODE = 'RG001', HINT = 'topics: ' || array_to_string(known, ', ');
    END IF;
    IF 'release' = ANY (_topics) THEN
        RETURN QUERY
        SELECT 'release', rag.version(), 'ok',
               format('revision %s, PostgreSQL %s, pgvector %s', v.version_num,
                      current_setting('server_version'), e.extversion)
        FROM rag.alembic_version AS v, pg_extension AS e
        WHERE e.extname = 'vector';
    END IF;
    IF 'collection' = ANY (_topics) THEN
        RETURN QUERY
        SELECT 'collection', c.collection,
               CASE WHEN c.failed > 0 THEN 'failed' WHEN c.pending > 0 THEN 'pending'
                   ELSE 'ready' END,
               format('%s documents, %s chunks, %s with vectors of %s, %s', c.documents, c.chunks,
                      c.embedded, c.model, pg_size_pretty(c.bytes))
               || CASE WHEN c.pending > 0 THEN format('; jobs: %s', c.pending) ELSE '' END
               || CASE WHEN c.failed > 0 THEN format('; failed: %s', c.failed) ELSE '' END
               || coalesce('; ' || c.reason, '')
               || coalesce('; ' || nullif(i.description, ''), '')
        FROM rag.collection_stats() AS c
        LEFT JOIN rag.list_collections() AS i ON i.name = c.collection;
    END IF;
    IF 'queue' = ANY (_topics) THEN
        RETURN QUERY
        SELECT 'queue', 'jobs',
               CASE WHEN s.waiting + s.running > 0 THEN 'pending' WHEN s.dead > 0 THEN 'failed'
                   ELSE 'empty' END,
               format('%s waiting, %s running, %s failed', s.waiting, s.running, s.dead)
               || CASE WHEN s.waiting > 0 THEN format('; the oldest is due for %s s', round(s.lag))
                      ELSE '' END
        FROM (SELECT coalesce(sum(j.waiting), 0) AS waiting, coalesce(sum(j.running), 0) AS running,
                     coalesce(sum(j.dead), 0) AS dead, max(j.lag) AS lag
              FROM rag.job_stats() AS j) AS s;
    END IF;
    IF 'worker' = ANY (_topics) THEN
        RETURN QUERY
        SELECT 'worker', w.worker, 'running',
               format('release %s, %s of %s jobs, for %s; seen %s s ago', w.version, w.leased_jobs,
                      w.concurrency,
                      coalesce(array_to_string(w.collections, ', '), 'all collections'),
                      greatest(0, round(extract(epoch FROM clock_timestamp() - w.seen_at))))
        FROM rag.list_workers() AS w;
        IF NOT FOUND THEN
            RETURN QUERY SELECT 'worker', NULL::text, 'none',
                'none was seen in the last minute; rag-pg worker starts one';
        END IF;
    END IF;
    IF 'finding' = ANY (_topics) THEN
        RETURN QUERY
        SELECT 'finding', f.check_name, f.status, concat_ws('; ', f.detail, f.remedy)
        FROM (
            SELECT c.* FROM rag._check_vectors() AS c
            UNION ALL SELECT c.* FROM rag._check_work() AS c
            UNION ALL SELECT c.* FROM rag._check_access() AS c
            UNION ALL SELECT c.* FROM rag._check_formats() AS c
        ) AS f
        WHERE f.status <> 'ok';
        IF NOT FOUND THEN
            RETURN QUERY SELECT 'finding', NULL::text, 'ok',
                'nothing; rag.doctor() reads every chunk, too';
        END IF;
    END IF;
END
$$;

COMMENT ON FUNCTION rag.status IS
$$The installation on one screen: its release, every collection, the queue, the workers that run,
and what is wrong with it.

topics: only these of release, collection, queue, worker and finding; NULL: all. The numbers by
themselves come from rag.collection_stats, rag.job_stats and rag.list_workers. Findings are those of
rag.doctor that take no look at the chunks.
Circle: application 11, Maintenance and versions.
SELECT * FROM rag.status()$$;
