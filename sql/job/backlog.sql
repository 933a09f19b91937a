-- Backlogs: the documents of a collection are queued in batches.
--
-- For a new embedding space, or after a change of the chunking.

CREATE OR REPLACE FUNCTION rag._next_documents(of_backlog rag.backlogs, document_limit integer)
RETURNS TABLE (document_id uuid, needed boolean)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    _version integer := (rag._enrichment(of_backlog.collection_id, of_backlog.kind)).version;
BEGIN
    RETURN QUERY
    SELECT n.document_id, CASE of_backlog.kind
        WHEN 'ingest' THEN NOT EXISTS (
            SELECT FROM rag.chunks AS c
            WHERE c.collection_id = of_backlog.collection_id AND c.document_id = n.document_id
                AND c.start_offset IS NULL)
        WHEN 'context' THEN true
        WHEN 'embed' THEN EXISTS (
                SELECT FROM rag.chunks AS c
                LEFT JOIN rag.embeddings AS e ON e.space_id = of_backlog.space_id
                    AND e.chunk_id = c.chunk_id
                WHERE c.collection_id = of_backlog.collection_id AND c.document_id = n.document_id
                    AND e.chunk_id IS NULL)
            AND NOT EXISTS (
                SELECT FROM rag.jobs AS j
                WHERE j.collection_id = of_backlog.collection_id AND j.document_id = n.document_id
                    AND (j.space_id = of_backlog.space_id OR j.kind = 'ingest'
                        AND j.state = 'waiting'))
        ELSE n.enriched #> ARRAY[of_backlog.kind, 'version'] IS DISTINCT FROM to_jsonb(_version) END
    FROM (
        SELECT d.document_id, d.enriched FROM rag.documents AS d
        WHERE d.collection_id = of_backlog.collection_id
            AND d.document_id > of_backlog.after_document
        ORDER BY d.document_id
        LIMIT document_limit
    ) AS n
    ORDER BY n.document_id;
END
$$;

COMMENT ON FUNCTION rag._next_documents IS
$$The next documents of a backlog, and whether each needs a job: chunks made by rag_pg to cut again,
fields of an earlier version of the rules, or chunks without a vector for which no job is there (one
that will cut the document again queues its vectors itself).$$;


CREATE OR REPLACE FUNCTION rag.queue_backlog(document_limit integer DEFAULT 500,
    collections text[] DEFAULT NULL)
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    _backlog rag.backlogs;
    _document record;
    _passed integer := 0;
BEGIN
    PERFORM rag._check_range('document_limit', document_limit, 1, 100000, 'RG001');
    FOR _backlog IN
        SELECT b.* FROM rag.backlogs AS b
        JOIN rag.collections AS c ON c.collection_id = b.collection_id AND c.dropped_at IS NULL
        WHERE collections IS NULL OR c.name = ANY (collections)
        ORDER BY b.backlog_id
        FOR UPDATE OF b SKIP LOCKED
    LOOP
        -- A writer that does not know the space has begun before this: its chunks are looked for at
        -- the end.
        _backlog.fence := coalesce(_backlog.fence, pg_snapshot_xmax(pg_current_snapshot()));
        FOR _document IN SELECT n.* FROM rag._next_documents(_backlog, document_limit) AS n LOOP
            IF _document.needed THEN
                PERFORM rag._queue_jobs(_backlog.collection_id, ARRAY[_document.document_id],
                    _backlog.kind, -1, for_space => _backlog.space_id);
            END IF;
            _backlog.after_document := _document.document_id;
            _passed := _passed + 1;
        END LOOP;
        UPDATE rag.backlogs AS b SET after_document = _backlog.after_document,
            fence = _backlog.fence
        WHERE b.backlog_id = _backlog.backlog_id;
        IF _passed > 0 THEN
            RETURN _passed;
        END IF;
        PERFORM rag._end_backlog(_backlog);
    END LOOP;
    RETURN 0;
END
$$;

COMMENT ON FUNCTION rag.queue_backlog IS
$$Queue the next documents of a large change.
Of a space that is being built, or of a collection whose chunking was changed.

Returns how many documents were passed, queued or not; 0 when nothing is left to queue now. An idle
worker calls it before it sleeps, each time in a transaction of its own; two callers never queue the
same documents. collections: only these (NULL: all).
Circle: worker, Jobs.
SELECT rag.queue_backlog()$$;


CREATE OR REPLACE FUNCTION rag._is_passed(fence xid8)
RETURNS boolean
LANGUAGE sql STABLE
RETURN pg_snapshot_xmin(pg_current_snapshot())
    >= least(fence, pg_snapshot_xmax(pg_current_snapshot()));

COMMENT ON FUNCTION rag._is_passed IS
$$Whether all transactions before this one have ended. One that is yet to come is of another server,
from which the schema was moved or restored: then those that are open now have to end.$$;


CREATE OR REPLACE FUNCTION rag._end_backlog(of_backlog rag.backlogs)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _left boolean;
BEGIN
    -- a writer from before the settings is still at it
    IF of_backlog.kind IN ('enrich', 'extract', 'context') THEN
        IF NOT rag._is_passed(of_backlog.fence) THEN
            RETURN;
        END IF;
        SELECT true INTO _left
        FROM rag.documents AS d
        WHERE d.collection_id = of_backlog.collection_id
            AND CASE of_backlog.kind WHEN 'context' THEN EXISTS (
                    SELECT FROM rag.chunks AS c
                    WHERE c.collection_id = of_backlog.collection_id
                        AND c.document_id = d.document_id
                        AND c.context_source IS DISTINCT FROM
                            rag._context_source(ROW(d.*)::rag.documents))
                ELSE d.enriched #> ARRAY[of_backlog.kind, 'version'] IS DISTINCT FROM to_jsonb(
                    (rag._enrichment(of_backlog.collection_id, of_backlog.kind)).version) END
            AND NOT EXISTS (SELECT FROM rag.jobs AS j
                            WHERE j.collection_id = d.collection_id
                                AND j.document_id = d.document_id
                                AND j.kind IN (of_backlog.kind, 'ingest'))
        LIMIT 1;
    END IF;
    IF of_backlog.kind = 'embed' THEN
        -- a writer from before the space is still at it
        IF NOT rag._is_passed(of_backlog.fence)
            OR EXISTS (SELECT FROM rag.jobs AS j
                       WHERE j.collection_id = of_backlog.collection_id
                           AND j.space_id = of_backlog.space_id
                           AND j.state = 'waiting') THEN
            RETURN;
        END IF;
        SELECT bool_or(NOT EXISTS (SELECT FROM rag.jobs AS j
                                   WHERE j.collection_id = c.collection_id
                                       AND j.document_id = c.document_id
                                       AND j.kind = 'ingest' AND j.state = 'waiting'))
        INTO _left
        FROM rag.chunks AS c
        LEFT JOIN rag.embeddings AS e ON e.space_id = of_backlog.space_id
            AND e.chunk_id = c.chunk_id
        WHERE c.collection_id = of_backlog.collection_id AND e.chunk_id IS NULL
            AND NOT EXISTS (SELECT FROM rag.jobs AS j
                            WHERE j.collection_id = c.collection_id
                                AND j.document_id = c.document_id
                                AND j.space_id = of_backlog.space_id);
        IF NOT _left THEN  -- what lacks a vector is about to be cut again
            RETURN;
        END IF;
    END IF;
    IF _left THEN
        UPDATE rag.backlogs AS b SET after_document = '00000000-0000-0000-0000-000000000000'
        WHERE b.backlog_id = of_backlog.backlog_id;
    ELSE
        DELETE FROM rag.backlogs AS b WHERE b.backlog_id = of_backlog.backlog_id;
    END IF;
END
$$;

COMMENT ON FUNCTION rag._end_backlog IS
$$End a backlog of which every document was passed. A space's ends when its jobs are done and no
chunk is without a vector or a job; chunks of a writer that did not know the space yet are passed
once more.$$;
