-- The queue: jobs are queued, taken under a lease, extended, finished, failed, retried.

CREATE OR REPLACE FUNCTION rag._queue_jobs(for_collection integer, for_documents uuid[],
    job_kind text,
                                          job_priority integer DEFAULT 0,
                                              job_run_at timestamptz DEFAULT NULL,
                                         for_space integer DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
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

COMMENT ON FUNCTION rag._queue_jobs(integer, uuid[], text, integer, timestamptz, integer) IS
$$Queue work on documents and wake the workers when the transaction commits. job_run_at: not before;
NULL: now.

for_space: of kind embed, the space whose vectors are wanted. A document has at most one waiting job
of a kind and space; a dead one of an earlier text is replaced.$$;


CREATE OR REPLACE FUNCTION rag._queue_job(for_collection integer, for_document uuid, job_kind text,
                                         job_priority integer DEFAULT 0,
                                             for_space integer DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM rag._queue_jobs(for_collection, ARRAY[for_document], job_kind, job_priority,
        for_space => for_space);
END
$$;

COMMENT ON FUNCTION rag._queue_job(integer, uuid, text, integer, integer) IS
$$rag._queue_jobs for one document, to be worked at once.$$;


CREATE OR REPLACE FUNCTION rag._add_error(history jsonb, attempt integer, error text)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN CASE WHEN jsonb_array_length(history) < 20 THEN history ELSE history - 0 END
        || jsonb_build_object('at', clock_timestamp(), 'attempt', attempt, 'error',
            left(error, 2000));
END
$$;

COMMENT ON FUNCTION rag._add_error(jsonb, integer, text) IS
$$A job's history with one more failure; the last 20 are kept.$$;


-- A queue's statistics are always out of date, so enable_seqscan is off where jobs are sought by
-- the indexes made for it.


CREATE OR REPLACE FUNCTION rag._expire_leases()
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET enable_seqscan = off
AS $$
DECLARE
    _now timestamptz := clock_timestamp();
BEGIN
    UPDATE rag.jobs AS j
    SET state = 'dead', lease = NULL, lease_expires_at = NULL,
        errors = rag._add_error(j.errors, j.attempts, format(
            'worker %s did not finish before its lease expired', coalesce(j.worker, '?')))
    WHERE j.job_id = ANY (ARRAY(
        SELECT x.job_id FROM rag.jobs AS x
        WHERE x.lease IS NOT NULL AND x.lease_expires_at < _now AND x.attempts >= x.max_attempts
        FOR UPDATE SKIP LOCKED));
END
$$;

COMMENT ON FUNCTION rag._expire_leases() IS
$$A job that was lost by its workers as often as its max_attempts is dead: it may be what kills
them.$$;


CREATE OR REPLACE FUNCTION rag._check_seconds(named text, seconds double precision,
                                              at_least double precision)
RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF seconds IS NULL OR seconds NOT BETWEEN at_least AND 31536000 THEN
        RAISE EXCEPTION '% % is out of range', named, coalesce(seconds::text, 'NULL')
        USING ERRCODE = 'RG001',
        HINT = format('use %s to 31536000 seconds, which is a year', at_least);
    END IF;
END
$$;

COMMENT ON FUNCTION rag._check_seconds(text, double precision, double precision) IS
$$Error RG001 for a lease or a delay that is NULL, shorter than at_least, or longer than a year.$$;


CREATE OR REPLACE FUNCTION rag.take_jobs(job_limit integer DEFAULT 1,
                                         lease_seconds double precision DEFAULT 60,
                                         collections text[] DEFAULT NULL,
                                         worker_name text DEFAULT NULL,
                                         kinds text[] DEFAULT NULL)
RETURNS TABLE (job_id bigint, lease uuid, kind text, collection_id integer, collection_name text,
               document_id uuid, attempts integer, space_id integer)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
    _now timestamptz := clock_timestamp();  -- a variable, so that an index serves run_at <= _now
    _open integer[];
    _ingesting integer[];
    _throttled integer[] := ARRAY(SELECT h.space_id FROM rag.throttled_spaces() AS h);
    _taken bigint[];
    _some bigint[];
    _priority integer;
    _turns integer[];
    _alone boolean;
    _again integer[];
    _quota integer;
    _round integer;
BEGIN
    IF job_limit NOT BETWEEN 1 AND 1000 OR job_limit IS NULL THEN
        RAISE EXCEPTION 'job_limit % is out of range', coalesce(job_limit::text, 'NULL')
        USING ERRCODE = 'RG001', HINT = 'use 1 to 1000';
    END IF;
    PERFORM rag._check_seconds('lease_seconds', lease_seconds, 1e-3);
    PERFORM rag._expire_leases();
    _open := ARRAY(
        SELECT c.collection_id FROM rag.collections AS c
        WHERE c.dropped_at IS NULL
            AND (collections IS NULL OR c.name = ANY (collections)));
    _ingesting := ARRAY(
        SELECT o.id FROM unnest(_open) AS o (id)
        WHERE _throttled = '{}' OR (rag._active_space(o.id)).space_id <> ALL (_throttled));

    -- What a worker lost comes first: it has waited longest. What was lost twice may be what kills
    -- workers: it is taken alone, so that it takes no other job with it.
    FOR _alone IN SELECT * FROM (VALUES (true), (false)) AS a (alone) LOOP
        _taken := ARRAY(
            SELECT x.job_id FROM rag.jobs AS x
            WHERE x.lease IS NOT NULL AND x.lease_expires_at < _now AND (x.attempts >= 2) = _alone
                AND x.collection_id = ANY (_open)
                AND CASE WHEN x.space_id IS NULL THEN x.collection_id = ANY (_ingesting)
                         ELSE x.space_id <> ALL (_throttled) END
                AND (kinds IS NULL OR x.kind = ANY (kinds))
            ORDER BY x.lease_expires_at
            LIMIT CASE WHEN _alone THEN 1 ELSE job_limit END
            FOR UPDATE SKIP LOCKED);
        EXIT WHEN _alone AND _taken <> '{}';
    END LOOP;

    -- Then by priority; collections with jobs of the same priority take turns, whatever the length
    -- of their queues.
    FOR _priority, _turns IN
        -- the pairs (priority, collection) of the queue, each by one step in its index
        WITH RECURSIVE heads AS (
            (SELECT x.priority, x.collection_id FROM rag.jobs AS x
             WHERE x.state = 'waiting' AND x.lease IS NULL
             ORDER BY x.priority DESC, x.collection_id DESC
             LIMIT 1)
            UNION ALL
            SELECT n.priority, n.collection_id
            FROM heads AS h, LATERAL (
                SELECT x.priority, x.collection_id FROM rag.jobs AS x
                WHERE x.state = 'waiting' AND x.lease IS NULL
                    AND (x.priority, x.collection_id) < (h.priority, h.collection_id)
                ORDER BY x.priority DESC, x.collection_id DESC
                LIMIT 1) AS n
        )
        SELECT h.priority, array_agg(h.collection_id ORDER BY random())
        FROM heads AS h
        WHERE h.collection_id = ANY (_open)
        GROUP BY h.priority
        ORDER BY h.priority DESC
    LOOP
        EXIT WHEN _alone;
        _round := 0;
        WHILE cardinality(_turns) > 0 AND cardinality(_taken) < job_limit LOOP
            _round := _round + 1;
            _again := '{}';
            FOR _turn IN 1 .. cardinality(_turns) LOOP
                _quota := ceil((job_limit - cardinality(_taken))::numeric /
                    (cardinality(_turns) - _turn + 1));
                EXIT WHEN _quota = 0;
                _some := ARRAY(
                    SELECT x.job_id FROM rag.jobs AS x
                    WHERE x.state = 'waiting' AND x.lease IS NULL
                        AND x.priority = _priority AND x.collection_id = _turns[_turn]
                            AND x.run_at <= _now
                        AND CASE WHEN x.space_id IS NULL THEN x.collection_id = ANY (_ingesting)
                                 ELSE x.space_id <> ALL (_throttled) END
                        AND (kinds IS NULL OR x.kind = ANY (kinds))
                        AND (_round = 1 OR x.job_id <> ALL (_taken))
                    ORDER BY x.run_at, x.job_id
                    LIMIT _quota
                    FOR UPDATE SKIP LOCKED);
                _taken := _taken || _some;
                IF cardinality(_some) = _quota THEN
                    _again := _again || _turns[_turn];
                END IF;
            END LOOP;
            _turns := _again;
        END LOOP;
        EXIT WHEN cardinality(_taken) >= job_limit;
    END LOOP;
    IF _taken = '{}' THEN
        RETURN;
    END IF;

    RETURN QUERY
    WITH taken AS (
        UPDATE rag.jobs AS j
        SET lease = gen_random_uuid(),
            lease_expires_at = clock_timestamp() + make_interval(secs => lease_seconds),
            attempts = j.attempts + 1,
            worker = worker_name
        WHERE j.job_id = ANY (_taken)
        RETURNING j.job_id, j.lease, j.kind, j.collection_id, j.document_id, j.attempts, j.priority,
            j.run_at,
                  j.space_id
    )
    SELECT t.job_id, t.lease, t.kind, t.collection_id, c.name, t.document_id, t.attempts, t.space_id
    FROM taken AS t
    JOIN rag.collections AS c USING (collection_id)
    ORDER BY t.priority DESC, t.run_at, t.job_id;
END
$$;

COMMENT ON FUNCTION rag.take_jobs(integer, double precision, text[], text, text[]) IS
$$Claim up to job_limit (1 to 1000) due jobs for lease_seconds, highest priority first.

Two takers never share a job. Collections with jobs of the same priority share the batch evenly, so
that a long queue of one does not hold up the others; within a collection the longest due comes
first. A job whose lease expired is simply taken again, after two losses by itself: what kills its
workers then takes nothing with it. One that was lost as often as its max_attempts is dead. Jobs
whose provider is over its budget
stay where they are. collections, kinds: only these (NULL: all). Commit, work with no transaction
open, then store with the lease. space_id: of an embed job, the space whose model has to embed.$$;


CREATE OR REPLACE FUNCTION rag._leased_job(of_job bigint, job_lease uuid)
RETURNS rag.jobs
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _job rag.jobs;
BEGIN
    SELECT j.* INTO _job FROM rag.jobs AS j
    WHERE j.job_id = of_job AND j.lease = job_lease AND j.lease_expires_at > clock_timestamp();
    IF _job.job_id IS NULL THEN
        RAISE EXCEPTION 'job % is no longer held by lease %', of_job, job_lease
        USING ERRCODE = 'RG005',
            HINT = 'the lease expired, or the document was deleted: drop this result, take_jobs '
                'again';
    END IF;
    RETURN _job;
END
$$;

COMMENT ON FUNCTION rag._leased_job(bigint, uuid) IS
$$The job when the lease still holds; error RG005 otherwise. Not locked: a reader that locked a job
before its document would wait in the opposite order of those who drop a collection.$$;


CREATE OR REPLACE FUNCTION rag._require_lease(of_job bigint, job_lease uuid)
RETURNS rag.jobs
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM FROM rag.jobs AS j WHERE j.job_id = of_job FOR UPDATE;
    RETURN rag._leased_job(of_job, job_lease);
END
$$;

COMMENT ON FUNCTION rag._require_lease(bigint, uuid) IS
$$The job, locked, when the lease still holds; error RG005 otherwise.$$;


CREATE OR REPLACE FUNCTION rag.extend_job(job_id bigint, lease uuid,
    lease_seconds double precision DEFAULT 60)
RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM rag._check_seconds('lease_seconds', lease_seconds, 1e-3);
    UPDATE rag.jobs AS j
    SET lease_expires_at = clock_timestamp() + make_interval(secs => lease_seconds)
    WHERE j.job_id = extend_job.job_id AND j.lease = extend_job.lease
        AND j.lease_expires_at > clock_timestamp();
    RETURN FOUND;
END
$$;

COMMENT ON FUNCTION rag.extend_job(bigint, uuid, double precision) IS
$$Heartbeat: keep a lease for lease_seconds from now. False when it is already lost.$$;


CREATE OR REPLACE FUNCTION rag.extend_jobs(job_ids bigint[], leases uuid[],
    lease_seconds double precision DEFAULT 60)
RETURNS bigint[]
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET enable_seqscan = off
AS $$
BEGIN
    PERFORM rag._check_seconds('lease_seconds', lease_seconds, 1e-3);
    -- A locked one is being stored or deleted just now.
    UPDATE rag.jobs AS j
    SET lease_expires_at = clock_timestamp() + make_interval(secs => lease_seconds)
    WHERE j.job_id = ANY (ARRAY(
        SELECT x.job_id FROM unnest(job_ids, leases) AS u (id, token)
        JOIN rag.jobs AS x ON x.job_id = u.id AND x.lease = u.token
        WHERE x.lease_expires_at > clock_timestamp()
        FOR UPDATE OF x SKIP LOCKED));
    RETURN ARRAY(
        SELECT u.id FROM unnest(job_ids, leases) AS u (id, token)
        WHERE NOT EXISTS (SELECT FROM rag.jobs AS x WHERE x.job_id = u.id AND x.lease = u.token
                              AND x.lease_expires_at > clock_timestamp()));
END
$$;

COMMENT ON FUNCTION rag.extend_jobs(bigint[], uuid[], double precision) IS
$$extend_job for many, in parallel arrays. Returns the ids of those whose lease is lost.$$;


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

COMMENT ON FUNCTION rag.finish_job(bigint, uuid) IS
$$The job is done: it leaves the queue. Error RG005 when the lease is lost.$$;


CREATE OR REPLACE FUNCTION rag.finish_jobs(job_ids bigint[], leases uuid[])
RETURNS bigint[]
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET enable_seqscan = off
AS $$
DECLARE
    _finished bigint[];
BEGIN
    WITH gone AS (
        DELETE FROM rag.jobs AS j
        USING unnest(job_ids, leases) AS u (id, token)
        WHERE j.job_id = u.id AND j.lease = u.token AND j.lease_expires_at > clock_timestamp()
        RETURNING j.job_id
    )
    SELECT coalesce(array_agg(g.job_id), '{}') INTO _finished FROM gone AS g;
    RETURN _finished;
END
$$;

COMMENT ON FUNCTION rag.finish_jobs(bigint[], uuid[]) IS
$$finish_job for many, in parallel arrays. Returns the ids of those that were still held, and are
done.$$;


CREATE OR REPLACE FUNCTION rag._requeue_job(leased rag.jobs, delay double precision)
RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
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
            errors = leased.errors,
            run_at = clock_timestamp() + make_interval(secs => delay)
        WHERE j.job_id = leased.job_id;
    -- the document was put again meanwhile: that job does the work
    EXCEPTION WHEN unique_violation THEN
        DELETE FROM rag.jobs AS j WHERE j.job_id = leased.job_id;
        RETURN 'superseded';
    END;
    RETURN 'waiting';
END
$$;

COMMENT ON FUNCTION rag._requeue_job(rag.jobs, double precision) IS
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
    PERFORM rag._check_seconds('retry_in', coalesce(retry_in, 0), 0);
    SELECT j.* INTO _job FROM rag.jobs AS j
    WHERE j.job_id = fail_job.job_id AND j.lease = fail_job.lease
    FOR UPDATE;
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

COMMENT ON FUNCTION rag.fail_job(bigint, uuid, text, double precision, boolean) IS
$$Record a failure, in a transaction of its own: the job waits again, or is dead after its last
attempt.

retry_in: seconds until the next attempt; NULL: 2^attempts, at most an hour, with jitter. permanent:
no other attempt can help. Returns waiting, dead, superseded (a newer job of the document waits) or
lost (the lease was no longer held). What is not the document's fault costs no attempt:
rag.release_job.$$;


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
    PERFORM rag._check_seconds('delay', coalesce(delay, 0), 0);
    SELECT j.* INTO _job FROM rag.jobs AS j
    WHERE j.job_id = release_job.job_id AND j.lease = release_job.lease
    FOR UPDATE;
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

COMMENT ON FUNCTION rag.release_job(bigint, uuid, double precision, text) IS
$$Hand a job back: the attempt does not count. It waits again and is due in delay seconds.

reason: why, for its history (a provider that refuses, a database that is full); NULL where nothing
went wrong, as when a worker ends. Returns waiting, superseded (a newer job of the document waits)
or lost (the lease was no longer held).$$;


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
        UPDATE rag.jobs AS j SET run_at = clock_timestamp()
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

COMMENT ON FUNCTION rag.retry_jobs(text, text, text, text, bigint[], boolean) IS
$$Queue dead jobs again, with all their attempts before them. Returns how many.

All, or those of a collection, whose last error is LIKE error_like, of a kind, of documents whose
uri is LIKE uri_like, or with these job_ids. include_waiting: those that wait for their next
attempt, too, which then is now.$$;
