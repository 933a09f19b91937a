-- Leases: due jobs are taken, one worker each, for as long as its lease is extended.

-- A queue's statistics are always out of date, so enable_seqscan is off where jobs are sought by
-- the indexes made for it.

CREATE OR REPLACE FUNCTION rag.take_jobs(job_limit integer DEFAULT 1,
                                         lease_seconds double precision DEFAULT 60,
                                         collections text[] DEFAULT NULL,
                                         worker_name text DEFAULT NULL,
                                         kinds text[] DEFAULT NULL)
RETURNS TABLE (job_id bigint, lease uuid, kind text, collection_id integer, collection_name text,
               document_id uuid, attempts integer, space_id integer, traceparent text)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
    _now timestamptz := clock_timestamp();  -- a variable, so that an index serves run_at <= _now
    _job rag.jobs;
    _open integer[];
    _ingesting integer[];
    _throttled integer[] := ARRAY(SELECT h.space_id FROM rag.throttled_spaces() AS h);
    _taken bigint[];
    _leases uuid[];
    _expires_at timestamptz;
    _some bigint[];
    _priority integer;
    _turns integer[];
    _alone boolean;
    _again integer[];
    _quota integer;
    _round integer;
BEGIN
    PERFORM rag._check_range('job_limit', job_limit, 1, 1000, 'RG001');
    PERFORM rag._check_range('lease_seconds', lease_seconds, 1e-3, 31536000, 'RG001');
    -- One that was lost by its workers as often as its max_attempts is dead: it may be what kills
    -- them.
    FOR _job IN
        SELECT x.* FROM rag.jobs AS x
        WHERE x.lease IS NOT NULL AND x.lease_expires_at < _now AND x.attempts >= x.max_attempts
        FOR UPDATE SKIP LOCKED
    LOOP
        _job.errors := rag._add_error(_job.errors, _job.attempts, format(
            'worker %s did not finish before its lease expired', coalesce(_job.worker, '?')));
        UPDATE rag.jobs AS j
        SET state = 'dead', lease = NULL, lease_expires_at = NULL, errors = _job.errors
        WHERE j.job_id = _job.job_id;
    END LOOP;
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

    _leases := ARRAY(SELECT gen_random_uuid() FROM unnest(_taken));
    _expires_at := clock_timestamp() + make_interval(secs => lease_seconds);
    RETURN QUERY
    WITH taken AS (
        UPDATE rag.jobs AS j
        SET lease = u.token, lease_expires_at = _expires_at, attempts = j.attempts + 1,
            worker = worker_name
        FROM unnest(_taken, _leases) AS u (id, token)
        WHERE j.job_id = u.id
        RETURNING j.job_id, j.lease, j.kind, j.collection_id, j.document_id, j.attempts, j.priority,
            j.run_at,
                  j.space_id, j.traceparent
    )
    SELECT t.job_id, t.lease, t.kind, t.collection_id, c.name, t.document_id, t.attempts,
        t.space_id, t.traceparent
    FROM taken AS t
    JOIN rag.collections AS c USING (collection_id)
    ORDER BY t.priority DESC, t.run_at, t.job_id;
END
$$;

COMMENT ON FUNCTION rag.take_jobs IS
$$Lease jobs that are due.

Claim up to job_limit (1 to 1000) due jobs for lease_seconds, highest priority first.

Two takers never share a job. Collections with jobs of the same priority share the batch evenly, so
that a long queue of one does not hold up the others; within a collection the longest due comes
first. A job whose lease expired is simply taken again, after two losses by itself: what kills its
workers then takes nothing with it. One that was lost as often as its max_attempts is dead. Jobs
whose provider is over its budget
stay where they are. collections, kinds: only these (NULL: all). Commit, work with no transaction
open, then store with the lease. space_id: of an embed job, the space whose model has to embed.
traceparent: the span that the job was put in: the setting rag.traceparent of that transaction, as
W3C trace context.
Circle: worker, Jobs.
SELECT * FROM rag.take_jobs(1)$$;


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

COMMENT ON FUNCTION rag._leased_job IS
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

COMMENT ON FUNCTION rag._require_lease IS
$$The job, locked, when the lease still holds; error RG005 otherwise.$$;


CREATE OR REPLACE FUNCTION rag.extend_jobs(job_ids bigint[], leases uuid[],
    lease_seconds double precision DEFAULT 60)
RETURNS bigint[]
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET enable_seqscan = off
AS $$
DECLARE
    _now CONSTANT timestamptz := clock_timestamp();
    _expires_at timestamptz;
BEGIN
    PERFORM rag._check_range('lease_seconds', lease_seconds, 1e-3, 31536000, 'RG001');
    _expires_at := _now + make_interval(secs => lease_seconds);
    -- A locked one is being stored or deleted just now.
    UPDATE rag.jobs AS j
    SET lease_expires_at = _expires_at
    WHERE j.job_id = ANY (ARRAY(
        SELECT x.job_id FROM unnest(job_ids, leases) AS u (id, token)
        JOIN rag.jobs AS x ON x.job_id = u.id AND x.lease = u.token
        WHERE x.lease_expires_at > _now
        FOR UPDATE OF x SKIP LOCKED));
    RETURN ARRAY(
        SELECT u.id FROM unnest(job_ids, leases) AS u (id, token)
        WHERE NOT EXISTS (SELECT FROM rag.jobs AS x WHERE x.job_id = u.id AND x.lease = u.token
                              AND x.lease_expires_at > clock_timestamp()));
END
$$;

COMMENT ON FUNCTION rag.extend_jobs IS
$$Heartbeat: keep leases for lease_seconds from now. Both arrays are parallel. Returns the
ids of those whose lease is lost.
Circle: worker, Jobs.
SELECT rag.extend_jobs(ARRAY[j.job_id], ARRAY[j.lease])
FROM rag.take_jobs(1) AS j$$;
