-- What searches read of one collection's partitions, in small statements.
--
-- They are planned for their collection each time, so that no other one is locked. What is computed
-- of their rows stands in other functions, whose plans are kept.

CREATE OR REPLACE FUNCTION rag._read_vectors(of_space integer, chunk_keys bigint[])
RETURNS TABLE (chunk_id bigint, embedding {vector}.halfvec)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off
AS $$
BEGIN
    RETURN QUERY
    SELECT e.chunk_id, e.embedding FROM rag.embeddings AS e
    WHERE e.space_id = of_space AND e.chunk_id = ANY (chunk_keys);
END
$$;

COMMENT ON FUNCTION rag._read_vectors IS
$$The vectors of those of the given chunks that have one in this space.$$;


CREATE OR REPLACE FUNCTION rag._read_hashes(collection_id integer, chunk_keys bigint[])
RETURNS TABLE (chunk_id bigint, document_id uuid, content_hash bytea)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off
AS $$
BEGIN
    RETURN QUERY
    SELECT c.chunk_id, c.document_id, c.content_hash FROM rag.chunks AS c
    WHERE c.collection_id = _read_hashes.collection_id AND c.chunk_id = ANY (chunk_keys);
END
$$;

COMMENT ON FUNCTION rag._read_hashes IS
$$The documents and the content hashes of those of the given chunks that exist.$$;
