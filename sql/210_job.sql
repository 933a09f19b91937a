CREATE OR REPLACE FUNCTION rag.queue_job(for_collection integer, for_document uuid, job_kind text,
                                         job_priority integer DEFAULT 0, for_space integer DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
BEGIN
    INSERT INTO rag.jobs AS j (collection_id, document_id, kind, priority, space_id)
    VALUES (for_collection, for_document, job_kind, job_priority, for_space)
    ON CONFLICT (collection_id, document_id, kind, space_id) WHERE state = 'waiting' AND lease IS NULL
    DO UPDATE SET priority = greatest(j.priority, excluded.priority),
                  run_at = least(j.run_at, excluded.run_at),
                  attempts = 0;
    DELETE FROM rag.jobs AS j
    WHERE j.collection_id = for_collection AND j.document_id = for_document AND j.kind = job_kind
        AND j.space_id IS NOT DISTINCT FROM for_space AND j.state = 'dead';
    PERFORM pg_notify('rag_jobs', '');
END
$$;

COMMENT ON FUNCTION rag.queue_job(integer, uuid, text, integer, integer) IS
$$Queue work on a document (kind ingest, or embed for a space) and wake the workers when the transaction commits.

A document has at most one waiting job of a kind and space; a dead one of an earlier text is replaced.$$;


CREATE OR REPLACE FUNCTION rag.take_jobs(job_limit integer DEFAULT 1, lease_seconds double precision DEFAULT 60,
                                         collections text[] DEFAULT NULL, worker_name text DEFAULT NULL)
RETURNS TABLE (job_id bigint, lease uuid, kind text, collection_id integer, collection_name text,
               document_id uuid, attempts integer, space_id integer)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
BEGIN
    IF job_limit NOT BETWEEN 1 AND 1000 OR job_limit IS NULL THEN
        RAISE EXCEPTION 'job_limit % is out of range', coalesce(job_limit::text, 'NULL')
        USING ERRCODE = 'RG001', HINT = 'use 1 to 1000';
    END IF;
    IF lease_seconds IS NULL OR lease_seconds <= 0 THEN
        RAISE EXCEPTION 'lease_seconds % is out of range', coalesce(lease_seconds::text, 'NULL')
        USING ERRCODE = 'RG001', HINT = 'use a positive number of seconds';
    END IF;

    UPDATE rag.jobs AS j
    SET state = 'dead', lease = NULL, lease_expires_at = NULL,
        errors = j.errors || jsonb_build_object('at', clock_timestamp(), 'attempt', j.attempts, 'error',
            format('worker %s did not finish before its lease expired', coalesce(j.worker, '?')))
    WHERE j.job_id IN (
        SELECT x.job_id FROM rag.jobs AS x
        WHERE x.state = 'waiting' AND x.lease_expires_at < clock_timestamp() AND x.attempts >= x.max_attempts
        FOR UPDATE SKIP LOCKED);

    RETURN QUERY
    WITH due AS MATERIALIZED (
        SELECT x.job_id
        FROM rag.jobs AS x
        JOIN rag.collections AS c USING (collection_id)
        WHERE x.state = 'waiting'
            AND x.run_at <= clock_timestamp()
            AND (x.lease IS NULL OR x.lease_expires_at < clock_timestamp())
            AND c.dropped_at IS NULL
            AND (collections IS NULL OR c.name = ANY (collections))
        ORDER BY x.priority DESC, x.run_at, x.job_id
        LIMIT job_limit
        FOR UPDATE OF x SKIP LOCKED
    ), taken AS (
        UPDATE rag.jobs AS j
        SET lease = gen_random_uuid(),
            lease_expires_at = clock_timestamp() + make_interval(secs => lease_seconds),
            attempts = j.attempts + 1,
            worker = worker_name
        FROM due
        WHERE j.job_id = due.job_id
        RETURNING j.job_id, j.lease, j.kind, j.collection_id, j.document_id, j.attempts, j.priority, j.run_at,
                  j.space_id
    )
    SELECT t.job_id, t.lease, t.kind, t.collection_id, c.name, t.document_id, t.attempts, t.space_id
    FROM taken AS t
    JOIN rag.collections AS c USING (collection_id)
    ORDER BY t.priority DESC, t.run_at, t.job_id;
END
$$;

COMMENT ON FUNCTION rag.take_jobs(integer, double precision, text[], text) IS
$$Claim up to job_limit (1 to 1000) due jobs for lease_seconds, highest priority and longest due first.

Two takers never share a job. A job whose lease expired is simply taken again; one that was lost as often as its
max_attempts is dead. collections: only these (NULL: all). Commit, work with no transaction open, then store
with the lease. space_id: of an embed job, the space whose model has to embed.$$;


CREATE OR REPLACE FUNCTION rag.require_lease(of_job bigint, held_lease uuid)
RETURNS rag.jobs
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _job rag.jobs;
BEGIN
    SELECT j.* INTO _job FROM rag.jobs AS j
    WHERE j.job_id = of_job AND j.lease = held_lease AND j.lease_expires_at > clock_timestamp()
    FOR UPDATE;
    IF _job.job_id IS NULL THEN
        RAISE EXCEPTION 'job % is no longer held by lease %', of_job, held_lease
        USING ERRCODE = 'RG005', HINT = 'the lease expired, or the document was deleted: drop this result, take_jobs again';
    END IF;
    RETURN _job;
END
$$;

COMMENT ON FUNCTION rag.require_lease(bigint, uuid) IS
$$The job, locked, when the lease still holds; error RG005 otherwise.$$;


CREATE OR REPLACE FUNCTION rag.extend_job(job_id bigint, lease uuid, lease_seconds double precision DEFAULT 60)
RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
BEGIN
    UPDATE rag.jobs AS j
    SET lease_expires_at = clock_timestamp() + make_interval(secs => lease_seconds)
    WHERE j.job_id = extend_job.job_id AND j.lease = extend_job.lease AND j.lease_expires_at > clock_timestamp();
    RETURN FOUND;
END
$$;

COMMENT ON FUNCTION rag.extend_job(bigint, uuid, double precision) IS
$$Heartbeat: keep a lease for lease_seconds from now. False when it is already lost.$$;


CREATE OR REPLACE FUNCTION rag.finish_job(job_id bigint, lease uuid)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM rag.require_lease(finish_job.job_id, finish_job.lease);
    DELETE FROM rag.jobs AS j WHERE j.job_id = finish_job.job_id;
END
$$;

COMMENT ON FUNCTION rag.finish_job(bigint, uuid) IS
$$The job is done: it leaves the queue. Error RG005 when the lease is lost.$$;


CREATE OR REPLACE FUNCTION rag.fail_job(job_id bigint, lease uuid, error text,
                                        retry_in double precision DEFAULT NULL,
                                        permanent boolean DEFAULT false,
                                        count_attempt boolean DEFAULT true)
RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _job rag.jobs;
    _attempts integer;
    _delay double precision;
BEGIN
    SELECT j.* INTO _job FROM rag.jobs AS j
    WHERE j.job_id = fail_job.job_id AND j.lease = fail_job.lease
    FOR UPDATE;
    IF _job.job_id IS NULL THEN
        RETURN 'lost';
    END IF;
    _attempts := _job.attempts - CASE WHEN count_attempt THEN 0 ELSE 1 END;
    _job.errors := _job.errors || jsonb_build_object(
        'at', clock_timestamp(), 'attempt', _job.attempts, 'error', left(fail_job.error, 2000));
    IF permanent OR _attempts >= _job.max_attempts THEN
        UPDATE rag.jobs AS j
        SET state = 'dead', lease = NULL, lease_expires_at = NULL, attempts = _attempts, errors = _job.errors
        WHERE j.job_id = _job.job_id;
        RETURN 'dead';
    END IF;
    IF EXISTS (SELECT FROM rag.jobs AS j
               WHERE j.collection_id = _job.collection_id AND j.document_id = _job.document_id
                   AND j.kind = _job.kind AND j.space_id IS NOT DISTINCT FROM _job.space_id AND j.state = 'waiting' AND j.lease IS NULL) THEN
        DELETE FROM rag.jobs AS j WHERE j.job_id = _job.job_id;
        RETURN 'superseded';
    END IF;
    _delay := coalesce(retry_in, least(3600, power(2, _attempts)) * (0.5 + random() / 2));
    BEGIN
        UPDATE rag.jobs AS j
        SET lease = NULL, lease_expires_at = NULL, attempts = _attempts, errors = _job.errors,
            run_at = clock_timestamp() + make_interval(secs => _delay)
        WHERE j.job_id = _job.job_id;
    EXCEPTION WHEN unique_violation THEN  -- the document was put again meanwhile: that job does the work
        DELETE FROM rag.jobs AS j WHERE j.job_id = _job.job_id;
        RETURN 'superseded';
    END;
    RETURN 'waiting';
END
$$;

COMMENT ON FUNCTION rag.fail_job(bigint, uuid, text, double precision, boolean, boolean) IS
$$Record a failure, in a transaction of its own: the job waits again, or is dead after its last attempt.

retry_in: seconds until the next attempt; NULL: 2^attempts, at most an hour, with jitter. permanent: no other attempt can help.
count_attempt: false for a provider's 429, and to hand a job back. Returns waiting, dead, superseded (a newer job of
the document waits) or lost (the lease was no longer held).$$;


CREATE OR REPLACE FUNCTION rag.retry_jobs(collection text DEFAULT NULL, error_like text DEFAULT NULL)
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _only integer := CASE WHEN retry_jobs.collection IS NOT NULL
                          THEN (rag.require_collection(retry_jobs.collection)).collection_id END;
    _retried integer;
BEGIN
    WITH chosen AS (
        DELETE FROM rag.jobs AS j
        WHERE j.state = 'dead'
            AND (_only IS NULL OR j.collection_id = _only)
            AND (error_like IS NULL OR j.errors -> -1 ->> 'error' LIKE error_like)
        RETURNING j.*
    )
    INSERT INTO rag.jobs (collection_id, document_id, kind, space_id, priority, max_attempts, errors, created_at)
    SELECT c.collection_id, c.document_id, c.kind, c.space_id, c.priority, c.max_attempts, c.errors, c.created_at
    FROM chosen AS c
    ON CONFLICT (collection_id, document_id, kind, space_id) WHERE state = 'waiting' AND lease IS NULL DO NOTHING;
    GET DIAGNOSTICS _retried = ROW_COUNT;
    PERFORM pg_notify('rag_jobs', '');
    RETURN _retried;
END
$$;

COMMENT ON FUNCTION rag.retry_jobs(text, text) IS
$$Queue dead jobs again, all or those of a collection and whose last error is LIKE error_like. Returns how many.$$;


CREATE OR REPLACE FUNCTION rag.list_jobs(collection text DEFAULT NULL, wanted_state text DEFAULT NULL,
                                         result_limit integer DEFAULT 100)
RETURNS TABLE (job_id bigint, collection_name text, document_id uuid, uri text, kind text, state text,
               priority integer, attempts integer, max_attempts integer, run_at timestamptz, worker text,
               lease_expires_at timestamptz, last_error text, created_at timestamptz)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _only integer := CASE WHEN list_jobs.collection IS NOT NULL
                          THEN (rag.require_collection(list_jobs.collection)).collection_id END;
BEGIN
    RETURN QUERY
    SELECT l.job_id, c.name, l.document_id, d.uri, l.kind, l.shown, l.priority, l.attempts, l.max_attempts,
           l.run_at, l.worker, l.lease_expires_at, l.errors -> -1 ->> 'error', l.created_at
    FROM (
        SELECT j.*, CASE WHEN j.state = 'dead' THEN 'dead'
                         WHEN j.lease_expires_at > clock_timestamp() THEN 'running'
                         ELSE 'waiting' END AS shown
        FROM rag.jobs AS j
        WHERE _only IS NULL OR j.collection_id = _only
    ) AS l
    JOIN rag.collections AS c ON c.collection_id = l.collection_id AND c.dropped_at IS NULL
    LEFT JOIN rag.documents AS d ON d.collection_id = l.collection_id AND d.document_id = l.document_id
    WHERE wanted_state IS NULL OR l.shown = wanted_state
    ORDER BY l.priority DESC, l.run_at, l.job_id
    LIMIT result_limit;
END
$$;

COMMENT ON FUNCTION rag.list_jobs(text, text, integer) IS
$$Jobs that are not done, next first. wanted_state: waiting, running or dead; NULL: all.$$;


CREATE OR REPLACE FUNCTION rag.job_stats(collection text DEFAULT NULL)
RETURNS TABLE (collection_name text, waiting bigint, running bigint, dead bigint, lag double precision)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _only integer := CASE WHEN job_stats.collection IS NOT NULL
                          THEN (rag.require_collection(job_stats.collection)).collection_id END;
BEGIN
    RETURN QUERY
    SELECT c.name,
           count(*) FILTER (WHERE j.state = 'waiting' AND coalesce(j.lease_expires_at <= clock_timestamp(), true)),
           count(*) FILTER (WHERE j.state = 'waiting' AND j.lease_expires_at > clock_timestamp()),
           count(*) FILTER (WHERE j.state = 'dead'),
           greatest(0, coalesce(extract(epoch FROM clock_timestamp()
               - min(j.run_at) FILTER (WHERE j.state = 'waiting')), 0))::double precision
    FROM rag.collections AS c
    LEFT JOIN rag.jobs AS j ON j.collection_id = c.collection_id
    WHERE c.dropped_at IS NULL AND (_only IS NULL OR c.collection_id = _only)
    GROUP BY c.collection_id, c.name
    ORDER BY c.name;
END
$$;

COMMENT ON FUNCTION rag.job_stats(text) IS
$$Per collection: jobs waiting, running and dead, and lag: seconds since the oldest unfinished job was due.$$;
