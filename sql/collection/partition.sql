-- Where the rows of a collection lie: its partitions, and the partition and the index of an embedding space.

CREATE OR REPLACE FUNCTION rag.distance_operator(distance text)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE distance WHEN 'cosine' THEN 'OPERATOR({vector}.<=>)'
                     WHEN 'l2' THEN 'OPERATOR({vector}.<->)'
                     WHEN 'ip' THEN 'OPERATOR({vector}.<#>)' END;

COMMENT ON FUNCTION rag.distance_operator(text) IS
$$pgvector's operator of a distance (cosine, l2, ip), with its schema. For ip it gives the negative inner product.$$;


CREATE OR REPLACE FUNCTION rag.collection_tables()
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY['documents', 'chunks', 'keyword_changes', 'keyword_slots', 'keyword_postings', 'keyword_removed'];

COMMENT ON FUNCTION rag.collection_tables() IS
$$The partitioned tables of which every collection has a partition of its own, named <table>_<collection_id>.$$;


CREATE OR REPLACE PROCEDURE rag.attach_partition(parent text, partition_key integer)
LANGUAGE plpgsql
SET search_path FROM CURRENT
AS $$
DECLARE
    _partition text := format('%s_%s', parent, partition_key);
    _key_column text := CASE parent WHEN 'embeddings' THEN 'space_id' ELSE 'collection_id' END;
BEGIN
    IF to_regclass(format('rag.%I', _partition)) IS NOT NULL THEN
        RAISE EXCEPTION 'rag.% is there already: schema rag is a copy without its rows', quote_ident(_partition)
        USING ERRCODE = 'RG006', HINT = 'run "rag-pg db upgrade"';
    END IF;
    EXECUTE format('CREATE TABLE rag.%I (LIKE rag.%I INCLUDING ALL)', _partition, parent);
    EXECUTE format('ALTER TABLE rag.%I ADD CONSTRAINT partition_key CHECK (%I = %s)',
                   _partition, _key_column, partition_key);
    EXECUTE format('ALTER TABLE rag.%I ATTACH PARTITION rag.%I FOR VALUES IN (%s)',
                   parent, _partition, partition_key);
    EXECUTE format('ALTER TABLE rag.%I DROP CONSTRAINT partition_key', _partition);
    -- LIKE does not copy it: without one, a publication of all tables forbids updates and deletes.
    IF (SELECT c.relreplident = 'f' FROM pg_class AS c WHERE c.oid = format('rag.%I', parent)::regclass) THEN
        EXECUTE format('ALTER TABLE rag.%I REPLICA IDENTITY FULL', _partition);
    END IF;
END
$$;

COMMENT ON PROCEDURE rag.attach_partition(text, integer) IS
$$Make the partition parent_key and attach it. ATTACH passes beside open readers and writers, which
CREATE TABLE … PARTITION OF does not; the CHECK makes the scan for its proof unnecessary.$$;


CREATE OR REPLACE FUNCTION rag.index_name(of_space integer)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 'embeddings_' || of_space::text || '_hnsw';

COMMENT ON FUNCTION rag.index_name(integer) IS
$$The name of an embedding space's index in schema rag, whether it is there or not.$$;


CREATE OR REPLACE FUNCTION rag.has_index(space rag.spaces)
RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN to_regclass(format('rag.%I', rag.index_name(space.space_id))) IS NOT NULL;
END
$$;

COMMENT ON FUNCTION rag.has_index(rag.spaces) IS
$$Whether the space's vectors are indexed: not of kind exact, and not while rag.drop_vector_index has taken the index away.$$;


CREATE OR REPLACE FUNCTION rag.index_statement(of_space rag.spaces, beside_writers boolean DEFAULT false)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _partition text := format('embeddings_%s', of_space.space_id);
BEGIN
    RETURN format(
        'CREATE INDEX %s IF NOT EXISTS %I ON rag.%I USING hnsw (%s) WITH (m = %s, ef_construction = %s)',
        CASE WHEN beside_writers THEN 'CONCURRENTLY' END, rag.index_name(of_space.space_id), _partition,
        CASE of_space.index_options ->> 'kind'
            WHEN 'binary' THEN format(
                '({vector}.binary_quantize(embedding::{vector}.halfvec(%1$s))::bit(%1$s)) {vector}.bit_hamming_ops',
                of_space.dimensions)
            WHEN 'hnsw' THEN format(
                '(embedding::{vector}.halfvec(%s)) {vector}.%I',
                of_space.dimensions, format('halfvec_%s_ops', of_space.distance)) END,
        (of_space.index_options ->> 'm')::integer, (of_space.index_options ->> 'ef_construction')::integer);
END
$$;

COMMENT ON FUNCTION rag.index_statement(rag.spaces, boolean) IS
$$The statement that makes the HNSW index of an embedding space, of its kind: hnsw (halfvec) or binary (one bit a dimension).

beside_writers: CONCURRENTLY, outside a transaction.$$;


CREATE OR REPLACE FUNCTION rag.index_memory(of_space rag.spaces)
RETURNS text
LANGUAGE sql STABLE
RETURN greatest(
    pg_size_bytes(current_setting('maintenance_work_mem')),
    least(2 * pg_table_size(format('rag.%I', 'embeddings_' || of_space.space_id)),
          greatest(pg_size_bytes('256MB'), pg_size_bytes(current_setting('shared_buffers'))))
) / 1024 || 'kB';

COMMENT ON FUNCTION rag.index_memory(rag.spaces) IS
$$The maintenance_work_mem by which a space's index is built: what is set, or more where the graph needs it (about twice
its vectors) but no more than shared_buffers or 256 MB. A graph that does not fit is built several times slower.$$;


CREATE OR REPLACE PROCEDURE rag.build_index(of_space rag.spaces)
LANGUAGE plpgsql
SET search_path FROM CURRENT
AS $$
DECLARE
    _memory text := current_setting('maintenance_work_mem');
    _workers text := current_setting('max_parallel_maintenance_workers');
BEGIN
    IF of_space.index_options ->> 'kind' = 'exact' THEN
        RETURN;
    END IF;
    PERFORM set_config('maintenance_work_mem', rag.index_memory(of_space), true);
    BEGIN
        EXECUTE rag.index_statement(of_space);
    EXCEPTION WHEN disk_full OR out_of_memory THEN
        -- Workers share that memory through /dev/shm, of which a container may have 64 MB.
        RAISE NOTICE 'the index of space % is built by one process: %', of_space.space_id, SQLERRM;
        PERFORM set_config('max_parallel_maintenance_workers', '0', true);
        EXECUTE rag.index_statement(of_space);
        PERFORM set_config('max_parallel_maintenance_workers', _workers, true);
    END;
    PERFORM set_config('maintenance_work_mem', _memory, true);
END
$$;

COMMENT ON PROCEDURE rag.build_index(rag.spaces) IS
$$Make the HNSW index of an embedding space; none for kind exact. With rag.index_memory, and by one process where parallel
ones find no shared memory (a notice says so).$$;


CREATE OR REPLACE PROCEDURE rag.open_space(new_space_id integer, indexed boolean DEFAULT true)
LANGUAGE plpgsql
SET search_path FROM CURRENT
AS $$
DECLARE
    _space rag.spaces;
    _partition text := format('embeddings_%s', new_space_id);
BEGIN
    SELECT s.* INTO STRICT _space FROM rag.spaces AS s WHERE s.space_id = new_space_id;
    CALL rag.attach_partition('embeddings', new_space_id);
    EXECUTE format('ALTER TABLE rag.%I ADD CONSTRAINT embedding_dimensions CHECK ({vector}.vector_dims(embedding) = %s)',
                   _partition, _space.dimensions);
    IF _space.dimensions > 3900 THEN  -- no longer fits a page in line
        EXECUTE format('ALTER TABLE rag.%I ALTER COLUMN embedding SET STORAGE EXTERNAL', _partition);
    END IF;
    IF indexed THEN
        CALL rag.build_index(_space);
    END IF;
END
$$;

COMMENT ON PROCEDURE rag.open_space(integer, boolean) IS
$$Make the partition of an embedding space, with its check of dimensions and, if indexed, its index.$$;


CREATE OR REPLACE FUNCTION rag.space_options(model text, dimensions integer, distance text, index_options jsonb)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _options jsonb := jsonb_build_object(
        'kind', CASE WHEN dimensions > 4000 THEN 'binary' ELSE 'hnsw' END,
        'm', 16, 'ef_construction', 64, 'k1', 1.2, 'b', 0.75) || coalesce(index_options, '{}');
    _differs text;
BEGIN
    IF coalesce(model, '') = '' THEN
        RAISE EXCEPTION 'an embedding space needs a model' USING ERRCODE = 'RG001',
        HINT = 'model names what makes the vectors, e.g. minilm';
    END IF;
    IF dimensions NOT BETWEEN 1 AND 16000 OR dimensions IS NULL THEN
        RAISE EXCEPTION 'dimensions % is out of range', coalesce(dimensions::text, 'NULL')
        USING ERRCODE = 'RG001', HINT = 'use 1 to 16000, as the model gives';
    END IF;
    IF rag.distance_operator(distance) IS NULL THEN
        RAISE EXCEPTION 'unknown distance %', coalesce(quote_literal(distance), 'NULL')
        USING ERRCODE = 'RG001', HINT = 'use cosine, l2 or ip';
    END IF;
    IF jsonb_typeof(_options) <> 'object' THEN
        RAISE EXCEPTION 'index_options is a JSON %', jsonb_typeof(index_options) USING ERRCODE = 'RG001',
        HINT = 'use a JSON object, e.g. {"m": 16}';
    END IF;
    SELECT string_agg(k, ', ') INTO _differs
    FROM jsonb_object_keys(_options) AS k WHERE k NOT IN ('kind', 'm', 'ef_construction', 'k1', 'b');
    IF _differs IS NOT NULL THEN
        RAISE EXCEPTION 'unknown index option: %', _differs USING ERRCODE = 'RG001',
        HINT = 'known options: kind (hnsw, binary or exact), m, ef_construction (HNSW), k1, b (BM25)';
    END IF;
    IF coalesce(_options ->> 'kind', '') NOT IN ('hnsw', 'binary', 'exact') THEN
        RAISE EXCEPTION 'unknown index kind %', _options -> 'kind' USING ERRCODE = 'RG001',
        HINT = 'use hnsw (to 4000 dimensions), binary (HNSW over one bit a dimension, re-scored) or exact (no index)';
    END IF;
    IF _options ->> 'kind' = 'hnsw' AND dimensions > 4000 THEN
        RAISE EXCEPTION 'an hnsw index holds at most 4000 dimensions, not %', dimensions
        USING ERRCODE = 'RG001', HINT = 'use {"kind": "binary"} (the default there) or {"kind": "exact"}';
    END IF;
    SELECT string_agg(format('%s = %s', o.key, o.value), ', ') INTO _differs
    FROM jsonb_each(_options) AS o
    JOIN (VALUES ('m', 2, 100), ('ef_construction', 4, 1000), ('k1', 0, 10), ('b', 0, 1)) AS r (key, low, high)
        ON r.key = o.key
    WHERE CASE WHEN jsonb_typeof(o.value) = 'number'
               THEN o.value::numeric NOT BETWEEN r.low AND r.high ELSE true END;
    IF _differs IS NOT NULL THEN
        RAISE EXCEPTION 'index option out of range: %', _differs USING ERRCODE = 'RG001',
        HINT = 'm is 2 to 100, ef_construction 4 to 1000 and at least 2 m, k1 0 to 10, b 0 to 1';
    END IF;
    IF (_options ->> 'ef_construction')::numeric < 2 * (_options ->> 'm')::numeric THEN
        RAISE EXCEPTION 'ef_construction % is less than twice m = %',
            _options ->> 'ef_construction', _options ->> 'm'
        USING ERRCODE = 'RG001', HINT = 'raise ef_construction or lower m';
    END IF;
    -- What a formula cannot tell from 0 is 0: far smaller numbers would underflow in it.
    RETURN _options || jsonb_build_object('k1', trim_scale(round((_options ->> 'k1')::numeric, 6)),
                                          'b', trim_scale(round((_options ->> 'b')::numeric, 6)));
END
$$;

COMMENT ON FUNCTION rag.space_options(text, integer, text, jsonb) IS
$$The index options of an embedding space with their defaults; error RG001 where a setting of the space is unusable.$$;
