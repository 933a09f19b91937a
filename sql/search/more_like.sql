-- Neighbours of a stored chunk.

CREATE OR REPLACE FUNCTION rag.more_like(
    collection text,
    chunk_id bigint,
    result_limit integer DEFAULT 10,
    metadata_filter jsonb DEFAULT '{}',
    same_document boolean DEFAULT true)
RETURNS SETOF rag.hit
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    _id integer := (rag._require_collection(more_like.collection)).collection_id;
    _space rag.spaces := rag._require_active_space(_id);
    _seen CONSTANT bigint[] := rag._scoped_chunks(_id, ARRAY[more_like.chunk_id]);
    _document_id uuid;
    _embedding {vector}.halfvec;
    _filter record;
BEGIN
    PERFORM rag._check_query(NULL, result_limit, metadata_filter);
    SELECT c.document_id, e.embedding INTO _document_id, _embedding
    FROM rag.chunks AS c
    LEFT JOIN rag.embeddings AS e ON e.space_id = _space.space_id AND e.chunk_id = c.chunk_id
    WHERE c.collection_id = _id AND c.chunk_id = _seen[1];
    IF _embedding IS NULL THEN
        RAISE EXCEPTION 'chunk % of collection ''%'' %', more_like.chunk_id, more_like.collection,
            CASE WHEN _document_id IS NULL THEN 'does not exist' ELSE 'has no vector yet' END
        USING ERRCODE = 'RG002', HINT = CASE WHEN _document_id
            IS NULL THEN 'take chunk_id from a search'
                                             ELSE 'wait for the worker, or look at rag.list_jobs()'
                                                 END;
    END IF;
    SELECT f.* INTO _filter FROM rag._compile_filter(_id, metadata_filter) AS f;
    RETURN QUERY
    SELECT h.*
    FROM (
        SELECT array_agg(r.chunk_id ORDER BY r.rank) AS ids,
            array_agg(-r.distance ORDER BY r.rank) AS scores,
               array_agg(r.rank ORDER BY r.rank) AS ranks,
                   array_agg(r.distance ORDER BY r.rank) AS distances
        FROM (
            SELECT v.chunk_id, v.distance,
                row_number() OVER (ORDER BY v.distance, v.chunk_id) AS rank
            FROM rag._rank_vector(
                _id, _embedding, result_limit + 1,
                CASE WHEN same_document THEN _filter.condition
                     ELSE concat_ws(' AND ', '(' || _filter.condition || ')',
                         format('c.document_id <> %L', _document_id)) END,
                same_document AND _filter.indexed) AS v
            WHERE v.chunk_id <> more_like.chunk_id
        ) AS r
        WHERE r.rank <= result_limit
    ) AS a,
    LATERAL rag._make_hits(_id, a.ids, a.scores, a.ranks, a.distances, NULL, NULL) AS h;
END
$$;

COMMENT ON FUNCTION rag.more_like IS
$$Neighbours of a chunk.
The chunks nearest to a stored chunk, nearest first, without itself; no embedder is needed.

same_document false: only chunks of other documents. Error RG002 when there is no such chunk, or it
has no vector yet.
Circle: application, Search.
SELECT uri FROM rag.more_like('docs', 1)$$;
