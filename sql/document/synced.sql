-- What a sync knows of the documents that it wrote: whether their bytes have to be read again.

CREATE OR REPLACE FUNCTION rag._synced_documents(collection text, uri_prefix text)
RETURNS TABLE (uri text, document_id uuid, sync_state jsonb)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    _collection CONSTANT rag.collections := rag._require_collection(_synced_documents.collection);
    _id CONSTANT integer := _collection.collection_id;
BEGIN
    RETURN QUERY
    SELECT d.uri, d.document_id, d.sync_state FROM rag.documents AS d
    WHERE d.collection_id = _id AND starts_with(d.uri, uri_prefix)
        AND (_collection.tenant <> '*' OR rag._may_change(ROW(d.*)::rag.documents))
    ORDER BY d.uri;
END
$$;

COMMENT ON FUNCTION rag._synced_documents IS
$$The documents whose uris begin with a prefix, and what rag._note_synced noted of each.
Circle: client.$$;


CREATE OR REPLACE FUNCTION rag._note_synced(collection text, states jsonb)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _collection rag.collections := rag._require_collection(_note_synced.collection);
    _ids uuid[] := ARRAY(SELECT rag.document_id(_collection.name, k.uri)
                         FROM jsonb_object_keys(states) AS k (uri));
BEGIN
    -- By uri, as put_documents locks them.
    _ids := ARRAY(
        SELECT d.document_id FROM rag.documents AS d
        WHERE d.collection_id = _collection.collection_id AND d.document_id = ANY (_ids)
            AND (_collection.tenant <> '*' OR rag._may_change(ROW(d.*)::rag.documents))
        ORDER BY d.uri COLLATE "C"
        FOR UPDATE);
    UPDATE rag.documents AS d SET sync_state = states -> d.uri
    WHERE d.collection_id = _collection.collection_id AND d.document_id = ANY (_ids)
        AND d.sync_state IS DISTINCT FROM states -> d.uri;
END
$$;

COMMENT ON FUNCTION rag._note_synced IS
$$Note of documents, after they were put, by what a later sync knows the same bytes: an object of
states by uri. Whoever puts another text or other metadata takes the note away.
Circle: client.$$;
