-- Workers say that they live, and are listed.

CREATE OR REPLACE FUNCTION rag.heartbeat(
    worker_name text,
    worker_version text,
    worker_collections text[] DEFAULT NULL,
    worker_concurrency integer DEFAULT 1,
    worker_jobs integer DEFAULT 0,
    job_rates jsonb DEFAULT '{}')
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _now CONSTANT timestamptz := clock_timestamp();
BEGIN
    IF coalesce(worker_name, '') = '' OR worker_version IS NULL
        OR worker_concurrency IS NULL OR worker_jobs IS NULL
        OR jsonb_typeof(job_rates) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION 'a worker tells its name, version, concurrency, leased jobs and rates'
        USING ERRCODE = 'RG001',
        HINT = 'none may be NULL, and the rates are a JSON object; collections NULL: all';
    END IF;
    IF length(worker_name) > 500 THEN
        RAISE EXCEPTION 'the name of a worker has % characters', length(worker_name)
        USING ERRCODE = 'RG001', HINT = 'use at most 500';
    END IF;
    INSERT INTO rag.workers AS w (worker, version, collections, concurrency, leased_jobs, rates)
    VALUES (worker_name, worker_version, worker_collections, worker_concurrency, worker_jobs,
        job_rates)
    ON CONFLICT ON CONSTRAINT workers_pkey DO UPDATE SET
        version = excluded.version,
        collections = excluded.collections,
        concurrency = excluded.concurrency,
        leased_jobs = excluded.leased_jobs,
        rates = excluded.rates,
        seen_at = excluded.seen_at;
    DELETE FROM rag.workers AS w
    WHERE w.worker IN (SELECT x.worker FROM rag.workers AS x
                       WHERE x.seen_at < _now - interval '1 hour'
                       FOR UPDATE SKIP LOCKED);
    RETURN rag.api_version();
END
$$;

COMMENT ON FUNCTION rag.heartbeat IS
$$A worker's heartbeat: it runs, holds so many jobs, and works so many a second: {"collection": jobs
per second}.

Returns rag.api_version(): a worker whose own is higher, or lower than rag.min_api_version(), stops.
Call it every 20 seconds or so.
Circle: worker, Workers and budgets.
SELECT rag.heartbeat('worker-1', '1.0')$$;


CREATE OR REPLACE FUNCTION rag.forget_worker(worker_name text)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
BEGIN
    DELETE FROM rag.workers AS w WHERE w.worker = worker_name;
END
$$;

COMMENT ON FUNCTION rag.forget_worker IS
$$A worker ends.
Circle: worker, Workers and budgets.
SELECT rag.forget_worker('worker-1')$$;


CREATE OR REPLACE FUNCTION rag.list_workers()
RETURNS TABLE (worker text, version text, collections text[], concurrency integer,
    leased_jobs integer,
    rates jsonb,
               started_at timestamptz, seen_at timestamptz)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT w.worker, w.version, w.collections, w.concurrency, w.leased_jobs, w.rates, w.started_at,
        w.seen_at
    FROM rag.workers AS w
    WHERE w.seen_at > clock_timestamp() - interval '1 minute'
    ORDER BY w.worker;
END
$$;

COMMENT ON FUNCTION rag.list_workers IS
$$Workers whose heartbeat came within the last minute.
Circle: application, Workers and budgets.
SELECT * FROM rag.list_workers()$$;
