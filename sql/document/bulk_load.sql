-- Bulk loading: rows in JSON, or copied into a temporary table, become documents, chunks, vectors.

CREATE OR REPLACE FUNCTION rag._shared_metadata(of_chunks jsonb[])
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT coalesce(jsonb_object_agg(k.key, k.value), '{}')
        FROM (SELECT e.key, e.value FROM unnest(of_chunks) AS c (metadata),
            jsonb_each(c.metadata) AS e
              GROUP BY e.key, e.value HAVING count(*) = cardinality(of_chunks)) AS k);

COMMENT ON FUNCTION rag._shared_metadata IS
$$What all the chunks' metadata have in common, which is their document's.$$;


CREATE OR REPLACE FUNCTION rag._load_rows(
    into_collection rag.collections, uris text[], titles text[], headings text[], contents text[],
    metadatas jsonb[], vectors {vector}.halfvec[], existing text,
    OUT loaded_documents bigint, OUT loaded_chunks bigint, OUT queued uuid[])
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _ids uuid[];
BEGIN
    PERFORM rag._check_metadata(u.metadata, u.uri) FROM unnest(uris, metadatas) AS u (uri, metadata)
    WHERE jsonb_typeof(u.metadata) <> 'object' OR pg_column_size(u.metadata) > 262144;
    SELECT array_agg((rag._save_document(into_collection, g.uri, g.title, g.content, g.shared,
        'text/plain', NULL, true, _load_rows.existing)).saved_id)
    INTO _ids
    FROM (
        SELECT u.uri, max(u.title) AS title,
            string_agg(u.content, E'\n\n' ORDER BY u.position) AS content,
            CASE count(*) WHEN 1 THEN (array_agg(u.metadata))[1]
                ELSE rag._shared_metadata(array_agg(u.metadata)) END AS shared
        FROM unnest(uris, titles, contents, metadatas) WITH ORDINALITY
            AS u (uri, title, content, metadata, position)
        GROUP BY u.uri
        ORDER BY u.uri COLLATE "C"  -- as rag.put_documents locks them
    ) AS g;
    _ids := array_remove(_ids, NULL);
    SELECT count(r.chunk_id) INTO loaded_chunks
    FROM (
        SELECT array_agg(t.document_id ORDER BY t.position) AS ids,
            array_agg(t.ordinal ORDER BY t.position) AS ordinals,
            array_agg(NULL::integer) AS nulls,
            array_agg(t.heading ORDER BY t.position) AS headings,
            array_agg(t.content ORDER BY t.position) AS contents,
            array_agg(t.metadata ORDER BY t.position) AS extras,
            array_agg(t.vector ORDER BY t.position) AS vectors
        FROM (SELECT u.*, d.document_id,
                  (row_number() OVER (PARTITION BY u.uri ORDER BY u.position) - 1)::integer
                      AS ordinal
              FROM unnest(uris, _load_rows.headings, _load_rows.contents, metadatas,
                      _load_rows.vectors) WITH ORDINALITY
                  AS u (uri, heading, content, metadata, vector, position),
              LATERAL (SELECT rag.document_id(into_collection.name, u.uri) AS document_id) AS d
              WHERE _load_rows.existing <> 'skip' OR d.document_id = ANY (_ids)) AS t
    ) AS a,
    LATERAL rag._replace_chunks(into_collection.collection_id, a.ids, a.ordinals, a.nulls, a.nulls,
        a.headings, a.contents, a.extras, a.vectors, may_merge => false) AS r
    WHERE a.ids IS NOT NULL;
    loaded_documents := cardinality(_ids);
    queued := rag._queue_missing_vectors(into_collection.collection_id, _ids);
    PERFORM rag._queue_enrichment(into_collection.collection_id, _ids);
    IF _ids <> '{}' THEN
        PERFORM rag._note_change(into_collection.collection_id);
    END IF;
END
$$;

COMMENT ON FUNCTION rag._load_rows IS
$$Store ready-made chunks, arrays in parallel, in order; rows with the same uri make one document.
existing: as of rag.put_document. The caller merges.$$;


CREATE OR REPLACE FUNCTION rag.load_chunks(
    collection text, chunks jsonb, existing text DEFAULT 'replace')
RETURNS TABLE (loaded_documents bigint, loaded_chunks bigint, queued uuid[])
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    own CONSTANT text[] := '{uri,content,title,heading,metadata,embedding}';
    _collection rag.collections := rag._require_collection(load_chunks.collection);
    _rows record;
    _wrong text;
BEGIN
    IF jsonb_typeof(load_chunks.chunks) IS DISTINCT FROM 'array' THEN
        RAISE EXCEPTION 'chunks is not a JSON array' USING ERRCODE = 'RG001',
        HINT = 'pass [{"uri": "...", "content": "...", "embedding": [0.1, ...]}, ...]';
    END IF;
    SELECT format('chunk %s%s', c.ordinality - 1, coalesce(' of ' || quote_literal(left(
        c.value ->> 'uri', 200)), '')) INTO _wrong
    FROM jsonb_array_elements(load_chunks.chunks) WITH ORDINALITY AS c
    WHERE coalesce(c.value ->> 'uri', '') = ''
        OR coalesce(btrim(c.value ->> 'content', E' \t\r\n\f\x0B'), '') = ''
    ORDER BY c.ordinality LIMIT 1;
    IF _wrong IS NOT NULL THEN
        RAISE EXCEPTION '% has no uri or no content', _wrong
        USING ERRCODE = 'RG001', HINT = 'every chunk needs both, as texts';
    END IF;
    SELECT array_agg(c.value ->> 'uri' ORDER BY c.ordinality) AS uris,
        array_agg(coalesce(c.value ->> 'title', '') ORDER BY c.ordinality) AS titles,
        array_agg(coalesce(c.value ->> 'heading', '') ORDER BY c.ordinality) AS headings,
        array_agg(c.value ->> 'content' ORDER BY c.ordinality) AS contents,
        array_agg(rag._record_metadata(c.value, own) ORDER BY c.ordinality) AS metadatas
    INTO _rows
    FROM jsonb_array_elements(load_chunks.chunks) WITH ORDINALITY AS c;
    SELECT r.* INTO loaded_documents, loaded_chunks, queued
    FROM rag._load_rows(_collection, coalesce(_rows.uris, '{}'), _rows.titles, _rows.headings,
        _rows.contents, _rows.metadatas, rag._parse_embeddings(load_chunks.chunks),
        load_chunks.existing) AS r;
    PERFORM rag._note_keys(load_chunks.chunks, own, 'chunk');
    PERFORM rag._merge_when_due(_collection.collection_id, loaded_chunks::integer);
    PERFORM rag.measure_spaces(ARRAY[_collection.name]);
    RETURN NEXT;
END
$$;

COMMENT ON FUNCTION rag.load_chunks IS
$$Chunks of several documents.

Store ready-made chunks of several documents in one call, all or none: [{"uri", "content", "title",
"heading", "metadata", "embedding"}, …]; other keys are metadata, too.

Rows with the same uri make one document, in the order given; metadata that all of them share
becomes the document's. existing: as of put_document. Those without an embedding are queued for one.
Returns counts of documents and chunks, and the ids of the documents queued. For more than some
thousands: rag.load_staged.
Circle: application, Chunks.
SELECT * FROM rag.load_chunks('docs',
    '[{"uri": "d5", "content": "red fish"}]')$$;


CREATE OR REPLACE FUNCTION rag.load_staged(collection text, existing text DEFAULT 'replace')
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
    _rows record;
    _loaded record;
BEGIN
    loaded_documents := 0;
    loaded_chunks := 0;
    queued := '{}';
    PERFORM rag._require_rows('rag.load_staged');
    IF to_regclass('pg_temp.staged_chunks') IS NULL THEN
        RAISE EXCEPTION 'there is no table pg_temp.staged_chunks' USING ERRCODE = 'RG001',
        HINT = 'make it in this session: the comment of rag.load_staged tells its columns';
    END IF;
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
        SELECT array_agg(t.uri ORDER BY t.position) AS uris,
            array_agg(t.title ORDER BY t.position) AS titles,
            array_agg(t.heading ORDER BY t.position) AS headings,
            array_agg(t.content ORDER BY t.position) AS contents,
            array_agg(t.metadata ORDER BY t.position) AS metadatas,
            array_agg(t.embedding ORDER BY t.position) AS vectors
        INTO _rows
        FROM pg_temp.staged_chunks AS t WHERE t.uri = ANY (_uris);
        SELECT r.* INTO _loaded
        FROM rag._load_rows(_collection, _rows.uris, _rows.titles, _rows.headings, _rows.contents,
            _rows.metadatas, _rows.vectors, load_staged.existing) AS r;
        loaded_documents := loaded_documents + _loaded.loaded_documents;
        loaded_chunks := loaded_chunks + _loaded.loaded_chunks;
        queued := queued || _loaded.queued;
    END LOOP;
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
document's. existing: as of put_document. Returns counts of documents and chunks, and the ids of the
documents queued for embedding.
Circle: client, Chunks.
SELECT * FROM rag.load_staged('docs')$$;
