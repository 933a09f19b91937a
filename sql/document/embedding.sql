-- Vectors of chunks: stored, read from JSON, and queued for where they are missing.

CREATE OR REPLACE FUNCTION rag._store_vectors(into_space rag.spaces, chunk_ids bigint[],
    vectors {vector}.halfvec[])
RETURNS bigint[]
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET enable_seqscan = off
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _wrong integer := (SELECT {vector}.vector_dims(v.vector) FROM unnest(vectors) AS v (vector)
                       WHERE {vector}.vector_dims(v.vector) <> into_space.dimensions LIMIT 1);
    _stored bigint[];
BEGIN
    IF _wrong IS NOT NULL THEN
        RAISE EXCEPTION 'an embedding has % dimensions, collection ''%'' stores % (model %)',
            _wrong,
            (SELECT c.name FROM rag.collections AS c
                WHERE c.collection_id = into_space.collection_id),
            into_space.dimensions, into_space.model
        USING ERRCODE = 'RG001',
            HINT = 'embed with the collection''s own model, or use another collection';
    END IF;
    WITH stored AS (
        INSERT INTO rag.embeddings AS e (space_id, chunk_id, embedding)
        SELECT into_space.space_id, v.chunk_id, v.vector
        FROM unnest(chunk_ids, vectors) AS v (chunk_id, vector)
        WHERE v.vector IS NOT NULL
        ON CONFLICT ON CONSTRAINT embeddings_pkey DO UPDATE SET embedding = excluded.embedding
        WHERE e.embedding OPERATOR({vector}.<>) excluded.embedding
        RETURNING e.chunk_id
    )
    SELECT array_agg(s.chunk_id) INTO _stored FROM stored AS s;
    RETURN _stored;
END
$$;

COMMENT ON FUNCTION rag._store_vectors IS
$$Store one vector per chunk id, replacing what is there; NULL vectors are passed over. Wrong
dimensions: error RG001. Returns the ids of the chunks whose vector is new or another.$$;


CREATE OR REPLACE FUNCTION rag._queue_missing_vectors(collection_id integer, document_ids uuid[])
RETURNS uuid[]
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET enable_seqscan = off
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _space rag.spaces;
    _missing uuid[];
    _queued uuid[] := '{}';
BEGIN
    FOR _space IN SELECT k.* FROM rag._live_spaces(_queue_missing_vectors.collection_id) AS k LOOP
        _missing := ARRAY(
            SELECT DISTINCT c.document_id
            FROM rag.chunks AS c
            LEFT JOIN rag.embeddings AS e ON e.space_id = _space.space_id
                AND e.chunk_id = c.chunk_id
            WHERE c.collection_id = _queue_missing_vectors.collection_id
                AND c.document_id = ANY (_queue_missing_vectors.document_ids)
                AND e.chunk_id IS NULL);
        CONTINUE WHEN _missing = '{}';
        PERFORM rag._queue_jobs(_queue_missing_vectors.collection_id, _missing, 'embed',
            CASE _space.state WHEN 'active' THEN 0 ELSE -1 END, for_space => _space.space_id);
        IF _space.state = 'active' THEN
            _queued := _queued || _missing;
        END IF;
    END LOOP;
    RETURN _queued;
END
$$;

COMMENT ON FUNCTION rag._queue_missing_vectors IS
$$Queue an embed job for each of these documents and each space of the collection in which a chunk
has no vector.

Returns the documents that the active space waits for. Other spaces come after the active one's
work.$$;


CREATE OR REPLACE FUNCTION rag._parse_embeddings(chunks jsonb)
RETURNS {vector}.halfvec[]
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN ARRAY(SELECT (c.value ->> 'embedding')::{vector}.halfvec
                 FROM jsonb_array_elements(chunks) WITH ORDINALITY AS c ORDER BY c.ordinality);
EXCEPTION WHEN data_exception THEN
    RAISE EXCEPTION 'the embedding of a chunk cannot be read: %', left(SQLERRM, 200)
    USING ERRCODE = 'RG001', HINT = 'an embedding is an array of numbers, e.g. [0.1, 0.2, 0.3]';
END
$$;

COMMENT ON FUNCTION rag._parse_embeddings IS
$$The vectors of chunks given as JSON, in their order, NULL where one has none; error RG001 for
what is no vector.$$;


CREATE OR REPLACE FUNCTION rag.get_embeddings(collection text, chunk_ids bigint[])
RETURNS TABLE (chunk_id bigint, embedding {vector}.halfvec)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    _id integer := (rag._require_collection(get_embeddings.collection)).collection_id;
    _space_id integer := (rag._require_active_space(_id)).space_id;
    _seen CONSTANT bigint[] := rag._scoped_chunks(_id, get_embeddings.chunk_ids);
BEGIN
    RETURN QUERY
    SELECT e.chunk_id, e.embedding
    FROM rag.chunks AS c  -- which policies may hide
    JOIN rag.embeddings AS e ON e.space_id = _space_id AND e.chunk_id = c.chunk_id
    WHERE c.collection_id = _id
        AND c.chunk_id = ANY (_seen)
    ORDER BY e.chunk_id;
END
$$;

COMMENT ON FUNCTION rag.get_embeddings IS
$$Vectors of chunks, as the active embedding space stores them.

By chunk id; a chunk that is not there, or has no vector yet, has no row.
Circle: application, Chunks.
SELECT * FROM rag.get_embeddings('docs', '{1, 2}')$$;
