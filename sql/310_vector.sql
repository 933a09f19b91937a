CREATE OR REPLACE FUNCTION rag.rank_vector(in_collection rag.collections, query_embedding halfvec, candidate_limit integer,
                                           filter_sql text, filter_indexed boolean DEFAULT true)
RETURNS TABLE (chunk_id bigint, distance double precision)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    exact_below CONSTANT integer := 2000;  -- so many matches are compared one by one rather than through the index
    _space rag.spaces := rag.active_space(in_collection.collection_id);
    _nearness text;
    _few bigint[];
    _ef_search text;
    _iterative text;
    _seqscan text;
    _sort text;
BEGIN
    IF vector_dims(query_embedding) <> _space.dimensions THEN
        RAISE EXCEPTION 'the query''s embedding has % dimensions, collection ''%'' stores % (model %)',
            vector_dims(query_embedding), in_collection.name, _space.dimensions, _space.model
        USING ERRCODE = 'RG004', HINT = 'embed the query with the collection''s own model';
    END IF;
    _nearness := format('(e.embedding::halfvec(%s)) %s $2::halfvec(%1$s)', _space.dimensions,
                        rag.distance_operator(_space.distance));
    IF filter_sql IS NOT NULL THEN
        EXECUTE format('SELECT array_agg(m.chunk_id)
                        FROM (SELECT c.chunk_id FROM rag.chunks AS c WHERE c.collection_id = $1 AND %s LIMIT $2) AS m',
                       filter_sql)
        INTO _few USING in_collection.collection_id, exact_below + 1;
        IF coalesce(cardinality(_few), 0) <= exact_below THEN
            RETURN QUERY EXECUTE format(
                'SELECT e.chunk_id, %s AS distance
                 FROM rag.embeddings AS e
                 WHERE e.space_id = $1 AND e.chunk_id = ANY ($4)
                 ORDER BY distance, e.chunk_id
                 LIMIT $3', _nearness)
            USING _space.space_id, query_embedding, candidate_limit, _few;
            RETURN;
        END IF;
    END IF;

    _ef_search := current_setting('hnsw.ef_search');
    _iterative := current_setting('hnsw.iterative_scan');
    _seqscan := current_setting('enable_seqscan');
    _sort := current_setting('enable_sort');
    PERFORM set_config('hnsw.ef_search', least(1000, greatest(_ef_search::integer, candidate_limit, 40))::text, true),
            set_config('hnsw.iterative_scan', 'strict_order', true),
            set_config('enable_seqscan', 'off', true),
            set_config('enable_sort', 'off', true);
    -- The index is walked by the bare inner query, lazily: the outer limit ends it as soon as enough have passed.
    RETURN QUERY EXECUTE format(
        CASE WHEN filter_sql IS NULL THEN
            'SELECT n.chunk_id, n.distance
             FROM (SELECT e.chunk_id, %1$s AS distance FROM rag.embeddings AS e
                   WHERE e.space_id = $1 ORDER BY %1$s LIMIT $3) AS n
             ORDER BY n.distance, n.chunk_id'
        ELSE
            'SELECT k.chunk_id, k.distance
             FROM (SELECT n.chunk_id, n.distance
                   FROM (SELECT e.chunk_id, %1$s AS distance FROM rag.embeddings AS e
                         WHERE e.space_id = $1 ORDER BY %1$s LIMIT 1000000) AS n,
                   LATERAL (SELECT FROM rag.chunks AS c
                            WHERE c.collection_id = $4 AND c.chunk_id = n.chunk_id AND %2$s OFFSET 0) AS c
                   LIMIT $3) AS k
             ORDER BY k.distance, k.chunk_id'
        END, _nearness, filter_sql)
    USING _space.space_id, query_embedding, candidate_limit, in_collection.collection_id;
    PERFORM set_config('hnsw.ef_search', _ef_search, true),
            set_config('hnsw.iterative_scan', _iterative, true),
            set_config('enable_seqscan', _seqscan, true),
            set_config('enable_sort', _sort, true);
END
$$;

COMMENT ON FUNCTION rag.rank_vector(rag.collections, halfvec, integer, text, boolean) IS
$$The nearest chunks, nearest first. Few chunks that pass the filter are compared one by one (exact); otherwise the HNSW
index is walked until enough have passed.

filter_sql: NULL or a trusted SQL condition on alias c of rag.chunks; filter_indexed: an index serves it.$$;
