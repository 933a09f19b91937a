CREATE OR REPLACE FUNCTION rag.require_collection(wanted text)
RETURNS rag.collections
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _found rag.collections;
BEGIN
    SELECT c.* INTO _found FROM rag.collections AS c WHERE c.name = wanted AND c.dropped_at IS NULL;
    IF _found.collection_id IS NULL THEN
        RAISE EXCEPTION 'there is no collection %', coalesce(quote_literal(wanted), 'NULL')
        USING ERRCODE = 'RG002', HINT = coalesce(
            (SELECT 'collections here: ' || string_agg(n.name, ', ' ORDER BY n.name)
             FROM (SELECT c.name FROM rag.collections AS c
                   WHERE c.dropped_at IS NULL ORDER BY c.name LIMIT 10) AS n),
            'create one with rag.create_collection(name)');
    END IF;
    RETURN _found;
END
$$;

COMMENT ON FUNCTION rag.require_collection(text) IS
$$The collection of that name, or error RG002 naming those that exist.$$;


CREATE OR REPLACE FUNCTION rag.active_space(of_collection integer)
RETURNS rag.spaces
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _found rag.spaces;
BEGIN
    SELECT s.* INTO _found FROM rag.spaces AS s
    WHERE s.collection_id = of_collection AND s.state = 'active';
    RETURN _found;
END
$$;

COMMENT ON FUNCTION rag.active_space(integer) IS
$$The embedding space that searches of a collection use; all NULL when there is none.$$;


CREATE OR REPLACE FUNCTION rag.distance_operator(distance text)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE distance WHEN 'cosine' THEN '<=>' WHEN 'l2' THEN '<->' WHEN 'ip' THEN '<#>' END;

COMMENT ON FUNCTION rag.distance_operator(text) IS
$$pgvector's operator of a distance (cosine, l2, ip). For ip it gives the negative inner product.$$;


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
    EXECUTE format('CREATE TABLE rag.%I (LIKE rag.%I INCLUDING ALL)', _partition, parent);
    EXECUTE format('ALTER TABLE rag.%I ADD CONSTRAINT partition_key CHECK (%I = %s)',
                   _partition, _key_column, partition_key);
    EXECUTE format('ALTER TABLE rag.%I ATTACH PARTITION rag.%I FOR VALUES IN (%s)',
                   parent, _partition, partition_key);
    EXECUTE format('ALTER TABLE rag.%I DROP CONSTRAINT partition_key', _partition);
END
$$;

COMMENT ON PROCEDURE rag.attach_partition(text, integer) IS
$$Make the partition parent_key and attach it. ATTACH passes beside open readers and writers, which
CREATE TABLE … PARTITION OF does not; the CHECK makes the scan for its proof unnecessary.$$;


CREATE OR REPLACE FUNCTION rag.index_statement(of_space rag.spaces, beside_writers boolean DEFAULT false)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _partition text := format('embeddings_%s', of_space.space_id);
    _vector text := (SELECT format('%I', n.nspname) FROM pg_extension AS x
                     JOIN pg_namespace AS n ON n.oid = x.extnamespace WHERE x.extname = 'vector');
BEGIN
    RETURN format(
        'CREATE INDEX %s IF NOT EXISTS %I ON rag.%I USING hnsw (%s) WITH (m = %s, ef_construction = %s)',
        CASE WHEN beside_writers THEN 'CONCURRENTLY' END, _partition || '_hnsw', _partition,
        CASE of_space.index_options ->> 'kind'
            WHEN 'binary' THEN format('(%1$s.binary_quantize(embedding::%1$s.halfvec(%2$s))::bit(%2$s)) %1$s.bit_hamming_ops',
                                      _vector, of_space.dimensions)
            WHEN 'hnsw' THEN format('(embedding::%1$s.halfvec(%2$s)) %1$s.halfvec_%3$s_ops',
                                    _vector, of_space.dimensions, of_space.distance) END,
        (of_space.index_options ->> 'm')::integer, (of_space.index_options ->> 'ef_construction')::integer);
END
$$;

COMMENT ON FUNCTION rag.index_statement(rag.spaces, boolean) IS
$$The statement that makes the HNSW index of an embedding space, of its kind: hnsw (halfvec) or binary (one bit a dimension).

beside_writers: CONCURRENTLY, outside a transaction.$$;


CREATE OR REPLACE PROCEDURE rag.build_index(of_space rag.spaces)
LANGUAGE plpgsql
SET search_path FROM CURRENT
AS $$
BEGIN
    IF of_space.index_options ->> 'kind' <> 'exact' THEN
        EXECUTE rag.index_statement(of_space);
    END IF;
END
$$;

COMMENT ON PROCEDURE rag.build_index(rag.spaces) IS
$$Make the HNSW index of an embedding space; none for kind exact.$$;


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
    EXECUTE format('ALTER TABLE rag.%I ADD CONSTRAINT embedding_dimensions CHECK (vector_dims(embedding) = %s)',
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
    RETURN _options;
END
$$;

COMMENT ON FUNCTION rag.space_options(text, integer, text, jsonb) IS
$$The index options of an embedding space with their defaults; error RG001 where a setting of the space is unusable.$$;


CREATE OR REPLACE FUNCTION rag.create_collection(
    name text,
    model text DEFAULT 'minilm',
    dimensions integer DEFAULT 384,
    distance text DEFAULT 'cosine',
    language regconfig DEFAULT 'english',
    chunking jsonb DEFAULT '{}',
    index_options jsonb DEFAULT '{}')
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _options jsonb;
    _chunking jsonb := coalesce(create_collection.chunking, '{}');
    _language text := create_collection.language::text;
    _collection rag.collections;
    _space rag.spaces;
    _space_id integer;
    _parent text;
    _differs text;
BEGIN
    IF coalesce(create_collection.name, '') !~ '^[^\s/]{1,100}$' THEN
        RAISE EXCEPTION 'collection name % is not usable', coalesce(quote_literal(create_collection.name), 'NULL')
        USING ERRCODE = 'RG001', HINT = 'use 1 to 100 characters without spaces or slashes';
    END IF;
    IF _language IS NULL THEN
        RAISE EXCEPTION 'a collection needs a language' USING ERRCODE = 'RG001',
        HINT = 'language is a text search configuration, e.g. english';
    END IF;
    IF jsonb_typeof(_chunking) <> 'object' THEN
        RAISE EXCEPTION 'chunking is a JSON %', jsonb_typeof(_chunking) USING ERRCODE = 'RG001',
        HINT = 'use a JSON object, e.g. {"max_tokens": 256}';
    END IF;
    _options := rag.space_options(create_collection.model, create_collection.dimensions, create_collection.distance,
                                  create_collection.index_options);

    INSERT INTO rag.collections AS c (name, language, chunking, k1, b)
    VALUES (create_collection.name, _language, _chunking,
            (_options ->> 'k1')::double precision, (_options ->> 'b')::double precision)
    ON CONFLICT DO NOTHING
    RETURNING c.* INTO _collection;

    IF _collection.collection_id IS NULL THEN
        _collection := rag.require_collection(create_collection.name);
        _space := rag.active_space(_collection.collection_id);
        _differs := concat_ws('; ',
            CASE WHEN _space.model <> create_collection.model
                 THEN format('model is %s, not %s', _space.model, create_collection.model) END,
            CASE WHEN _space.dimensions <> create_collection.dimensions
                 THEN format('dimensions are %s, not %s', _space.dimensions, create_collection.dimensions) END,
            CASE WHEN _space.distance <> create_collection.distance
                 THEN format('distance is %s, not %s', _space.distance, create_collection.distance) END,
            CASE WHEN _collection.language <> _language
                 THEN format('language is %s, not %s', _collection.language, _language) END,
            CASE WHEN _collection.chunking <> _chunking
                 THEN format('chunking is %s, not %s', _collection.chunking, _chunking) END,
            CASE WHEN _space.index_options <> _options
                 THEN format('index_options are %s, not %s', _space.index_options, _options) END);
        IF _differs <> '' THEN
            RAISE EXCEPTION 'collection ''%'' exists with other settings: %', create_collection.name, _differs
            USING ERRCODE = 'RG003', HINT = 'use another name; rag.create_space changes the model, rag.set_chunking the chunking';
        END IF;
        RETURN _collection.collection_id;
    END IF;

    INSERT INTO rag.spaces AS s (collection_id, model, dimensions, distance, index_options, state, activated_at)
    VALUES (_collection.collection_id, create_collection.model, create_collection.dimensions,
            create_collection.distance, _options, 'active', now())
    RETURNING s.space_id INTO _space_id;
    FOREACH _parent IN ARRAY rag.collection_tables() LOOP
        CALL rag.attach_partition(_parent, _collection.collection_id);
    END LOOP;
    CALL rag.open_space(_space_id);
    -- Its rows live from one merge to the next: vacuum by number, not by share.
    EXECUTE format('ALTER TABLE rag.%I SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000)',
                   'keyword_changes_' || _collection.collection_id);
    RETURN _collection.collection_id;
END
$$;

COMMENT ON FUNCTION rag.create_collection(text, text, integer, text, regconfig, jsonb, jsonb) IS
$$Make a collection, its partitions and its first embedding space. Returns the collection's id.

Idempotent with equal settings; error RG003 names the difference otherwise.
name: 1 to 100 characters. model: what makes the vectors, by rag_pg's name or your own. dimensions: 1 to 16000. distance:
cosine, l2 or ip. language: default text search configuration.
chunking: {"max_tokens": 16 to 8192 (default 256), "overlap": 0 to 0.5 (default 0.12), "method": "auto"}; methods:
auto (by media type), text, markdown, code, conversation, fixed, sentence, semantic ("breakpoint": 0 to 1, default
0.9), small-to-big ("parent_tokens", default 512; max_tokens then defaults to 64).
index_options: {"kind": "hnsw", "m": 16, "ef_construction": 64, "k1": 1.2, "b": 0.75}. kind: hnsw (halfvec, to 4000 dimensions),
binary (HNSW over one bit a dimension, ten times the candidates re-scored exactly: the default above 4000), exact (no index:
every search compares every vector). Small collections are searched exactly whatever the kind: rag.exact_search_limit().$$;


CREATE OR REPLACE FUNCTION rag.list_collections()
RETURNS TABLE (collection_id integer, name text, model text, dimensions integer, distance text,
               language text, chunking jsonb, fingerprint text, space_id integer)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT c.collection_id, c.name, s.model, s.dimensions, s.distance, c.language, c.chunking, s.fingerprint,
           s.space_id
    FROM rag.collections AS c
    JOIN rag.spaces AS s ON s.collection_id = c.collection_id AND s.state = 'active'
    WHERE c.dropped_at IS NULL
    ORDER BY c.name;
END
$$;

COMMENT ON FUNCTION rag.list_collections() IS
$$Every collection with its settings and its active embedding space, by name.$$;


CREATE OR REPLACE FUNCTION rag.set_fingerprint(collection text, embedder_fingerprint text, of_space integer DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _space rag.spaces := rag.active_space((rag.require_collection(collection)).collection_id);
BEGIN
    IF of_space <> _space.space_id THEN
        _space := rag.require_space(of_space);
    END IF;
    IF _space.fingerprint = embedder_fingerprint THEN
        RETURN;
    END IF;
    UPDATE rag.spaces AS s SET fingerprint = embedder_fingerprint
    WHERE s.space_id = _space.space_id AND s.fingerprint IS NULL;
    IF NOT FOUND THEN
        SELECT s.* INTO _space FROM rag.spaces AS s WHERE s.space_id = _space.space_id;
        IF _space.fingerprint <> embedder_fingerprint THEN
            RAISE EXCEPTION 'collection ''%'' holds vectors of %, this embedder is %',
                collection, _space.fingerprint, embedder_fingerprint
            USING ERRCODE = 'RG003', HINT = 'open it with the same weights and settings, or use a new collection';
        END IF;
    END IF;
END
$$;

COMMENT ON FUNCTION rag.set_fingerprint(text, text, integer) IS
$$Pin the exact embedder of a collection's space (NULL: the active one), or error RG003 when another one made its vectors.$$;


CREATE OR REPLACE FUNCTION rag.drop_collection(name text)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _id integer := (rag.require_collection(drop_collection.name)).collection_id;
    _space_id integer;
BEGIN
    UPDATE rag.collections AS c SET dropped_at = now() WHERE c.collection_id = _id;
    EXECUTE (SELECT 'TRUNCATE ' || string_agg(format('rag.%I', t.parent || '_' || _id), ', ')
             FROM unnest(rag.collection_tables()) AS t (parent));
    PERFORM rag.clear_keyword(_id);
    FOR _space_id IN UPDATE rag.spaces AS s SET state = 'retired' WHERE s.collection_id = _id RETURNING s.space_id
    LOOP
        EXECUTE format('TRUNCATE rag.%I', 'embeddings_' || _space_id);
    END LOOP;
    DELETE FROM rag.fields AS f WHERE f.collection_id = _id;
    DELETE FROM rag.jobs AS j WHERE j.collection_id = _id;
    DELETE FROM rag.backlogs AS b WHERE b.collection_id = _id;
    PERFORM rag.forget_sources(_id);
END
$$;

COMMENT ON FUNCTION rag.drop_collection(text) IS
$$Remove a collection and everything in it, at once: its own partitions are truncated, no other collection is
locked. The empty partitions are removed later by rag.remove_dropped().$$;


CREATE OR REPLACE FUNCTION rag.remove_dropped()
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _collection_id integer;
    _space_id integer;
    _removed integer := 0;
    _patience text := current_setting('lock_timeout');
BEGIN
    PERFORM set_config('lock_timeout', '50ms', true);
    FOR _space_id IN
        SELECT s.space_id FROM rag.spaces AS s WHERE s.dropped_at IS NOT NULL FOR UPDATE SKIP LOCKED
    LOOP
        BEGIN
            EXECUTE format('DROP TABLE IF EXISTS rag.%I', 'embeddings_' || _space_id);
            DELETE FROM rag.spaces AS s WHERE s.space_id = _space_id;
        EXCEPTION WHEN lock_not_available OR deadlock_detected OR insufficient_privilege THEN
            NULL;
        END;
    END LOOP;
    FOR _collection_id IN
        SELECT c.collection_id FROM rag.collections AS c WHERE c.dropped_at IS NOT NULL FOR UPDATE SKIP LOCKED
    LOOP
        BEGIN
            FOR _space_id IN DELETE FROM rag.spaces AS s WHERE s.collection_id = _collection_id RETURNING s.space_id
            LOOP
                EXECUTE format('DROP TABLE IF EXISTS rag.%I', 'embeddings_' || _space_id);
            END LOOP;
            EXECUTE (SELECT 'DROP TABLE IF EXISTS ' || string_agg(format('rag.%I', t.parent || '_' || _collection_id), ', ')
                     FROM unnest(rag.collection_tables()) AS t (parent));
            PERFORM rag.clear_keyword(_collection_id);
            DELETE FROM rag.fields AS f WHERE f.collection_id = _collection_id;
            DELETE FROM rag.jobs AS j WHERE j.collection_id = _collection_id;  -- of a put that raced the drop
            DELETE FROM rag.backlogs AS b WHERE b.collection_id = _collection_id;
            DELETE FROM rag.collections AS c WHERE c.collection_id = _collection_id;
            _removed := _removed + 1;
        EXCEPTION WHEN lock_not_available OR deadlock_detected OR insufficient_privilege THEN
            NULL;  -- somebody is reading, or only the owner may: next time
        END;
    END LOOP;
    PERFORM set_config('lock_timeout', _patience, true);
    RETURN _removed;
END
$$;

COMMENT ON FUNCTION rag.remove_dropped() IS
$$Drop the empty partitions of dropped collections and spaces; returns how many collections are gone for good.

Waits at most 50 ms for each lock and leaves the rest for the next call, as does a role that may not drop
them. Workers call it when idle.$$;
