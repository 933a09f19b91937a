-- What a language model would have to read of a collection, before it does.

CREATE OR REPLACE FUNCTION rag.estimate_enrichment(collection text)
RETURNS TABLE (documents bigint, chunks bigint, document_bytes bigint, chunk_bytes bigint,
    repeated_bytes bigint)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    _id integer := (rag._require_collection(estimate_enrichment.collection)).collection_id;
BEGIN
    RETURN QUERY
    SELECT count(*), coalesce(sum(c.count), 0)::bigint,
           coalesce(sum(octet_length(d.content)), 0)::bigint, coalesce(sum(c.bytes), 0)::bigint,
           coalesce(sum(octet_length(d.content) * greatest(c.count - 1, 0)), 0)::bigint
    FROM rag.documents AS d
    LEFT JOIN (
        SELECT k.document_id, count(*) AS count, sum(octet_length(k.content)) AS bytes
        FROM rag.chunks AS k
        WHERE k.collection_id = _id
        GROUP BY k.document_id
    ) AS c ON c.document_id = d.document_id
    WHERE d.collection_id = _id;
END
$$;

COMMENT ON FUNCTION rag.estimate_enrichment IS
$$What a language model would have to read: extraction reads each document once (document_bytes);
contexts read each chunk (chunk_bytes) behind its whole document, which is document_bytes once and
repeated_bytes over again, where providers that cache prompts take less. About 3 to 4 bytes of
English are a token; add 100 tokens of instruction and 100 of answer for each call.
Circle: application, Enrichment.
SELECT * FROM rag.estimate_enrichment('docs')$$;
