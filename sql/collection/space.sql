-- Embedding spaces: a second model's vectors are built beside the active ones, compared, activated, rolled back, dropped.

CREATE OR REPLACE FUNCTION rag.kept_spaces(of_collection integer)
RETURNS SETOF rag.spaces
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT s.* FROM rag.spaces AS s
    WHERE s.collection_id = of_collection AND s.dropped_at IS NULL
    ORDER BY s.state <> 'active', s.space_id;
END
$$;

COMMENT ON FUNCTION rag.kept_spaces(integer) IS
$$The embedding spaces of a collection that are not dropped, the active one first. All of them are kept up to date.$$;


CREATE OR REPLACE FUNCTION rag.require_space(wanted_space integer)
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

COMMENT ON FUNCTION rag.require_space(integer) IS
$$The embedding space of that id, or error RG002.$$;


CREATE OR REPLACE FUNCTION rag.expect_space(collection text, space_id integer)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _active rag.spaces := rag.active_space((rag.require_collection(expect_space.collection)).collection_id);
BEGIN
    IF _active.space_id <> expect_space.space_id THEN
        RAISE EXCEPTION 'collection ''%'' now searches space % (model %), not %', expect_space.collection,
            _active.space_id, _active.model, expect_space.space_id
        USING ERRCODE = 'RG008', HINT = 'embed the query again, with the model of the active space';
    END IF;
    RETURN expect_space.collection;
END
$$;

COMMENT ON FUNCTION rag.expect_space(text, integer) IS
$$The collection's name, or error RG008 when that is no longer its active space: the vector of a query made by one model is
not compared with those of another. Use it as the collection argument of a search.$$;


CREATE OR REPLACE FUNCTION rag.space_settings(collection text, wanted_space integer DEFAULT NULL)
RETURNS TABLE (space_id integer, model text, dimensions integer, distance text, fingerprint text, state text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _space rag.spaces := rag.active_space((rag.require_collection(space_settings.collection)).collection_id);
BEGIN
    IF wanted_space <> _space.space_id THEN
        _space := rag.require_space(wanted_space);
    END IF;
    RETURN QUERY SELECT _space.space_id, _space.model, _space.dimensions, _space.distance, _space.fingerprint, _space.state;
END
$$;

COMMENT ON FUNCTION rag.space_settings(text, integer) IS
$$What makes the vectors of a collection's space (NULL: the active one): read by workers before they embed.$$;


CREATE OR REPLACE FUNCTION rag.index_state(of_space rag.spaces)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _index regclass := to_regclass(format('rag.%I', rag.index_name(of_space.space_id)));
BEGIN
    RETURN CASE
        WHEN of_space.index_options ->> 'kind' = 'exact' THEN 'none'
        WHEN _index IS NULL THEN 'missing'
        WHEN (SELECT i.indisvalid FROM pg_index AS i WHERE i.indexrelid = _index) THEN 'ready'
        WHEN EXISTS (SELECT FROM pg_stat_progress_create_index AS p WHERE p.index_relid = _index) THEN 'building'
        ELSE 'invalid' END;
END
$$;

COMMENT ON FUNCTION rag.index_state(rag.spaces) IS
$$The index of a space: ready, building, missing (a worker makes it when the vectors are in), invalid (its making was
interrupted: it is made again), none (of kind exact).$$;


CREATE OR REPLACE FUNCTION rag.missing_vectors(of_space rag.spaces)
RETURNS bigint
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
BEGIN
    RETURN (SELECT count(*) FROM rag.chunks AS c
            LEFT JOIN rag.embeddings AS e ON e.space_id = of_space.space_id AND e.chunk_id = c.chunk_id
            WHERE c.collection_id = of_space.collection_id AND e.chunk_id IS NULL);
END
$$;

COMMENT ON FUNCTION rag.missing_vectors(rag.spaces) IS
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
    _collection rag.collections := rag.require_collection(create_space.collection);
    _options jsonb;
    _space_id integer;
BEGIN
    IF coalesce(create_space.index_options, '{}') ?| ARRAY['k1', 'b'] THEN
        RAISE EXCEPTION 'k1 and b belong to the collection, not to an embedding space'
        USING ERRCODE = 'RG001', HINT = 'leave them out';
    END IF;
    _options := rag.space_options(create_space.model, create_space.dimensions, create_space.distance,
                                  create_space.index_options)
        || jsonb_build_object('k1', _collection.k1, 'b', _collection.b);
    -- One at a time for a collection, so that a repeated call finds the first one's space.
    PERFORM FROM rag.collections AS c WHERE c.collection_id = _collection.collection_id FOR UPDATE;
    SELECT s.space_id INTO _space_id
    FROM rag.kept_spaces(_collection.collection_id) AS s
    WHERE s.state = 'building' AND (s.model, s.dimensions, s.distance, s.index_options)
        = (create_space.model, create_space.dimensions, create_space.distance, _options);
    IF FOUND THEN
        RETURN _space_id;
    END IF;
    INSERT INTO rag.spaces AS s (collection_id, model, dimensions, distance, index_options, state)
    VALUES (_collection.collection_id, create_space.model, create_space.dimensions, create_space.distance, _options,
            'building')
    RETURNING s.space_id INTO _space_id;
    CALL rag.open_space(_space_id, indexed => false);
    INSERT INTO rag.backlogs AS b (collection_id, kind, space_id)
    VALUES (_collection.collection_id, 'embed', _space_id);
    PERFORM pg_notify('rag_jobs', '');
    RETURN _space_id;
END
$$;

COMMENT ON FUNCTION rag.create_space(text, text, integer, text, jsonb) IS
$$Begin to build a second model's vectors of a collection, in the background. Returns the space's id.

Searches go on with the active space. Workers queue and embed the documents, after the work of the active space; documents that
are put or changed meanwhile get vectors in both. rag.list_spaces shows the progress, rag.compare_spaces compares,
rag.activate_space switches. The index is made when the vectors are in.
A space that is being built with equal settings is returned as it is. index_options: kind, m, ef_construction, as in
rag.create_collection.$$;


CREATE OR REPLACE FUNCTION rag.list_spaces(collection text DEFAULT NULL)
RETURNS TABLE (space_id integer, collection_name text, model text, dimensions integer, distance text, state text,
               embedded bigint, chunks bigint, share double precision, waiting bigint, failed bigint, bytes bigint,
               index_state text, fingerprint text, created_at timestamptz, activated_at timestamptz)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
#variable_conflict use_column
DECLARE
    _only integer := CASE WHEN list_spaces.collection IS NOT NULL
                          THEN (rag.require_collection(list_spaces.collection)).collection_id END;
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
        SELECT count(*) INTO embedded FROM rag.embeddings AS x WHERE x.space_id = _space.space_id;
        SELECT count(*) INTO chunks FROM rag.chunks AS x WHERE x.collection_id = _space.collection_id;
        RETURN QUERY
        SELECT _space.space_id, (SELECT c.name FROM rag.collections AS c WHERE c.collection_id = _space.collection_id),
               _space.model, _space.dimensions, _space.distance, _space.state,
               embedded, chunks, coalesce(embedded::double precision / nullif(chunks, 0), 1),
               count(*) FILTER (WHERE x.state = 'waiting'), count(*) FILTER (WHERE x.state = 'dead'),
               pg_total_relation_size(to_regclass(format('rag.%I', 'embeddings_' || _space.space_id))),
               rag.index_state(_space), _space.fingerprint, _space.created_at, _space.activated_at
        FROM rag.jobs AS x
        WHERE x.collection_id = _space.collection_id AND x.space_id = _space.space_id;
    END LOOP;
END
$$;

COMMENT ON FUNCTION rag.list_spaces(text) IS
$$Embedding spaces and their progress. state: building, active (searched) or retired (was active; kept up to date for
rag.rollback_space until it is dropped).

embedded: chunks with a vector, of chunks, and as a share. waiting, failed: embed jobs of the space. bytes: with the index.
index_state: ready, building, missing, invalid or none, see rag.index_state.$$;


CREATE OR REPLACE FUNCTION rag.activate_space(space_id integer, forced boolean DEFAULT false)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _space rag.spaces := rag.require_space(activate_space.space_id);
    _missing bigint;
    _index text;
BEGIN
    PERFORM FROM rag.collections AS c WHERE c.collection_id = _space.collection_id FOR UPDATE;  -- one at a time
    _space := rag.require_space(activate_space.space_id);
    _missing := rag.missing_vectors(_space);
    IF _space.state = 'active' THEN
        RETURN _missing;
    END IF;
    _index := rag.index_state(_space);
    IF _missing > 0 AND NOT forced THEN
        RAISE EXCEPTION 'space % (model %) is not complete: % chunks have no vector yet, % embed jobs failed', _space.space_id,
            _space.model, _missing,
            (SELECT count(*) FROM rag.jobs AS j
             WHERE j.collection_id = _space.collection_id AND j.space_id = _space.space_id AND j.state = 'dead')
        USING ERRCODE = 'RG007',
        HINT = 'let the workers finish (rag.list_spaces shows the progress, rag.retry_jobs queues what failed), or pass forced => true';
    END IF;
    IF _index = 'building' AND NOT forced THEN
        RAISE EXCEPTION 'the index of space % (model %) is being built', _space.space_id, _space.model
        USING ERRCODE = 'RG007', HINT = 'wait until rag.list_spaces says ready, or pass forced => true';
    ELSIF _index = 'invalid' THEN
        EXECUTE format('DROP INDEX rag.%I', rag.index_name(_space.space_id));
    END IF;
    IF _index IN ('missing', 'invalid') THEN
        CALL rag.build_index(_space);
    END IF;
    UPDATE rag.spaces AS s SET state = 'retired'
    WHERE s.collection_id = _space.collection_id AND s.state = 'active';
    UPDATE rag.spaces AS s SET state = 'active', activated_at = clock_timestamp()
    WHERE s.space_id = _space.space_id;
    RETURN _missing;
END
$$;

COMMENT ON FUNCTION rag.activate_space(integer, boolean) IS
$$From now on, searches of the collection use this space; the one before is retired. Returns how many chunks have no vector in it.

Error RG007 while chunks lack vectors or the index is being made; forced => true switches all the same: keyword search
finds what lacks a vector. An index that no worker has made yet is made here, which blocks writers of the collection meanwhile. Queries have to be embedded by the space's model: see rag.expect_space.$$;


CREATE OR REPLACE FUNCTION rag.rollback_space(collection text, forced boolean DEFAULT false)
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _collection rag.collections := rag.require_collection(rollback_space.collection);
    _before integer := (
        SELECT s.space_id FROM rag.kept_spaces(_collection.collection_id) AS s
        WHERE s.state = 'retired' AND s.activated_at IS NOT NULL
        ORDER BY s.activated_at DESC, s.space_id DESC
        LIMIT 1);
BEGIN
    IF _before IS NULL THEN
        RAISE EXCEPTION 'collection ''%'' has no earlier space to go back to', rollback_space.collection
        USING ERRCODE = 'RG002', HINT = 'it was dropped, or there never was one: rag.create_space builds one';
    END IF;
    PERFORM rag.activate_space(_before, rollback_space.forced);
    RETURN _before;
END
$$;

COMMENT ON FUNCTION rag.rollback_space(text, boolean) IS
$$Search with the space that was active before. Returns its id. Instant, since a retired space is kept up to date until it is
dropped; error RG007 while it waits for vectors of recent documents, unless forced (see rag.activate_space).$$;


CREATE OR REPLACE FUNCTION rag.drop_space(space_id integer)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _space rag.spaces := rag.require_space(drop_space.space_id);
BEGIN
    PERFORM FROM rag.collections AS c WHERE c.collection_id = _space.collection_id FOR UPDATE;
    _space := rag.require_space(drop_space.space_id);
    IF _space.state = 'active' THEN
        RAISE EXCEPTION 'space % (model %) is the active one', _space.space_id, _space.model
        USING ERRCODE = 'RG001', HINT = 'activate another one first, or drop the collection';
    END IF;
    UPDATE rag.spaces AS s SET state = 'retired', dropped_at = now() WHERE s.space_id = _space.space_id;
    DELETE FROM rag.jobs AS j WHERE j.collection_id = _space.collection_id AND j.space_id = _space.space_id;
    DELETE FROM rag.backlogs AS b WHERE b.collection_id = _space.collection_id AND b.space_id = _space.space_id;
    EXECUTE format('TRUNCATE rag.%I', 'embeddings_' || _space.space_id);
END
$$;

COMMENT ON FUNCTION rag.drop_space(integer) IS
$$Remove an embedding space that is not active, with its vectors and jobs, at once. Its empty partition is removed later by
rag.remove_dropped().$$;
