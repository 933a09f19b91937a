-- Embedding spaces: one model's vectors of a collection, built beside the active ones.
--
-- A space is created, filled, compared, activated, rolled back and dropped.

CREATE OR REPLACE PROCEDURE rag._open_space(new_space_id integer, indexed boolean DEFAULT true)
LANGUAGE plpgsql
SET search_path FROM CURRENT
AS $$
DECLARE
    _space rag.spaces;
    _partition text := format('embeddings_%s', new_space_id);
BEGIN
    SELECT s.* INTO STRICT _space FROM rag.spaces AS s WHERE s.space_id = new_space_id;
    CALL rag._attach_partition('embeddings', new_space_id,
        in_line => _space.dimensions <= 3900);  -- what is longer fits no page
    EXECUTE format('ALTER TABLE rag.%I ADD CONSTRAINT embedding_dimensions CHECK '
        '({vector}.vector_dims(embedding) = %s)',
                   _partition, _space.dimensions);
    IF indexed THEN
        CALL rag._build_index(_space);
    END IF;
END
$$;

COMMENT ON PROCEDURE rag._open_space IS
$$Make the partition of an embedding space, with its check of dimensions and, if indexed, its
index.$$;


CREATE OR REPLACE FUNCTION rag._space_options(model text, dimensions integer, distance text,
    index_options jsonb)
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
    PERFORM rag._check_range('dimensions', dimensions, 1, 16000, 'RG001');
    IF rag._distance_operator(distance) IS NULL THEN
        RAISE EXCEPTION 'unknown distance %', coalesce(quote_literal(distance), 'NULL')
        USING ERRCODE = 'RG001', HINT = 'use cosine, l2 or ip';
    END IF;
    IF jsonb_typeof(_options) <> 'object' THEN
        RAISE EXCEPTION 'index_options is a JSON %', jsonb_typeof(index_options)
            USING ERRCODE = 'RG001',
        HINT = 'use a JSON object, e.g. {"m": 16}';
    END IF;
    SELECT string_agg(k, ', ') INTO _differs
    FROM jsonb_object_keys(_options) AS k
        WHERE k NOT IN ('kind', 'm', 'ef_construction', 'k1', 'b');
    IF _differs IS NOT NULL THEN
        RAISE EXCEPTION 'unknown index option: %', _differs USING ERRCODE = 'RG001',
        HINT = 'known options: kind (hnsw, binary or exact), m, ef_construction (HNSW), k1, b '
            '(BM25)';
    END IF;
    IF coalesce(_options ->> 'kind', '') NOT IN ('hnsw', 'binary', 'exact') THEN
        RAISE EXCEPTION 'unknown index kind %', _options -> 'kind' USING ERRCODE = 'RG001',
        HINT = 'use hnsw (to 4000 dimensions), binary (HNSW over one bit a dimension, re-scored) '
            'or exact (no index)';
    END IF;
    IF _options ->> 'kind' = 'hnsw' AND dimensions > 4000 THEN
        RAISE EXCEPTION 'an hnsw index holds at most 4000 dimensions, not %', dimensions
        USING ERRCODE = 'RG001',
            HINT = 'use {"kind": "binary"} (the default there) or {"kind": "exact"}';
    END IF;
    SELECT string_agg(format('%s = %s', o.key, o.value), ', ') INTO _differs
    FROM jsonb_each(_options) AS o
    JOIN (VALUES ('m', 2, 100), ('ef_construction', 4, 1000), ('k1', 0, 10), ('b', 0, 1)) AS r
        (key, low, high)
        ON r.key = o.key
    WHERE CASE WHEN jsonb_typeof(o.value) = 'number'
               THEN o.value::numeric NOT BETWEEN r.low AND r.high
                   OR (o.key IN ('m', 'ef_construction') AND o.value::numeric % 1 <> 0)
               ELSE true END;
    IF _differs IS NOT NULL THEN
        RAISE EXCEPTION 'index option out of range: %', _differs USING ERRCODE = 'RG001',
        HINT = 'm is 2 to 100, ef_construction 4 to 1000 and at least 2 m, both whole numbers; '
            'k1 0 to 10, b 0 to 1';
    END IF;
    IF (_options ->> 'ef_construction')::numeric < 2 * (_options ->> 'm')::numeric THEN
        RAISE EXCEPTION 'ef_construction % is less than twice m = %',
            _options ->> 'ef_construction', _options ->> 'm'
        USING ERRCODE = 'RG001', HINT = 'raise ef_construction or lower m';
    END IF;
    -- What a formula cannot tell from 0 is 0: far smaller numbers would underflow in it.
    RETURN _options || jsonb_build_object(
        'm', (_options ->> 'm')::numeric::integer,
        'ef_construction', (_options ->> 'ef_construction')::numeric::integer,
        'k1', trim_scale(round((_options ->> 'k1')::numeric, 6)),
        'b', trim_scale(round((_options ->> 'b')::numeric, 6)));
END
$$;

COMMENT ON FUNCTION rag._space_options IS
$$The index options of an embedding space with their defaults; error RG001 where a setting of the
space is unusable.$$;


CREATE OR REPLACE FUNCTION rag._live_spaces(collection_id integer)
RETURNS SETOF rag.spaces
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT s.* FROM rag.spaces AS s
    WHERE s.collection_id = _live_spaces.collection_id AND s.dropped_at IS NULL
    ORDER BY s.state <> 'active', s.space_id;
END
$$;

COMMENT ON FUNCTION rag._live_spaces IS
$$The embedding spaces of a collection that are not dropped, the active one first. All of them are
kept up to date.$$;


CREATE OR REPLACE FUNCTION rag._require_space(wanted_space integer)
RETURNS rag.spaces
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _found rag.spaces;
BEGIN
    SELECT s.* INTO _found FROM rag.spaces AS s
    JOIN rag.collections AS c ON c.collection_id = s.collection_id AND c.dropped_at IS NULL
    WHERE s.space_id = wanted_space AND s.dropped_at IS NULL;
    IF _found.space_id IS NULL THEN
        RAISE EXCEPTION 'there is no embedding space %', coalesce(wanted_space::text, 'NULL')
        USING ERRCODE = 'RG002', HINT = 'SELECT * FROM rag.list_spaces() shows those that exist';
    END IF;
    RETURN _found;
END
$$;

COMMENT ON FUNCTION rag._require_space IS
$$The embedding space of that id, or error RG002.$$;


CREATE OR REPLACE FUNCTION rag._missing_vectors(of_space rag.spaces)
RETURNS bigint
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
BEGIN
    RETURN (SELECT count(*) FROM rag.chunks AS c
            LEFT JOIN rag.embeddings AS e ON e.space_id = of_space.space_id
                AND e.chunk_id = c.chunk_id
            WHERE c.collection_id = of_space.collection_id AND e.chunk_id IS NULL);
END
$$;

COMMENT ON FUNCTION rag._missing_vectors IS
$$How many chunks of the collection have no vector in this space.$$;


CREATE OR REPLACE FUNCTION rag.create_space(
    collection text,
    model text,
    dimensions integer,
    distance text DEFAULT 'cosine',
    index_options jsonb DEFAULT '{}')
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _collection rag.collections := rag._require_collection(create_space.collection);
    _options jsonb;
    _space_id integer;
BEGIN
    IF coalesce(create_space.index_options, '{}') ?| ARRAY['k1', 'b'] THEN
        RAISE EXCEPTION 'k1 and b belong to the collection, not to an embedding space'
        USING ERRCODE = 'RG001', HINT = 'leave them out';
    END IF;
    _options := rag._space_options(create_space.model, create_space.dimensions,
        create_space.distance,
                                  create_space.index_options)
        || jsonb_build_object('k1', _collection.k1, 'b', _collection.b);
    -- One at a time for a collection, so that a repeated call finds the first one's space.
    PERFORM FROM rag.collections AS c WHERE c.collection_id = _collection.collection_id FOR UPDATE;
    SELECT s.space_id INTO _space_id
    FROM rag._live_spaces(_collection.collection_id) AS s
    WHERE s.state = 'building' AND (s.model, s.dimensions, s.distance, s.index_options)
        = (create_space.model, create_space.dimensions, create_space.distance, _options);
    IF FOUND THEN
        RETURN _space_id;
    END IF;
    INSERT INTO rag.spaces AS s (space_id, collection_id, model, dimensions, distance,
        index_options, state)
    VALUES (rag._next_id('spaces', 'space_id'), _collection.collection_id, create_space.model,
        create_space.dimensions, create_space.distance, _options, 'building')
    RETURNING s.space_id INTO _space_id;
    CALL rag._open_space(_space_id, indexed => false);
    INSERT INTO rag.backlogs AS b (backlog_id, collection_id, kind, space_id)
    VALUES (rag._next_id('backlogs', 'backlog_id'), _collection.collection_id, 'embed', _space_id);
    PERFORM pg_notify('rag_jobs', '');
    RETURN _space_id;
END
$$;

COMMENT ON FUNCTION rag.create_space IS
$$Begin with another model's vectors.
They are built in the background. Returns the space's id.

Searches go on with the active space. Workers queue and embed the documents, after the work of the
active space; documents that are put or changed meanwhile get vectors in both. rag.list_spaces shows
the progress, rag.compare_spaces compares, rag.activate_space switches. The index is made when the
vectors are in.
A space that is being built with equal settings is returned as it is. index_options: kind, m,
ef_construction, as in rag.create_collection.
Circle: application, Embedding spaces.
SELECT rag.create_space('docs', 'other-model', 3)$$;


CREATE OR REPLACE FUNCTION rag.list_spaces(collection text DEFAULT NULL)
RETURNS TABLE (space_id integer, collection_name text, model text, dimensions integer,
    distance text, state text,
               embedded bigint, chunks bigint, share double precision, waiting bigint,
                   failed bigint, bytes bigint,
               index_state text, fingerprint text, created_at timestamptz,
                   activated_at timestamptz,
               similarity_mean double precision, similarity_spread double precision)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
#variable_conflict use_column
DECLARE
    _only integer := CASE WHEN list_spaces.collection IS NOT NULL
                          THEN (rag._require_collection(list_spaces.collection)).collection_id END;
    _space rag.spaces;
BEGIN
    -- A statement for each, so that each reads its own partitions only.
    FOR _space IN
        SELECT s.*
        FROM rag.collections AS c
        JOIN rag.spaces AS s ON s.collection_id = c.collection_id AND s.dropped_at IS NULL
        WHERE c.dropped_at IS NULL AND (_only IS NULL OR c.collection_id = _only)
        ORDER BY c.name, s.space_id
    LOOP
        embedded := rag._count_embedded(_space.collection_id, _space.space_id);
        SELECT count(*) INTO chunks FROM rag.chunks AS x
            WHERE x.collection_id = _space.collection_id;
        RETURN QUERY
        SELECT _space.space_id,
            (SELECT c.name FROM rag.collections AS c WHERE c.collection_id = _space.collection_id),
               _space.model, _space.dimensions, _space.distance, _space.state,
               embedded, chunks, coalesce(embedded::double precision / nullif(chunks, 0), 1),
               count(*) FILTER (WHERE x.state = 'waiting'),
                   count(*) FILTER (WHERE x.state = 'dead'),
               pg_total_relation_size(rag._stored_as(to_regclass(format('rag.%I',
                   'embeddings_' || _space.space_id)))),
               rag._index_state(_space), _space.fingerprint, _space.created_at,
                   _space.activated_at,
               _space.similarity_mean, _space.similarity_spread
        FROM rag.jobs AS x
        WHERE x.collection_id = _space.collection_id AND x.space_id = _space.space_id;
    END LOOP;
END
$$;

COMMENT ON FUNCTION rag.list_spaces IS
$$Embedding spaces and their progress. state: building, active (searched) or retired (was active;
kept up to date for rag.rollback_space until it is dropped).

embedded: chunks with a vector, of chunks, and as a share. waiting, failed: embed jobs of the space.
similarity_mean, similarity_spread: of the cosines between its own vectors, see rag.measure_spaces;
NULL: not measured.
bytes: with the index. index_state: ready, building, missing, invalid or none, see
rag._index_state.
Circle: application, Embedding spaces.
SELECT * FROM rag.list_spaces('docs')$$;


CREATE OR REPLACE FUNCTION rag.drop_space(space_id integer)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _space rag.spaces := rag._require_space(drop_space.space_id);
BEGIN
    PERFORM rag._require_owner('drop an embedding space');
    PERFORM FROM rag.collections AS c WHERE c.collection_id = _space.collection_id FOR UPDATE;
    _space := rag._require_space(drop_space.space_id);
    IF _space.state = 'active' THEN
        RAISE EXCEPTION 'space % (model %) is the active one', _space.space_id, _space.model
        USING ERRCODE = 'RG001', HINT = 'activate another one first, or drop the collection';
    END IF;
    UPDATE rag.spaces AS s SET state = 'retired', dropped_at = now()
        WHERE s.space_id = _space.space_id;
    DELETE FROM rag.backlogs AS b WHERE b.collection_id = _space.collection_id
        AND b.space_id = _space.space_id;
    PERFORM rag._forget_jobs(_space.collection_id, _space.space_id);
END
$$;

COMMENT ON FUNCTION rag.drop_space IS
$$Remove an embedding space that is not active, with its jobs. Its vectors are removed by
rag.remove_dropped(): by the next idle worker, or at once by the Python client.
Circle: application, Embedding spaces.
SELECT rag.drop_space(2)$$;
