-- What each collection holds, counted.

CREATE OR REPLACE FUNCTION rag._count_embedded(collection_id integer, of_space integer)
RETURNS bigint
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
BEGIN
    IF rag._scope(_count_embedded.collection_id) IS NULL THEN
        RETURN (SELECT count(*) FROM rag.embeddings AS e WHERE e.space_id = of_space);
    END IF;
    RETURN (SELECT count(*) FROM rag.chunks AS c  -- of which policies show the caller's own
        JOIN rag.embeddings AS e ON e.space_id = of_space AND e.chunk_id = c.chunk_id
        WHERE c.collection_id = _count_embedded.collection_id);
END
$$;

COMMENT ON FUNCTION rag._count_embedded IS
$$How many chunks have a vector in a space, of those that the session sees.$$;


CREATE OR REPLACE FUNCTION rag.collection_stats(name text DEFAULT NULL)
RETURNS TABLE (collection text, model text, documents bigint, chunks bigint, embedded bigint,
               pending bigint, running bigint, delayed bigint, failed bigint, bytes bigint,
               lag double precision, rate double precision, eta double precision, reason text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    _c record;
BEGIN
    IF collection_stats.name IS NOT NULL THEN
        PERFORM rag._require_collection(collection_stats.name);
    END IF;
    -- A statement for each, so that each reads its own partitions only.
    FOR _c IN
        SELECT l.collection_id, l.space_id, l.name, l.model, j.waiting + j.running AS pending,
               j.running, j.delayed, j.dead, j.rate, j.eta, j.reason
        FROM rag.list_collections() AS l
        JOIN rag.job_stats(collection_stats.name) AS j ON j.collection_name = l.name
        ORDER BY l.name
    LOOP
        RETURN QUERY
        SELECT _c.name, _c.model,
               (SELECT count(*) FROM rag.documents AS d WHERE d.collection_id = _c.collection_id),
               (SELECT count(*) FROM rag.chunks AS k WHERE k.collection_id = _c.collection_id),
               rag._count_embedded(_c.collection_id, _c.space_id),
               _c.pending, _c.running, _c.delayed, _c.dead,
               (SELECT coalesce(sum(pg_total_relation_size(rag._stored_as(p.part))), 0)::bigint
                FROM (SELECT to_regclass(format('rag.%I', t || '_' || _c.collection_id))
                      FROM unnest(rag._collection_tables()) AS t
                      UNION ALL
                      SELECT to_regclass(format('rag.%I', 'embeddings_' || s.space_id))
                      FROM rag._live_spaces(_c.collection_id) AS s) AS p (part)),
               (SELECT greatest(0, coalesce(extract(epoch
                   FROM clock_timestamp() - min(x.created_at)), 0))::double precision
                FROM rag.jobs AS x
                JOIN rag.documents AS d ON d.collection_id = _c.collection_id
                    AND d.document_id = x.document_id
                WHERE x.collection_id = _c.collection_id AND x.state = 'waiting'
                    AND (x.space_id = _c.space_id OR d.indexed_version < d.version)),
               _c.rate, _c.eta, _c.reason;
    END LOOP;
END
$$;

COMMENT ON FUNCTION rag.collection_stats IS
$$Counts and size of a collection, or of all.

embedded: chunks with a vector in the active space, which is of model. pending: jobs that wait or
run; running and delayed (not due yet) are of these; failed: jobs that are dead. bytes: on disk,
with indexes. lag: seconds since the oldest put that is not searchable yet (0: all are, or have
failed). rate, eta, reason: as of rag.job_stats.
Circle: application, Collections.
SELECT * FROM rag.collection_stats('docs')$$;
