-- Bulk loading: rows that were copied into a temporary table become documents, chunks and vectors.

CREATE OR REPLACE FUNCTION rag._shared_metadata(of_chunks jsonb[])
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT coalesce(jsonb_object_agg(k.key, k.value), '{}')
        FROM (SELECT e.key, e.value FROM unnest(of_chunks) AS c (metadata),
            jsonb_each(c.metadata) AS e
              GROUP BY e.key, e.value HAVING count(*) = cardinality(of_chunks)) AS k);

COMMENT ON FUNCTION rag._shared_metadata IS
$$What all the chunks' metadata have in common, which is their document's.$$;


CREATE OR REPLACE FUNCTION rag.load_staged(collection text)
RETURNS TABLE (loaded_documents bigint, loaded_chunks bigint, queued uuid[])
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _collection rag.collections := rag._require_collection(load_staged.collection);
    _space rag.spaces := rag._require_active_space(_collection.collection_id);
    _rebuild boolean := false;
    _uris text[];
    _ids uuid[];
    _stored bigint;
BEGIN
    loaded_documents := 0;
    loaded_chunks := 0;
    queued := '{}';
    IF to_regclass('pg_temp.staged_chunks') IS NULL THEN
        RAISE EXCEPTION 'there is no table pg_temp.staged_chunks' USING ERRCODE = 'RG001',
        HINT = 'make it in this session: the comment of rag.load_staged tells its columns';
    END IF;
    PERFORM rag._check_metadata(t.metadata, t.uri) FROM pg_temp.staged_chunks AS t
    WHERE jsonb_typeof(t.metadata) <> 'object' OR pg_column_size(t.metadata) > 262144;
    CREATE INDEX ON pg_temp.staged_chunks (uri);
    ANALYZE pg_temp.staged_chunks;
    -- An index is built some times faster over vectors that are there than one by one.
    IF (SELECT count(t.embedding) >= 1000 FROM pg_temp.staged_chunks AS t)
        AND NOT EXISTS (SELECT FROM rag.embeddings AS e WHERE e.space_id = _space.space_id) THEN
        BEGIN
            EXECUTE format('DROP INDEX rag.%I', rag._index_name(_space.space_id));
            _rebuild := true;
        EXCEPTION WHEN insufficient_privilege OR undefined_object THEN
            NULL;  -- only its owner may; a space of more than 4,000 dimensions has none
        END;
    END IF;
    FOR _uris IN
        SELECT array_agg(g.uri)
        FROM (SELECT t.uri, sum(count(*)) OVER (ORDER BY t.uri COLLATE "C") AS upto
              FROM pg_temp.staged_chunks AS t GROUP BY t.uri) AS g
        GROUP BY ceil(g.upto / 5000)
        ORDER BY min(g.upto)
    LOOP
        SELECT array_agg((rag._save_document(_collection, g.uri, g.title, g.content, g.shared,
            'text/plain', NULL, true)).saved_id)
        INTO _ids
        FROM (
            SELECT t.uri, max(t.title) AS title,
                string_agg(t.content, E'\n\n' ORDER BY t.position) AS content,
                   CASE count(*) WHEN 1 THEN (array_agg(t.metadata))[1]
                       ELSE rag._shared_metadata(array_agg(t.metadata)) END
                       AS shared
            FROM pg_temp.staged_chunks AS t
            WHERE t.uri = ANY (_uris)
            GROUP BY t.uri
            ORDER BY t.uri COLLATE "C"  -- as rag.put_documents locks them
        ) AS g;

        SELECT count(r.chunk_id) INTO _stored
        FROM (
            SELECT array_agg(d.document_id ORDER BY t.position) AS ids,
                array_agg(t.ordinal ORDER BY t.position) AS ordinals,
                   array_agg(NULL::integer) AS nulls,
                       array_agg(t.heading ORDER BY t.position) AS headings,
                   array_agg(t.content ORDER BY t.position) AS contents,
                       array_agg(t.metadata ORDER BY t.position) AS extras,
                   array_agg(t.embedding ORDER BY t.position) AS vectors
            FROM (SELECT x.*,
                (row_number() OVER (PARTITION BY x.uri ORDER BY x.position) - 1)::integer
                AS ordinal
                  FROM pg_temp.staged_chunks AS x WHERE x.uri = ANY (_uris)) AS t,
            LATERAL (SELECT rag.document_id(_collection.name, t.uri) AS document_id) AS d
        ) AS a,
        LATERAL rag._replace_chunks(_collection.collection_id, a.ids, a.ordinals, a.nulls, a.nulls,
            a.headings,
                                   a.contents, a.extras, a.vectors, may_merge => false) AS r;
        loaded_documents := loaded_documents + cardinality(_uris);
        loaded_chunks := loaded_chunks + _stored;
        queued := queued || rag._queue_missing_vectors(_collection.collection_id, _ids);
        PERFORM rag._queue_enrichment(_collection.collection_id, _ids);
    END LOOP;
    IF loaded_documents > 0 THEN
        PERFORM rag._note_change(_collection.collection_id);
    END IF;
    PERFORM rag._merge_when_due(_collection.collection_id, loaded_chunks::integer);
    IF _rebuild THEN
        CALL rag._build_index(_space);
    END IF;
    PERFORM rag.measure_spaces(ARRAY[_collection.name]);
    RETURN NEXT;
END
$$;

COMMENT ON FUNCTION rag.load_staged IS
$$Chunks from table staged_chunks, in bulk.

Take over the chunks that the caller copied into its temporary table staged_chunks: the bulk form
of put_chunks.

Columns of staged_chunks: position bigint (order), uri, title, heading, content text, metadata
jsonb, embedding halfvec. Into an empty collection, the vector index is built after the vectors are
in. Rows with the same uri make one document; metadata that all of them share becomes the
document's. Returns counts of documents and chunks, and the ids of the documents queued for
embedding.
Circle: client, Chunks.
SELECT * FROM rag.load_staged('docs')$$;
