-- Bulk mode: take a collection's vector index away, load, build it again.

CREATE OR REPLACE FUNCTION rag.drop_vector_index(collection text)
RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _space rag.spaces := rag.active_space((rag.require_collection(drop_vector_index.collection)).collection_id);
BEGIN
    IF NOT rag.has_index(_space) THEN
        RETURN false;
    END IF;
    EXECUTE format('DROP INDEX rag.%I', rag.index_name(_space.space_id));
    RETURN true;
END
$$;

COMMENT ON FUNCTION rag.drop_vector_index(text) IS
$$Take a collection's vector index away before a bulk load; false when there is none. Until rag.build_vector_index every
vector search compares every vector: exact, and slow. Only the owner of the tables may.$$;


CREATE OR REPLACE FUNCTION rag.build_vector_index(collection text)
RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _space rag.spaces := rag.active_space((rag.require_collection(build_vector_index.collection)).collection_id);
    _had boolean := rag.has_index(_space);
BEGIN
    CALL rag.build_index(_space);
    RETURN NOT _had AND rag.has_index(_space);
END
$$;

COMMENT ON FUNCTION rag.build_vector_index(text) IS
$$Build a collection's vector index if it is missing; false when it is there already, or the kind is exact.

Several times faster than filling it vector by vector, the more so with max_parallel_maintenance_workers and with SET
maintenance_work_mem large enough for the whole index (about 1.5 kB a chunk at 384 dimensions) where that is more than
rag.index_memory takes by itself. Writers of this collection's vectors
wait meanwhile; searches do not. Another session sees how far it is by rag.index_progress().$$;


CREATE OR REPLACE FUNCTION rag.index_progress()
RETURNS TABLE (collection text, phase text, done bigint, total bigint, percent double precision)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT c.name, p.phase,
           CASE WHEN p.tuples_total > 0 THEN p.tuples_done ELSE p.blocks_done END,
           CASE WHEN p.tuples_total > 0 THEN p.tuples_total ELSE p.blocks_total END,
           round(100.0 * CASE WHEN p.tuples_total > 0 THEN p.tuples_done ELSE p.blocks_done END
                 / nullif(CASE WHEN p.tuples_total > 0 THEN p.tuples_total ELSE p.blocks_total END, 0), 1)::double precision
    FROM pg_stat_progress_create_index AS p
    JOIN pg_class AS t ON t.oid = p.relid AND t.relnamespace = 'rag'::regnamespace
    JOIN rag.spaces AS s ON t.relname = 'embeddings_' || s.space_id
    JOIN rag.collections AS c ON c.collection_id = s.collection_id
    WHERE p.datname = current_database();
END
$$;

COMMENT ON FUNCTION rag.index_progress() IS
$$The vector indexes that are being built, from pg_stat_progress_create_index: collection, phase, and tuples (or blocks) done.$$;
