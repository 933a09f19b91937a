-- The files that documents were made from, where they are kept.

CREATE OR REPLACE FUNCTION rag.keep_original(
    collection text,
    uri text,
    file_name text,
    data bytea,
    media_type text DEFAULT 'application/octet-stream')
RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    _collection rag.collections := rag._require_collection(keep_original.collection);
    _id uuid := rag.document_id(_collection.name, keep_original.uri);
BEGIN
    IF coalesce(octet_length(keep_original.data), 0) NOT BETWEEN 1 AND 100000000 THEN
        RAISE EXCEPTION 'the file of document ''%'' has % bytes', keep_original.uri,
            coalesce(octet_length(keep_original.data), 0)
        USING ERRCODE = 'RG001', HINT = 'files of 1 to 100,000,000 bytes are kept; '
            'keep a larger one elsewhere, and its address in the metadata';
    ELSIF coalesce(keep_original.file_name, '') = '' OR length(keep_original.file_name) > 1000
        OR keep_original.media_type IS NULL OR length(keep_original.media_type) > 200 THEN
        RAISE EXCEPTION 'the file of document ''%'' has no usable name or media type',
            keep_original.uri
        USING ERRCODE = 'RG001', HINT = 'pass a name of 1 to 1000 characters and a media type';
    END IF;
    PERFORM FROM rag.documents AS d
    WHERE d.collection_id = _collection.collection_id AND d.document_id = _id
        AND (_collection.tenant <> '*' OR rag._may_change(ROW(d.*)::rag.documents))
    FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'collection ''%'' has no document ''%''', _collection.name,
            keep_original.uri
        USING ERRCODE = 'RG002', HINT = 'put the document first';
    END IF;
    INSERT INTO rag.originals AS o
        (collection_id, document_id, file_name, media_type, size, sha256, data)
    VALUES (_collection.collection_id, _id, keep_original.file_name, keep_original.media_type,
            octet_length(keep_original.data), sha256(keep_original.data), keep_original.data)
    ON CONFLICT ON CONSTRAINT originals_pkey DO UPDATE
    SET file_name = excluded.file_name, media_type = excluded.media_type, size = excluded.size,
        sha256 = excluded.sha256, data = excluded.data, kept_at = excluded.kept_at
    WHERE (o.file_name, o.media_type, o.sha256)
        IS DISTINCT FROM (excluded.file_name, excluded.media_type, excluded.sha256);
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    -- Who deletes the document by an older snapshot, which lacks the file, fails.
    UPDATE rag.documents AS d SET version = d.version
    WHERE d.collection_id = _collection.collection_id AND d.document_id = _id;
    RETURN true;
END
$$;

COMMENT ON FUNCTION rag.keep_original IS
$$Keep the file that a document was made from.
At most 100,000,000 bytes.

False: it was kept already. It goes with the document, and when its text changes; who may not read
the document cannot read it. rag.get_original gives it back.
Circle: application, Documents.
SELECT rag.keep_original('docs', 'd1', 'd1.txt', 'xy', 'text/plain')$$;


CREATE OR REPLACE FUNCTION rag.get_original(collection text, uri text)
RETURNS TABLE (file_name text, media_type text, size integer, sha256 text, data bytea)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    _collection rag.collections := rag._require_collection(get_original.collection);
    _seen CONSTANT uuid[] := rag._scoped_documents(_collection.collection_id,
        ARRAY[rag.document_id(_collection.name, get_original.uri)]);
BEGIN
    RETURN QUERY
    SELECT o.file_name, o.media_type, o.size, encode(o.sha256, 'hex'), o.data
    FROM rag.documents AS d
    JOIN rag.originals AS o
        ON o.collection_id = d.collection_id AND o.document_id = d.document_id
    WHERE d.collection_id = _collection.collection_id
        AND d.document_id = ANY (_seen);
END
$$;

COMMENT ON FUNCTION rag.get_original IS
$$The file that a document was made from; no row where none is kept. sha256: of its bytes, in
hexadecimal digits.
Circle: application, Documents.
SELECT file_name, size FROM rag.get_original('docs', 'd1')$$;


CREATE OR REPLACE FUNCTION rag._delete_originals(collection_id integer, document_keys uuid[])
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET row_security TO on
AS $$
BEGIN
    DELETE FROM rag.originals AS o
    WHERE o.collection_id = _delete_originals.collection_id AND o.document_id = ANY (document_keys);
END
$$;

COMMENT ON FUNCTION rag._delete_originals IS
$$Delete the files of documents, before the documents: their rights are those of the files.$$;
