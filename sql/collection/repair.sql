-- What a partial restore or a hand in the tables has left of a collection, mended.

CREATE OR REPLACE FUNCTION rag.repair_collection(collection text)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _id integer := (rag._require_collection(repair_collection.collection)).collection_id;
    _space rag.spaces;
    _orphans bigint[];
    _mended bigint;
    _count bigint;
BEGIN
    _orphans := ARRAY(
        SELECT c.chunk_id FROM rag.chunks AS c
        WHERE c.collection_id = _id
            AND NOT EXISTS (SELECT FROM rag.documents AS d
                WHERE d.collection_id = _id AND d.document_id = c.document_id));
    _mended := cardinality(_orphans);
    IF _mended > 0 THEN
        PERFORM rag._remove_chunks(_id, _orphans);
    END IF;
    FOR _space IN SELECT s.* FROM rag._live_spaces(_id) AS s LOOP
        DELETE FROM rag.embeddings AS e
        WHERE e.space_id = _space.space_id
            AND NOT EXISTS (SELECT FROM rag.chunks AS c
                WHERE c.collection_id = _id AND c.chunk_id = e.chunk_id);
        GET DIAGNOSTICS _count = ROW_COUNT;
        _mended := _mended + _count;
    END LOOP;
    _mended := _mended + cardinality(rag._queue_missing_vectors(_id, ARRAY(
        SELECT d.document_id FROM rag.documents AS d WHERE d.collection_id = _id)));
    -- For others, whom a policy of theirs holds, there are no such files.
    PERFORM set_config('row_security', 'on', true);
    DELETE FROM rag.originals AS o
    WHERE o.collection_id = _id
        AND NOT EXISTS (SELECT FROM rag.documents AS d
            WHERE d.collection_id = _id AND d.document_id = o.document_id);
    GET DIAGNOSTICS _count = ROW_COUNT;
    RETURN _mended + _count;
END
$$;

COMMENT ON FUNCTION rag.repair_collection IS
$$Mend what rag.doctor finds wrong with chunks, vectors and kept files.
Chunks and files without a document and vectors without a chunk are removed, documents whose chunks
lack vectors are queued for them. Returns how many of all these there were; 0: all was well. Reads
all of them.
Circle: application, Maintenance and versions.
SELECT rag.repair_collection('docs')$$;
