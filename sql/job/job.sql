-- Jobs of the queue: queued, finished, failed, handed back, retried.

CREATE OR REPLACE FUNCTION rag._queue_jobs(for_collection integer, for_documents uuid[],
    job_kind text, job_priority integer DEFAULT 0, job_run_at timestamptz DEFAULT NULL,
    for_space integer DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET enable_seqscan = off
AS $$
BEGIN
    INSERT INTO rag.jobs AS j (collection_id, document_id, kind, space_id, priority, run_at)
    SELECT for_collection, d.id, job_kind, for_space, job_priority,
        coalesce(job_run_at, clock_timestamp())
    FROM (SELECT DISTINCT u.id FROM unnest(for_documents) AS u (id) ORDER BY u.id) AS d
    ON CONFLICT (collection_id, document_id, kind, space_id) WHERE state = 'waiting' AND lease
        IS NULL
    DO UPDATE SET priority = greatest(j.priority, excluded.priority),
                  run_at = least(j.run_at, excluded.run_at),
                  attempts = 0;
    DELETE FROM rag.jobs AS j
    WHERE j.collection_id = for_collection AND j.document_id = ANY (for_documents)
        AND j.kind = job_kind
        AND j.space_id IS NOT DISTINCT FROM for_space AND j.state = 'dead';
    PERFORM pg_notify('rag_jobs', '');
END
$$;

COMMENT ON FUNCTION rag._queue_jobs IS
$$Queue work on documents and wake the workers when the transaction commits. job_run_at: not before;
NULL: now.

for_space: of kind embed, the space whose vectors are wanted. A document has at most one waiting job
of a kind and space; a dead one of an earlier text is replaced.$$;


CREATE OR REPLACE FUNCTION rag._add_error(history jsonb, attempt integer, error text)
RETURNS jsonb
LANGUAGE sql VOLATILE
RETURN CASE WHEN jsonb_array_length(history) < 20 THEN history ELSE history - 0 END
    || jsonb_build_object('at', clock_timestamp(), 'attempt', attempt, 'error',
        left(error, 2000));

COMMENT ON FUNCTION rag._add_error IS
$$A job's history with one more failure; the last 20 are kept.$$;


CREATE OR REPLACE FUNCTION rag.finish_job(job_id bigint, lease uuid)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM rag._require_lease(finish_job.job_id, finish_job.lease);
    DELETE FROM rag.jobs AS j WHERE j.job_id = finish_job.job_id;
END
$$;

COMMENT ON FUNCTION rag.finish_job IS
$$The job is done: it leaves the queue. Error RG005 when the lease is lost.
Circle: worker, Jobs.
SELECT rag.finish_job(j.job_id, j.lease) FROM rag.take_jobs(1) AS j$$;


CREATE OR REPLACE FUNCTION rag._requeue_job(leased rag.jobs, delay double precision)
RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _run_at CONSTANT timestamptz := clock_timestamp() + make_interval(secs => delay);
BEGIN
    IF EXISTS (SELECT FROM rag.jobs AS j
               WHERE j.collection_id = leased.collection_id AND j.document_id = leased.document_id
                   AND j.kind = leased.kind AND j.space_id IS NOT DISTINCT FROM leased.space_id
                   AND j.state = 'waiting' AND j.lease IS NULL) THEN
        DELETE FROM rag.jobs AS j WHERE j.job_id = leased.job_id;
        RETURN 'superseded';
    END IF;
    BEGIN
        UPDATE rag.jobs AS j
        SET lease = NULL, lease_expires_at = NULL, attempts = leased.attempts,
            errors = leased.errors, run_at = _run_at
        WHERE j.job_id = leased.job_id;
    -- the document was put again meanwhile: that job does the work
    EXCEPTION WHEN unique_violation THEN
        DELETE FROM rag.jobs AS j WHERE j.job_id = leased.job_id;
        RETURN 'superseded';
    END;
    RETURN 'waiting';
END
$$;

COMMENT ON FUNCTION rag._requeue_job IS
$$A leased and locked job waits again, due in delay seconds, with the attempts and errors given:
waiting, or superseded where a newer job of the document waits.$$;


CREATE OR REPLACE FUNCTION rag.fail_job(job_id bigint, lease uuid, error text,
                                        retry_in double precision DEFAULT NULL,
                                        permanent boolean DEFAULT false)
RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _job rag.jobs;
BEGIN
    PERFORM rag._check_range('retry_in', coalesce(retry_in, 0), 0, 31536000, 'RG001');
    SELECT j.* INTO _job FROM rag.jobs AS j    -- expired or not, while nobody took it since
    WHERE j.job_id = fail_job.job_id AND j.lease = fail_job.lease FOR UPDATE;
    IF _job.job_id IS NULL THEN
        RETURN 'lost';
    END IF;
    _job.errors := rag._add_error(_job.errors, _job.attempts, coalesce(fail_job.error, 'unknown'));
    IF permanent OR _job.attempts >= _job.max_attempts THEN
        UPDATE rag.jobs AS j
        SET state = 'dead', lease = NULL, lease_expires_at = NULL, errors = _job.errors
        WHERE j.job_id = _job.job_id;
        RETURN 'dead';
    END IF;
    RETURN rag._requeue_job(
        _job, coalesce(retry_in,
            least(3600, power(2, least(_job.attempts, 12))) * (0.5 + random() / 2)));
END
$$;

COMMENT ON FUNCTION rag.fail_job IS
$$Record a failure, in a transaction of its own: the job waits again, or is dead after its last
attempt.

retry_in: seconds until the next attempt; NULL: 2^attempts, at most an hour, with jitter. permanent:
no other attempt can help. Returns waiting, dead, superseded (a newer job of the document waits) or
lost (the lease was no longer held). What is not the document's fault costs no attempt:
rag.release_job.
Circle: worker, Jobs.
SELECT rag.fail_job(j.job_id, j.lease, 'no model')
FROM rag.take_jobs(1) AS j$$;


CREATE OR REPLACE FUNCTION rag.release_job(job_id bigint, lease uuid,
    delay double precision DEFAULT 0,
                                           reason text DEFAULT NULL)
RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _job rag.jobs;
BEGIN
    PERFORM rag._check_range('delay', coalesce(delay, 0), 0, 31536000, 'RG001');
    SELECT j.* INTO _job FROM rag.jobs AS j    -- expired or not, while nobody took it since
    WHERE j.job_id = release_job.job_id AND j.lease = release_job.lease FOR UPDATE;
    IF _job.job_id IS NULL THEN
        RETURN 'lost';
    END IF;
    IF release_job.reason IS NOT NULL THEN
        _job.errors := rag._add_error(_job.errors, _job.attempts, release_job.reason);
    END IF;
    _job.attempts := _job.attempts - 1;
    RETURN rag._requeue_job(_job, coalesce(delay, 0));
END
$$;

COMMENT ON FUNCTION rag.release_job IS
$$Hand a job back: the attempt does not count. It waits again and is due in delay seconds.

reason: why, for its history (a provider that refuses, a database that is full); NULL where nothing
went wrong, as when a worker ends. Returns waiting, superseded (a newer job of the document waits)
or lost (the lease was no longer held).
Circle: worker, Jobs.
SELECT rag.release_job(j.job_id, j.lease) FROM rag.take_jobs(1) AS j$$;


CREATE OR REPLACE FUNCTION rag.retry_jobs(
    collection text DEFAULT NULL,
    error_like text DEFAULT NULL,
    job_kind text DEFAULT NULL,
    uri_like text DEFAULT NULL,
    job_ids bigint[] DEFAULT NULL,
    include_waiting boolean DEFAULT false)
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET row_security TO off
AS $$
DECLARE
    _only integer := CASE WHEN retry_jobs.collection IS NOT NULL
                          THEN (rag._require_collection(retry_jobs.collection)).collection_id END;
    _chosen bigint[];
    _retried integer;
    _hurried integer := 0;
    _now CONSTANT timestamptz := clock_timestamp();
BEGIN
    _chosen := ARRAY(
        SELECT j.job_id FROM rag.jobs AS j
        WHERE (j.state = 'dead'
            OR (include_waiting AND j.lease IS NULL AND j.run_at > clock_timestamp()))
            AND (_only IS NULL OR j.collection_id = _only)
            AND (error_like IS NULL OR j.errors -> -1 ->> 'error' LIKE error_like)
            AND (job_kind IS NULL OR j.kind = job_kind)
            AND (uri_like IS NULL OR EXISTS (
                SELECT FROM rag._document_uris(j.collection_id, ARRAY[j.document_id]) AS d
                    WHERE d.uri LIKE uri_like))
            AND (job_ids IS NULL OR j.job_id = ANY (job_ids))
        ORDER BY j.job_id
        FOR UPDATE SKIP LOCKED);  -- what is locked is just being deleted, or put again
    IF include_waiting THEN
        UPDATE rag.jobs AS j SET run_at = _now
        WHERE j.job_id = ANY (_chosen) AND j.state = 'waiting';
        GET DIAGNOSTICS _hurried = ROW_COUNT;
    END IF;
    WITH risen AS (
        DELETE FROM rag.jobs AS j
        WHERE j.job_id = ANY (_chosen) AND j.state = 'dead'
        RETURNING j.*
    )
    INSERT INTO rag.jobs (job_id, collection_id, document_id, kind, space_id, priority,
        max_attempts, errors, created_at)
    SELECT r.job_id, r.collection_id, r.document_id, r.kind, r.space_id, r.priority, r.max_attempts,
        r.errors, r.created_at
    FROM risen AS r
    ON CONFLICT (collection_id, document_id, kind, space_id) WHERE state = 'waiting' AND lease
        IS NULL DO NOTHING;
    GET DIAGNOSTICS _retried = ROW_COUNT;
    PERFORM pg_notify('rag_jobs', '');
    RETURN _retried + _hurried;
END
$$;

COMMENT ON FUNCTION rag.retry_jobs IS
$$Queue dead jobs again, with all their attempts before them. Returns how many.

All, or those of a collection, whose last error is LIKE error_like, of a kind, of documents whose
uri is LIKE uri_like, or with these job_ids. include_waiting: those that wait for their next
attempt, too, which then is now.
Circle: application, Jobs.
SELECT rag.retry_jobs('docs')$$;
