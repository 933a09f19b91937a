-- Documents that pass a filter: deleted, or given other metadata, in one transaction.

CREATE OR REPLACE FUNCTION rag._lock_documents(collection_id integer, metadata_filter jsonb)
RETURNS text[]
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _uris text[];
BEGIN
    PERFORM rag._check_query(NULL, 1, metadata_filter);
    EXECUTE format('SELECT array_agg(p.uri) FROM (SELECT c.uri FROM rag.documents AS c '
        'WHERE c.collection_id = $1 AND %s ORDER BY c.uri COLLATE "C" FOR UPDATE OF c) AS p',
        concat_ws(' AND ', coalesce((rag._compile_filter(_lock_documents.collection_id,
            metadata_filter)).condition, 'true'),
            CASE WHEN rag._scope(_lock_documents.collection_id) IS NOT NULL
                THEN 'rag._may_change(ROW(c.*)::rag.documents)' END))
    INTO _uris USING _lock_documents.collection_id;
    RETURN coalesce(_uris, '{}');
END
$$;

COMMENT ON FUNCTION rag._lock_documents IS
$$Lock the documents that pass a filter, in the order of rag.put_documents; return their uris.$$;


CREATE OR REPLACE FUNCTION rag.delete_where(
    collection text, metadata_filter jsonb, everything boolean DEFAULT false)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    at_once CONSTANT integer := 1000;
    _collection rag.collections := rag._require_collection(delete_where.collection);
    _uris text[];
    _count bigint := 0;
BEGIN
    IF coalesce(metadata_filter, '{}') = '{}' AND everything IS NOT TRUE THEN
        RAISE EXCEPTION 'the filter passes every document'
        USING ERRCODE = 'RG001', HINT = 'everything => true deletes them all';
    END IF;
    _uris := rag._lock_documents(_collection.collection_id, metadata_filter);
    FOR _first IN 1..cardinality(_uris) BY at_once LOOP
        _count := _count
            + rag.delete_documents(_collection.name, _uris[_first:_first + at_once - 1]);
    END LOOP;
    RETURN _count;
END
$$;

COMMENT ON FUNCTION rag.delete_where IS
$$Delete those that pass a filter.

Delete the documents that pass a filter (docs/guides/filters.md), with their chunks, vectors and
jobs, all or none. Returns how many there were. A filter sees a document's own metadata here.
everything: the empty filter, which they all pass, is meant; the collection stays.
Circle: application, Documents.
SELECT rag.delete_where('docs', '{"year": {"$lt": 2000}}')$$;


CREATE OR REPLACE FUNCTION rag.merge_metadata(
    collection text, metadata_filter jsonb, patch jsonb, remove_keys text[] DEFAULT '{}')
RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _collection rag.collections := rag._require_collection(merge_metadata.collection);
    _uris text[];
    _uri text;
    _before rag.documents;
    _metadata jsonb;
BEGIN
    IF jsonb_typeof(patch) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION 'the patch is no JSON object' USING ERRCODE = 'RG001',
        HINT = 'pass the keys to set, e.g. {"reviewed": true}, or {} for none';
    END IF;
    _uris := rag._lock_documents(_collection.collection_id, metadata_filter);
    FOREACH _uri IN ARRAY _uris LOOP
        SELECT d.* INTO STRICT _before FROM rag.documents AS d
        WHERE d.collection_id = _collection.collection_id
            AND d.document_id = rag.document_id(_collection.name, _uri);
        _metadata := coalesce(_before.given_metadata, _before.metadata)
            - coalesce(remove_keys, '{}') || patch;
        PERFORM rag._check_metadata(_metadata, _uri);
        PERFORM rag._change_document(_collection, _before.document_id, _before.title,
            _before.content, _metadata, _before.media_type, _before.language,
            _before.content_hash, false);
    END LOOP;
    IF _uris <> '{}' THEN
        PERFORM rag._note_change(_collection.collection_id);
    END IF;
    RETURN cardinality(_uris);
END
$$;

COMMENT ON FUNCTION rag.merge_metadata IS
$$Change metadata without the text.

Set keys of the metadata of all documents that pass a filter ({}: of all), and take others away, in
one transaction. Returns how many documents there were.

patch: the keys to set; a value is replaced whole, and null is a value. Nothing is cut or embedded
anew: their chunks have it at once, but for keys that a chunk was given of its own.
Circle: application, Documents.
SELECT rag.merge_metadata('docs', '{"$uri": "d1"}', '{"seen": true}')$$;
