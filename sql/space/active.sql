-- The embedding space of a collection that is searched: which it is, and how another becomes it.

CREATE OR REPLACE FUNCTION rag._active_space(collection_id integer)
RETURNS rag.spaces
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _found rag.spaces;
BEGIN
    SELECT s.* INTO _found FROM rag.spaces AS s
    WHERE s.collection_id = _active_space.collection_id AND s.state = 'active';
    RETURN _found;
END
$$;

COMMENT ON FUNCTION rag._active_space IS
$$The embedding space that searches of a collection use; all NULL when there is none.$$;


CREATE OR REPLACE FUNCTION rag._cosine_spread(collection text,
    OUT similarity_mean double precision, OUT similarity_spread double precision)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _space rag.spaces := rag._active_space(
        (rag._require_collection(_cosine_spread.collection)).collection_id);
BEGIN
    similarity_mean := _space.similarity_mean;
    similarity_spread := _space.similarity_spread;
END
$$;

COMMENT ON FUNCTION rag._cosine_spread IS
$$How the cosines of the active space of a collection are spread; NULLs where it is not measured.
Circle: client.$$;


CREATE OR REPLACE FUNCTION rag._require_active_space(collection_id integer)
RETURNS rag.spaces
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _found rag.spaces := rag._active_space(_require_active_space.collection_id);
    _name text;
    _dropped boolean;
BEGIN
    IF _found.space_id IS NULL THEN
        SELECT c.name, c.dropped_at IS NOT NULL INTO _name, _dropped
        FROM rag.collections AS c WHERE c.collection_id = _require_active_space.collection_id;
        IF coalesce(_dropped, true) THEN
            RAISE EXCEPTION 'collection % was dropped meanwhile',
                coalesce(quote_literal(_name), _require_active_space.collection_id::text)
            USING ERRCODE = 'RG002', HINT = 'SELECT name FROM rag.list_collections() lists others';
        END IF;
        RAISE EXCEPTION 'collection % has no active embedding space', quote_literal(_name)
        USING ERRCODE = 'RG006', HINT = 'schema rag was restored without some of its rows: restore '
            'it whole from a backup, or drop the collection and add its documents again';
    END IF;
    RETURN _found;
END
$$;

COMMENT ON FUNCTION rag._require_active_space IS
$$The embedding space that searches of a collection use, or error RG002 (the collection was dropped)
or RG006 (rows of rag.spaces are missing).$$;


CREATE OR REPLACE FUNCTION rag.set_fingerprint(collection text, embedder_fingerprint text,
    of_space integer DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _space rag.spaces := rag._require_active_space(
            (rag._require_collection(collection)).collection_id);
BEGIN
    IF of_space <> _space.space_id THEN
        _space := rag._require_space(of_space);
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
            USING ERRCODE = 'RG003',
                HINT = 'open it with the same weights and settings, or use a new collection';
        END IF;
    END IF;
END
$$;

COMMENT ON FUNCTION rag.set_fingerprint IS
$$Pin the exact embedder of a collection's space (NULL: the active one), or error RG003 when another
one made its vectors.
Circle: worker, Maintenance and versions.
SELECT rag.set_fingerprint('docs', 'weights/1')$$;


CREATE OR REPLACE FUNCTION rag._assert_active_space(collection text, space_id integer)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _active rag.spaces := rag._require_active_space(
            (rag._require_collection(_assert_active_space.collection)).collection_id);
BEGIN
    IF _active.space_id <> _assert_active_space.space_id THEN
        RAISE EXCEPTION 'collection ''%'' now searches space % (model %), not %',
            _assert_active_space.collection,
            _active.space_id, _active.model, _assert_active_space.space_id
        USING ERRCODE = 'RG008', HINT = 'embed the query again, with the model of the active space';
    END IF;
    RETURN _assert_active_space.collection;
END
$$;

COMMENT ON FUNCTION rag._assert_active_space IS
$$The collection's name, or error RG008 when that is no longer its active space: the vector of a
query made by one model is not compared with those of another. Use it as the collection argument of
a search.$$;


CREATE OR REPLACE FUNCTION rag.space_settings(collection text, wanted_space integer DEFAULT NULL)
RETURNS TABLE (space_id integer, model text, dimensions integer, distance text, fingerprint text,
    state text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _space rag.spaces := rag._require_active_space(
            (rag._require_collection(space_settings.collection)).collection_id);
BEGIN
    IF wanted_space <> _space.space_id THEN
        _space := rag._require_space(wanted_space);
    END IF;
    RETURN QUERY SELECT _space.space_id, _space.model, _space.dimensions, _space.distance,
        _space.fingerprint, _space.state;
END
$$;

COMMENT ON FUNCTION rag.space_settings IS
$$What makes the vectors of a collection's space (NULL: the active one): read by workers before they
embed.
Circle: worker, Jobs.
SELECT * FROM rag.space_settings('docs')$$;


CREATE OR REPLACE FUNCTION rag.activate_space(space_id integer, force boolean DEFAULT false)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _space rag.spaces := rag._require_space(activate_space.space_id);
    _missing bigint;
    _index text;
    _before bigint[];
    _now CONSTANT timestamptz := clock_timestamp();
BEGIN
    -- one at a time
    PERFORM FROM rag.collections AS c WHERE c.collection_id = _space.collection_id FOR UPDATE;
    _space := rag._require_space(activate_space.space_id);
    _missing := rag._missing_vectors(_space);
    IF _space.state = 'active' THEN
        RETURN _missing;
    END IF;
    _index := rag._index_state(_space);
    IF _missing > 0 AND NOT force THEN
        RAISE EXCEPTION 'space % (model %) is not complete: % chunks have no vector yet, % embed '
            'jobs failed', _space.space_id,
            _space.model, _missing,
            (SELECT count(*) FROM rag.jobs AS j
             WHERE j.collection_id = _space.collection_id AND j.space_id = _space.space_id
                 AND j.state = 'dead')
        USING ERRCODE = 'RG007',
        HINT = 'let the workers finish (rag.list_spaces shows the progress, rag.retry_jobs queues '
            'what failed), or pass force => true';
    END IF;
    IF _index = 'building' AND NOT force THEN
        RAISE EXCEPTION 'the index of space % (model %) is being built', _space.space_id,
            _space.model
        USING ERRCODE = 'RG007',
            HINT = 'wait until rag.list_spaces says ready, or pass force => true';
    ELSIF _index = 'invalid' THEN
        PERFORM rag._discard_index(rag._index_name(_space.space_id));
    END IF;
    IF _index IN ('missing', 'invalid') THEN
        CALL rag._build_index(_space);
    END IF;
    IF NOT force AND _space.activated_at IS NULL THEN
        _before := rag._measure_gates(_space.collection_id);
    END IF;
    UPDATE rag.spaces AS s SET state = 'retired'
    WHERE s.collection_id = _space.collection_id AND s.state = 'active';
    UPDATE rag.spaces AS s SET state = 'active', activated_at = _now
    WHERE s.space_id = _space.space_id;
    -- The space is measured as searches would find it: an error takes all of this back.
    IF _before <> '{}' THEN
        PERFORM rag._enforce_gates(_space.collection_id, format('activate_space %s (model %s)',
            _space.space_id, _space.model), _before, rag._measure_gates(_space.collection_id));
    ELSIF force THEN
        PERFORM rag._record_gate_check(_space.collection_id, format('activate_space %s (model %s)',
            _space.space_id, _space.model), 'forced');
    END IF;
    RETURN _missing;
END
$$;

COMMENT ON FUNCTION rag.activate_space IS
$$From now on, searches of the collection use this space; the one before is retired. Returns how
many chunks have no vector in it.

Error RG007 while chunks lack vectors or the index is being made; force => true switches all the
same: keyword search finds what lacks a vector. Gates of the collection (rag.set_gate) measure the
space and the active one; error RG010 says where it is worse, and nothing is changed. force => true
goes on without them, and is recorded; a space that was active before is not measured. An index
that no worker has made yet is made here,
which blocks writers of the collection meanwhile. Queries have to be embedded by the space's model:
rag.search refuses those of another where expected_space says so.
Circle: application, Embedding spaces.
SELECT rag.activate_space(2, force => true)$$;


CREATE OR REPLACE FUNCTION rag.rollback_space(collection text, force boolean DEFAULT false)
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _collection rag.collections := rag._require_collection(rollback_space.collection);
    _before integer := (
        SELECT s.space_id FROM rag._live_spaces(_collection.collection_id) AS s
        WHERE s.state = 'retired' AND s.activated_at IS NOT NULL
        ORDER BY s.activated_at DESC, s.space_id DESC
        LIMIT 1);
BEGIN
    IF _before IS NULL THEN
        RAISE EXCEPTION 'collection ''%'' has no earlier space to go back to',
            rollback_space.collection
        USING ERRCODE = 'RG002',
            HINT = 'it was dropped, or there never was one: rag.create_space builds one';
    END IF;
    PERFORM rag.activate_space(_before, rollback_space.force);
    RETURN _before;
END
$$;

COMMENT ON FUNCTION rag.rollback_space IS
$$Search with the space that was active before. Returns its id. Instant, since a retired space is
kept up to date until it is dropped; error RG007 while it waits for vectors of recent documents,
unless force is true (see rag.activate_space).
Circle: application, Embedding spaces.
SELECT rag.rollback_space('docs')$$;
