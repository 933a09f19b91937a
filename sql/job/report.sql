-- Reports about jobs and about what they have made searchable.

CREATE OR REPLACE FUNCTION rag._document_uris(collection_id integer, document_ids uuid[])
RETURNS TABLE (document_id uuid, uri text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
BEGIN
    RETURN QUERY
    SELECT d.document_id, d.uri FROM rag.documents AS d
    WHERE d.collection_id = _document_uris.collection_id AND d.document_id = ANY (document_ids);
END
$$;

COMMENT ON FUNCTION rag._document_uris IS
$$The uris of documents of one collection: what a list over all collections joins, collection by
collection.$$;


CREATE OR REPLACE FUNCTION rag.list_jobs(collection text DEFAULT NULL,
    wanted_state text DEFAULT NULL,
                                         result_limit integer DEFAULT 100)
RETURNS TABLE (job_id bigint, collection_name text, document_id uuid, uri text, kind text,
    state text,
               priority integer, attempts integer, max_attempts integer, run_at timestamptz,
                   worker text,
               lease_expires_at timestamptz, last_error text, created_at timestamptz)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _only integer := CASE WHEN list_jobs.collection IS NOT NULL
                          THEN (rag._require_collection(list_jobs.collection)).collection_id END;
BEGIN
    PERFORM rag._check_range('limit', coalesce(result_limit, 0), 0, NULL);
    IF wanted_state NOT IN ('waiting', 'running', 'dead') THEN
        RAISE EXCEPTION 'unknown state %', quote_literal(wanted_state) USING ERRCODE = 'RG001',
        HINT = 'use waiting, running or dead';
    END IF;
    RETURN QUERY
    WITH listed AS MATERIALIZED (
        SELECT l.*, c.name
        FROM (
            SELECT j.*, CASE WHEN j.state = 'dead' THEN 'dead'
                             WHEN j.lease_expires_at > clock_timestamp() THEN 'running'
                             ELSE 'waiting' END AS shown
            FROM rag.jobs AS j
            WHERE _only IS NULL OR j.collection_id = _only
        ) AS l
        JOIN rag.collections AS c ON c.collection_id = l.collection_id AND c.dropped_at IS NULL
        WHERE wanted_state IS NULL OR l.shown = wanted_state
        ORDER BY l.priority DESC, l.run_at, l.job_id
        LIMIT result_limit
    ), named AS (
        SELECT g.collection_id, u.document_id, u.uri
        FROM (SELECT l.collection_id, array_agg(l.document_id) AS ids FROM listed AS l
            GROUP BY l.collection_id) AS g,
        LATERAL rag._document_uris(g.collection_id, g.ids) AS u
    )
    SELECT l.job_id, l.name, l.document_id, n.uri, l.kind, l.shown, l.priority, l.attempts,
        l.max_attempts,
           l.run_at, l.worker, l.lease_expires_at, l.errors -> -1 ->> 'error', l.created_at
    FROM listed AS l
    LEFT JOIN named AS n ON n.collection_id = l.collection_id AND n.document_id = l.document_id
    ORDER BY l.priority DESC, l.run_at, l.job_id;
END
$$;

COMMENT ON FUNCTION rag.list_jobs IS
$$Jobs that are not done, next first. wanted_state: waiting, running or dead; NULL: all.
Circle: application, Jobs.
SELECT * FROM rag.list_jobs('docs')$$;


CREATE OR REPLACE FUNCTION rag.job_stats(collection text DEFAULT NULL)
RETURNS TABLE (collection_name text, waiting bigint, running bigint, dead bigint,
    lag double precision,
               delayed bigint, reason text, rate double precision, eta double precision)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _only integer := CASE WHEN job_stats.collection IS NOT NULL
                          THEN (rag._require_collection(job_stats.collection)).collection_id END;
    _now timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY
    SELECT c.name, s.waiting, s.running, s.dead, s.lag, s.delayed,
           (SELECT h.reason FROM rag.throttled_spaces() AS h
            WHERE h.collection_id = c.collection_id
            ORDER BY h.active DESC, h.space_id LIMIT 1), r.rate,
           CASE WHEN s.waiting + s.running = 0 THEN 0
               ELSE (s.waiting + s.running) / nullif(r.rate, 0) END
    FROM rag.collections AS c,
    LATERAL (
        SELECT count(*) FILTER
            (WHERE j.state = 'waiting' AND coalesce(j.lease_expires_at <= _now, true)) AS waiting,
               count(*) FILTER (WHERE j.state = 'waiting' AND j.lease_expires_at > _now) AS running,
               count(*) FILTER (WHERE j.state = 'dead') AS dead,
               count(*) FILTER (WHERE j.state = 'waiting' AND j.lease IS NULL AND j.run_at > _now)
                   AS delayed,
               greatest(0, coalesce(extract(epoch FROM
                   _now - min(j.run_at) FILTER (WHERE j.state = 'waiting')), 0))::double precision
                       AS lag
        FROM rag.jobs AS j
        WHERE j.collection_id = c.collection_id
    ) AS s,
    LATERAL (
        SELECT coalesce(sum((w.rates ->> c.name)::double precision), 0) AS rate
            FROM rag.list_workers() AS w
            WHERE rag._scope(c.collection_id) IS NULL  -- it is of all tenants' documents
    ) AS r
    WHERE c.dropped_at IS NULL AND (_only IS NULL OR c.collection_id = _only)
    ORDER BY c.name;
END
$$;

COMMENT ON FUNCTION rag.job_stats IS
$$Per collection: jobs waiting, running and dead, and lag: seconds since the oldest unfinished job
was due.

delayed: those of the waiting that are not due yet. reason: why some are not taken (the budget of
their provider), else NULL. rate: jobs a second that the running workers did of late. eta: seconds
to the end at that rate, NULL when it is 0.
Circle: application, Jobs.
SELECT * FROM rag.job_stats()$$;


CREATE OR REPLACE FUNCTION rag.explain_job(job_id bigint)
RETURNS TABLE (job bigint, collection_name text, document_id uuid, uri text, kind text, state text,
    reason text,
               priority integer, attempts integer, max_attempts integer,
                   next_attempt_at timestamptz,
               jobs_before bigint, worker text, worker_seen_at timestamptz,
                   lease_expires_at timestamptz,
               history jsonb, created_at timestamptz)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    _job rag.jobs;
    _now timestamptz := clock_timestamp();
    _throttled text;
BEGIN
    SELECT j.* INTO _job FROM rag.jobs AS j WHERE j.job_id = explain_job.job_id;
    IF _job.job_id IS NULL THEN
        RAISE EXCEPTION 'there is no job %', coalesce(explain_job.job_id::text, 'NULL')
        USING ERRCODE = 'RG002', HINT = 'a job that is done leaves the queue; see rag.list_jobs()';
    END IF;
    job := _job.job_id;
    document_id := _job.document_id;
    kind := _job.kind;
    priority := _job.priority;
    attempts := _job.attempts;
    max_attempts := _job.max_attempts;
    worker := _job.worker;
    history := _job.errors;
    created_at := _job.created_at;
    SELECT c.name INTO collection_name FROM rag.collections AS c
        WHERE c.collection_id = _job.collection_id;
    SELECT d.uri INTO uri FROM rag.documents AS d
    WHERE d.collection_id = _job.collection_id AND d.document_id = _job.document_id;
    SELECT w.seen_at INTO worker_seen_at FROM rag.workers AS w WHERE w.worker = _job.worker;

    IF _job.state = 'dead' THEN
        state := 'dead';
        reason := format('it failed for good after %s of %s attempts: %s; to try again: '
            'rag.retry_jobs(job_ids => ARRAY[%s])',
                         attempts, max_attempts, _job.errors -> -1 ->> 'error', job);
        RETURN NEXT;
        RETURN;
    END IF;
    IF _job.lease_expires_at > _now THEN
        state := 'running';
        lease_expires_at := _job.lease_expires_at;
        reason := format('worker %s works on it', worker);
        RETURN NEXT;
        RETURN;
    END IF;
    state := 'waiting';
    SELECT h.reason INTO _throttled FROM rag.throttled_spaces() AS h
    WHERE h.space_id = coalesce(_job.space_id, (rag._active_space(_job.collection_id)).space_id);
    next_attempt_at := coalesce(_job.lease_expires_at, _job.run_at);
    SELECT count(*) INTO jobs_before FROM rag.jobs AS j
    WHERE j.state = 'waiting' AND j.lease IS NULL AND j.collection_id = _job.collection_id
        AND j.run_at <= _now
        AND (j.priority > _job.priority OR (j.priority = _job.priority
             AND (j.run_at, j.job_id) < (_job.run_at, _job.job_id)));
    reason := CASE
        WHEN _throttled IS NOT NULL THEN _throttled
        WHEN _job.lease IS NOT NULL
            THEN format('worker %s lost it when its lease expired; it is taken again next', worker)
        WHEN _job.run_at > _now AND jsonb_array_length(_job.errors) > 0
            THEN format('it failed: %s; the next attempt is in %s s', _job.errors -> -1 ->> 'error',
                        ceil(extract(epoch FROM _job.run_at - _now)))
        WHEN _job.run_at > _now
            THEN format('it is due in %s s', ceil(extract(epoch FROM _job.run_at - _now)))
        WHEN NOT EXISTS (SELECT FROM rag.list_workers() AS w
                         WHERE w.collections IS NULL OR collection_name = ANY (w.collections))
            THEN 'no worker for its collection was seen in the last minute; start one: rag-pg '
                'worker'
        ELSE format('it is due, behind %s other jobs of its collection', jobs_before) END;
    RETURN NEXT;
END
$$;

COMMENT ON FUNCTION rag.explain_job IS
$$One job: its state (waiting, running or dead), the reason for it, its history, the next attempt,
who holds its lease.

history: the failures, oldest first, as [{"at", "attempt", "error"}, …]. jobs_before: those of its
collection that are taken before it. worker: who has it, or had it last. Error RG002 when there is
no such job: done jobs are gone.
Circle: application, Jobs.
SELECT e.*
FROM rag.list_jobs('docs', result_limit => 1) AS j,
    rag.explain_job(j.job_id) AS e$$;


CREATE OR REPLACE FUNCTION rag._search_status(collection text)
RETURNS TABLE (waiting bigint, workers bigint, note text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _id integer := (rag._require_collection(_search_status.collection)).collection_id;
    _cap CONSTANT integer := 1000;
BEGIN
    SELECT count(*) INTO waiting
    FROM (SELECT FROM rag.jobs AS j
          WHERE j.collection_id = _id AND j.state = 'waiting' AND j.lease IS NULL
          LIMIT _cap) AS w;
    SELECT count(*) INTO workers FROM rag.list_workers() AS w
    WHERE w.collections IS NULL OR _search_status.collection = ANY (w.collections);
    IF waiting > 0 AND workers = 0
       AND NOT EXISTS (SELECT FROM rag.jobs AS j
                       WHERE j.collection_id = _id AND j.lease IS NOT NULL
                           AND j.lease_expires_at > clock_timestamp())
    THEN
        note := format('documents wait to be searchable (jobs: %s%s) and no worker is alive: run '
            'rag-pg worker',
                       waiting, CASE WHEN waiting = _cap THEN ' or more' END);
    END IF;
    RETURN NEXT;
END
$$;

COMMENT ON FUNCTION rag._search_status IS
$$Whether a search sees everything: jobs that wait in a collection (at most 1000 are counted), the
workers that are alive for it, and a note where jobs wait and nobody works, else NULL. It takes a
fraction of a millisecond.
Circle: client.$$;
