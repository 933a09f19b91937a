-- Read your writes: wait until documents are searchable.

CREATE OR REPLACE FUNCTION rag.pending_documents(collection text, document_ids uuid[],
    versions integer[] DEFAULT NULL)
RETURNS TABLE (document_id uuid, uri text, wanted_version integer, state text, error text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    _id integer := (rag._require_collection(pending_documents.collection)).collection_id;
    _space rag.spaces := rag._active_space(_id);
    _seen CONSTANT uuid[] := rag._scoped_documents(_id, document_ids);
BEGIN
    RETURN QUERY
    SELECT d.document_id, d.uri, w.wanted,
           CASE WHEN j.waiting OR j.waiting IS NULL THEN 'pending' ELSE 'failed' END, j.error
    FROM unnest(document_ids, versions) AS v (id, version)
    JOIN rag.documents AS d ON d.collection_id = _id AND d.document_id = v.id,
    LATERAL (SELECT coalesce(v.version, d.version) AS wanted) AS w,
    LATERAL (
        SELECT bool_or(x.state = 'waiting') AS waiting, bool_or(x.kind = 'embed') AS embed,
               bool_or(x.kind = 'enrich') AS enrich,
               max(x.errors -> -1 ->> 'error') AS error
        FROM rag.jobs AS x
        WHERE x.collection_id = _id AND x.document_id = d.document_id
            AND (x.kind = 'ingest' OR x.space_id = _space.space_id
                OR x.kind = 'enrich' AND x.state = 'waiting')
    ) AS j
    WHERE (d.indexed_version < w.wanted OR j.enrich OR j.embed)
        AND d.document_id = ANY (_seen)
    ORDER BY d.uri;
END
$$;

COMMENT ON FUNCTION rag.pending_documents IS
$$Which of these are not searchable.
By keyword and by vector, in the given versions (NULL: their last): pending (work is queued) or
failed, and the last error.
Circle: client, Jobs.
SELECT * FROM rag.pending_documents('docs', '{}')$$;


CREATE OR REPLACE FUNCTION rag.wait_until_searchable(collection text, document_ids uuid[],
                                                     timeout_seconds double precision DEFAULT 30)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    _id integer := (rag._require_collection(wait_until_searchable.collection)).collection_id;
    _deadline timestamptz := clock_timestamp() + make_interval(
        secs => CASE WHEN timeout_seconds BETWEEN 0 AND 86400 THEN timeout_seconds END);
    _pause double precision := 0.005;
    _seen CONSTANT uuid[] := rag._scoped_documents(_id, document_ids);
    _ids uuid[];
    _versions integer[];
    _names text;
    _count bigint;
    _error text;
BEGIN
    PERFORM rag._check_range('timeout_seconds', timeout_seconds, 0, 86400, 'RG001');
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION 'a % transaction does not see what others store',
            current_setting('transaction_isolation')
        USING ERRCODE = 'RG001', HINT = 'wait outside it, or in a READ COMMITTED transaction';
    END IF;
    SELECT w.id::text INTO _names
    FROM unnest(document_ids) AS w (id)
    WHERE NOT EXISTS (SELECT FROM rag.documents AS d WHERE d.collection_id = _id
        AND d.document_id = w.id
        AND d.document_id = ANY (_seen))
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'collection ''%'' has no document with id %',
            wait_until_searchable.collection, _names
        USING ERRCODE = 'RG002',
            HINT = 'pass what rag.put_document returned; it may have been deleted since';
    END IF;
    -- What is seen and not committed is this transaction's own, written under whichever savepoint.
    PERFORM FROM rag.jobs AS j,
    LATERAL (SELECT pg_current_xact_id_if_assigned()::text::bigint AS top) AS t,
    LATERAL (SELECT (j.xmin::text::bigint - t.top) & 4294967295 AS later) AS l
    WHERE j.collection_id = _id AND j.document_id = ANY (document_ids)
        AND CASE WHEN l.later < 1073741824
                 THEN pg_xact_status((t.top + l.later)::text::xid8) = 'in progress' ELSE false END;
    IF FOUND THEN
        RAISE EXCEPTION 'the documents were put in this very transaction, which no worker sees'
        USING ERRCODE = 'RG001', HINT = 'commit, then wait';
    END IF;
    -- Their versions now: a document that others keep changing is not waited for again and again.
    SELECT array_agg(d.document_id), array_agg(d.version) INTO _ids, _versions
    FROM rag.documents AS d WHERE d.collection_id = _id AND d.document_id = ANY (document_ids);
    LOOP
        -- Each round is a statement of its own and so has a snapshot of its own.
        SELECT count(*), string_agg(quote_literal(u.uri), ', ' ORDER BY u.uri) FILTER
            (WHERE u.position <= 5),
               max(format('%L: %s', u.uri, coalesce(u.error, 'unknown'))) FILTER
                   (WHERE u.state = 'failed')
        INTO _count, _names, _error
        FROM (SELECT x.*, row_number() OVER (ORDER BY x.uri) AS position
              FROM rag.pending_documents(wait_until_searchable.collection, _ids, _versions) AS x) AS
                  u;
        EXIT WHEN _count = 0;
        IF _error IS NOT NULL THEN
            RAISE EXCEPTION 'a document cannot be made searchable: %', _error
            USING ERRCODE = 'RG007',
                HINT = 'mend the cause and call rag.retry_jobs, or put another text';
        END IF;
        IF clock_timestamp() >= _deadline THEN
            RAISE EXCEPTION '% documents are not searchable after % s: %', _count, timeout_seconds,
                _names || CASE WHEN _count > 5 THEN ', ...' ELSE '' END
            USING ERRCODE = 'RG007',
                HINT = 'is a worker running ("rag-pg worker")? rag.list_jobs shows what waits';
        END IF;
        PERFORM pg_sleep(least(_pause,
            greatest(extract(epoch FROM _deadline - clock_timestamp()), 0)));
        _pause := least(_pause * 1.5, 0.1);
    END LOOP;
END
$$;

COMMENT ON FUNCTION rag.wait_until_searchable IS
$$Wait for what was put.

Return when these documents are searchable, by keyword and by vector, in the version they have now
or a later one.

document_ids: what rag.put_document returned, after its transaction is committed. Polls, at first
every 5 ms. Error RG007 after timeout_seconds (0: only look), naming what is still pending, or at
once for a document that failed. Then search in a statement of its own: a search sees what was
stored before its statement began.
Circle: application 3, Documents.
SELECT rag.wait_until_searchable('docs', '{}')$$;
