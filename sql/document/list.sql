-- Reading documents: one, or many in order.

CREATE OR REPLACE FUNCTION rag._document_query(condition text, ordering text, with_content boolean)
RETURNS text
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN format($sql$
        SELECT c.document_id, c.uri, c.title, %3$s, c.media_type, c.language, c.metadata, c.version,
               (SELECT count(*) FROM rag.chunks AS k WHERE k.collection_id = $1
                   AND k.document_id = c.document_id),
               CASE WHEN j.state = 'dead' THEN 'failed' WHEN j.state IS NULL THEN 'ready'
                   ELSE 'pending' END,
               j.error, c.created_at, c.updated_at
        FROM (SELECT c.* FROM rag.documents AS c
              WHERE c.collection_id = $1 AND (%1$s) ORDER BY %2$s LIMIT $3 OFFSET $4) AS c
        LEFT JOIN LATERAL (
            SELECT x.state, x.errors -> -1 ->> 'error' AS error FROM rag.jobs AS x
            WHERE x.collection_id = $1 AND x.document_id = c.document_id
                AND (x.kind = 'ingest' OR x.space_id = $2)
            ORDER BY x.state DESC  -- waiting before dead
            LIMIT 1
        ) AS j ON true
        ORDER BY %2$s
        $sql$, condition, ordering, CASE WHEN with_content THEN 'c.content' ELSE 'NULL::text' END);
END
$$;

COMMENT ON FUNCTION rag._document_query IS
$$The query of the rag.document_info of a collection's documents, for EXECUTE.

Its parameters: 1 the collection's id, 2 its active space, 3 limit, 4 offset. condition and ordering
are trusted SQL on alias c of rag.documents. The jobs and chunks are looked up for the documents
within the limit only.$$;


CREATE OR REPLACE FUNCTION rag.list_documents(
    collection text,
    metadata_filter jsonb DEFAULT '{}',
    result_limit integer DEFAULT 100,
    after_uri text DEFAULT '',
    only_uri text DEFAULT NULL,
    uri_prefix text DEFAULT NULL,
    with_content boolean DEFAULT false)
RETURNS SETOF rag.document_info
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _id integer := (rag._require_collection(list_documents.collection)).collection_id;
    _condition text;
BEGIN
    PERFORM rag._check_range('limit', coalesce(result_limit, 0), 0, NULL);
    PERFORM rag._check_query(NULL, 1, metadata_filter);
    _condition := coalesce((rag._compile_filter(_id, metadata_filter)).condition, 'true');
    RETURN QUERY EXECUTE rag._document_query(
        'c.uri > coalesce($5, '''') AND ($6 IS NULL OR c.uri = $6)
         AND ($7 IS NULL OR starts_with(c.uri, $7)) AND ' || _condition,
        'c.uri', coalesce(with_content, false) OR only_uri IS NOT NULL)
    USING _id, (rag._active_space(_id)).space_id, result_limit, 0, after_uri, only_uri, uri_prefix;
END
$$;

COMMENT ON FUNCTION rag.list_documents IS
$$Documents by uri. Next page: after_uri => the last uri of this one. In
another order: rag.select_documents.

metadata_filter: keep documents whose metadata pass it (docs/guides/filters.md). uri_prefix: keep
those whose uri begins with it, letter by letter, e.g. 'handbook/'. with_content: false leaves
content NULL. state: ready, pending (work is queued) or failed, with its error.
Circle: application, Documents.
SELECT uri, state FROM rag.list_documents('docs')$$;


CREATE OR REPLACE FUNCTION rag.get_documents(collection text, uris text[])
RETURNS SETOF rag.document_info
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _collection rag.collections := rag._require_collection(get_documents.collection);
    _id integer := _collection.collection_id;
BEGIN
    RETURN QUERY EXECUTE rag._document_query(
        concat_ws(' AND ', 'c.document_id = ANY ($5)', rag._scope(_id)), 'c.uri', true)
    USING _id, (rag._active_space(_id)).space_id, NULL::integer, 0,
        ARRAY(SELECT rag.document_id(_collection.name, u.uri) FROM unnest(uris) AS u (uri));
END
$$;

COMMENT ON FUNCTION rag.get_documents IS
$$Many with their content, by uri; uris that no document has are passed over.
Circle: application, Documents.
SELECT * FROM rag.get_documents('docs', '{d1, d2}')$$;


CREATE OR REPLACE FUNCTION rag.get_document(collection text, uri text)
RETURNS SETOF rag.document_info
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY SELECT d.*
        FROM rag.get_documents(get_document.collection, ARRAY[get_document.uri]) AS d;
END
$$;

COMMENT ON FUNCTION rag.get_document IS
$$One with its content.

A document with its content, or no row when there is none with that uri.
Circle: application, Documents.
SELECT * FROM rag.get_document('docs', 'd1')$$;


CREATE OR REPLACE FUNCTION rag.list_chunks(collection text, uris text[])
RETURNS TABLE (chunk_id bigint, document_id uuid, uri text, ordinal integer, start_offset integer,
    stop_offset integer, heading text, content text, metadata jsonb)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    _collection rag.collections := rag._require_collection(list_chunks.collection);
    _ids CONSTANT uuid[] := rag._scoped_documents(_collection.collection_id,
        ARRAY(SELECT rag.document_id(_collection.name, u.name)
              FROM unnest(list_chunks.uris) AS u (name)));
BEGIN
    RETURN QUERY
    SELECT c.chunk_id, c.document_id, d.uri, c.ordinal, c.start_offset, c.stop_offset, c.heading,
        c.content, c.metadata
    FROM rag.documents AS d
    JOIN rag.chunks AS c ON c.collection_id = _collection.collection_id
        AND c.document_id = d.document_id
    WHERE d.collection_id = _collection.collection_id AND d.document_id = ANY (_ids)
    ORDER BY d.uri, c.ordinal, c.chunk_id;
END
$$;

COMMENT ON FUNCTION rag.list_chunks IS
$$The chunks of documents, by uri and in their order; uris that no document has are passed over.

start_offset, stop_offset: in characters of the document; NULL where the chunks were brought
ready-made. metadata: the document's, and what the chunk was given of its own.
Circle: application, Chunks.
SELECT chunk_id, content FROM rag.list_chunks('docs', '{d1}')$$;
