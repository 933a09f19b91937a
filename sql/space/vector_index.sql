-- The vector index of an embedding space: dropped before a bulk load, and built again.

CREATE OR REPLACE FUNCTION rag._distance_operator(distance text)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE distance WHEN 'cosine' THEN 'OPERATOR({vector}.<=>)'
                     WHEN 'l2' THEN 'OPERATOR({vector}.<->)'
                     WHEN 'ip' THEN 'OPERATOR({vector}.<#>)' END;

COMMENT ON FUNCTION rag._distance_operator IS
$$pgvector's operator of a distance (cosine, l2, ip), with its schema. For ip it gives the negative
inner product.$$;


CREATE OR REPLACE FUNCTION rag._index_name(of_space integer)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 'embeddings_' || of_space::text || '_hnsw';

COMMENT ON FUNCTION rag._index_name IS
$$The name of an embedding space's index in schema rag, whether it is there or not.$$;


CREATE OR REPLACE FUNCTION rag._has_index(space rag.spaces)
RETURNS boolean
LANGUAGE sql STABLE
RETURN to_regclass(format('rag.%I', rag._index_name(space.space_id))) IS NOT NULL;

COMMENT ON FUNCTION rag._has_index IS
$$Whether the space's vectors are indexed: not of kind exact, and not while rag.drop_vector_index
has taken the index away.$$;


CREATE OR REPLACE FUNCTION rag._index_statement(of_space rag.spaces,
    beside_writers boolean DEFAULT false)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _partition text := format('embeddings_%s', of_space.space_id);
BEGIN
    RETURN format(
        'CREATE INDEX %s IF NOT EXISTS %I ON rag.%I USING hnsw (%s) WITH (m = %s, ef_construction '
        '= %s)',
        CASE WHEN beside_writers THEN 'CONCURRENTLY' END, rag._index_name(of_space.space_id),
            _partition,
        CASE of_space.index_options ->> 'kind'
            WHEN 'binary' THEN format(
                '({vector}.binary_quantize(embedding::{vector}.halfvec(%1$s))::bit(%1$s)) '
                '{vector}.bit_hamming_ops', of_space.dimensions)
            WHEN 'hnsw' THEN format(
                '(embedding::{vector}.halfvec(%s)) {vector}.%I',
                of_space.dimensions, format('halfvec_%s_ops', of_space.distance)) END,
        (of_space.index_options ->> 'm')::integer,
            (of_space.index_options ->> 'ef_construction')::integer);
END
$$;

COMMENT ON FUNCTION rag._index_statement IS
$$The statement that makes the HNSW index of an embedding space, of its kind: hnsw (halfvec) or
binary (one bit a dimension).

beside_writers: CONCURRENTLY, outside a transaction.$$;


CREATE OR REPLACE FUNCTION rag._index_memory(of_space rag.spaces)
RETURNS text
LANGUAGE sql STABLE
RETURN greatest(
    pg_size_bytes(current_setting('maintenance_work_mem')),
    least(2 * pg_table_size(rag._stored_as(format('rag.%I', 'embeddings_' || of_space.space_id))),
          greatest(pg_size_bytes('256MB'), pg_size_bytes(current_setting('shared_buffers'))))
) / 1024 || 'kB';

COMMENT ON FUNCTION rag._index_memory IS
$$The maintenance_work_mem by which a space's index is built: what is set, or more where the graph
needs it (about twice its vectors) but no more than shared_buffers or 256 MB. A graph that does not
fit is built several times slower.$$;


CREATE OR REPLACE PROCEDURE rag._build_index(of_space rag.spaces)
LANGUAGE plpgsql
SET search_path FROM CURRENT
AS $$
DECLARE
    _memory text := current_setting('maintenance_work_mem');
    _workers text := current_setting('max_parallel_maintenance_workers');
BEGIN
    PERFORM rag._measure_similarity(of_space.space_id);
    IF of_space.index_options ->> 'kind' = 'exact' THEN
        RETURN;
    END IF;
    PERFORM set_config('maintenance_work_mem', rag._index_memory(of_space), true);
    BEGIN
        EXECUTE rag._index_statement(of_space);
    EXCEPTION WHEN disk_full OR out_of_memory THEN
        -- Workers share that memory through /dev/shm, of which a container may have 64 MB.
        RAISE NOTICE 'the index of space % is built by one process: %', of_space.space_id, SQLERRM;
        PERFORM set_config('max_parallel_maintenance_workers', '0', true);
        EXECUTE rag._index_statement(of_space);
        PERFORM set_config('max_parallel_maintenance_workers', _workers, true);
    END;
    PERFORM set_config('maintenance_work_mem', _memory, true);
END
$$;

COMMENT ON PROCEDURE rag._build_index IS
$$Make the HNSW index of an embedding space; none for kind exact. With rag._index_memory, and by one
process where parallel ones find no shared memory (a notice says so).
Circle: client.$$;


CREATE OR REPLACE FUNCTION rag._index_state(of_space rag.spaces)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _index regclass := to_regclass(format('rag.%I', rag._index_name(of_space.space_id)));
BEGIN
    RETURN CASE
        WHEN of_space.index_options ->> 'kind' = 'exact' THEN 'none'
        WHEN _index IS NULL THEN 'missing'
        WHEN (SELECT i.indisvalid FROM pg_index AS i WHERE i.indexrelid = _index) THEN 'ready'
        WHEN EXISTS (SELECT FROM pg_stat_progress_create_index AS p
            WHERE p.index_relid = _index) THEN 'building'
        ELSE 'invalid' END;
END
$$;

COMMENT ON FUNCTION rag._index_state IS
$$The index of a space: ready, building, missing (a worker makes it when the vectors are in),
invalid (its making was interrupted: it is made again), none (of kind exact).$$;


CREATE OR REPLACE FUNCTION rag.drop_vector_index(collection text)
RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _space rag.spaces := rag._require_active_space(
            (rag._require_collection(drop_vector_index.collection)).collection_id);
BEGIN
    IF NOT rag._has_index(_space) THEN
        RETURN false;
    END IF;
    EXECUTE format('DROP INDEX rag.%I', rag._index_name(_space.space_id));
    RETURN true;
END
$$;

COMMENT ON FUNCTION rag.drop_vector_index IS
$$Take a collection's vector index away before a bulk load; false when there is none. Until
rag.build_vector_index every vector search compares every vector: exact, and slow. Only the owner of
the tables may.
Circle: application, Collections.
SELECT rag.drop_vector_index('docs')$$;


CREATE OR REPLACE FUNCTION rag.build_vector_index(collection text)
RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _space rag.spaces := rag._require_active_space(
            (rag._require_collection(build_vector_index.collection)).collection_id);
    _had boolean := rag._has_index(_space);
BEGIN
    CALL rag._build_index(_space);
    RETURN NOT _had AND rag._has_index(_space);
END
$$;

COMMENT ON FUNCTION rag.build_vector_index IS
$$Build a collection's vector index if it is missing; false when it is there already, or the kind is
exact.

Several times faster than filling it vector by vector, the more so with
max_parallel_maintenance_workers and with SET maintenance_work_mem large enough for the whole index
(about 1.5 kB a chunk at 384 dimensions) where that is more than rag._index_memory takes by itself.
Writers of this collection's vectors
wait meanwhile; searches do not. pg_stat_progress_create_index tells how far it is.
Circle: application, Collections.
SELECT rag.build_vector_index('docs')$$;


CREATE OR REPLACE FUNCTION rag.pending_indexes(collections text[] DEFAULT NULL)
RETURNS TABLE (space_id integer, statement text, memory text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT s.space_id, CASE rag._index_state(ROW(s.*)::rag.spaces)
        WHEN 'missing' THEN rag._index_statement(ROW(s.*)::rag.spaces, beside_writers => true)
        WHEN 'invalid' THEN format('DROP INDEX CONCURRENTLY IF EXISTS rag.%I',
            rag._index_name(s.space_id)) END,
        rag._index_memory(ROW(s.*)::rag.spaces)
    FROM rag.spaces AS s
    JOIN rag.collections AS c ON c.collection_id = s.collection_id AND c.dropped_at IS NULL
    JOIN pg_class AS t ON t.oid = to_regclass(format('rag.%I', 'embeddings_' || s.space_id))
    WHERE s.dropped_at IS NULL AND s.state <> 'active'
        AND (collections IS NULL OR c.name = ANY (collections))
        AND pg_has_role(t.relowner, 'USAGE')
        AND rag._index_state(ROW(s.*)::rag.spaces) IN ('missing', 'invalid')
        AND NOT EXISTS (SELECT FROM rag.backlogs AS b WHERE b.collection_id = s.collection_id
            AND b.space_id = s.space_id)
    ORDER BY s.space_id;
END
$$;

COMMENT ON FUNCTION rag.pending_indexes IS
$$Indexes to build beside writers.

Spaces that are not active (see rag.build_vector_index), whose vectors are in and whose index is
not, with the statement that makes it beside readers and writers, outside a transaction (in psql:
\gexec). Only those that the current role may index. An interrupted one is dropped first; ask again
then. memory: the maintenance_work_mem it should have.
Circle: worker, Maintenance and versions.
SELECT * FROM rag.pending_indexes()$$;
